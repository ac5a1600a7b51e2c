"""Monty: an interpreter of its own, in worker processes that a pool keeps and uses again.

The sync pool, with every limit set: the async one may abort its host at exit, and without limits there are none.
"""

from __future__ import annotations

from contextlib import ExitStack
from importlib import import_module
from typing import Any

from benchmarks.peers import cells
from benchmarks.peers.contestant import live_memory, repeated, serve

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


def live(stack: ExitStack, pool: Any) -> Any:
    session = stack.enter_context(pool.checkout(limits=LIMITS))
    assert session.feed_run(cells.FIRST) == 2
    return session


def cold() -> None:
    with ExitStack() as stack:
        live(stack, stack.enter_context(monty.Monty(request_timeout=60)))


def checkout(pool: Any) -> None:
    with ExitStack() as stack:
        live(stack, pool)


def driven(session: Any, times: int) -> list[float]:
    """Host calls answered by hand, which is faster than to let `feed_run` call back."""
    snapshot = session.feed_start(cells.calls("add(1, 2)", times))
    while not isinstance(snapshot, monty.MontyComplete):
        snapshot = snapshot.resume({"return_value": cells.add(*snapshot.args)})
    return [snapshot.output]


with monty.Monty(request_timeout=60, max_processes=SESSIONS) as pool, ExitStack() as stack:
    warm = live(stack, pool)
    functions = {"add": cells.add}
    serve(
        "pydantic-monty",
        {
            "cold": repeated(cold),
            "start": repeated(lambda: checkout(pool)),
            "eval": repeated(lambda: warm.feed_run(cells.FIRST)),
            "call": lambda times: driven(warm, times),
            "call_back": lambda times: [
                warm.feed_run(cells.calls("add(1, 2)", times), external_lookup=functions),
            ],
            "fib": lambda n: [warm.feed_run(cells.fib(n))],
            "memory": live_memory(lambda stack: live(stack, pool)),
        },
    )
