"""The answer for a cell: data and text, cut to a bound with a mark that says how to read the rest.

The whole text is kept here, on the host, and `show("output:3", start=…)` in a cell gives the next part.
"""

from __future__ import annotations

import datetime
import decimal
import json
import pathlib
import sys
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from cellwright.errors import WrongArguments
from cellwright.model_texts import readable
from cellwright.sandboxes import GuestValue, Outcome
from cellwright.schemas import JsonData, record_fields
from cellwright.scope import operation, shown
from cellwright.short_texts import LongTexts, guest_error

CHARS = 4  # for a token
KEPT_CHARS = 16_000_000  # of all outputs of a session; the oldest goes first
CALLS = 50  # of one cell that an answer names
VALUE_CHARS = 200_000  # of a value that can be read on; code has the whole
MISTAKES = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class CellAnswer:
    """What a client gets for one cell."""

    text: str
    plain: dict[str, Any]


class CutOutputs(LongTexts):
    """The outputs that were cut, whole, by name. `limit` is in characters, for one answer."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit, KEPT_CHARS)

    def fitted(self, name: str, text: str, room: int) -> str:
        """The text, or its beginning and its end with a mark between them."""
        if len(text) <= room:
            return text
        self.put(name, text)
        head, tail = room * 2 // 3, room // 5
        mark = f"… [{len(text) - head - tail:,} characters cut: execute `print(show({name!r}, start={head}))`] …"
        return f"{text[:head]}\n{mark}\n{text[len(text) - tail :]}"


def show_function(show: Callable[[str], Awaitable[str]], outputs: CutOutputs) -> Callable[..., Awaitable[str]]:
    """`show` for code: of names, and of outputs that were cut."""

    async def call(name: str, start: int = 0) -> str:
        """The full signature, docs and types of a name: `print(show("github.issues.create"))`."""
        if type(start) is not int or start < 0:
            raise WrongArguments("start is a whole number from 0")
        page = outputs.page(name, start) if type(name) is str and name.startswith("output:") else None
        return page if page is not None else await show(name)

    call.__name__ = call.__qualname__ = "show"
    return operation(reads=True, own=True, thread="task")(call)


def cell_answer(number: int, outcome: Outcome, outputs: CutOutputs, mark: str = "") -> CellAnswer:
    """The outcome of a cell. Prints have the first half of the room, the value has the rest.

    What is for a model holds nothing unseen; the value as data stays as it is. `mark`: whose words may be in it.
    """
    room = outputs.limit
    value, value_text = _value(outcome.value, room) if outcome.error is None else (None, "")
    printed, value_text = _told(outcome.stdout), _told(value_text)
    for_prints = room if not value_text else max(room // 2, room - len(value_text))
    stdout = outputs.fitted(f"output:{number}", printed, for_prints)
    left = max(room - len(stdout), room // 3)
    cut = outputs.fitted(f"output:{number}.value", value_text, left)
    whole = cut == value_text
    error = None
    if outcome.error is not None:
        error = outputs.fitted(f"output:{number}.error", _told(guest_error(outcome.error)), left)
    truncated = stdout != printed or not whole
    plain: dict[str, Any] = {
        "ok": outcome.error is None,
        "value": value if whole else cut,
        "stdout": stdout,
        "error": error,
        "calls": [{"name": call.name, "ok": call.error is None} for call in outcome.calls[:CALLS]],
        "truncated": truncated,
    }
    text = _text(stdout, cut, error, outcome)
    return CellAnswer(text=f"{mark}\n{text}" if mark else text, plain={**plain, "source": mark} if mark else plain)


def _told(text: str) -> str:
    """A text for a model."""
    return readable(encodable(text))


def encodable(value: Any) -> Any:
    """Text, and data with text in it, that UTF-8 can encode: half a character would end the connection."""
    match value:
        case str():
            return value.encode("utf-8", "backslashreplace").decode()
        case list():
            return [encodable(inner) for inner in cast("list[Any]", value)]
        case dict():
            pairs = cast("dict[str, Any]", value).items()
            return {encodable(key): encodable(inner) for key, inner in pairs}
        case _:
            return value


def _text(stdout: str, value: str, error: str | None, outcome: Outcome) -> str:
    parts = [stdout.rstrip("\n")] if stdout.strip() else []
    if error is not None:
        parts.append(error)
    elif value:
        parts.append(f"Value: {value}" if parts else value)
    if len(outcome.calls) > CALLS:
        parts.append(f"({len(outcome.calls):,} calls)")
    if outcome.mistakes:
        parts.append("The type checker says: " + "; ".join(one[:1000] for one in outcome.mistakes[:MISTAKES]))
    return "\n".join(parts) or "It ran, and there is no output and no value."


def _value(value: Any, room: int) -> tuple[Any, str]:
    """A value as data, if it is data and not too much, and as text."""
    if value is None:
        return None, ""
    if isinstance(value, str):
        return value, value
    if isinstance(value, GuestValue):
        return value.text, value.text
    text = shown(value, VALUE_CHARS)
    try:
        plain = JsonData(fields=_fields, leaf=_leaf, key=_key, depth=sys.getrecursionlimit(), most=room).of(value)
        small = len(json.dumps(plain, allow_nan=False, ensure_ascii=False)) <= 2 * room
        return (plain, text) if small else (text, text)
    except (TypeError, ValueError, RecursionError):
        return text, text


def _fields(value: Any) -> Mapping[Any, Any] | None:
    fields = getattr(cast("Any", type(value)), "model_fields", None)  # pydantic's
    if isinstance(fields, dict):
        return {name: getattr(value, name) for name in cast("dict[str, Any]", fields)}
    return record_fields(value)


def _leaf(value: Any) -> Any:
    match value:
        case bool() | int() | float() | str():
            return value
        case datetime.date() | datetime.time() | decimal.Decimal() | uuid.UUID() | pathlib.PurePath():
            return str(value)
        case _:
            raise TypeError(f"a {type(value).__name__} is no data")


def _key(key: Any) -> str:
    return key if isinstance(key, str) else shown(key, 200)
