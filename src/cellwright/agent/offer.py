"""`Offer`: what a model is given to act with in a turn, by the mode: code, functions, or both."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from cellwright.agent.direct import DirectTool, Run, observe_calls, survey
from cellwright.agent.finish import Finish
from cellwright.agent.mode import Choice, Measured, decide
from cellwright.agent.observing import Observation, Outputs, failed
from cellwright.agent.prompt import TOOL, code_instructions, direct_instructions, done_tool, task_text
from cellwright.errors import UsageError
from cellwright.messages import Tool, ToolCall, Traits
from cellwright.scope import Scope


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """What the developer said of the offer."""

    scope: Scope
    mode: str
    instructions: str
    packages: str
    outline: str  # of the scope, as the model reads it
    classes: frozenset[type]  # that code can build by name


class Offer:
    """What the model may do in one turn. `code`: write cells. `calls`: by a tool; otherwise its fenced code is read."""

    def __init__(self, wanted: Wanted, traits: Traits, choice: Choice, finish: Finish, measured: Measured) -> None:
        self.choice = choice
        self.code = choice.mode != "direct"
        self.calls = traits.calls or not self.code
        self.measured = measured
        self.called = 0  # direct calls in this turn
        found = survey(wanted.scope, everything=wanted.mode == "direct") if choice.mode != "code" else None
        self._classes = wanted.classes
        self.left_out: Mapping[str, str] = found.left_out if found is not None else {}
        self._direct: dict[str, DirectTool] = {tool.name: tool for tool in found.tools} if found is not None else {}
        self.tools = self._tools(traits, finish)
        self.instructions = direct_instructions(wanted.instructions)
        if self.code:
            text = wanted.outline if choice.mode == "code" else ""  # beside functions `search` finds what else there is
            self.instructions = code_instructions(
                text, calls=traits.calls, packages=wanted.packages, own=wanted.instructions
            )

    def _tools(self, traits: Traits, finish: Finish) -> tuple[Tool, ...]:
        given = [tool.to_tool() for tool in self._direct.values()]
        if self.code:
            return (TOOL, *given) if traits.calls else ()
        return (*given, done_tool(finish.schema())) if finish.returns is not None else tuple(given)

    def task(self, task: str, returns: Any) -> str:
        """The task as the model reads it."""
        return task_text(task, returns, code=self.code, calls=self.calls, bound=self._classes)

    def reads_fences(self, acted: bool) -> bool:
        """Whether fenced code in a reply is to be run: also of a model that could have made a call and never did."""
        return self.code and (not self.calls or not acted)

    async def call(self, calls: Sequence[ToolCall], run: Run, finish: Finish, outputs: Outputs) -> list[Observation]:
        """Functions that the model called itself, side by side; `done` among them ends the turn."""
        known = [(self._direct[call.name], call) for call in calls if call.name in self._direct]
        observed = await observe_calls(known, run) if known else []
        for place, ((tool, _), seen) in enumerate(zip(known, observed, strict=True)):
            self.measured = self.measured.with_result(tool.path, len(seen.text))
            self.called += 1
            name = f"result:{self.called}"
            observed[place] = replace(seen, text=outputs.keep_as(name, seen.text), name=name)
        for call in calls:
            if call.name in self._direct:
                continue
            why = _end(call, finish) if call.name == "done" and not self.code else self._unknown(call)
            observed += [failed(why, call=call.id)] if why else []
        return observed

    def _unknown(self, call: ToolCall) -> str:
        return f"there is no function {call.name!r}; there is: {', '.join(tool.name for tool in self.tools)}"


def make_offer(wanted: Wanted, traits: Traits, task: str, finish: Finish, measured: Measured) -> Offer:
    """What the model is given for a task, and why that."""
    if wanted.mode == "auto":
        choice = decide(task, wanted.scope, traits, measured, outline_text=wanted.outline)
    else:
        choice = Choice(mode="direct" if wanted.mode == "direct" else "code", why=f"{wanted.mode}: asked for")
    offer = Offer(wanted, traits, choice, finish, measured)
    if not offer.code and not offer.tools:
        raise UsageError('mode="direct" and nothing in scope can be called so; bind functions, or use mode="code"')
    return offer


def _end(call: ToolCall, finish: Finish) -> str:
    try:
        arguments: Any = json.loads(call.arguments or "{}", strict=False)
    except (ValueError, RecursionError) as error:
        return f'the arguments are not JSON ({error}); send {{"value": …}}'
    if not isinstance(arguments, dict) or "value" not in arguments:
        return '`done` takes one argument, "value"; it is not there'
    return finish.accept(cast("dict[str, Any]", arguments)["value"])
