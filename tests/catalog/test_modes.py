"""`Runtime(check=…)`: what a mistake that the type checker finds does to a cell."""

from __future__ import annotations

import pytest

from cellwright import Runtime
from cellwright.errors import TypeMistake, UsageError


class Desk:
    """Counts what reached it."""

    def __init__(self) -> None:
        self.calls = 0

    def order(self, item: str, count: int = 1) -> int:
        self.calls += 1
        return count

    async def price(self, item: str) -> float:
        return 2.5


async def test_strict_refuses_a_cell_before_any_effect() -> None:
    desk = Desk()
    async with Runtime({"desk": desk}, check="strict") as rt:
        outcome = await rt.execute("desk.order('tea')\ndesk.order('tea', amount=2)")
    assert isinstance(outcome.error, TypeMistake)
    assert "line 2" in str(outcome.error)
    assert "order(item: str, count: int = 1) -> int" in str(outcome.error)
    assert (desk.calls, outcome.cell) == (0, 0)


async def test_strict_runs_a_cell_without_mistakes_and_knows_earlier_names() -> None:
    async with Runtime({"desk": Desk()}, check="strict") as rt:
        assert (await rt.execute("count = desk.order('tea', 3)")).unwrap() == 3
        assert (await rt.execute("count + 1")).unwrap() == 4
        assert isinstance((await rt.execute("cuont + 1")).error, TypeMistake)


async def test_a_missing_await_is_told() -> None:
    async with Runtime({"desk": Desk()}, check="strict") as rt:
        outcome = await rt.execute("total = desk.price('tea') * 2")
    assert "await" in str(outcome.error)


async def test_warn_runs_the_cell_and_tells_the_mistakes() -> None:
    async with Runtime({"desk": Desk()}, check="warn") as rt:
        outcome = await rt.execute("desk.order('tea', 'two')")
        clean = await rt.execute("desk.order('tea', 2)")
    assert outcome.unwrap() == "two"
    assert len(outcome.mistakes) == 1
    assert clean.mistakes == ()


async def test_off_asks_nobody() -> None:
    async with Runtime({"desk": Desk()}) as rt:
        assert (await rt.execute("desk.order('tea', 'two')")).mistakes == ()


async def test_a_resumed_session_knows_the_names_of_its_cells() -> None:
    desk = Desk()
    async with Runtime({"desk": desk}, store="memory:", session="s1", check="strict") as rt:
        (await rt.execute("count = desk.order('tea', 3)")).unwrap()
        branch = await rt.fork()
        try:
            assert (await branch.execute("count + 1")).unwrap() == 4
        finally:
            await branch.close()


async def test_a_transaction_is_no_unknown_name() -> None:
    async with Runtime(store="memory:", check="strict") as rt:
        (await rt.execute("with transaction():\n    x = 1")).unwrap()
        (await rt.execute("async with transaction(anyway=True):\n    x = 2")).unwrap()


def test_an_unknown_mode_is_told() -> None:
    with pytest.raises(UsageError, match="strict"):
        Runtime(check="on")  # pyright: ignore[reportArgumentType]  that is the mistake
