"""pydantic-ai with the harness's CodeMode: tools are functions of code that runs in Monty."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from importlib import import_module
from typing import Any

from benchmarks.peers import job
from benchmarks.peers.contestant import repeated_on, serve
from benchmarks.peers.throng import Steps, Turn, throng

ai: Any = import_module("pydantic_ai")
messages: Any = import_module("pydantic_ai.messages")
function: Any = import_module("pydantic_ai.models.function")
harness: Any = import_module("pydantic_ai_harness")
runner = asyncio.Runner()
REPLIES: list[tuple[str, dict[str, Any]]] = [
    ("run_code", {"code": job.ASKING.format("await price(article=article)")}),
    ("run_code", {"code": job.SUMMING}),
    ("final_result", {"response": job.ANSWER}),
]
replies = itertools.cycle(REPLIES)
numbers = itertools.count()


class Kept:
    """The interpreter of the conversation, between its turns."""

    def __init__(self) -> None:
        self.state: bytes | None = None

    async def load(self, _: Any) -> bytes | None:
        return self.state

    async def save(self, _: Any, state: bytes | None) -> None:
        self.state = state


def reply(_: Any, __: Any) -> Any:
    name, arguments = next(replies)
    return messages.ModelResponse(parts=[messages.ToolCallPart(tool_name=name, args=arguments)])


async def streamed(_: Any, __: Any) -> AsyncIterator[Any]:
    name, arguments = next(replies)
    yield {
        0: function.DeltaToolCall(name=name, json_args=json.dumps(arguments), tool_call_id=f"call-{next(numbers)}")
    }  # fmt: skip


async def price(article: int) -> int:
    """The price of an article."""
    return job.price(article)


def made(store: Kept | None = None) -> Any:
    model = function.FunctionModel(reply, stream_function=streamed)
    return ai.Agent(model, tools=[price], output_type=int, capabilities=[harness.CodeMode(repl_store=store)])


async def turn() -> None:
    job.check((await agent.run(job.TASK)).output)


async def further(times: int) -> list[float]:
    took: list[float] = []
    for _ in range(times):
        kept.state = None
        before = await lasting.run(job.TASK)
        job.check(before.output)
        history = before.all_messages()
        began = time.perf_counter()
        done = await lasting.run(job.TASK, message_history=history)
        took.append(time.perf_counter() - began)
        job.check(done.output)
        assert kept.state
    return took


async def first(times: int) -> list[float]:
    took: list[float] = []
    for _ in range(times):
        answer: object = None
        began = time.perf_counter()
        heard = 0.0
        async with agent.run_stream_events(job.TASK) as events:
            async for event in events:
                if not heard and isinstance(event, messages.PartStartEvent | messages.PartDeltaEvent):
                    heard = time.perf_counter()
                if isinstance(event, ai.AgentRunResultEvent):
                    answer = event.result.output
        took.append(heard - began)
        job.check(answer)
    return took


async def priced(article: int) -> int:
    """The price of an article."""
    return article * article


async def open_one(_: AsyncExitStack, steps: Steps, __: int) -> Turn:
    """An agent of a throng: with its own model, interpreter and conversation."""
    calls = itertools.cycle([("run_code", {"code": job.ASKING.format("await priced(article=article)")}), *REPLIES[1:]])
    history: list[Any] = []

    def said(_: Any, __: Any) -> Any:
        steps.asked()
        name, arguments = next(calls)
        return messages.ModelResponse(parts=[messages.ToolCallPart(tool_name=name, args=arguments)])

    mode = harness.CodeMode(repl_store=Kept())
    one = ai.Agent(function.FunctionModel(said), tools=[priced], output_type=int, capabilities=[mode])

    async def turn() -> object:
        done = await one.run(job.TASK, message_history=history)
        history[:] = done.all_messages()
        return done.output

    return turn


kept = Kept()
agent, lasting = made(), made(kept)
serve(
    "pydantic-ai-harness",
    {
        "turn": repeated_on(runner, turn),
        "further": lambda times: runner.run(further(times)),
        "first": lambda times: runner.run(first(times)),
        "throng": throng(runner, open_one),
    },
)
