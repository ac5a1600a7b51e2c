"""Work that guest code makes the host do: operators, iterators and results have limits, and hold no other session."""

from __future__ import annotations

import asyncio
import gc
import io
import logging
import resource
import threading
import time
from array import array
from collections import UserString, deque
from collections.abc import AsyncIterator, Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cells import PATIENCE_S, PATIENT, eventually

from cellwright import Limits, Runtime, Scope, operation
from cellwright.errors import CallLimit, TimeLimit
from cellwright.scope import guest_functions, worker
from cellwright.scope.worker import Worker

LAYER = "host"


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
        "codes": array("d", [1.0, 2.0]),
        "objects": np.array([3], dtype=object),
        "words": np.array(["ab"], dtype=object),
        "table": np.ones((1, 1000)),
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
    "codes * 500_000_000",
    "objects ** 100_000_000",
    "(objects ** 20_000) ** 3000",
    "words * 1_000_000_000",
    "table[[0] * 150_000]",
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
    # texts and comparisons of C code, which gives no other thread a turn
    "repr(fresh(list(range(60_000))))",
    "str(fresh([0.1] * 60_000))",
    "f'{fresh([[0.1] * 1000] * 60)}'",
    "text % (1, fresh([0.1] * 60_000))",
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


METHODS = [
    "for _ in range(40): rows.extend(rows)",
    "rows.sort()",
    "log.warning(rows)",
    "log.warning('%s', rows)",
    "for _ in range(40): queue.extend(queue)",
    "for _ in range(40): codes.extend(codes)",
    "text.ljust(1_000_000_000)",
    "text.zfill(1_000_000_000)",
    "text.replace('', 'x' * 1_000_000)",
    "template.format(1)",
    "file.seek(2_000_000_000)",
    "file.truncate(2_000_000_000)",
    "log.warning('%990000000d', 1)",
    "log.warning('%*d', 990000000, 1)",
]


@pytest.mark.usefixtures("memory")
async def test_a_method_of_the_standard_library_makes_no_more_than_an_operator() -> None:
    scope = Scope(
        {
            **objects(),
            "file": io.BytesIO(),
            "log": logging.getLogger("cellwright.test"),
            "template": UserString("{:1000000000}"),
        }
    )
    for name in ("file", "log", "text", "template", "rows", "queue", "codes"):
        scope.declare(f"{name}.*", hide=False)
    async with Runtime(scope, limits=PATIENT) as rt:
        for code in METHODS:
            error = (await rt.execute(code)).error
            assert getattr(error, "type", "") == "CallLimit", f"{code}: {error}"
        (await rt.execute("rows.append(1); rows.extend([2]); str(text.ljust(20)); text.replace('a', 'b')")).unwrap()
        (await rt.execute("file.write(b'x'); file.seek(0); log.debug('%5d', 1); queue.rotate(1)")).unwrap()


@pytest.mark.usefixtures("memory")
async def test_an_operator_that_would_take_the_host_minutes_is_refused_before_it_runs() -> None:
    async with Runtime({**objects(), "fresh": Rows}, limits=PATIENT) as rt:
        for code in OPERATORS:
            error = (await rt.execute(code)).error
            assert getattr(error, "type", "") == "CallLimit", f"{code}: {error}"
            assert "call a method of the object" in str(error), str(error)
        assert (await rt.execute("len(rows * 1000), str(half ** 20), list(rows + [5]), text % (1, 'x')")).unwrap()


async def test_a_result_that_is_too_large_is_refused_before_it_is_copied() -> None:
    large: dict[str, Any] = {
        "nested": [[0] * 1000] * 5000,
        "keys": dict.fromkeys(range(3_000_000)),
        "choices": set(range(4_100_000)),
        "text": "x" * 300_000_000,
        "data": bytearray(300_000_000),
        "texts": ["x" * 1000] * 300_000,
    }

    def give(name: str) -> Any:
        return large[name]

    async def give_soon(name: str) -> Any:
        return large[name]

    async with Runtime({"give": give, "give_soon": give_soon}, limits=PATIENT) as rt:
        for name in large:
            for code in (f"x = give({name!r})", f"x = await give_soon({name!r})"):
                error = (await rt.execute(code)).error
                assert "ask for fewer at a time" in str(error), f"{code}: {error}"


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


