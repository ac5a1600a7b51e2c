"""One value against the plain keywords of a schema: its type, its bounds, its text. It looks into nothing."""

from __future__ import annotations

import datetime
import decimal
import math
import pathlib
import uuid
from typing import Any, cast

from cellwright.schemas.patterns import matches

_SHOWN = 60
_TEXTS = (str, datetime.date, datetime.time, datetime.timedelta, uuid.UUID, decimal.Decimal, pathlib.PurePath)
_BYTES = (bytes, bytearray, memoryview)
_BINARY = frozenset(("binary", "byte", "base64"))
_CALLED = {"array": "list", "object": "object", "file": "bytes"}


def shown(value: Any) -> str:
    """A value as a message has it, cut."""
    text = repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def called(kind: str) -> str:
    return _CALLED.get(kind, kind)


def kind_fits(value: Any, kind: str, node: dict[str, Any]) -> bool:
    """Whether a value is of a JSON type, or of a Python type that is sent as one."""
    match kind:
        case "string":
            if isinstance(value, _BYTES):
                return node.get("format") in _BINARY or "contentEncoding" in node or "contentMediaType" in node
            return isinstance(value, _TEXTS)
        case "integer":
            whole = isinstance(value, float) and value.is_integer()
            return (isinstance(value, int) and not isinstance(value, bool)) or whole
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        case "boolean":
            return isinstance(value, bool)
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
        case "file":
            return isinstance(value, (str, *_BYTES))
        case _:
            return True


def equals(value: Any, listed: Any, kinds: list[str]) -> bool:
    """JSON's equality: True is not 1. Numbers in the enum of a string are compared as text."""
    if kinds == ["string"] and not isinstance(listed, bool | str | None):
        return str(value) == str(listed)
    if isinstance(value, bool) != isinstance(listed, bool):
        return False
    return value == listed or (isinstance(value, _TEXTS) and not isinstance(value, str) and str(value) == listed)


def limits_of(value: Any, node: dict[str, Any]) -> str:
    """What bound a value breaks, in words; "" where it keeps them all."""
    if isinstance(value, bool):
        return ""
    if isinstance(value, int | float):
        return _number(value, node)
    if isinstance(value, str):
        return _text(value, node)
    if isinstance(value, list):
        items = cast("list[Any]", value)
        found = _count(len(items), "items", node.get("minItems"), node.get("maxItems"))
        return found or ("it has the same item twice" if node.get("uniqueItems") is True and _twice(items) else "")
    if isinstance(value, dict):
        size = len(cast("dict[str, Any]", value))
        return _count(size, "keys", node.get("minProperties"), node.get("maxProperties"))
    return ""


def _number(value: float, node: dict[str, Any]) -> str:
    for word, over in (("inimum", True), ("aximum", False)):
        bound, strict = _real(node.get("m" + word)), node.get("exclusiveM" + word)
        told = "less than the minimum" if over else "more than the maximum"
        if bound is not None and (value < bound if over else value > bound):
            return f"{shown(value)} is {told}, {bound}"
        edge = bound if strict is True else _real(strict)  # a flag in OpenAPI 3.0, a number of its own in 3.1
        if edge is not None and (value <= edge if over else value >= edge):
            return f"{shown(value)} is not {'more' if over else 'less'} than {edge}"
    step = _real(node.get("multipleOf"))
    if step is not None and step > 0 and math.isfinite(value) and not _is_multiple(value, step):
        return f"{shown(value)} is no multiple of {step}"
    return ""


def _real(value: Any) -> float | None:
    good = isinstance(value, int | float) and not isinstance(value, bool) and value == value
    return value if good else None


def _is_multiple(value: float, step: float) -> bool:
    """By decimals: 0.3 is a multiple of 0.1."""
    try:
        return decimal.Decimal(repr(value)) % decimal.Decimal(repr(step)) == 0
    except decimal.DecimalException:  # too many digits to say
        return True


def _text(value: str, node: dict[str, Any]) -> str:
    found = _count(len(value), "characters", node.get("minLength"), node.get("maxLength"))
    if found:
        return found
    pattern = node.get("pattern")
    if isinstance(pattern, str) and not matches(pattern, value):
        return f"{shown(value)} does not match {pattern if len(pattern) <= _SHOWN else shown(pattern)}"
    return ""


def _count(size: int, what: str, least: Any, most: Any) -> str:
    low, high = _real(least), _real(most)
    if low is not None and size < low:
        return f"{size} {what} are too few, it takes {low} or more"
    return f"{size} {what} are too many, it takes {high} or fewer" if high is not None and size > high else ""


def _twice(items: list[Any]) -> bool:
    """Whether two items are equal, where that can be told quickly."""
    kept = {repr(item) for item in items[:1000]}
    return len(kept) < len(items[:1000])
