"""smolagents' CodeAgent with its local executor: the code is walked in the host's own process."""

from __future__ import annotations

import io
import itertools
import time
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from benchmarks.peers import job
from benchmarks.peers.contestant import repeated, serve

smol: Any = import_module("smolagents")
rich: Any = import_module("rich.console")
REPLIES = [
    f"<code>\n{code}\n</code>"
    for code in (job.ASKING.format("price(article)"), job.SUMMING, "final_answer(total)")
]  # fmt: skip


class Scripted(smol.Model):
    """Says the three replies again and again."""

    def generate(self, messages: Any, **_: Any) -> Any:
        return smol.ChatMessage(role=smol.MessageRole.ASSISTANT, content=next(replies))

    def generate_stream(self, messages: Any, **_: Any) -> Iterator[Any]:
        yield smol.ChatMessageStreamDelta(content=next(replies))


@smol.tool
def price(article: int) -> int:
    """The price of an article.

    Args:
        article: its number
    """
    return job.price(article)


def made(*, stream: bool = False) -> Any:
    quiet = smol.AgentLogger(level=smol.LogLevel.OFF, console=rich.Console(file=io.StringIO()))
    return smol.CodeAgent(tools=[price], model=Scripted(), stream_outputs=stream, logger=quiet)


def turn() -> None:
    job.check(agent.run(job.TASK))


def further(times: int) -> list[float]:
    took: list[float] = []
    for _ in range(times):
        turn()
        began = time.perf_counter()
        answer = agent.run(job.TASK, reset=False)
        took.append(time.perf_counter() - began)
        job.check(answer)
    return took


def first(times: int) -> list[float]:
    took: list[float] = []
    for _ in range(times):
        began = time.perf_counter()
        events = streaming.run(job.TASK, stream=True)
        piece = next(event for event in events if isinstance(event, smol.models.ChatMessageStreamDelta))
        took.append(time.perf_counter() - began)
        assert piece.content
        *_, last = events
        job.check(last.output)
    return took


replies = itertools.cycle(REPLIES)
agent = made()
streaming = made(stream=True)
serve("smolagents", {"turn": repeated(turn), "further": further, "first": first})
