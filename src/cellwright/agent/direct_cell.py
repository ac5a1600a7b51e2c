"""Direct calls: the calls of one reply, run as one generated cell.

A cell, because there is one way through the host's door: what the journal keeps, the rules refuse and an undo takes
back is the same as for code that the model wrote. Knows scopes and cells; not the loop, nor how a model is asked.

The fixed part of the cell makes the calls and writes their results as text, in the guest: a result is seen as guest
code sees it, and a result that has no text costs no other call its result. It imports modules under names with an
underscore, which no name of a scope has, so that whatever the guest calls `json` or `list` is not used.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cellwright.agent.direct_tools import DirectTool
from cellwright.agent.expressions import ExpressionWriter
from cellwright.agent.observation import Observation
from cellwright.messages import ToolCall, ToolResult
from cellwright.sandboxes import Outcome
from cellwright.scope import shown
from cellwright.short_texts import named_error, with_notes
from cellwright_guest.wire import type_of

Run = Callable[[str, bool], Awaitable[Outcome]]  # runs a cell; the flag says whether the type checker is asked first
LIVE = " (a live object: call this from code to work on it)"
FUNCTION = "__cellwright_direct__"
MOST = 1_000_000  # characters of one result that leave the guest
MODULES: tuple[str, ...] = ("asyncio", "builtins", "datetime", "decimal", "enum", "inspect", "json", "pathlib", "uuid")

# (fine, text, whether a live object is in it, characters left behind)
RUN_CALLS = f"""\
    _b = _builtins
    _as_text = (_decimal.Decimal, _uuid.UUID, _pathlib.PurePath, _datetime.timedelta)
    _as_iso = (_datetime.date, _datetime.time)

    def _plain(value, live):
        kind = _b.type(value)
        if value is None or kind in (_b.bool, _b.int, _b.float, _b.str):
            return value
        if _b.issubclass(kind, _enum.Enum):
            return _plain(value.value, live)
        if _b.issubclass(kind, _b.dict):
            return {{k if _b.type(k) is _b.str else _b.str(_plain(k, live)): _plain(v, live) for k, v in value.items()}}
        if _b.issubclass(kind, _b.tuple) and _b.hasattr(kind, "_fields"):
            return {{name: _plain(item, live) for name, item in _b.zip(kind._fields, value)}}
        if _b.issubclass(kind, (_b.list, _b.tuple, _b.set, _b.frozenset)):
            return [_plain(item, live) for item in value]
        if "__dataclass_fields__" in _b.vars(kind):
            return {{name: _plain(_b.getattr(value, name), live) for name in kind.__match_args__}}
        if _b.issubclass(kind, _as_iso):
            return value.isoformat()
        if _b.issubclass(kind, _as_text):
            return _b.str(value)
        if kind is _b.bytes:
            return value.decode("utf-8", "backslashreplace")
        live.append(kind)
        return _b.repr(value)

    def _words(error):
        try:
            return _b.type(error).__name__ + ": " + _b.str(error)
        except _b.BaseException:
            return _b.type(error).__name__

    def _text(value, live):
        try:
            plain = _plain(value, live)
            if _b.type(plain) is _b.str:
                return plain
            return _json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
        except _b.BaseException:
            return _b.repr(value)

    async def _settled(call):
        fine, live = True, []
        try:
            value = call()
            if _inspect.isawaitable(value):
                value = await value
        except _b.BaseException as error:
            fine, text = False, _words(error)
        else:
            try:
                text = _text(value, live)
            except _b.BaseException as error:
                text = "It was called; what it gave cannot be shown (" + _words(error) + ")."
        return fine, text[:{MOST}], _b.bool(live), _b.max(0, _b.len(text) - {MOST})

"""


@dataclass(frozen=True, kw_only=True, slots=True)
class DirectCell:
    """The calls of one reply. `code` is "" if none of them can be made."""

    code: str
    calls: tuple[ToolCall, ...]
    refused: Mapping[int, str] = field(default_factory=dict[int, str])  # calls that are not made: place -> why


def cell_for(calls: Sequence[tuple[DirectTool, ToolCall]]) -> DirectCell:
    """One cell that makes the calls side by side, each in its own `try`. A call with wrong arguments is refused."""
    refused: dict[int, str] = {}
    expressions: list[str] = []
    modules = set(MODULES)
    for place, (tool, call) in enumerate(calls):
        writer = ExpressionWriter(tool.classes)
        try:
            expressions.append(writer.call(tool.path, *tool.parameters.read(call.arguments)))
        except ValueError as error:
            refused[place] = f"{tool.name} was not called: {error}"
        modules |= writer.modules
    code = _cell(expressions, modules) if expressions else ""
    return DirectCell(code=code, calls=tuple(call for _, call in calls), refused=refused)


def results_of(outcome: Outcome | None, cell: DirectCell) -> tuple[ToolResult, ...]:
    """The result of each call, in the order in which the model made them."""
    texts = iter(_texts(outcome, len(cell.calls) - len(cell.refused)))
    results: list[ToolResult] = []
    for place, call in enumerate(cell.calls):
        failed, text = (True, cell.refused[place]) if place in cell.refused else next(texts)
        results.append(ToolResult(id=call.id, name=call.name, text=text, failed=failed))
    return tuple(results)


def result_texts(outcome: Outcome) -> list[str]:
    """The results of the calls of a cell that ran, as texts."""
    value: Any = outcome.value
    return [text for _, text in _texts(outcome, len(value) if type_of(value) is list else 1)]


async def observe_calls(calls: Sequence[tuple[DirectTool, ToolCall]], run: Run) -> list[Observation]:
    """Make the calls and observe each. Their arguments were checked: no type checker is asked."""
    cell = cell_for(calls)
    outcome = await run(cell.code, False) if cell.code else None
    return [
        Observation(text=r.text, ok=not r.failed, failure=r.text[:300] if r.failed else "", call=r.id)
        for r in results_of(outcome, cell)
    ]


def _cell(expressions: Sequence[str], modules: set[str]) -> str:
    """One function holds everything and deletes its own name first, so that no name of the guest changes."""
    imports = ", ".join(f"{name} as _{name}" for name in sorted(modules))
    calls = "".join(f"        _settled(lambda: {code}),\n" for code in expressions)
    return (
        f"async def {FUNCTION}():\n    global {FUNCTION}\n    del {FUNCTION}\n    import {imports}\n"
        f"{RUN_CALLS}    return await _asyncio.gather(\n{calls}    )\n\nawait {FUNCTION}()\n"
    )


def _texts(outcome: Outcome | None, count: int) -> list[tuple[bool, str]]:
    """For each call of the cell whether it failed, and the text of its result."""
    if outcome is None:
        return [(True, "not called")] * count
    if outcome.error is not None:
        return [(True, with_notes(named_error(outcome.error), outcome.error))] * count
    value: Any = outcome.value
    entries: list[Any] = value if type_of(value) is list else []
    if len(entries) != count:  # guest code may have replaced asyncio by something else
        return [(True, f"no result could be read: {shown(value, 200)}")] * count
    return [_entry(entry) for entry in entries]


def _entry(entry: Any) -> tuple[bool, str]:
    match entry:
        case (bool(fine), str(text), bool(live), int(left)) if left < 1 << 63:
            more = f"… [{left:,} more characters]" if left > 0 else ""
            return not fine, text + more + (LIVE if live else "")
        case _:
            return True, "no result could be read"
