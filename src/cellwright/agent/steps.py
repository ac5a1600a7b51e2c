"""The steps in a model's reply: code to run, functions to call, or none.

Code comes as a call of `execute`, or fenced, from models that write no calls. It is read here and not judged.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from cellwright.messages import AssistantMessage, ToolCall

EXECUTE = "execute"
# A fence of Python, or of nothing said; what a reply leaves open is closed by its end.
_FENCE = re.compile(r"^[ \t]*(`{3,})[ \t]*([\w+-]*)[^\n`]*\n(.*?)(?:^[ \t]*\1`*[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
PYTHON = ("python", "py", "python3", "")


@dataclass(frozen=True, kw_only=True, slots=True)
class CodeStep:
    """Code to run. `call` is the id of its tool call, "" for a fenced block."""

    code: str
    call: str = ""
    left_out: int = 0  # fenced blocks after it that are not run


@dataclass(frozen=True, kw_only=True, slots=True)
class UnreadableCall:
    """A call with unreadable arguments; `why` goes back to the model."""

    call: ToolCall
    why: str


Step = CodeStep | ToolCall | UnreadableCall


def steps_of(said: AssistantMessage, *, fenced: bool) -> tuple[Step, ...]:
    """The steps of a reply, in its order; none if it is text. `fenced`: code blocks in the text count."""
    if said.calls:
        return tuple(_read(call) for call in said.calls)
    if not fenced:
        return ()
    blocks = list(blocks_of(said.text))
    return (CodeStep(code=blocks[0], left_out=len(blocks) - 1),) if blocks else ()


def blocks_of(text: str) -> Iterator[str]:
    """The fenced Python of a text."""
    for _, language, code in _FENCE.findall(text):
        if language.lower() in PYTHON and code.strip():
            yield code.rstrip() + "\n"


def _read(call: ToolCall) -> Step:
    if call.name != EXECUTE:
        return call
    try:
        arguments: Any = json.loads(call.arguments, strict=False)
    except (ValueError, RecursionError) as error:
        return UnreadableCall(call=call, why=f'the arguments are not JSON ({error}); send {{"code": "…"}}')
    code = cast("dict[str, Any]", arguments).get("code") if isinstance(arguments, dict) else None
    if not isinstance(code, str) or not code.strip():
        return UnreadableCall(
            call=call, why='`execute` takes one argument, "code", a string of Python; it is not there'
        )
    blocks = list(blocks_of(code)) if code.lstrip().startswith("```") else []
    return CodeStep(code=blocks[0] if blocks else code, call=call.id)
