"""openai-agents: the same job without code, as calls of function tools."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import AsyncIterator
from importlib import import_module
from typing import Any

from benchmarks.peers import job
from benchmarks.peers.contestant import repeated_on, serve

agents: Any = import_module("agents")
responses: Any = import_module("openai.types.responses")
runner = asyncio.Runner()
REPLIES: list[list[tuple[str, dict[str, Any]]]] = [
    [("price", {"article": article}) for article in range(job.ARTICLES)],
    [("total", {"prices": [article * article for article in range(job.ARTICLES)]})],
    [],
]


class Scripted(agents.Model):
    """Says the three replies again and again; the last is the answer."""

    def __init__(self) -> None:
        self._replies = itertools.cycle(REPLIES)
        self._numbers = itertools.count()

    def _output(self) -> list[Any]:
        calls = next(self._replies)
        if not calls:
            text = responses.ResponseOutputText(
                type="output_text", text=json.dumps({"response": job.ANSWER}), annotations=[]
            )
            return [
                responses.ResponseOutputMessage(
                    id=f"m-{next(self._numbers)}", type="message", role="assistant", status="completed", content=[text]
                )
            ]
        return [
            responses.ResponseFunctionToolCall(
                id=f"f-{number}",
                call_id=f"call-{number}",
                type="function_call",
                name=name,
                arguments=json.dumps(arguments),
            )
            for (name, arguments), number in zip(calls, self._numbers, strict=False)
        ]

    async def get_response(self, *_: Any, **__: Any) -> Any:
        return agents.ModelResponse(output=self._output(), usage=agents.Usage(requests=1), response_id=None)

    async def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        output = self._output()
        for index, item in enumerate(output):
            if item.type == "function_call":
                yield responses.ResponseFunctionCallArgumentsDeltaEvent(
                    type="response.function_call_arguments.delta",
                    delta=item.arguments,
                    item_id=item.id,
                    output_index=index,
                    sequence_number=index,
                )
        whole = responses.Response(
            id="r",
            created_at=0,
            model="scripted",
            object="response",
            output=output,
            tool_choice="auto",
            tools=[],
            parallel_tool_calls=True,
        )
        yield responses.ResponseCompletedEvent(
            type="response.completed", response=whole, sequence_number=len(output)
        )  # fmt: skip


@agents.function_tool
async def price(article: int) -> int:
    """The price of an article."""
    return job.price(article)


@agents.function_tool
async def total(prices: list[int]) -> int:
    """The sum of prices."""
    return sum(prices)


async def turn() -> None:
    job.check((await agents.Runner.run(agent, job.TASK)).final_output)


async def further(times: int) -> list[float]:
    took: list[float] = []
    for _ in range(times):
        before = await agents.Runner.run(agent, job.TASK)
        job.check(before.final_output)
        items = [*before.to_input_list(), {"role": "user", "content": job.TASK}]
        began = time.perf_counter()
        done = await agents.Runner.run(agent, items)
        took.append(time.perf_counter() - began)
        job.check(done.final_output)
    return took


async def first(times: int) -> list[float]:
    took: list[float] = []
    for _ in range(times):
        heard = 0.0
        began = time.perf_counter()
        running = agents.Runner.run_streamed(agent, job.TASK)
        async for event in running.stream_events():
            if not heard and event.type == "raw_response_event":
                heard = time.perf_counter()
        took.append(heard - began)
        job.check(running.final_output)
    return took


agents.set_tracing_disabled(True)
agent = agents.Agent(name="clerk", model=Scripted(), tools=[price, total], output_type=int)
serve(
    "openai-agents",
    {
        "turn": repeated_on(runner, turn),
        "further": lambda times: runner.run(further(times)),
        "first": lambda times: runner.run(first(times)),
    },
)
