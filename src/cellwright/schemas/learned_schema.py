"""`LearnedSchema`: a schema from sample results of an API, where its description has none.

Bounded in samples, depth and keys. It knows neither the calls nor where the schema is kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from cellwright_guest.wire import type_of

SAMPLES = 50  # further ones change nothing
DEPTH = 8
KEYS = 120  # of one object; one that has more is a mapping
ITEMS = 30  # of one list that are looked at
_KINDS = {str: "string", bool: "boolean", int: "integer", float: "number"}
_NAMED = re.compile(r"[A-Za-z_@$][\w.$@:-]{0,63}")
_SERIAL = re.compile(r"\d|[0-9a-f]{8}-|[0-9a-f]{16}", re.IGNORECASE)


class LearnedSchema:
    """The keys and kinds of sample results of one operation. No values are kept."""

    def __init__(self) -> None:
        self.count = 0
        self._node: dict[str, Any] = {}

    def add(self, sample: Any) -> None:
        """Learn from one result: JSON data."""
        if self.count < SAMPLES:
            self.count += 1
            _learn(self._node, sample, 0)

    def schema(self) -> dict[str, Any]:
        """The schema of all samples; {} before the first."""
        if not self.count:
            return {}
        learned = f"learned from {self.count} response{'' if self.count == 1 else 's'}"
        return {**_schema(self._node), "description": learned}

    def to_plain(self) -> dict[str, Any]:
        return {"count": self.count, "node": self._node}

    @classmethod
    def from_plain(cls, found: Any) -> LearnedSchema:
        """The schema of `to_plain`; an empty one where the data is damaged."""
        made = cls()
        kept = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
        count, node = kept.get("count"), kept.get("node")
        if isinstance(count, int) and isinstance(node, dict) and _is_sound(node, 0):
            made.count, made._node = count, cast("dict[str, Any]", node)
        return made


def _learn(node: dict[str, Any], sample: Any, depth: int) -> None:
    """`node`: {"kinds": {kind: times}, "keys": {key: node}, "items": node, "values": node}."""
    kind = _kind(sample)
    kinds = node.setdefault("kinds", {})
    kinds[kind] = kinds.get(kind, 0) + 1
    if depth >= DEPTH:
        return
    if kind == "array":
        items = node.setdefault("items", {})
        for inner in list(cast("list[Any]", sample))[:ITEMS]:
            _learn(items, inner, depth + 1)
    elif kind == "object":
        _learn_object(node, cast("Mapping[str, Any]", sample), depth)


def _kind(sample: Any) -> str:
    if sample is None:
        return "null"
    if isinstance(sample, Mapping):
        return "object"
    if isinstance(sample, list | tuple):
        return "array"
    return _KINDS.get(type_of(sample), "string")  # bytes and the like, which JSON has as text


def _learn_object(node: dict[str, Any], sample: Mapping[str, Any], depth: int) -> None:
    keys = node.setdefault("keys", {})
    if "values" not in node and not _is_mapping(sample) and len(keys.keys() | sample.keys()) <= KEYS:
        for key, inner in sample.items():
            _learn(keys.setdefault(str(key), {}), inner, depth + 1)
        return
    values = node.setdefault("values", {})
    for known in keys.values():  # the earlier keys are values now too
        _join(values, known)
    keys.clear()
    for inner in list(sample.values())[:KEYS]:
        _learn(values, inner, depth + 1)


def _is_mapping(sample: Mapping[str, Any]) -> bool:
    """Whether the keys of an object are ids and not names."""
    return bool(sample) and all(not _NAMED.fullmatch(str(key)) or _SERIAL.match(str(key)) for key in sample)


def _join(into: dict[str, Any], other: dict[str, Any]) -> None:
    for kind, times in other.get("kinds", {}).items():
        kinds = into.setdefault("kinds", {})
        kinds[kind] = kinds.get(kind, 0) + times
    for word in ("items", "values"):
        if word in other:
            _join(into.setdefault(word, {}), other[word])
    for key, inner in other.get("keys", {}).items():
        keys = into.setdefault("keys", {})
        if key in keys or len(keys) < KEYS:
            _join(keys.setdefault(key, {}), inner)


def _schema(node: dict[str, Any]) -> dict[str, Any]:
    kinds: dict[str, int] = node.get("kinds", {})
    named = [kind for kind in kinds if kind != "integer" or "number" not in kinds]
    made: dict[str, Any] = {"type": named[0] if len(named) == 1 else named} if named else {}
    keys: dict[str, Any] = node.get("keys", {})
    if keys:
        made["properties"] = {key: _schema(inner) for key, inner in keys.items()}
        objects = kinds.get("object", 0)
        made["required"] = [key for key, inner in keys.items() if sum(inner.get("kinds", {}).values()) == objects]
    if "values" in node:
        made["additionalProperties"] = _schema(node["values"]) or True
    if node.get("items"):
        made["items"] = _schema(node["items"])
    return made


def _is_sound(node: Any, depth: int) -> bool:
    if not isinstance(node, dict) or depth > DEPTH + 1:
        return False
    found = cast("dict[str, Any]", node)
    kinds, keys = found.get("kinds", {}), found.get("keys", {})
    if not isinstance(kinds, dict) or not isinstance(keys, dict):
        return False
    times = cast("dict[str, Any]", kinds).values()
    inside = [found[word] for word in ("items", "values") if word in found]
    inside += cast("dict[str, Any]", keys).values()
    return all(isinstance(n, int) for n in times) and all(_is_sound(inner, depth + 1) for inner in inside)
