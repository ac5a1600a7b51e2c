"""Toolwright: a session is a jailed process, forked from a zygote that is warm."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack

from benchmarks.peers import cells
from benchmarks.peers.contestant import live_memory, repeated, serve
from toolwright import Limits, Runtime

runner = asyncio.Runner()


async def add_soon(a: int, b: int) -> int:
    return a + b


def opened() -> Runtime:
    return runner.run(Runtime({"add": cells.add, "add_soon": add_soon}, limits=Limits(host_calls=10**6)).__aenter__())


def execute(rt: Runtime, code: str) -> object:
    return runner.run(rt.execute(code)).unwrap()


async def session() -> None:
    async with Runtime({"add": cells.add, "add_soon": add_soon}) as rt:
        assert (await rt.execute(cells.FIRST)).value == 2


def live(stack: ExitStack) -> Runtime:
    rt = opened()
    stack.callback(lambda: runner.run(rt.close()))
    execute(rt, cells.FIRST)
    return rt


def cold(times: int) -> list[float]:
    """Without a zygote: the last session that used it was closed."""
    global warm
    runner.run(warm.close())
    took = repeated(lambda: runner.run(session()))(times)
    warm = opened()
    return took


def number(code: str) -> list[float]:
    return [float(str(execute(warm, code)))]


warm = opened()
serve(
    "toolwright",
    {
        "cold": cold,
        "start": repeated(lambda: runner.run(session())),
        "eval": repeated(lambda: execute(warm, cells.FIRST)),
        "call": lambda times: number(cells.calls("add(1, 2)", times)),
        "call_async": lambda times: number(cells.calls("await add_soon(1, 2)", times)),
        "fib": lambda n: number(cells.fib(n)),
        "memory": live_memory(live),
    },
)
