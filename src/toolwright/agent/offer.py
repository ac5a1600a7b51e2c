"""`Offer`: what a model is given to act with in a session, by the mode: code, functions, or both."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from toolwright.agent.finish import Finish
from toolwright.agent.observing import Observation, failed
from toolwright.agent.prompt import TOOL, code_instructions
from toolwright.catalog import outline
from toolwright.events import ModeChosen
from toolwright.messages import Tool, ToolCall, Traits
from toolwright.sandboxes import Outcome
from toolwright.scope import Scope

OUTLINE_SHARE = 0.25  # of the window, for what the scope offers


@dataclass(frozen=True, kw_only=True, slots=True)
class Offer:
    """`code`: it may write cells. `calls`: it takes tools; otherwise its fenced code is read."""

    instructions: str
    tools: tuple[Tool, ...] = ()
    code: bool = True
    calls: bool = True
    direct: dict[str, Any] = field(default_factory=dict[str, Any])

    def reads_fences(self, acted: bool) -> bool:
        """Whether fenced code in a reply is to be run: also of a model that could have made a call and never did."""
        return self.code and (not self.calls or not acted)

    async def call(
        self, calls: Sequence[ToolCall], run: Callable[[str, bool], Awaitable[Outcome]], finish: Finish
    ) -> list[Observation]:
        """Functions that the model called itself, side by side; `done` among them ends the turn."""
        from toolwright.agent.direct import observe_calls

        known = [(self.direct[c.name], c) for c in calls if c.name in self.direct]
        observed = await observe_calls(known, run) if known else []
        for call in calls:
            if call.name == "done" and not self.code:
                why = _end(call, finish)
                observed += [failed(why, call=call.id)] if why else []
            elif call.name not in self.direct:
                names = ", ".join(tool.name for tool in self.tools)
                observed.append(failed(f"there is no function {call.name!r}; there is: {names}", call=call.id))
        return observed


def make_offer(agent: Any, scope: Scope, traits: Traits, task: str, finish: Finish) -> tuple[Offer, ModeChosen]:
    """What the model is given for a task, and why that."""
    budget = int(traits.window * OUTLINE_SHARE * 4)
    packages = ", ".join(agent.packages) if isinstance(agent.packages, list | tuple) else ""
    text = outline(agent.scope, budget)
    instructions = code_instructions(text, calls=traits.calls, packages=packages, own=agent.instructions)
    offer = Offer(instructions=instructions, tools=(TOOL,) if traits.calls else (), calls=traits.calls)
    return offer, ModeChosen(mode="code", why="asked for")


def _end(call: ToolCall, finish: Finish) -> str:
    try:
        arguments: Any = json.loads(call.arguments or "{}", strict=False)
    except ValueError as error:
        return f'the arguments are not JSON ({error}); send {{"value": …}}'
    if not isinstance(arguments, dict) or "value" not in arguments:
        return '`done` takes one argument, "value"; it is not there'
    return finish.accept(cast("dict[str, Any]", arguments)["value"])
