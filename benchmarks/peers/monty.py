"""Monty: an interpreter of its own, in worker processes that a pool keeps and uses again.

The sync pool, with every limit set: the async one may abort its host at exit, and without limits there are none.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from functools import cache
from importlib import import_module
from typing import Any

from benchmarks.peers import cells
from benchmarks.peers.contestant import live_memory, opened, repeated, serve

monty: Any = import_module("pydantic_monty")
LIMITS = {
    "max_memory": 100_000_000,
    "max_feed_duration_secs": 30.0,
    "max_turn_duration_secs": 30.0,
    "max_recursion_depth": 1000,
    "max_suspensions": 10**6,
    "max_total_sleep_secs": 1.0,
}
SESSIONS = 256


def live(stack: ExitStack) -> Any:
    session = stack.enter_context(pool().checkout(limits=LIMITS))
    assert session.feed_run(cells.FIRST) == 2
    return session


def driven(session: Any, times: int) -> list[float]:
    """Host calls answered by hand, step by step, where `feed_run` would call back."""
    snapshot = session.feed_start(cells.calls("add(1, 2)", times))
    while not isinstance(snapshot, monty.MontyComplete):
        snapshot = snapshot.resume({"return_value": cells.add(*snapshot.args)})
    return [snapshot.output]


def suspended(times: int) -> list[float]:
    """Seconds from a session that stands at a host call to a fresh one that stands at the same."""
    took: list[float] = []
    for _ in range(times):
        with pool().checkout(limits=LIMITS) as session, ExitStack() as stack:
            snapshot = session.feed_start(cells.suspended("add({})"))
            while snapshot.args != cells.HELD:
                snapshot = snapshot.resume({"return_value": cells.add(*snapshot.args)})
            began = time.perf_counter()
            dump = snapshot.dump()
            again = stack.enter_context(pool().checkout(limits=LIMITS)).load_snapshot(dump)
            took.append(time.perf_counter() - began)
            assert again.args == cells.HELD
            assert again.resume({"return_value": cells.add(*again.args)}).output == cells.TOTAL
    return took


def brought_back(count: int) -> list[float]:
    """Seconds from a session that has run so many cells to a fresh one that has its names."""
    last = count - 1
    with pool().checkout(limits=LIMITS) as session, ExitStack() as stack:
        for i in range(count):
            assert session.feed_run(cells.numbered("add({})", i), external_lookup=FUNCTIONS) == i + 1
        began = time.perf_counter()
        dump = session.dump()
        again = stack.enter_context(pool().checkout(limits=LIMITS))
        again.load_session(dump)
        assert again.feed_run(f"x{last}[3]") == last
        return [time.perf_counter() - began]


FUNCTIONS = {"add": cells.add}
kept = ExitStack()  # never closed: `serve` does not return, and the workers are ended from outside
pool = cache(lambda: kept.enter_context(monty.Monty(request_timeout=60, max_processes=SESSIONS)))
warm = cache(lambda: live(kept))
serve(
    "pydantic-monty",
    {
        "start": opened(live),
        "eval": repeated(lambda: warm().feed_run(cells.FIRST)),
        "call": lambda times: driven(warm(), times),
        "call_back": lambda times: [warm().feed_run(cells.calls("add(1, 2)", times), external_lookup=FUNCTIONS)],
        "fib": lambda n: [warm().feed_run(cells.fib(n))],
        "memory": live_memory(live),
        "suspend": suspended,
        "bring_back": brought_back,
    },
)