# The event loop belongs to all sessions. It is held by a callback, and by C code on another thread, which gives up the
# interpreter only when it ends. Both are measured in processor time, because on a busy machine the clock on the wall
# says little; and without that of the garbage collector, which walks through all that other tests have left.


class Box:
    """Gives, takes and hands on much."""

    def rows(self, count: int) -> list[Any]:
        return [{"number": i, "name": "x", "share": 0.5} for i in range(count)]

    def give(self, rows: list[Any]) -> list[Any]:
        return rows

    async def rows_soon(self, rows: list[Any]) -> list[Any]:
        return rows

    async def take(self, rows: Any) -> int:
        return len(rows)

    async def call(self, function: Any, *args: Any) -> int:
        return len(await function.call_async(*args))

    def boxes(self, count: int) -> list[Box]:
        return [Box() for _ in range(count)]

    def fail(self, size: int) -> None:
        error = ValueError("x" * size)
        error.args = (*error.args, ["x" * 1000] * 1000)
        setattr(error, "rows", [["x" * 1000] * 1000] * 1000)  # noqa: B010  an attribute that its class does not know
        raise error

    async def find(self, key: str) -> None:
        raise KeyError(key)

    def endless(self) -> Iterator[Any]:
        return iter([["x" * 1000] * 100] * 100_000)


