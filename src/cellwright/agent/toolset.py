"""`Toolset`: the tools and instructions of a turn, by its mode: code, functions, or both."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from cellwright.agent.direct_cell import Run, observe_calls
from cellwright.agent.direct_tools import DirectTool, direct_tools
from cellwright.agent.finish import Finish
from cellwright.agent.mode import CallStatistics, ModeChoice, decide
from cellwright.agent.observation import CellOutputs, Observation, failed
from cellwright.agent.prompt import TOOL, code_instructions, direct_instructions, done_tool, task_text
from cellwright.errors import UsageError
from cellwright.messages import Tool, ToolCall, Traits
from cellwright.scope import Scope

NO_CODE = "There is no code in that reply to run, and as the answer it will not do: "
NO_CALL = 'As the answer that will not do; call the function `done` with {"value": …}: '


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolsetOptions:
    """What a toolset is made of: the options of the agent, and what a session knows of its scope."""

    scope: Scope
    mode: str
    instructions: str
    packages: str
    outline: str  # of the scope, as the model reads it
    classes: frozenset[type]  # that code can build by name


class Toolset:
    """What the model may do in one turn. `code`: it writes cells. `calls`: by a tool; otherwise in fenced blocks."""

    def __init__(
        self, wanted: ToolsetOptions, traits: Traits, choice: ModeChoice, finish: Finish, measured: CallStatistics
    ) -> None:
        self.choice = choice
        self.code = choice.mode != "direct"
        self.calls = traits.calls or not self.code
        self.measured = measured
        self.called = 0  # direct calls in this turn
        found = direct_tools(wanted.scope, everything=wanted.mode == "direct") if choice.mode != "code" else None
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
        """Whether fenced code in a reply is run: also for a model that takes tools and has not run a cell yet."""
        return self.code and (not self.calls or not acted)

    def refusal(self, why: str) -> str:
        """What the model is told of a reply that is neither a step nor the answer."""
        return (NO_CODE if self.code else NO_CALL) + why

    async def call(
        self, calls: Sequence[ToolCall], run: Run, finish: Finish, outputs: CellOutputs
    ) -> list[Observation]:
        """Run direct calls side by side; a call of `done` ends the turn."""
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
            why = f"there is no function {call.name!r}; there is: {', '.join(tool.name for tool in self.tools)}"
            if call.name == "done" and not self.code:
                why = _end(call, finish)
            observed += [failed(why, call=call.id)] if why else []
        return observed


def make_toolset(
    wanted: ToolsetOptions, traits: Traits, task: str, finish: Finish, measured: CallStatistics
) -> Toolset:
    """The toolset for a task; its `choice` says why."""
    if wanted.mode == "auto":
        choice = decide(task, wanted.scope, traits, measured, outline_text=wanted.outline)
    else:
        choice = ModeChoice(mode="direct" if wanted.mode == "direct" else "code", why=f"{wanted.mode}: asked for")
    toolset = Toolset(wanted, traits, choice, finish, measured)
    if not toolset.code and not toolset.tools:
        raise UsageError('mode="direct" and nothing in scope can be called so; bind functions, or use mode="code"')
    return toolset


def _end(call: ToolCall, finish: Finish) -> str:
    try:
        arguments: Any = json.loads(call.arguments or "{}", strict=False)
    except (ValueError, RecursionError) as error:
        return f'the arguments are not JSON ({error}); send {{"value": …}}'
    if not isinstance(arguments, dict) or "value" not in arguments:
        return '`done` takes one argument, "value"; it is not there'
    return finish.accept(cast("dict[str, Any]", arguments)["value"])
