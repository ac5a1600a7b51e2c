"""Which objects are data alone, so that a copy of them crosses."""

from __future__ import annotations

from typing import Any

from cellwright.scope.classes import field_names, kind_of
from cellwright_guest.wire import type_of

ATOMS = (type(None), bool, int, float, str, bytes, complex)


def is_by_value(value: Any, depth: int = 0, seen: set[int] | None = None) -> bool:
    """Whether a record holds only what crosses by value. A part is looked at once, in however many places it stands."""
    kind = type_of(value)
    if kind in ATOMS or depth > 50:
        return depth <= 50
    seen = set() if seen is None else seen
    if id(value) in seen:
        return True
    seen.add(id(value))
    if kind in (list, tuple, set, frozenset):
        return all(is_by_value(v, depth + 1, seen) for v in value)
    if kind is dict:
        return all(is_by_value(k, depth + 1, seen) and is_by_value(v, depth + 1, seen) for k, v in value.items())
    how = kind_of(kind)
    if how in ("record", "model"):
        # kept until the end: a property may make its value anew, and a number of `seen` is only good while that lives
        parts = [getattr(value, n, None) for n in field_names(kind)]
        return all(is_by_value(v, depth + 1, seen) for v in parts)
    if how == "object":
        return all(is_by_value(v, depth + 1, seen) for v in value.__dict__.values())
    if how == "namedtuple":
        return all(is_by_value(v, depth + 1, seen) for v in value)
    if how == "enum":
        return True
    return kind.__module__ in ("datetime", "decimal", "uuid", "pathlib") or kind in (range, slice, bytearray)