class LoopMeter:
    """The longest time for which the event loop was held."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.longest = (0.0, "")
        self._loop_s = self._others_s = self._began_s = 0.0  # of the garbage collector, by thread
        self._collecting = False
        self._here = threading.get_ident()
        run: Callable[[asyncio.Handle], None] = getattr(asyncio.Handle, "_run")  # noqa: B009  no public name

        def measured(handle: asyncio.Handle) -> None:
            began = self._loop_now()
            run(handle)
            if threading.get_ident() == self._here:
                self._took(self._loop_now() - began, repr(handle)[:200])

        patch.setattr(asyncio.Handle, "_run", measured)

    def collected(self, phase: str, about: dict[str, int]) -> None:
        """For `gc.callbacks`."""
        self._collecting = phase == "start"  # its end is told when other threads had a turn already
        took_s = time.thread_time() - self._began_s
        if phase == "start":
            self._began_s = time.thread_time()
        elif threading.get_ident() == self._here:
            self._loop_s += took_s
        else:
            self._others_s += took_s

    def _loop_now(self) -> float:
        return time.thread_time() - self._loop_s

    def _others_now(self) -> float:
        return time.process_time() - time.thread_time() - self._others_s

    def _took(self, took_s: float, what: str) -> None:
        self.longest = max(self.longest, (took_s, what))

    async def _tick(self) -> None:
        """What other threads work while the loop waits for its turn. One that hashes or writes a file lets it go on."""
        while True:
            began, at = self._others_now(), time.monotonic()
            await asyncio.sleep(TICK_S)
            if not self._collecting:
                late_s = time.monotonic() - at - TICK_S
                self._took(min(self._others_now() - began, late_s) - TURNS_S, "another thread")

    async def of(self, rt: Runtime, code: str, other: Runtime) -> tuple[float, str]:
        """While a cell runs, and another session answers."""
        self.longest = (0.0, "")
        ticking = asyncio.ensure_future(self._tick())
        cell = asyncio.ensure_future(rt.execute(code))
        while not cell.done():
            assert (await other.execute("1 + 1")).unwrap() == 2
            await asyncio.wait({cell}, timeout=0.1)
        await cell
        ticking.cancel()
        return self.longest


TICK_S = 0.005
TURNS_S = 0.1  # that several threads, which each give up the interpreter in time, may have before the loop has its own
TIMES = 3  # a pause of the machine is not there each time
HELD_S = 0.1  # more than the loop is held by a cell that does nothing
ATTACKS = {
    "a large result of the loop": "rows = await box.rows_soon([{'a': i, 'b': 'x', 'c': 0.5} for i in range(40_000)])",
}
MORE = {
    "a large result": "rows = box.rows(80_000)",
    "a large answer of a callback": "await box.call(lambda: [[i] for i in range(150_000)])",
    "many objects let go": "some = box.boxes(40_000); del some; box.rows(1)",
    "a large argument": "await box.take([[i, 'name'] for i in range(300_000)])",
    "a large dict": "await box.take({str(i): i for i in range(300_000)})",
    "a long text": "await box.take('x' * 100_000_000)",
    "a large argument of a callback": "await box.call(lambda rows: rows, [[i] for i in range(200_000)])",
    "a large value": "[{'a': [i]} for i in range(100_000)]",
    "many calls": "for i in range(5000): box.rows(1)",
    "many calls at once": "import asyncio\nfor _ in range(9): await asyncio.gather(*map(box.take, [[]] * 990))",
    "many functions lent": "for _ in range(2000): await box.take([lambda: 1] * 3)",
    "a long print": "print('x' * 7_000_000)",
    "many prints": "for i in range(200_000): print(i)",
    "deep data": "x = [1]\nfor _ in range(190): x = [x]\nfor _ in range(100): await box.take([x] * 100)",
    "a long exception": "box.fail(50_000_000)",
    "a long key that is not there": "await box.find('é' * 60_000_000)",
    "an exception of its own": "raise ValueError('x' * 60_000_000)",
    "a long cell": "x = [\n" + "1,\n" * 300_000 + "]",
    "a long iterator": "rows = [row for row, _ in zip(box.endless(), range(1000))]",
    "help": "help(box)",
    "a large argument of a sync call": "x = box.give([[i] for i in range(300_000)])",
    "many numbers": "await box.take([1.5] * 3_500_000)",
    "a large set of texts": "await box.take({str(i) for i in range(900_000)})",
    "numbers of many digits": "await box.take([10**4000] * 3000)",
}


@pytest.fixture
def meter(monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopMeter]:
    meter = LoopMeter(monkeypatch)
    gc.callbacks.append(meter.collected)
    yield meter
    gc.callbacks.remove(meter.collected)


async def test_a_large_result_does_not_hold_the_loop_of_another_session(tmp_path: Path, meter: LoopMeter) -> None:
    await _held_by(ATTACKS, True, tmp_path, meter)


@pytest.mark.slow
@pytest.mark.parametrize("journaled", [False, True])
async def test_nothing_that_a_cell_does_holds_the_loop_of_another_session(
    journaled: bool, tmp_path: Path, meter: LoopMeter
) -> None:
    await _held_by(ATTACKS | MORE, journaled, tmp_path, meter)


async def _held_by(attacks: dict[str, str], journaled: bool, tmp_path: Path, meter: LoopMeter) -> None:
    limits = Limits(wall_s=120, cpu_s=60, memory_mb=1000, host_calls=20_000)
    store = tmp_path / "s.db" if journaled else None
    async with Runtime({}, limits=PATIENT) as other, Runtime({"box": Box()}, limits=limits, store=store) as rt:
        await meter.of(rt, "1 + 1", other)
        quiet_s, _ = await meter.of(rt, "1 + 1", other)
        for name, code in attacks.items():
            held = [await meter.of(rt, code, other)]
            while min(held)[0] > quiet_s + HELD_S and len(held) < TIMES:
                held.append(await meter.of(rt, code, other))
            held_s, what = min(held)
            assert held_s < quiet_s + HELD_S, f"{name}: {held_s:.3f} s in {what}"
