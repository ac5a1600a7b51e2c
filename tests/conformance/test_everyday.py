"""Dates, decimals, locks, context managers, partials and pools of the standard library."""

from __future__ import annotations

import contextlib
import datetime as dt
import functools
import queue
import threading
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from tests.cells import PATIENCE_S, failure, value


async def test_decimals_dates_and_ids_cross_as_themselves() -> None:
    code = """
        import datetime, decimal, uuid
        total = sum([price, decimal.Decimal("0.20")], decimal.Decimal())
        later = moment + datetime.timedelta(hours=5)
        kept = type(id_) is uuid.UUID
        total, later, later.tzinfo.key, moment.isoformat(), day.replace(day=1), gap * 2, noon.hour, kept
    """
    oslo = dt.datetime(2024, 3, 30, 22, tzinfo=ZoneInfo("Europe/Oslo"))
    names = {"price": Decimal("1.10"), "moment": oslo, "day": dt.date(2024, 5, 17), "gap": dt.timedelta(minutes=3)}
    found = await value(code, noon=dt.time(12), id_=uuid.UUID(int=5), **names)
    assert found == (
        Decimal("1.30"),
        dt.datetime(2024, 3, 31, 3, tzinfo=ZoneInfo("Europe/Oslo")),
        "Europe/Oslo",
        "2024-03-30T22:00:00+01:00",
        dt.date(2024, 5, 1),
        dt.timedelta(minutes=6),
        12,
        True,
    )


async def test_what_the_guest_makes_of_dates_arrives_exactly() -> None:
    code = """
        import datetime as dt
        from decimal import Decimal
        utc = dt.datetime(2024, 1, 2, 3, 4, 5, 678901, tzinfo=dt.timezone.utc)
        [utc, utc.date(), utc.time(), dt.timezone(dt.timedelta(hours=-3)), Decimal("1E+3"), Decimal("NaN").is_nan()]
    """
    utc = dt.datetime(2024, 1, 2, 3, 4, 5, 678901, tzinfo=dt.UTC)
    zone = dt.timezone(dt.timedelta(hours=-3))
    found = await value(code)
    assert found == [utc, utc.date(), utc.time(), zone, Decimal("1E+3"), True]
    assert str(found[4]) == "1E+3"


@pytest.mark.parametrize("make", [threading.Lock, threading.RLock])
async def test_a_lock_of_the_host_is_held_in_a_with_block(make: Callable[[], Any]) -> None:
    lock = make()
    code = """
        with lock:
            free_inside = free()
        free_inside, free(), lock.acquire(timeout=1), lock.release()
    """

    def free() -> bool:
        with ThreadPoolExecutor(1) as other:  # asked from another thread, as a lock is meant to be
            return other.submit(lambda: lock.acquire(blocking=False) and (lock.release() or True)).result()

    assert await value(code, lock=lock, free=free) == (False, True, True, None)


class Ledger:
    def __init__(self) -> None:
        self.lines: list[str] = []

    @contextlib.contextmanager
    def entry(self, name: str) -> Generator[str]:
        self.lines.append(f"open {name}")
        try:
            yield name.upper()
        except ValueError as error:
            self.lines.append(f"swallowed {error}")
        except KeyError as error:
            self.lines.append(f"saw {error}")
            raise
        finally:
            self.lines.append(f"close {name}")

    @contextlib.asynccontextmanager
    async def later(self, name: str) -> AsyncGenerator[str]:
        yield name * 2
        self.lines.append(f"left {name}")

    async def ticks(self, count: int) -> AsyncIterator[int]:
        for i in range(count):
            yield i


async def test_a_context_manager_opens_closes_swallows_and_lets_through() -> None:
    ledger = Ledger()
    code = """
        with ledger.entry("a") as name:
            found = [name]
        with ledger.entry("b"):
            raise ValueError("hm")
        try:
            with ledger.entry("c"):
                {}["k"]
        except KeyError as error:
            found.append(error.args)
        async with ledger.later("d") as twice:
            found.append(twice)
        found
    """
    assert await value(code, ledger=ledger) == ["A", ("k",), "dd"]
    told = ["open a", "close a", "open b", "swallowed hm", "close b", "open c", "saw 'k'", "close c", "left d"]
    assert ledger.lines == told


async def test_context_managers_of_the_host_go_on_an_exit_stack_of_the_guest() -> None:
    ledger = Ledger()
    code = """
        from contextlib import AsyncExitStack, ExitStack
        with ExitStack() as stack:
            names = [stack.enter_context(ledger.entry(n)) for n in "xy"]
        async with AsyncExitStack() as stack:
            names.append(await stack.enter_async_context(ledger.later("z")))
        names
    """
    assert await value(code, ledger=ledger) == ["X", "Y", "zz"]
    assert ledger.lines == ["open x", "open y", "close y", "close x", "left z"]


async def test_an_async_generator_of_the_host_is_iterated() -> None:
    code = """
        found = [i async for i in ledger.ticks(3)]
        async for i in ledger.ticks(100):
            if i == 2:
                break
        found, i
    """
    assert await value(code, ledger=Ledger()) == ([0, 1, 2], 2)


async def test_a_partial_and_a_lambda_of_the_host_are_called() -> None:
    names = {"power": functools.partial(pow, exp=3), "join": functools.partial("-".join), "half": lambda n: n / 2}
    code = "power(2), power(2, exp=4), join(['a', 'b']), half(n=3), sorted([3, 1, 2], key=lambda n: -power(n))[0]"
    assert await value(code, **names) == (8, 16, "a-b", 1.5, 3)


async def test_host_functions_work_where_python_takes_functions() -> None:
    code = """
        from functools import reduce, partial
        list(map(double, [1, 2])), list(filter(is_even, range(5))), reduce(add, [1, 2, 3]), partial(add, 5)(6)
    """
    names = {"double": lambda n: n * 2, "is_even": lambda n: n % 2 == 0, "add": lambda a, b: a + b}
    assert await value(code, **names) == ([2, 4], [0, 2, 4], 6, 11)


async def test_a_cached_function_of_the_host_keeps_its_cache() -> None:
    calls: list[int] = []

    @functools.lru_cache
    def square(n: int) -> int:
        calls.append(n)
        return n * n

    assert await value("square(3), square(3), square(4), square.cache_info().hits", square=square) == (9, 9, 16, 1)
    assert calls == [3, 4]


async def test_a_thread_pool_of_the_host_takes_no_work_of_the_guest() -> None:
    with ThreadPoolExecutor(2) as pool:
        assert (await failure("pool.submit(lambda: 1)", pool=pool)).type == "NotPublic"


async def test_a_thread_queue_carries_values_between_a_host_thread_and_the_guest() -> None:
    asks: queue.Queue[int | None] = queue.Queue()
    answers: queue.Queue[int] = queue.Queue()

    def serve() -> None:
        while (n := asks.get(timeout=PATIENCE_S)) is not None:
            answers.put(n * 100)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    code = """
        for n in (1, 2):
            asks.put(n)
        asks.put(None)
        answers.get(timeout=10), answers.get(timeout=10), answers.empty()
    """
    assert await value(code, asks=asks, answers=answers) == (100, 200, True)
    thread.join(PATIENCE_S)
    assert not thread.is_alive()
