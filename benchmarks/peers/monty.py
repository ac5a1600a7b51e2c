"""Monty: an interpreter of its own, in worker processes that a pool keeps and uses again.

The sync pool, with every limit set: the async one may abort its host at exit, and without limits there are none.
"""

from __future__ import annotations

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
    },
)
