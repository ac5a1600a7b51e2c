"""The steps in a model's reply: code to run, functions to call, or none.

Code comes as a call of `execute`, or fenced, from models that write no calls. It is read here and not judged.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

from cellwright.messages import AssistantMessage, ToolCall

EXECUTE = "execute"
PYTHON = ("python", "py", "python3", "")
BOM = "\ufeff"  # some servers begin a text with it, and Python takes none in its source
_OPENING = rf"{BOM}?[ \t]*(?P<fence>(?P<mark>[`~])(?P=mark){{2,}}+)[ \t]*+(?P<language>[\w+-]*+)[^\n`]*+"
# A fence of Python, or of nothing said; what a reply leaves open is closed by its end.
_FENCE = re.compile(rf"^{_OPENING}\n(?P<code>.*?)(?:^[ \t]*(?P=fence)(?P=mark)*[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
OPENING_LINE = re.compile(_OPENING)


@dataclass(frozen=True, kw_only=True, slots=True)
class CodeStep:
    """Code to run. `call` is the id of its tool call, "" for a fenced block."""

    code: str
    call: str = ""
    left_out: int = 0  # fenced blocks after it that are not run


@dataclass(frozen=True, kw_only=True, slots=True)
class RefusedCall:
    """A call that is not made, because it was not offered or cannot be read; `why` goes back to the model."""

    call: ToolCall
    why: str


Step = CodeStep | ToolCall | RefusedCall


def steps_of(
    said: AssistantMessage, *, fenced: bool, refusal: Callable[[ToolCall], str] = lambda call: ""
) -> tuple[Step, ...]:
    """The steps of a reply, in its order; none if it is text. `fenced`: code blocks in the text count.

    `refusal` says why a call is not made, "" for one that is.
    """
    if said.calls:
        return tuple(RefusedCall(call=call, why=why) if (why := refusal(call)) else _read(call) for call in said.calls)
    if not fenced:
        return ()
    blocks = list(blocks_of(said.text))
    return (CodeStep(code=blocks[0], left_out=len(blocks) - 1),) if blocks else ()


def blocks_of(text: str) -> Iterator[str]:
    """The fenced Python of a text."""
    for block in _FENCE.finditer(text.replace("\r\n", "\n")):
        if block["language"].lower() in PYTHON and block["code"].strip():
            yield block["code"].removeprefix(BOM).rstrip() + "\n"


def closes(line: str, fence: str) -> bool:
    """Whether a line closes the block that `fence` opened."""
    mark = line.strip()
    return len(mark) >= len(fence) and not mark.strip(fence[0])


def _read(call: ToolCall) -> Step:
    if call.name != EXECUTE:
        return call
    try:
        arguments: Any = json.loads(call.arguments, strict=False)
    except (ValueError, RecursionError) as error:
        return RefusedCall(call=call, why=f'the arguments are not JSON ({error}); send {{"code": "…"}}')
    code = cast("dict[str, Any]", arguments).get("code") if isinstance(arguments, dict) else None
    if not isinstance(code, str) or not code.strip():
        return RefusedCall(call=call, why='`execute` takes one argument, "code", a string of Python; it is not there')
    code = code.removeprefix(BOM)
    blocks = list(blocks_of(code)) if code.lstrip().startswith(("```", "~~~")) else []
    return CodeStep(code=blocks[0] if blocks else code, call=call.id)
