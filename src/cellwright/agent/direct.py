"""Direct calls: functions of the scope that a model calls itself, each reply's calls run as one generated cell.

A cell, because there is one way through the host's door: what the journal keeps, the rules refuse and an undo takes
back is the same as for code that the model wrote. Knows scopes and cells; not the loop, nor how a model is asked.
"""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cellwright.agent.literals import Unwritable, Writer
from cellwright.agent.names import RESERVED
from cellwright.agent.observing import Observation
from cellwright.agent.parameters import NotOffered, Parameters, parameters_of
from cellwright.agent.reading import EXECUTE
from cellwright.agent.telling import FUNCTION, MODULES, TELLING
from cellwright.messages import Tool, ToolCall, ToolResult
from cellwright.sandboxes import Outcome
from cellwright.scope import Reachable, Scope, callables, class_names, shown, signature_text
from cellwright_guest.wire import type_of

LONGEST_NAME = 64
DESCRIPTION = 500  # characters
LIVE = " (a live object: call this from code to work on it)"
_NAME = re.compile(r"[^a-zA-Z0-9_]")

Run = Callable[[str, bool], Awaitable[Outcome]]


@dataclass(frozen=True, kw_only=True, slots=True)
class DirectTool:
    """One function as a model calls it. `name` is for the model, `path` what guest code writes."""

    name: str
    path: str
    description: str
    parameters: Parameters = field(repr=False)
    classes: Mapping[type, str] = field(repr=False, default_factory=dict[type, str])

    def to_tool(self) -> Tool:
        return Tool(name=self.name, description=self.description, parameters=self.parameters.schema)


