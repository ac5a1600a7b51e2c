"""Cellwright's Agent: a cell is run in a jailed process."""

from __future__ import annotations

import asyncio
import itertools
import time
from contextlib import AsyncExitStack
from typing import Literal

from benchmarks.peers import job
from benchmarks.peers.contestant import Task, repeated_on, serve
from benchmarks.peers.throng import Steps, Turn, throng
from cellwright.agent import Agent
from cellwright.doors import Request
from cellwright.events import CodePiece, Done, TextPiece
from cellwright.messages import AssistantMessage
from cellwright.testing import ScriptedModel, code

runner = asyncio.Runner()
replies = itertools.cycle(
    [code(job.ASKING.format("await price(article)")), code(job.SUMMING), code("done(total)")]
)  # fmt: skip


def reply(_: Request) -> AssistantMessage:
    return next(replies)


async def price(article: int) -> int:
    """The price of an article."""
    return job.price(article)


async def priced(article: int) -> int:
    """The price of an article."""
    return article * article


async def turn(agent: Agent) -> None:
    job.check((await agent.run(job.TASK, returns=int)).value)


async def further(agent: Agent, times: int) -> list[float]:
    took: list[float] = []
    for _ in range(times):
        async with agent.session(returns=int) as session:
            job.check((await session.run(job.TASK)).value)
            began = time.perf_counter()
            done = await session.run(job.TASK)
            took.append(time.perf_counter() - began)
            job.check(done.value)
    return took


async def first(agent: Agent, times: int) -> list[float]:
    took: list[float] = []
    for _ in range(times):
        heard = 0.0
        began = time.perf_counter()
        async for event in agent.stream(job.TASK, returns=int):
            if not heard and isinstance(event, CodePiece | TextPiece):
                heard = time.perf_counter()
            if isinstance(event, Done):
                job.check(event.value)
        took.append(heard - began)
    return took


def at_once(check: Literal["auto", "off"], *, alike: bool) -> Task:
    """Many agents at once, each with a session. Not `alike`: no two cells are equal, in whatever agent and turn."""
    numbers = itertools.count()

    async def open_one(stack: AsyncExitStack, steps: Steps, agent: int) -> Turn:
        cells = itertools.cycle([job.ASKING.format("await priced(article)"), job.SUMMING, "done(total)"])

        def reply(_: Request) -> AssistantMessage:
            steps.asked()
            return code(next(cells) if alike else f"number = {next(numbers)}\n{next(cells)}")

        model = ScriptedModel(otherwise=reply, pieces=0)
        one = Agent(model, scope={"priced": priced}, mode="code", check=check)
        session = await stack.enter_async_context(one.session(returns=int))

        async def turn() -> object:
            return (await session.run(job.TASK)).value

        return turn

    return throng(runner, open_one)


def serve_agent(check: Literal["auto", "off"] = "auto") -> None:
    """Never returns."""
    agent = Agent(ScriptedModel(otherwise=reply, pieces=0), scope={"price": price}, mode="code", check=check)
    serve(
        "cellwright",
        {
            "turn": repeated_on(runner, lambda: turn(agent)),
            "further": lambda times: runner.run(further(agent, times)),
            "first": lambda times: runner.run(first(agent, times)),
            "throng": at_once(check, alike=True),
            "throng_apart": at_once(check, alike=False),
        },
    )


if __name__ == "__main__":
    serve_agent()
