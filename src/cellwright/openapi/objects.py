"""The keys of a schema that is an object: `allOf` and `$ref`s merged. It knows neither types nor operations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from cellwright.openapi.documents import Documents
from cellwright.openapi.reading import listed, mapping, texts

_DEPTH = 24
_MEMBERS = 6  # objects of a choice whose keys are put together


@dataclass(kw_only=True, slots=True)
class Keys:
    """Each key with its schema and the base of that; which are required; whether a choice leaves some of it open."""

    found: dict[str, tuple[Any, str]] = field(default_factory=dict[str, tuple[Any, str]])
    required: set[str] = field(default_factory=set[str])
    kind: str = ""
    choices: list[tuple[Any, str]] = field(
        default_factory=list[tuple[Any, str]]
    )  # oneOf, anyOf that say more than that

    @property
    def open(self) -> bool:
        """Whether it may be one of several things."""
        return bool(self.choices)


def keys_of(documents: Documents, schema: Any, base: str) -> Keys:
    """What keys an object of this schema has. Empty for what is no object, or cannot be resolved."""
    keys = Keys()
    _merge(documents, schema, base, keys, _DEPTH)
    return keys


def _merge(documents: Documents, schema: Any, base: str, into: Keys, depth: int) -> None:
    try:
        node, base = documents.followed(schema, base)
    except LookupError:
        return
    held = mapping(node)
    if not held or depth == 0:
        return
    for one in listed(held.get("allOf")):
        _merge(documents, one, base, into, depth - 1)
    kind = held.get("type")
    if isinstance(kind, str):
        into.kind = kind
    elif isinstance(kind, list):
        into.kind = next((one for one in texts(kind) if one != "null"), into.kind)
    for key, value in mapping(held.get("properties")).items():
        into.found[str(key)] = (value, base)
    into.required.update(texts(held.get("required")))
    for word in ("oneOf", "anyOf"):
        several = listed(held.get(word))
        if any(mapping(one).keys() - {"required", "not", "description", "title"} for one in several):
            into.choices += [(one, base) for one in several]


def united(documents: Documents, keys: Keys) -> Keys:
    """One object in the place of a choice: the keys of all its objects. Other members (a bare list) are left out."""
    members = [keys_of(documents, schema, base) for schema, base in keys.choices]
    objects = [one for one in members if one.found and not one.open and one.kind in ("object", "")]
    if not objects or len(objects) > _MEMBERS or any(one.open for one in members):
        return keys
    found = dict(keys.found)
    for key in dict.fromkeys(key for one in objects for key in one.found):
        several = [one.found[key] for one in objects if key in one.found]
        first, base = several[0]
        alike = all(schema == first for schema, _ in several) or any(other != base for _, other in several)
        found.setdefault(key, (first if alike else {"anyOf": [schema for schema, _ in several]}, base))
    required = keys.required | set[str].intersection(*(one.required for one in objects))
    return Keys(found=found, required=required, kind="object")


def items_of(documents: Documents, schema: Any, base: str) -> tuple[Any, str] | None:
    """The schema of what a list holds; None for what is no list."""
    try:
        node, base = documents.followed(schema, base)
    except LookupError:
        return None
    held = mapping(node)
    kind = held.get("type")
    if kind == "array" or (isinstance(kind, list) and "array" in kind) or (kind is None and "items" in held):
        return held.get("items", {}), base
    members = [one for one in listed(held.get("allOf")) if one]
    return items_of(documents, members[0], base) if len(members) == 1 else None