@dataclass(frozen=True, kw_only=True, slots=True)
class Offered:
    """What of a scope is offered, and what is not though it was meant to be: path -> why."""

    tools: tuple[DirectTool, ...]
    left_out: Mapping[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class DirectCell:
    """The calls of one reply. `code` is "" where none of them can be made; `refused` has why, by the call's id."""

    code: str
    calls: tuple[ToolCall, ...]
    made: tuple[int, ...] = ()  # which of the calls the code makes, in its order
    reasons: Mapping[int, str] = field(default_factory=dict[int, str])

    @property
    def refused(self) -> dict[str, str]:
        return {self.calls[place].id: why for place, why in self.reasons.items()}


def offered(scope: Scope, *, everything: bool = False) -> tuple[DirectTool, ...]:
    """The functions of a scope that are marked `direct=True`, or all of them, in the order of the scope."""
    return survey(scope, everything=everything).tools


def survey(scope: Scope, *, everything: bool = False) -> Offered:
    """The same, with what had to be left out."""
    classes = class_names(scope)
    tools: list[DirectTool] = []
    left_out: dict[str, str] = {}
    taken = {EXECUTE, *RESERVED}
    for found in callables(scope):
        if found.path in RESERVED or not (everything or found.operation.direct):
            continue
        try:
            parameters = parameters_of(found, classes)
        except NotOffered as error:
            left_out[found.path] = str(error)
            continue
        name = _name(found.path, taken)
        taken.add(name)
        tools.append(
            DirectTool(
                name=name, path=found.path, description=_description(found), parameters=parameters, classes=classes
            )
        )
    return Offered(tools=tuple(tools), left_out=left_out)


def cell_for(calls: Sequence[tuple[DirectTool, ToolCall]]) -> DirectCell:
    """One cell that makes the calls side by side, each caught for itself. Arguments that will not do are refused."""
    made: list[int] = []
    reasons: dict[int, str] = {}
    expressions: list[str] = []
    modules = set(MODULES)
    for place, (tool, call) in enumerate(calls):
        try:
            expressions.append(_expression(tool, call, modules))
        except ValueError as error:
            reasons[place] = f"{tool.name} was not called: {error}"
        else:
            made.append(place)
    code = _cell(expressions, modules) if expressions else ""
    return DirectCell(code=code, calls=tuple(call for _, call in calls), made=tuple(made), reasons=reasons)


def results_of(
    outcome: Outcome | None, cell: DirectCell, cut: Callable[[str], str] | None = None
) -> tuple[ToolResult, ...]:
    """What came of each call, in the order in which the model made them. `cut` shortens what is too long."""
    told = _told(outcome, len(cell.made)) if cell.made else []
    texts = dict(zip(cell.made, told, strict=True))
    results: list[ToolResult] = []
    for place, call in enumerate(cell.calls):
        failed, text = texts.get(place, (True, cell.reasons.get(place, "not called")))
        shown = cut(text) if cut is not None else text
        results.append(ToolResult(id=call.id, name=call.name, text=shown, failed=failed))
    return tuple(results)


async def observe_calls(
    calls: Sequence[tuple[DirectTool, ToolCall]], run: Run, cut: Callable[[str], str] | None = None
) -> list[Observation]:
    """Make the calls, and say what came of each. Their arguments were checked: no type checker is asked."""
    cell = cell_for(calls)
    outcome = await run(cell.code, False) if cell.code else None
    return [
        Observation(text=r.text, ok=not r.failed, failure=r.text[:300] if r.failed else "", call=r.id)
        for r in results_of(outcome, cell, cut)
    ]


def _expression(tool: DirectTool, call: ToolCall, modules: set[str]) -> str:
    arguments = tool.parameters.read(call.arguments)
    writer = Writer(tool.classes)
    try:
        made = writer.call(tool.path, arguments.args, arguments.kwargs)
    except Unwritable as error:
        raise ValueError(str(error)) from None
    modules |= writer.modules
    return made


def _cell(expressions: Sequence[str], modules: set[str]) -> str:
    """Everything stands in one function, which takes its own name away first: no name of the guest's is touched."""
    imports = ", ".join(f"{name} as _{name}" for name in sorted(modules))
    calls = "".join(f"        _settled(lambda: {code}),\n" for code in expressions)
    return (
        f"async def {FUNCTION}():\n    global {FUNCTION}\n    del {FUNCTION}\n    import {imports}\n"
        f"{TELLING}    return await _asyncio.gather(\n{calls}    )\n\nawait {FUNCTION}()\n"
    )


def _told(outcome: Outcome | None, count: int) -> list[tuple[bool, str]]:
    """For each call of the cell whether it failed, and the text."""
    if outcome is None:
        return [(True, "not called")] * count
    if outcome.error is not None:
        return [(True, f"{type(outcome.error).__name__}: {outcome.error}")] * count
    found: Any = outcome.value
    entries: list[Any] = found if type_of(found) is list else []
    if len(entries) != count:  # the guest's own code may have put something else in the place of asyncio
        return [(True, f"no result could be read: {shown(found, 200)}")] * count
    return [_entry(entry) for entry in entries]


def _entry(entry: Any) -> tuple[bool, str]:
    match entry:
        case (bool(fine), str(text), bool(live), int(left)) if left < 1 << 63:
            more = f"… [{left:,} more characters]" if left > 0 else ""
            return not fine, text + more + (LIVE if live else "")
        case _:
            return True, "no result could be read"


def _name(path: str, taken: set[str]) -> str:
    """A name that providers take: letters, digits and underscores, at most 64, and no other tool's."""
    plain = _NAME.sub("_", path.replace(".", "__"))
    mark = hashlib.sha256(path.encode()).hexdigest()[:8]
    if len(plain) > LONGEST_NAME or plain in taken:
        plain = f"{plain[: LONGEST_NAME - 9]}_{mark}"
    return plain


def _description(found: Reachable) -> str:
    """The first paragraph of its docs; its signature where it has none."""
    called = getattr(found.function, "func", found.function)
    text = inspect.cleandoc(getattr(called, "__doc__", None) or "").split("\n\n")[0]
    short = " ".join(text.split())
    if not short:
        short = found.path + signature_text(found.function, bound=found.bound)
    return short if len(short) <= DESCRIPTION else short[: DESCRIPTION - 1] + "…"
