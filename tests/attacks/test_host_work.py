"""Work that guest code makes the host do: operators, iterators and results have limits, and hold no other session."""

from __future__ import annotations

import asyncio
import resource
import threading
from collections import UserString, deque
from collections.abc import AsyncIterator, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.cells import PATIENCE_S, PATIENT, eventually

from cellwright import Limits, Runtime, operation
from cellwright.errors import CallLimit, TimeLimit
from cellwright.scope import guest_functions, worker
from cellwright.scope.worker import Worker


class Rows(list[Any]):
    """A subclass of list crosses by handle: its operators run on the host."""


class Money:
    def __init__(self, cents: int) -> None:
        self.cents = cents

    def __mul__(self, other: Any) -> Money:
        return Money(self.cents * (other.cents if isinstance(other, Money) else other))

    def __pow__(self, times: int) -> Money:
        return Money(self.cents**times)

    def __format__(self, spec: str) -> str:
        return format(self.cents, spec)


def objects() -> dict[str, Any]:
    return {
        "rows": Rows([1, 2, 3, 4]),
        "queue": deque([1, 2, 3, 4]),
        "half": Fraction(2, 3),
        "whole": Fraction(4_000_000),
        "money": Money(7),
        "text": UserString("%d and %s"),
        "wide": UserString("%1000000000d"),
        "starred": UserString("%*d"),
        "digits": UserString("9" * 100_000),
        "column": np.ones((50_000, 1), dtype="i1"),
        "row": np.ones((1, 50_000), dtype="i1"),
    }


@pytest.fixture
def memory() -> Iterator[None]:
    """An operator that is not refused fails for want of memory, and does not take the machine with it."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


OPERATORS = [
    "rows * 250_000_000",
    "250_000_000 * rows",
    "queue * 250_000_000",
    "rows.__imul__(250_000_000)",
    "half ** 4_000_000",
    "half ** -4_000_000",
    "3 ** whole",
    "money ** 4_000_000",
    "wide % 5",
    "starred % (1_000_000_000, 5)",
    "text.__rmod__('%1000000000s')",
    "format(money, '1000000000')",
    "format(money, '.1000000000f')",
    "round(half, 1_000_000_000)",
    "round(half, -1_000_000_000)",
    "int(digits)",
    "column * row",
    "column @ row",
    "column == row",
    "text * 1_000_000_000",
    "text + 'x' * 5_000_000",
    # by steps: each doubles what the last one made
    "x = queue\nfor _ in range(40): x = x + x",
    "x = money\nfor _ in range(40): x = x * x",
    "x = half\nfor _ in range(40): x = x * x",
    "x = half\nfor _ in range(40): x = x + 1 / x",
    # towers: a list that holds the next one twice, which C code walks without ever giving up the interpreter
    "x = rows\nfor _ in range(60): x = fresh([x, x])\nrepr(x)",
    "x = rows\nfor _ in range(60): x = fresh([x, x])\nstr(x)",
    "x = rows\nfor _ in range(60): x = fresh([x, x])\nf'{x}'",
    "x, y = fresh([1]), fresh([1])\nfor _ in range(60): x, y = fresh([x, x]), fresh([y, y])\nx == y",
    "x, y = fresh([1]), fresh([1])\nfor _ in range(60): x, y = fresh([x, x]), fresh([y, y])\nx in fresh([y])",
]


@pytest.mark.usefixtures("memory")
async def test_an_operator_that_would_take_the_host_minutes_is_refused_before_it_runs() -> None:
    async with Runtime({**objects(), "fresh": Rows}, limits=PATIENT) as rt:
        for code in OPERATORS:
            error = (await rt.execute(code)).error
            assert getattr(error, "type", "") == "CallLimit", f"{code}: {error}"
            assert "call a method of the object" in str(error), str(error)
        assert (await rt.execute("len(rows * 1000), str(half ** 20), list(rows + [5]), text % (1, 'x')")).unwrap()


async def test_an_endless_iterator_ends_by_its_items_and_by_their_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guest_functions, "ITEMS", 1000)
    taken: list[int] = []

    def take(items: Iterator[Any]) -> int:
        for item in items:
            taken.append(len(item))
        return len(taken)

    async def take_async(items: AsyncIterator[Any]) -> int:
        async for item in items:
            taken.append(len(item))
        return len(taken)

    async with Runtime({"take": take, "take_async": take_async, "rows": Rows()}, limits=PATIENT) as rt:
        for code, most in (
            ("import itertools\ntake(itertools.repeat('x'))", 1000),
            ("await take_async(itertools.repeat('x'))", 1000),
            ("rows += itertools.repeat('x')", 0),
            ("take(itertools.repeat('x' * 10_000_000))", 26),
        ):
            taken.clear()
            error = (await rt.execute(code)).error
            assert getattr(error, "type", "") == "CallLimit", f"{code}: {error}"
            assert len(taken) <= most, code
        assert (await rt.execute("take(iter('abc'))")).error is None


async def test_a_host_thread_ends_with_the_cell_whose_iterator_it_consumes() -> None:
    ended = threading.Event()

    def take(items: Iterator[int]) -> int:
        try:
            return sum(items)
        finally:
            ended.set()

    async with Runtime({"take": take}, limits=Limits(wall_s=1)) as rt:
        assert isinstance((await rt.execute("import itertools\ntake(itertools.count())")).error, TimeLimit)
        assert await asyncio.to_thread(ended.wait, PATIENCE_S)
        assert (await rt.execute("take(iter([1, 2]))")).unwrap() == 3


async def test_a_call_that_was_given_up_holds_no_later_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "GRACE_S", 0.01)
    finish, told = threading.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, about: told.set() if "left behind" in about["message"] else None)

    @operation(timeout_s=0.05)
    def hang() -> bool:
        return finish.wait(PATIENCE_S)

    async with Runtime({"hang": hang, "double": abs}, limits=PATIENT) as rt:
        assert getattr((await rt.execute("hang()")).error, "type", "") == "TimeoutError"
        assert (await rt.execute("double(-4)")).unwrap() == 4  # on another thread
        async with asyncio.timeout(PATIENCE_S):
            await told.wait()
        finish.set()


async def test_a_session_leaves_only_so_many_threads_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "GRACE_S", 0.01)
    monkeypatch.setattr(worker, "LEFT", 2)
    asyncio.get_running_loop().set_exception_handler(lambda loop, about: None)
    finish = threading.Event()
    calls = Worker("test")
    for left in (1, 2):
        began = threading.Event()
        hung = asyncio.ensure_future(calls.run(lambda began=began: (began.set(), finish.wait(PATIENCE_S))))
        assert await asyncio.to_thread(began.wait, PATIENCE_S)
        later = asyncio.ensure_future(calls.run(threading.get_ident))
        hung.cancel()
        if left == 1:
            assert await later
    with pytest.raises(CallLimit, match="given up and have not returned"):
        await later
    finish.set()
    await eventually(lambda: _serves(calls))
    calls.close()


async def _serves(calls: Worker) -> bool:
    try:
        return await calls.run(lambda: True)
    except CallLimit:
        return False
