"""An object is revived by reading it again only where nothing was called on it, nor on what was read from it."""

from __future__ import annotations

from cellwright import Runtime, Scope
from cellwright.store import MemoryStore


class Deal:
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> int:
        self.notes.append(text)
        return len(self.notes)

    def count(self) -> int:
        return len(self.notes)


class Desk:
    def deal(self) -> Deal:
        return Deal()


def scope() -> Scope:
    made = Scope({"desk": Desk()})
    made.declare("desk.deal", reads=True)
    made.declare("Deal.count", reads=True)
    return made


async def after_a_resume(*cells: str) -> str:
    """What `deal.count()` comes to in another process, or why it cannot."""
    store = MemoryStore()
    async with Runtime(scope(), store=store, session="s1") as rt:
        for cell in ("deal = desk.deal()", *cells):
            (await rt.execute(cell)).unwrap()
    async with Runtime.resume("s1", scope=scope(), store=store) as rt:
        outcome = await rt.execute("deal.count()")
    return str(outcome.value) if outcome.ok else str(outcome.error)


async def test_an_object_that_was_only_read_is_read_again() -> None:
    assert await after_a_resume("deal.count()", "deal.notes") == "0"


async def test_an_object_that_was_called_is_lost() -> None:
    assert "HandleLost" in await after_a_resume("deal.note('a')")


async def test_an_object_that_was_called_through_a_method_read_from_it_is_lost() -> None:
    assert "HandleLost" in await after_a_resume("note = deal.note", "note('a')")
