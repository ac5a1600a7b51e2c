"""`undo=`: what it is given, where it runs, and what is told where it cannot run."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass
from typing import Any

import pytest
from tests.scope.lives import Handle, Kept, Life

from cellwright import Scope, operation
from cellwright.errors import HandleLost, NotReversible, UsageError
from cellwright.scope import Undoing, current_call


@dataclass
class Booking:
    room: str
    nights: int


class Event:
    def __init__(self, title: str) -> None:
        self.title = title


LOG: list[Any] = []


def forget(result: Any) -> None:
    LOG.append((result, threading.current_thread().name))


async def forget_later(result: Any) -> None:
    await asyncio.sleep(0)
    LOG.append(result)


def forget_with(result: Any, call: Undoing) -> None:
    LOG.append((result, call))


def forget_key(result: Any) -> None:
    LOG.append(current_call())


def fail(result: Any) -> None:
    raise LookupError(f"{result} is gone")


def optional(result: Any, loudly: bool = False, *more: Any) -> None:
    LOG.append((result, loudly))


class Calendar:
    def __init__(self) -> None:
        self.events: list[Event] = []

    @operation(undo=forget)
    def add(self, title: str) -> str:
        return title

    @operation(undo=forget_later)
    async def add_later(self, title: str) -> str:
        return title

    @operation(undo=forget_with)
    def create(self, title: str, *, of: Event | None = None) -> Event:
        self.events.append(Event(title))
        return self.events[-1]

    @operation(undo=forget)
    def book(self) -> list[Any]:
        return [Booking("attic", 2), (1, {"a": b"x"}), "y" * 3000]

    @operation(undo=fail)
    def doomed(self) -> int:
        return 7

    @operation(undo=forget_key)
    def keyed(self) -> str:
        return current_call().idempotency_key

    @operation(undo=forget)
    def breaks(self) -> None:
        raise ValueError("no")

    @operation(reads=True)
    def find(self, title: str) -> Event:
        return Event(title)

    def plain(self) -> int:
        return 1


@pytest.fixture(autouse=True)
def empty() -> None:
    LOG.clear()


async def done(life: Life, name: str, *args: Any, **kwargs: Any) -> Kept:
    await life.answer(life.call("call", life.name("calendar"), name, *args, **kwargs))
    return life.rows[-1]


async def test_a_sync_undo_gets_the_result_on_the_worker() -> None:
    life = Life({"calendar": Calendar()})
    row = await done(life, "add", "a")
    await life.host.undo(row.call, row.answer)
    assert LOG == [("a", "cellwright-host-calls")]
    life.host.close()


async def test_an_async_undo_is_awaited() -> None:
    life = Life({"calendar": Calendar()})
    row = await done(life, "add_later", "a")
    await life.host.undo(row.call, row.answer)
    assert LOG == ["a"]
    life.host.close()


async def test_an_undo_of_a_loop_operation_runs_on_the_loop() -> None:
    scope = Scope({"calendar": Calendar()})
    scope.declare("calendar.add", thread="loop")
    life = Life(scope)
    row = await done(life, "add", "a")
    await life.host.undo(row.call, row.answer)
    assert LOG == [("a", threading.current_thread().name)]
    life.host.close()


async def test_an_undo_of_two_parameters_gets_the_call_too() -> None:
    calendar = Calendar()
    life = Life({"calendar": calendar})
    other = await life.handle("call", life.name("calendar"), "find", "x")
    row = await done(life, "create", "a", of=Handle(other))
    await life.host.undo(row.call, row.answer)
    result, call = LOG[0]
    assert result is calendar.events[0]
    assert (call.name, call.cell, call.path, call.session) == ("calendar.create", 1, row.call.path, "s1")
    assert call.target is calendar
    assert call.args == ("a",)
    assert call.kwargs["of"].title == "x"
    life.host.close()


async def test_an_undo_with_optional_parameters_gets_the_result_alone() -> None:
    scope = Scope({"calendar": Calendar()})
    scope.declare("calendar.plain", undo=optional)
    life = Life(scope)
    row = await done(life, "plain")
    await life.host.undo(row.call, row.answer)
    assert LOG == [(1, False)]
    life.host.close()


async def test_a_result_of_records_and_plain_data_is_what_it_was() -> None:
    life = Life({"calendar": Calendar()})
    row = await done(life, "book")
    await life.host.undo(row.call, row.answer)
    assert LOG[0][0] == [Booking("attic", 2), (1, {"a": b"x"}), "y" * 3000]
    life.host.close()


async def test_what_an_undo_raises_is_raised() -> None:
    life = Life({"calendar": Calendar()})
    row = await done(life, "doomed")
    with pytest.raises(LookupError, match="7 is gone"):
        await life.host.undo(row.call, row.answer)
    life.host.close()


async def test_the_key_of_an_undo_is_its_own_and_the_same_in_every_attempt() -> None:
    life = Life({"calendar": Calendar()})
    row = await done(life, "keyed")
    for _ in range(2):
        await life.host.undo(row.call, row.answer)
    assert LOG[0] == LOG[1]
    assert LOG[0].name == "undo calendar.keyed"
    assert LOG[0].idempotency_key != row.answer.value.tree
    life.host.close()


async def test_what_has_no_undo_or_failed_says_so() -> None:
    life = Life({"calendar": Calendar()})
    row = await done(life, "plain")
    with pytest.raises(NotReversible, match=r"calendar\.plain cannot be undone: its operation has no undo="):
        await life.host.undo(row.call, row.answer)
    row = await done(life, "breaks")
    with pytest.raises(UsageError, match="it failed"):
        await life.host.undo(row.call, row.answer)
    life.host.close()


async def test_after_a_resume_a_result_that_comes_back_is_undone() -> None:
    scope = Scope({"calendar": Calendar()})
    scope.declare("calendar.find", undo=forget)
    first = Life(scope)
    row = await done(first, "find", "a")
    second = first.resumed(scope)
    await second.host.undo(row.call, row.answer)
    assert LOG[0][0].title == "a"
    second.host.close()


async def test_after_a_resume_a_result_that_is_lost_is_told_and_nothing_runs() -> None:
    first = Life({"calendar": Calendar()})
    row = await done(first, "create", "a")
    second = first.resumed({"calendar": Calendar()})
    with pytest.raises(HandleLost, match=r"came from calendar\.create\(…\) in cell 1"):
        await second.host.undo(row.call, row.answer)
    assert LOG == []
    second.host.close()


async def test_a_plain_result_is_undone_in_another_process() -> None:
    first = Life({"calendar": Calendar()})
    row = await done(first, "book")
    second = first.resumed({"calendar": Calendar()})
    await second.host.undo(row.call, row.answer)
    assert LOG[0][0][0] == Booking("attic", 2)
    second.host.close()
