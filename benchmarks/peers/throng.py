"""Many agents at once, as each contestant runs them: all are opened, then each takes turn after turn. Standard library.

A step is the time from one request to the model, which takes none, to the next of the same agent, or to its answer.
"""

from __future__ import annotations

import asyncio
import resource
import statistics
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack
from typing import Any

from benchmarks.peers import job
from benchmarks.peers.contestant import Task

TURNS = 3
FIGURES = ("opening", "turn", "p50", "p99")  # seconds: an agent's share of the opening and of the first turns; …
DESCRIPTORS = 16_384


class Steps:
    """The moments at which one agent asked its model."""

    def __init__(self) -> None:
        self.took: list[float] = []
        self._last: float | None = None

    def asked(self) -> None:
        now = time.perf_counter()
        if self._last is not None:
            self.took.append(now - self._last)
        self._last = now

    def ended(self, answer: object) -> None:
        self.asked()
        self._last = None
        if answer != job.ANSWER:
            raise RuntimeError(f"the turn came to {answer!r}")


Turn = Callable[[], Awaitable[object]]
Open = Callable[[AsyncExitStack, Steps, int], Awaitable[Turn]]  # gives the function that takes a turn; of agent n


def throng(runner: asyncio.Runner, open_one: Open) -> Task:
    """The size is the number of agents; the figures are `FIGURES`."""
    return lambda agents: runner.run(_throng(open_one, agents))


async def _throng(open_one: Open, agents: int) -> list[float]:
    raise_descriptors()
    all_steps = [Steps() for _ in range(agents)]
    async with AsyncExitStack() as stack:
        began = time.perf_counter()
        turns = await asyncio.gather(*(open_one(stack, steps, n) for n, steps in enumerate(all_steps)))
        everybody = list(zip(turns, all_steps, strict=True))
        await asyncio.gather(*(_turns(turn, steps, 1) for turn, steps in everybody))
        opened = time.perf_counter()
        for steps in all_steps:
            steps.took.clear()
        await asyncio.gather(*(_turns(turn, steps, TURNS) for turn, steps in everybody))
        took = time.perf_counter() - opened
    hundredths = statistics.quantiles((each for steps in all_steps for each in steps.took), n=100)
    return [(opened - began) / agents, took / agents / TURNS, hundredths[49], hundredths[98]]


def _turns(turn: Turn, steps: Steps, count: int) -> Coroutine[Any, Any, None]:
    async def taken() -> None:
        for _ in range(count):
            steps.ended(await turn())

    return taken()


def raise_descriptors() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(DESCRIPTORS, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
