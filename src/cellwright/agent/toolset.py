"""`Toolset`: the tools and instructions of a turn, by its mode: code, functions, or both."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

from cellwright.agent.direct_cell import LIVE, Run, observe_calls
from cellwright.agent.direct_tools import DirectTool, direct_tools
from cellwright.agent.finish import Finish
from cellwright.agent.mode import CallStatistics, ModeChoice, decide
from cellwright.agent.observation import CellOutputs, Observation, failed
from cellwright.agent.prompt import TOOL, code_instructions, direct_instructions, done_tool, task_text
from cellwright.agent.steps import EXECUTE
from cellwright.errors import UsageError
from cellwright.messages import Tool, ToolCall, Traits
from cellwright.model_texts import sendable
from cellwright.scope import Scope

MOST_NAMED = 30  # functions, where the model is told what is offered


@dataclass(frozen=True, kw_only=True, slots=True)
class ModeWords:
    """What the model is told of a reply that leads nowhere, in the words of its mode."""

    no_answer: str  # the reason follows
    empty: str
    cut_off: str
    another_way: str  # after repeated failures


CUT_OFF = "Your reply was cut off because it was too long; nothing of it was run. "
EMPTY = "Your reply was empty, which is no answer. "
CODE_WORDS = ModeWords(
    no_answer="There is no code in that reply to run, and as the answer it will not do: ",
    empty=EMPTY + "Write the code that comes next; done(value) in it ends the task.",
    cut_off=CUT_OFF + "Write a shorter cell.",
    another_way="search() and show() tell what there is. Print what is not sure.",
)
DIRECT_WORDS = ModeWords(
    no_answer='As the answer that will not do; call the function `done` with {"value": …}: ',
    empty=EMPTY + "Call the function that comes next, or give the answer.",
    cut_off=CUT_OFF + "Write less: fewer calls at a time, or a shorter answer.",
    another_way="other arguments, or another function.",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolsetOptions:
    """What a toolset is made of: the options of the agent, and what a session knows of its scope."""

    scope: Scope
    mode: str
    instructions: str
    packages: str
    outline: str  # of the scope, as the model reads it
    classes: frozenset[type]  # that code can build by name
    network: str = ""  # the hosts that code may reach


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedReply:
    """What is known of a recorded reply: the names that its request offered, and whether it was begun to be run."""

    offered: frozenset[str] = frozenset()
    begun: bool = False


class Toolset:
    """What the model may do in one turn. `code`: it writes cells. `calls`: by a tool; otherwise in fenced blocks."""

    def __init__(
        self, wanted: ToolsetOptions, traits: Traits, choice: ModeChoice, finish: Finish, measured: CallStatistics
    ) -> None:
        self.choice = choice
        self.code = choice.mode != "direct"
        self.words = CODE_WORDS if self.code else DIRECT_WORDS
        self._never_code = wanted.mode == "direct"
        self._scope = wanted.scope
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
            # beside functions `search` finds what else there is
            text = sendable(wanted.outline) if choice.mode == "code" else ""
            self.instructions = code_instructions(
                text,
                calls=traits.calls,
                packages=wanted.packages,
                network=wanted.network,
                own=wanted.instructions,
            )

    def _tools(self, traits: Traits, finish: Finish) -> tuple[Tool, ...]:
        given = [tool.to_tool() for tool in self._direct.values()]
        if self.code:
            return (TOOL, *given) if traits.calls else ()
        return (*given, done_tool(finish.schema())) if finish.returns is not None else tuple(given)

    def task(self, task: str, returns: Any) -> str:
        """The task as the model reads it."""
        return task_text(task, returns, code=self.code, calls=self.calls, bound=self._classes)

    def reads_fences(self, acted: bool, recorded: RecordedReply | None = None) -> bool:
        """Whether fenced code in a reply is run: also for a model that takes tools and has not run a cell yet."""
        no_tools = not self.calls or (recorded is not None and not recorded.offered)
        return self.code and (no_tools or not acted)

    def refusal(self, call: ToolCall, recorded: RecordedReply | None = None) -> str:
        """Why a call is not made: its request did not offer it. One of a reply that was begun is carried on."""
        name, offered = call.name, {tool.name for tool in self.tools}
        if recorded is None:
            known = name in offered
        elif name not in recorded.offered:  # its mode may have been another
            known = False
        else:
            begun = recorded.begun and name in {EXECUTE, *self._all_tools}
            known = name in offered or begun or (name == EXECUTE and not self._never_code)
        return "" if known else f"there is no function {name!r}; {self.offer}"

    @cached_property
    def _all_tools(self) -> dict[str, DirectTool]:
        """Every function of the scope that JSON can call: an earlier process may have offered another choice."""
        return {tool.name: tool for tool in direct_tools(self._scope, everything=True).tools}

    @property
    def offer(self) -> str:
        """What the model may write, in a few words."""
        names = [tool.name for tool in self.tools]
        if not names:
            return "write a block of Python, fenced"
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        return f"there is: {', '.join(names[:MOST_NAMED])}{more}"

    async def call(self, calls: Sequence[ToolCall], run: Run, outputs: CellOutputs) -> list[Observation]:
        """Run direct calls side by side."""
        made = [(self._direct.get(call.name) or self._all_tools[call.name], call) for call in calls]
        observed = await observe_calls(made, run)
        for place, ((tool, _), seen) in enumerate(zip(made, observed, strict=True)):
            self.measured = self.measured.with_result(tool.path, len(seen.text))
            self.called += 1
            name, text = outputs.new_result(), seen.text
            if not self.code and text.endswith(LIVE):
                text = f"{text.removesuffix(LIVE)} (a live object)"
            kept = outputs.keep_as(name, text, readable=self.code)
            observed[place] = replace(seen, text=kept, name=name if self.code else "")
        return observed

    def end(self, call: ToolCall, finish: Finish) -> list[Observation]:
        """A call of `done`: it ends the turn, or is told why not."""
        why = _end(call, finish)
        return [failed(why, call=call.id)] if why else []


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
