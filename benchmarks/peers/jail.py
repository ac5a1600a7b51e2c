"""Cellwright: a session is a jailed process, forked from a zygote that is warm."""

from __future__ import annotations

import asyncio
import time
from contextlib import ExitStack
from functools import cache

from benchmarks.peers import cells
from benchmarks.peers.contestant import live_memory, repeated_on, serve
from cellwright import Limits, Runtime

runner = asyncio.Runner()


async def add_soon(a: int, b: int) -> int:
    return a + b


def opened() -> Runtime:
    return runner.run(Runtime({"add": cells.add, "add_soon": add_soon}, limits=Limits(host_calls=10**6)).__aenter__())


def execute(rt: Runtime, code: str) -> object:
    return runner.run(rt.execute(code)).unwrap()


async def starts(times: int) -> list[float]:
    took: list[float] = []
    for _ in range(times):
        began = time.perf_counter()
        async with Runtime({"add": cells.add, "add_soon": add_soon}) as rt:
            assert (await rt.execute(cells.FIRST)).value == 2
            took.append(time.perf_counter() - began)
    return took


def evals(times: int) -> list[float]:
    rt = warm()
    return repeated_on(runner, lambda: rt.execute(cells.FIRST))(times)


def live(stack: ExitStack) -> Runtime:
    rt = opened()
    stack.callback(lambda: runner.run(rt.close()))
    execute(rt, cells.FIRST)
    return rt


def number(code: str) -> list[float]:
    return [float(str(execute(warm(), code)))]


warm = cache(opened)
serve(
    "cellwright",
    {
        "start": lambda times: runner.run(starts(times)),
        "eval": evals,
        "call": lambda times: number(cells.calls("add(1, 2)", times)),
        "call_async": lambda times: number(cells.calls("await add_soon(1, 2)", times)),
        "fib": lambda n: number(cells.fib(n)),
        "memory": live_memory(live),
    },
)
