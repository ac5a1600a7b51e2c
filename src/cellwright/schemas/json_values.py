"""JSON: reading values of one kind from data that may hold anything, and Python values as plain JSON data.

It knows no schemas.
"""

from __future__ import annotations

import base64
import dataclasses
import datetime
import decimal
import enum
import json
import math
import pathlib
import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from cellwright.errors import WrongArguments
from cellwright.scope import Record

LARGE = 10_000  # values
_PLAIN = frozenset((str, int, float, bool))
DEPTH = 200  # deeper than any API's objects; it also ends a value that contains itself


def as_object(value: Any) -> dict[str, Any]:
    """A JSON object, {} for anything else."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """A JSON array, [] for anything else."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def as_text(value: Any) -> str:
    """A JSON string, "" for anything else."""
    return value if isinstance(value, str) else ""


def as_texts(value: Any) -> tuple[str, ...]:
    """The strings of a JSON array."""
    return tuple(item for item in as_list(value) if isinstance(item, str))


def parsed_object(content: bytes | str) -> dict[str, Any]:
    """The JSON object of a text, {} where the text is anything else."""
    try:
        return as_object(json.loads(content))
    except (ValueError, RecursionError):
        return {}


def is_json(media: str) -> bool:
    """Whether a media type is JSON: `application/json`, `application/vnd.github+json; charset=utf-8`, also `*/*`."""
    kind = media.partition(";")[0].strip().lower()
    return kind in ("*/*", "application/*") or kind.rpartition("/")[2].split("+")[-1] == "json"


@dataclasses.dataclass(kw_only=True, slots=True)
class JsonData:
    """The one walk that turns a value into JSON data: enums, objects and arrays here, all others by `leaf`.

    Readers differ in how they want keys and leaves: an API takes a time span in ISO form, a person in seconds. `fields`
    gives the fields of a value that becomes an object, None for any other value. `most` bounds the number of values,
    `depth` the levels: a guest can make lists that hold each other. `too_much` makes the error of a larger value.
    """

    fields: Callable[[Any], Mapping[Any, Any] | None]
    leaf: Callable[[Any], Any]
    key: Callable[[Any], str]
    items: Callable[[Any], Iterable[Any]] = iter
    too_much: Callable[[], Exception] = lambda: TypeError("too much data, or nested too deep")
    depth: int = DEPTH
    most: float = math.inf

    def of(self, value: Any, depth: int = 0) -> Any:
        self.most -= 1
        if depth > self.depth or self.most < 0:
            raise self.too_much()
        if value is None or type(value) in _PLAIN:
            return value if value is None else self.leaf(value)
        if isinstance(value, enum.Enum):
            return self.of(value.value, depth + 1)
        fields = self.fields(value)
        if fields is not None:
            return {self.key(key): self.of(inner, depth + 1) for key, inner in fields.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [self.of(inner, depth + 1) for inner in self.items(cast("list[Any]", value))]
        return self.leaf(value)


def record_fields(value: Any) -> Mapping[Any, Any] | None:
    """The fields of a record, a dict or a dataclass; None for any other value."""
    if isinstance(value, Record):
        return Record._json(value)  # pyright: ignore[reportPrivateUsage]  a key may be called `_json` as well
    if isinstance(value, dict):
        return cast("dict[Any, Any]", value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}
    return None


def jsonable(value: Any) -> Any:
    """Plain JSON data: records and dataclasses as objects, dates and UUIDs and Decimals as text, bytes as base64.

    Raises WrongArguments where a value has no such form.
    """
    return JsonData(fields=_fields, leaf=_leaf, key=_key, items=_items, too_much=_too_much).of(value)


def jsonlike(value: Any) -> Any:
    """The same for containers alone: dicts and lists, with dates, bytes and the like left in them."""
    return JsonData(fields=_fields, leaf=lambda leaf: leaf, key=_key, items=_items, too_much=_too_much).of(value)


def is_large(value: Any) -> bool:
    """Whether a value is too large to be read on the event loop. A shared list counts each time."""
    todo, count = [value], 0
    while todo and count <= LARGE:
        inner = todo.pop()
        count += 1
        if isinstance(inner, Record):
            inner = Record._json(inner)  # pyright: ignore[reportPrivateUsage]  a key may be called `_json` as well
        if isinstance(inner, dict | list | tuple | set | frozenset):
            held = cast("dict[str, Any]", inner).values() if isinstance(inner, dict) else cast("list[Any]", inner)
            count += len(held)
            todo += held if count <= LARGE else ()
    return count > LARGE


def _fields(value: Any) -> Mapping[Any, Any] | None:
    return cast("Mapping[Any, Any]", value) if isinstance(value, Mapping) else record_fields(value)


def _too_much() -> Exception:
    return WrongArguments(f"a value nested deeper than {DEPTH} levels, or that holds itself, cannot be sent")


def _items(value: Any) -> Iterable[Any]:
    """A set has no order of its own; the same set is sent the same way each time."""
    is_set = isinstance(value, set | frozenset)
    return sorted(cast("set[Any]", value), key=lambda each: (type(each).__name__, repr(each))) if is_set else value


def _key(key: Any) -> str:
    if isinstance(key, enum.Enum):
        key = key.value
    if isinstance(key, str):
        return str(key)
    if key is None or isinstance(key, bool):
        return {None: "null", True: "true", False: "false"}[key]
    if isinstance(key, int | float | uuid.UUID | datetime.date):
        return str(_leaf(key))
    raise WrongArguments(f"{type(key).__name__} cannot be a key of a JSON object; give a str")


def _leaf(value: Any) -> Any:
    if type(value) in _PLAIN:
        return value
    for plain in (str, bool, int, float):  # classes derived from them
        if isinstance(value, plain):
            return plain(value)
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return f"PT{value.total_seconds():.6f}".rstrip("0").rstrip(".") + "S"
    if isinstance(value, uuid.UUID | decimal.Decimal | pathlib.PurePath):
        return str(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(bytes(cast("bytes", value))).decode("ascii")
    raise WrongArguments(f"{type(value).__name__} has no form in JSON; give a dict, a list, a str or a number")
