"""One value against the simple keywords of a schema: type, bounds, pattern. It does not look into containers."""

from __future__ import annotations

import datetime
import decimal
import functools
import math
import pathlib
import re
import uuid
from typing import Any, cast

from cellwright.short_texts import cut

_SHOWN = 60
_TEXTS = (str, datetime.date, datetime.time, datetime.timedelta, uuid.UUID, decimal.Decimal, pathlib.PurePath)
_BYTES = (bytes, bytearray, memoryview)
_BINARY = frozenset(("binary", "byte", "base64"))
_CALLED = {"array": "list", "object": "object", "file": "bytes"}

# Patterns come from descriptions and are JavaScript's, so they run with a bound.
PATTERN_LENGTH = 300  # characters of a pattern
_OPTIONALS = 10
_STEPS = 1_000_000  # about what one match may cost: the text's length to the power of its repeats
_STRANGE = ("[[", "--", "&&", "~~", "||")  # Python warns of these inside sets
_ESCAPED = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]", re.DOTALL)
_REPEAT = re.compile(r"[*+]|\{\d*,\d*\}|\{\d{2,}\}")
_GROUP = re.compile(r"\(([^()]*)\)(\*|\+|\{\d+(?:,\d*)?\})?")


def shown(value: Any) -> str:
    """A value as a message has it, cut."""
    return cut(repr(value), _SHOWN)


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
    """The bound that a value breaks, in words; "" where it keeps all bounds."""
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


def matches(pattern: str, text: str) -> bool:
    """Whether the pattern is found in the text; True for a pattern that is not run.

    A pattern is not run if Python cannot compile it, or if it could take long on this text.
    """
    compiled, repeats = _compiled(pattern)
    if compiled is None or (len(text) + 1) ** max(1, repeats) > _STEPS:
        return True
    return compiled.search(text) is not None


@functools.lru_cache(maxsize=512)
def _compiled(pattern: str) -> tuple[re.Pattern[str] | None, int]:
    if len(pattern) > PATTERN_LENGTH or any(mark in pattern for mark in _STRANGE):
        return None, 0
    bare = _ESCAPED.sub("x", pattern)  # only the pattern's operators are left
    anchored = pattern.startswith("^") and "|" not in bare  # another choice may begin anywhere
    repeats = len(_REPEAT.findall(bare)) + (not anchored)
    refers = re.search(r"\\[1-9]", pattern)  # to a group before it, which is compared again at each step
    if refers or _repeats_a_repeat(bare) or bare.count("?") > _OPTIONALS or re.search(r"\(\?[^:]", bare):
        return None, 0
    try:
        return re.compile(pattern), repeats
    except (re.error, OverflowError, RecursionError):
        return None, 0


def _repeats_a_repeat(bare: str) -> bool:
    """Whether a group that is repeated holds a repeat or a choice: `(a+)+` can take for ever."""
    while True:
        found = _GROUP.search(bare)
        if found is None:
            return False
        inside = bool(re.search(r"[*+?|{]", found[1].removeprefix("?:")))
        if found[2] and inside:
            return True
        left = "x*" if inside or found[2] else "x"  # the group around it must still see a repeat
        bare = bare[: found.start()] + left + bare[found.end() :]
