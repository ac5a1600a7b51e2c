"""The keys of a schema that is an object, and the items of a list. It knows neither types nor operations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from cellwright.openapi.documents import Documents
from cellwright.schemas import as_list, as_object, as_texts

_MEMBERS = 6  # objects of a choice whose keys are put together
_NO_KEYS = frozenset(("required", "not", "description", "title"))  # a choice that says only this adds no keys


@dataclass(kw_only=True, slots=True)
class ObjectKeys:
    """Each key with its schema and the base of that schema; `choices` are oneOf and anyOf that may add keys."""

    found: dict[str, tuple[Any, str]] = field(default_factory=dict[str, tuple[Any, str]])
    required: set[str] = field(default_factory=set[str])
    kind: str = ""
    choices: list[tuple[Any, str]] = field(default_factory=list[tuple[Any, str]])

    @property
    def open(self) -> bool:
        """Whether the schema may be one of several things."""
        return bool(self.choices)


def keys_of(documents: Documents, schema: Any, base: str) -> ObjectKeys:
    """The keys that an object of this schema has. Empty where the schema is no object, or cannot be resolved."""
    flat = documents.merged(schema, base)
    kind = flat.words.get("type")
    kinds = [kind] if isinstance(kind, str) else [name for name in as_texts(kind) if name != "null"]
    choices = [group for group in flat.choices if any(as_object(member).keys() - _NO_KEYS for member, _ in group)]
    return ObjectKeys(
        found=flat.properties,
        required=set(flat.required),
        kind=kinds[0] if kinds else "",
        choices=[member for group in choices for member in group],
    )


def united(documents: Documents, keys: ObjectKeys) -> ObjectKeys:
    """One object instead of a choice: the keys of all its objects. Members that are no objects are left out."""
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
    return ObjectKeys(found=found, required=required, kind="object")


def items_of(documents: Documents, schema: Any, base: str) -> tuple[Any, str] | None:
    """The schema of the items of a list; None where the schema is no list."""
    try:
        node, base = documents.followed(schema, base)
    except LookupError:
        return None
    held = as_object(node)
    kind = held.get("type")
    if kind == "array" or (isinstance(kind, list) and "array" in kind) or (kind is None and "items" in held):
        return held.get("items", {}), base
    members = [one for one in as_list(held.get("allOf")) if one]
    return items_of(documents, members[0], base) if len(members) == 1 else None
