"""What code gives, as plain JSON data. It knows no schemas."""

from __future__ import annotations

import base64
import dataclasses
import datetime
import decimal
import enum
import pathlib
import uuid
from collections.abc import Mapping
from typing import Any, cast

from cellwright.errors import WrongArguments
from cellwright.scope import Record

LARGE = 10_000  # values
DEPTH = 200  # deeper than any API's objects, and the end of one that holds itself


def jsonable(value: Any) -> Any:
    """Plain JSON data: records and dataclasses as objects, dates and UUIDs and Decimals as text, bytes as base64.

    Raises WrongArguments where a value has no such form.
    """
    return _plain(value, 0, leaves=True)


def jsonlike(value: Any) -> Any:
    """The same for containers alone: dicts and lists, with dates, bytes and the like left in them."""
    return _plain(value, 0, leaves=False)


def is_large(value: Any) -> bool:
    """Whether there is so much in a value that nobody should wait while it is read: a shared list counts each time."""
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


def _plain(value: Any, depth: int, *, leaves: bool) -> Any:
    if value is None or type(value) in (str, int, float, bool):
        return value
    if depth > DEPTH:
        raise WrongArguments(f"a value nested deeper than {DEPTH} levels, or that holds itself, cannot be sent")
    if isinstance(value, enum.Enum):
        return _plain(value.value, depth + 1, leaves=leaves)
    inner = _object(value)
    if inner is not None:
        return {_key(key): _plain(one, depth + 1, leaves=leaves) for key, one in inner.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(one, depth + 1, leaves=leaves) for one in _items(cast("list[Any]", value))]
    return _leaf(value) if leaves else value


def _object(value: Any) -> Mapping[Any, Any] | None:
    if isinstance(value, Record):
        return Record._json(value)  # pyright: ignore[reportPrivateUsage]  a key may be called `_json` as well
    if isinstance(value, Mapping):
        return cast("Mapping[Any, Any]", value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}
    return None


def _items(value: Any) -> list[Any]:
    """A set has no order of its own; the same set is sent the same way each time."""
    is_set = isinstance(value, set | frozenset)
    return sorted(cast("set[Any]", value), key=lambda one: (type(one).__name__, repr(one))) if is_set else value


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
