"""Answers and events as text and as JSON. Knows no terminal and no agent."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import json
import math
import pathlib
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from cellwright.events import Event

_DEEPEST = 100
_LONGEST_BITS = 14_000


def answer_text(value: object, *, width: int | None = None) -> str:
    """For stdout: text as it is, data as JSON, anything else as its repr; nothing for None.

    JSON is one line; but where it is for a person (`width` is given) and does not fit, it is spread over several.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return str(value)
    try:
        made = plain(value)
    except TypeError:
        return _shown(value)
    line = json.dumps(made, ensure_ascii=False)
    return line if width is None or len(line) <= width else json.dumps(made, ensure_ascii=False, indent=2)


def told(value: object) -> Any:
    """For a JSON object: the data, or the repr of what is none."""
    try:
        return plain(value)
    except TypeError:
        return _shown(value)


def _shown(value: object) -> str:
    from cellwright.scope import shown

    return shown(value)  # a guest may have made it: `repr` may have no end


def plain(value: object, depth: int = 0) -> Any:
    """As JSON has it; records become objects, dates and the like their text. `TypeError` for what is no data."""
    if depth > _DEEPEST:
        raise TypeError("too deep")
    match value:
        case None | bool() | str():
            return value
        case enum.Enum():
            return plain(value.value, depth + 1)
        case int():
            if value.bit_length() > _LONGEST_BITS:
                raise TypeError("more digits than Python writes")
            return int(value)
        case float():
            if not math.isfinite(value):
                raise TypeError("JSON has no word for it")
            return float(value)
        case datetime.date() | datetime.time():
            return value.isoformat()
        case datetime.timedelta():
            return value.total_seconds()
        case decimal.Decimal() | uuid.UUID() | pathlib.PurePath():
            return str(value)
        case Mapping():
            items = cast("Mapping[object, object]", value).items()
            return {_key(key): plain(item, depth + 1) for key, item in items}
        case list() | tuple() | set() | frozenset():
            return _many(cast("list[object]", value), depth)
        case _:
            return _record(value, depth)


def _many(value: Any, depth: int) -> Any:
    if hasattr(value, "_asdict"):
        return plain(value._asdict(), depth + 1)
    return [plain(item, depth + 1) for item in value]


def _record(value: Any, depth: int) -> Any:
    kind = cast(Any, type(value))
    if issubclass(kind, type):
        raise TypeError("a class")
    if hasattr(kind, "model_fields") and hasattr(value, "model_dump"):  # pydantic, which need not be here
        return plain(value.model_dump(), depth + 1)
    if dataclasses.is_dataclass(value):
        return {field.name: plain(getattr(value, field.name), depth + 1) for field in dataclasses.fields(value)}
    raise TypeError(f"{type(value).__name__} is no data")


def _key(key: object) -> str:
    if isinstance(key, str):
        return str(key)
    made = plain(key)
    return made if isinstance(made, str) else json.dumps(made)


def described(event: Event) -> dict[str, Any]:
    """An event as a JSON object: its kind first, then what it says."""
    fields = ((field.name, getattr(event, field.name)) for field in dataclasses.fields(event))
    return {"event": type(event).__name__} | {name: told(value) for name, value in fields}
