"""A schema in one flat form: `allOf` merged, the dialects of OpenAPI 2.0, 3.0, 3.1 and JSON Schema read alike.

It follows `$ref`s only inside `allOf`, and never one within itself. Each source has its own `Resolve`; the one for
pointers into one document is here. It knows neither files, nor networks, nor Python types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import unquote

from cellwright.schemas.json_values import as_list, as_object

Placed = tuple[Any, str]  # a schema, and the base of the document that it stands in
DEPTH = 40
INHERITED = 100  # allOf within allOf
_STRUCTURE = frozenset(("properties", "required", "allOf", "oneOf", "anyOf", "additionalProperties", "items"))
_MERGED = _STRUCTURE | {"prefixItems", "patternProperties", "$ref", "$defs", "definitions", "not"}
_STRINGS = frozenset(("pattern", "minLength", "maxLength", "contentEncoding", "contentMediaType"))
_NUMBERS = frozenset(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"))
_NOTHING = frozenset(("type", "nullable", "x-nullable", "description", "title"))
_KINDS = frozenset(("string", "integer", "number", "boolean", "array", "object", "null", "file"))
_SLIPS = {"int": "integer", "float": "number", "double": "number", "bool": "boolean", "str": "string", "text": "string",
          "date": "string", "datetime": "string", "date-time": "string", "uuid": "string", "long": "integer",
          "int32": "integer", "int64": "integer", "dict": "object", "map": "object", "list": "array"}  # fmt: skip


@dataclass(kw_only=True, slots=True)
class FlatSchema:
    """A schema after `allOf`. `words` are the keywords that hold no schemas; `choices` each oneOf or anyOf."""

    words: dict[str, Any] = field(default_factory=dict[str, Any])
    properties: dict[str, Placed] = field(default_factory=dict[str, Placed])
    required: dict[str, None] = field(default_factory=dict[str, None])
    items: Placed | None = None
    prefix: list[Placed] = field(default_factory=list[Placed])
    additional: Placed | None = None
    patterns: list[Placed] = field(default_factory=list[Placed])
    choices: list[list[Placed]] = field(default_factory=list[list[Placed]])


def kinds_of(words: dict[str, Any]) -> tuple[list[str], bool]:
    """The JSON types that `type` names, without null, and whether null is one. [] where it does not say."""
    named = words.get("type")
    listed = [named] if isinstance(named, str) else as_list(named)
    kinds = [_SLIPS.get(kind.lower(), kind.lower()) for kind in listed if isinstance(kind, str)]
    nullable = "null" in kinds or words.get("nullable") is True or words.get("x-nullable") is True
    return [kind for kind in dict.fromkeys(kinds) if kind in _KINDS and kind != "null"], nullable


def is_null(schema: Any) -> bool:
    """Whether a member of a union only allows null: for example `{"type": "object", "nullable": true}`."""
    node = as_object(schema)
    kinds, nullable = kinds_of(node)
    return nullable and kinds in ([], ["object"]) and node.keys() <= _NOTHING


def guessed_kind(flat: FlatSchema) -> str:
    """The type of a schema that does not state one, by its other keywords; "" where they do not tell."""
    if flat.properties or flat.additional is not None or flat.patterns:
        return "object"
    if flat.items is not None or flat.prefix:
        return "array"
    if not _STRINGS.isdisjoint(flat.words):
        return "string"
    return "number" if not _NUMBERS.isdisjoint(flat.words) else ""


def sole_ref(schema: dict[str, Any]) -> str | None:
    """The `$ref` that a schema consists of, beside notes; also as the only member of `allOf`. Else None."""
    ref = schema.get("$ref")
    if isinstance(ref, str):
        return ref if _STRUCTURE.isdisjoint(schema) else None
    members = as_list(schema.get("allOf"))
    if not members or not _STRUCTURE.isdisjoint(schema.keys() - {"allOf"}):
        return None
    telling = [member for member in members if as_object(member).keys() - {"description", "title", "nullable"}]
    return sole_ref(as_object(telling[0])) if len(telling) == 1 and "$ref" in as_object(telling[0]) else None


class Flattener:
    """Flattens the schemas of one source."""

    def __init__(self, resolve: Resolve) -> None:
        self._resolve = resolve

    def flat(self, schema: dict[str, Any], base: str) -> FlatSchema:
        """The schema with `allOf` merged; an object with choices beside its keys has the keys of every choice."""
        merged = self.merged(schema, base)
        if merged.properties and merged.choices:
            self._unite(merged)
        return merged

    def merged(self, schema: dict[str, Any], base: str) -> FlatSchema:
        """The schema with `allOf` merged, and its choices as they are."""
        merged = FlatSchema()
        self._merge(merged, schema, base, set(), 0)
        return merged

    def _merge(self, into: FlatSchema, schema: dict[str, Any], base: str, seen: set[str], depth: int) -> None:
        """Add one schema and what its allOf leads to. `seen` are the ids that are in it already."""
        if depth > INHERITED:
            return
        ref = schema.get("$ref")
        if isinstance(ref, str):
            self._merge_ref(into, ref, base, seen, depth)
        members = as_list(schema.get("allOf"))
        for member in members:
            if isinstance(member, dict):
                self._merge(into, cast("dict[str, Any]", member), base, seen, depth + 1)
        if len(members) > 1:
            into.words.pop("nullable", None)  # null would have to fit every member
        self._own(into, schema, base)

    def _merge_ref(self, into: FlatSchema, ref: str, base: str, seen: set[str], depth: int) -> None:
        try:
            identity, node, there = self._resolve(ref, base)
        except LookupError:
            return
        if identity not in seen and isinstance(node, dict):
            seen.add(identity)
            self._merge(into, cast("dict[str, Any]", node), there, seen, depth + 1)

    def _own(self, into: FlatSchema, schema: dict[str, Any], base: str) -> None:
        into.words.update((key, value) for key, value in schema.items() if key not in _MERGED)
        for key, inner in as_object(schema.get("properties")).items():
            if key not in into.properties or _tells(inner):
                into.properties[str(key)] = (inner, base)
        into.required.update((key, None) for key in as_list(schema.get("required")) if isinstance(key, str))
        items = schema.get("items")
        if isinstance(items, list):
            into.prefix = [(inner, base) for inner in cast("list[Any]", items)]
        elif items is not None:
            into.items = (items, base)
        if as_list(schema.get("prefixItems")):
            into.prefix = [(inner, base) for inner in as_list(schema["prefixItems"])]
        if isinstance(schema.get("additionalProperties"), dict | bool):
            into.additional = (schema["additionalProperties"], base)
        into.patterns += [(inner, base) for inner in as_object(schema.get("patternProperties")).values()]
        for word in ("oneOf", "anyOf"):
            group: list[Placed] = [(inner, base) for inner in as_list(schema.get(word))]
            if group:
                into.choices.append(group)

    def _unite(self, flat: FlatSchema) -> None:
        """Give an object the keys of all its choices."""
        found: dict[str, list[Placed]] = {}
        for schema, base in (member for group in flat.choices for member in group):
            for key, placed in self.merged(as_object(schema), base).properties.items():
                if placed not in found.setdefault(key, []):
                    found[key].append(placed)
        for key, several in found.items():
            if key not in flat.properties or not _tells(flat.properties[key][0]):
                flat.properties[key] = several[0] if len(several) == 1 else _any_of(several)
        flat.choices = []


def _any_of(several: list[Placed]) -> Placed:
    base = several[0][1]
    return ({"anyOf": [schema for schema, _ in several]} if all(b == base for _, b in several) else {}), base


def _tells(schema: Any) -> bool:
    """Whether a schema says more than a description."""
    return bool(as_object(schema).keys() - {"description", "title", "example", "examples", "default", "deprecated"})


def takes_null(schema: Any, key: str, resolve: Resolve, base: str = "") -> bool:
    """Whether a key of an object may be null: then a None that code gives is sent, and clears the key.

    False where the schema does not mention null: there None means "not given".
    """
    flattener = Flattener(resolve)
    found = flattener.flat(as_object(schema), base).properties.get(key)
    if found is None:
        return False
    flat = flattener.flat(as_object(found[0]), found[1])
    null = kinds_of(flat.words)[1] or None in as_list(flat.words.get("enum"))
    return null or any(is_null(one) for group in flat.choices for one, _ in group)


# (ref, base) -> (canonical id, schema, its base); raises LookupError. A base names a document, "" the first.
Resolve = Callable[[str, str], tuple[str, Any, str]]

_CONTAINERS = frozenset(("schemas", "definitions", "$defs", "models", "responses", "parameters", "requestBodies"))


def local_resolve(document: Any) -> Resolve:
    """Pointers into this document: `#`, `#/$defs/Item`, and `#name` for a schema with that `$anchor`."""

    anchors: dict[str, Any] | None = None

    def resolve(ref: str, base: str) -> tuple[str, Any, str]:
        head, _, pointer = ref.partition("#")
        if head:
            raise LookupError(f"{ref} leads out of the schema")
        if pointer and not pointer.startswith("/"):
            nonlocal anchors
            anchors = anchors_of(document) if anchors is None else anchors
            if pointer not in anchors:
                raise LookupError(f"no schema has the anchor {pointer}")
            return f"#{pointer}", anchors[pointer], base
        parts = (unquote(part) for part in pointer.split("/")[1:])
        return f"#{pointer}", follow(document, parts, f"nothing at #{pointer}"), base

    return resolve


def follow(document: Any, parts: Iterable[str], missing: str) -> Any:
    """The value that the parts of a JSON pointer lead to. LookupError with the text `missing` where there is none."""
    found = document
    for part in parts:
        part = part.replace("~1", "/").replace("~0", "~") if "~" in part else part
        if isinstance(found, dict) and part in found:
            found = cast("dict[str, Any]", found)[part]
        elif isinstance(found, list) and part.isdecimal() and int(part) < len(cast("list[Any]", found)):
            found = cast("list[Any]", found)[int(part)]
        else:
            raise LookupError(missing)
    return found


def anchors_of(document: Any) -> dict[str, Any]:
    """The schemas of a document that have an `$anchor`, by its name."""
    anchors: dict[str, Any] = {}
    todo: list[Any] = [document]
    while todo:
        value = todo.pop()
        if isinstance(value, dict):
            node = cast("dict[str, Any]", value)
            for anchor in (node.get("$anchor"), node.get("$dynamicAnchor")):
                if isinstance(anchor, str):
                    anchors.setdefault(anchor, node)
            todo += node.values()
        elif isinstance(value, list):
            todo += cast("list[Any]", value)
    return anchors


def name_in(identity: str) -> str:
    """The name that a schema has by its place: `…#/components/schemas/issue` → `issue`; "" where it has none."""
    document, _, pointer = identity.partition("#")
    parts = [unquote(part).replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
    if not parts:
        stem = document.rstrip("/").rpartition("/")[2]
        return stem.partition(".")[0] if pointer in ("", "/") else pointer
    if len(parts) > 1 and parts[-2] not in _CONTAINERS:
        return ""
    return parts[-1]
