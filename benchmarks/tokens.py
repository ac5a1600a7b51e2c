"""Tokens of a turn in code and in direct calls, counted on the wire: the bodies that the providers' SDKs really send.

Input is each request's whole body, so what is said once is counted in every later request too. Output is what the model
writes: text, names and arguments. Both are counted with `o200k_base`, whoever's wire it is, so that they compare.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Literal, cast

from benchmarks.counting import count
from benchmarks.errands import EVENTS, WORKFLOW, Errand
from benchmarks.results import Check, Conversation
from benchmarks.run import Run
from benchmarks.wire import Line, Wire
from cellwright.agent import Agent
from cellwright.doors import Model
from cellwright.models import DEFAULTS, Budget, ProviderModel, open_model

TARGET = 81.0
ONE_CELL, LOOKING = "code: one cell", "code: looks at each result, then `done`"
ONE_BY_ONE, AT_ONCE = "direct: one call a reply", "direct: all calls in one reply"
MARKS = ("cache_control", "prompt_cache_breakpoint", "prompt_cache_options")
Way = tuple[str, Literal["code", "direct"], Sequence[Line]]


def _anthropic(url: str) -> Model:
    from pydantic_ai.models import infer_model
    from pydantic_ai.providers.anthropic import AnthropicProvider

    name = DEFAULTS["anthropic"]
    model = infer_model(name, provider_factory=lambda _: AnthropicProvider(api_key="none", base_url=url))
    return ProviderModel(name, model=model)


def _openai(url: str) -> Model:
    from pydantic_ai.models import infer_model
    from pydantic_ai.providers.openai import OpenAIProvider

    name = DEFAULTS["openai"]
    model = infer_model(name, provider_factory=lambda _: OpenAIProvider(api_key="none", base_url=f"{url}/v1"))
    return ProviderModel(name, model=model)


WIRES: dict[str, Callable[[str], Model]] = {
    "Anthropic Messages": _anthropic,
    "OpenAI Responses": _openai,
    "OpenAI Chat Completions": lambda url: open_model(f"{url}/v1#scripted"),
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
        cached_tokens=sum(
            inputs[number] for number, (was, now) in enumerate(pairwise(provider.bodies)) if _extends(was, now)
        ),
        output_tokens=sum(count(line.told()) for line in lines),
    )


def _extends(earlier: bytes, later: bytes) -> bool:
    """Whether a request is the one before and more of the conversation: then a cache may serve the former."""
    was, now = _unmarked(json.loads(earlier)), _unmarked(json.loads(later))
    talk = "messages" if "messages" in was else "input"
    said = len(was[talk])
    return was[talk] == now[talk][:said] and was | {talk: 0} == now | {talk: 0}


def _unmarked(part: Any) -> Any:
    """Without the marks that say up to where to cache; they move on. A text that has one is a list for its sake."""
    match part:
        case {"text": str(text), "type": "input_text"}:
            return text
        case [{"text": str(text), "type": "input_text"}]:
            return text
        case dict():
            named = cast("dict[str, Any]", part)
            return {key: _unmarked(value) for key, value in named.items() if key not in MARKS}
        case list():
            return [_unmarked(each) for each in cast("list[Any]", part)]
        case _:
            return part


def _checks(told: list[Conversation]) -> list[Check]:
    """Of one wire: code beside each way to call directly, and where it looks at results beside the best of those."""
    checks: list[Check] = []
    for task in dict.fromkeys(each.task for each in told):
        one_cell, looking, *direct = [each for each in told if each.task == task]
        pairs = [*((one_cell, each) for each in direct), (looking, min(direct, key=lambda each: each.tokens))]
        checks += [_check(*pair) for pair in pairs]
    return checks


def _check(own: Conversation, other: Conversation) -> Check:
    return Check(
        subject="tokens",
        what=f"{own.task}, {own.way}",
        against=other.way,
        ours=own.tokens,
        theirs=other.tokens,
        unit="tokens",
        value=100 * (1 - own.tokens / other.tokens),
        measure="% fewer",
        target=TARGET if own.task == EVENTS.title else None,
        at_least=True,
        samples=1,
        note=own.wire,
    )
