"""Answers and events as text and as JSON. Knows no terminal and no agent."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
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

    JSON is one line; for a person (with a `width`) it is spread over several lines where it does not fit.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return str(value)
    try:
        data = plain(value)
    except TypeError:
        return _shown(value)
    if data is None:  # a number that is none
        return str(value)
    line = json_text(data, ensure_ascii=False)
    return line if width is None or len(line) <= width else json_text(data, ensure_ascii=False, indent=2)


def json_text(data: object, **options: Any) -> str:
    """What every command prints as JSON. NaN and infinities, which JSON has no word for, are null."""
    try:
        return json.dumps(data, allow_nan=False, **options)
    except ValueError:
        return json.dumps(json.loads(json.dumps(data), parse_constant=lambda _: None), **options)


def json_value(value: object) -> Any:
    """For a JSON object: the value as plain data, or its repr where it is no data."""
    try:
        return plain(value)
    except TypeError:
        return _shown(value)


def _shown(value: object) -> str:
    from cellwright.scope import shown

    return shown(value)  # a guest may have made it: `repr` may have no end


def plain(value: object) -> Any:
    """As JSON has it; records become objects, dates and the like their text. `TypeError` for what is no data."""
    from cellwright.schemas import JsonData

    return JsonData(fields=_fields, leaf=_leaf, key=_key, depth=_DEEPEST).of(value)


def _fields(value: Any) -> Mapping[Any, Any] | None:
    from cellwright.schemas import record_fields
    from cellwright.scope import Record

    kind = cast(Any, type(value))
    if isinstance(value, Record):  # as code writes it
        return None
    if hasattr(kind, "_asdict"):  # a named tuple
        return value._asdict()
    if hasattr(kind, "model_fields") and hasattr(value, "model_dump"):  # pydantic, which need not be here
        return value.model_dump()
    return cast("Mapping[Any, Any]", value) if isinstance(value, Mapping) else record_fields(value)


def _leaf(value: Any) -> Any:
    match value:
        case bool() | str():
            return value
        case int() if value.bit_length() <= _LONGEST_BITS:  # Python writes no more digits
            return int(value)
        case float():
            return float(value) if math.isfinite(value) else None
        case datetime.date() | datetime.time():
            return value.isoformat()
        case datetime.timedelta():
            return value.total_seconds()
        case decimal.Decimal() | uuid.UUID() | pathlib.PurePath():
            return str(value)
        case _:
            raise TypeError(f"{type(value).__name__} is no data")


def _key(key: object) -> str:
    if isinstance(key, str) or (isinstance(key, float) and not math.isfinite(key)):
        return str(key)
    data = plain(key)
    return data if isinstance(data, str) else json.dumps(data)


def event_json(event: Event) -> dict[str, Any]:
    """An event as a JSON object: its kind first, then what it says."""
    fields = ((field.name, getattr(event, field.name)) for field in dataclasses.fields(event))
    return {"event": type(event).__name__} | {name: json_value(value) for name, value in fields}
