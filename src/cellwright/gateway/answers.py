"""What comes back from a cell: as data and as text, cut to a bound with a mark that says how to see the rest.

The whole of what was cut is kept here, on the host, and `show("output:3", start=…)` in a cell reads on.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import json
import pathlib
import re
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, cast

from cellwright.errors import CodeError, GuestError, TypeMistake, WrongArguments
from cellwright.sandboxes import GuestValue, Outcome
from cellwright.scope import Record, operation, shown

CHARS = 4  # for a token
KEPT_CHARS = 16_000_000  # of all outputs of a session; the oldest goes first
CALLS = 50  # told of one cell
TOLD = 200_000  # characters of a value that can be read on; code has the whole
MISTAKES = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """What a client gets of one cell."""

    text: str
    plain: dict[str, Any]


class Outputs:
    """What was cut, whole, by name. `limit` is in characters, for all that one cell gives."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._whole: dict[str, str] = {}
        self._size = 0

    def fitted(self, name: str, text: str, room: int) -> str:
        """The text, or its beginning and end with a mark between."""
        if len(text) <= room:
            return text
        self._keep(name, text)
        head, tail = room * 2 // 3, room // 5
        mark = f"… [{len(text) - head - tail:,} characters cut: execute `print(show({name!r}, start={head}))`] …"
        return f"{text[:head]}\n{mark}\n{text[len(text) - tail :]}"

    def page(self, name: str, start: int) -> str | None:
        """Part of what was cut, None where there is none of that name."""
        text = self._whole.get(name)
        if text is None:
            return None
        end = start + self.limit * 3 // 4
        more = f"\n… [{len(text) - end:,} more: start={end}]" if end < len(text) else ""
        return text[start:end] + more

    def _keep(self, name: str, text: str) -> None:
        self._size += len(text) - len(self._whole.pop(name, ""))
        self._whole[name] = text
        while self._size > KEPT_CHARS and len(self._whole) > 1:
            self._size -= len(self._whole.pop(next(iter(self._whole))))


def show_function(show: Callable[[str], Awaitable[str]], outputs: Outputs) -> Callable[..., Awaitable[str]]:
    """`show` for code: of names, and of what was cut."""

    async def call(name: str, start: int = 0) -> str:
        """The full signature, docs and types of a name: `print(show("github.issues.create"))`."""
        if type(start) is not int or start < 0:
            raise WrongArguments("start is a whole number from 0")
        page = outputs.page(name, start) if type(name) is str and name.startswith("output:") else None
        return page if page is not None else await show(name)

    call.__name__ = call.__qualname__ = "show"
    return operation(reads=True, thread="task")(call)


def told(number: int, outcome: Outcome, outputs: Outputs) -> Told:
    """One cell's outcome. Prints have the first half of the room, the value what they leave."""
    room = outputs.limit
    value, value_text = _value(outcome.value, room) if outcome.error is None else (None, "")
    printed = outcome.stdout
    for_prints = room if not value_text else max(room // 2, room - len(value_text))
    stdout = outputs.fitted(f"output:{number}", printed, for_prints)
    left = max(room - len(stdout), room // 3)
    cut = outputs.fitted(f"output:{number}.value", value_text, left)
    whole = cut == value_text
    error = None if outcome.error is None else outputs.fitted(f"output:{number}.error", _error(outcome.error), left)
    truncated = stdout != printed or not whole
    plain: dict[str, Any] = {
        "ok": outcome.error is None,
        "value": value if whole else cut,
        "stdout": stdout,
        "error": error,
        "calls": [{"name": call.name, "ok": call.error is None} for call in outcome.calls[:CALLS]],
        "truncated": truncated,
    }
    return Told(text=_text(stdout, cut, error, outcome), plain=plain)


def encodable(value: Any) -> Any:
    """Text, and data with text in it, as UTF-8 can carry it: half a character would end the connection."""
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
    """A value as data, where it is data and not too much of it, and as text."""
    if value is None:
        return None, ""
    if isinstance(value, str):
        return value, value
    if isinstance(value, GuestValue):
        return value.text, value.text
    text = shown(value, TOLD)
    try:
        plain = Plain(room).of(value)
        return (
            (plain, text) if len(json.dumps(plain, allow_nan=False, ensure_ascii=False)) <= 2 * room else (text, text)
        )
    except (TypeError, ValueError, RecursionError):
        return text, text


class Plain:
    """Values as JSON has them. A guest may have made lists that hold each other: what is too much is a TypeError."""

    def __init__(self, most: int) -> None:
        self._left = most

    def of(self, value: Any) -> Any:
        self._left -= 1
        if self._left < 0:
            raise TypeError("too much")
        match value:
            case None | bool() | int() | float() | str():
                return value
            case Record():
                return {key: self.of(inner) for key, inner in value.items()}
            case dict():
                pairs = cast("dict[Any, Any]", value).items()
                return {key if isinstance(key, str) else shown(key, 200): self.of(inner) for key, inner in pairs}
            case list() | tuple() | set() | frozenset():
                return [self.of(inner) for inner in cast("list[Any]", value)]
            case datetime.date() | datetime.time() | decimal.Decimal() | uuid.UUID() | pathlib.PurePath():
                return str(value)
            case enum.Enum():
                return self.of(value.value)
            case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
                return {one.name: self.of(getattr(value, one.name)) for one in dataclasses.fields(value)}
            case _ if isinstance(fields := getattr(cast("Any", type(value)), "model_fields", None), dict):
                return {name: self.of(getattr(value, name)) for name in cast("dict[str, Any]", fields)}
            case _:
                raise TypeError(f"a {type(value).__name__} is no data")


def _error(error: GuestError) -> str:
    if isinstance(error, TypeMistake):
        return f"Not run. {error}"
    if isinstance(error, CodeError):
        text = str(error).removeprefix("Traceback (most recent call last):\n")
        return re.sub(rf"^[\w.]+\.(?={re.escape(error.type)}\b)", "", text, flags=re.MULTILINE)
    return f"{type(error).__name__}: {error}"
