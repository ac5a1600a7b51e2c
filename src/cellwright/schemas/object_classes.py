"""Objects with keys as classes: records for results, typed dicts for arguments; and how a union of them is read."""

from __future__ import annotations

import keyword
from collections.abc import Callable
from typing import Any

from cellwright.schemas.flat_schema import FlatSchema, Flattener, Placed, Resolve, name_in
from cellwright.schemas.json_values import as_list, as_object
from cellwright.schemas.names import attribute_names
from cellwright.schemas.readings import Reading, RecordPlan
from cellwright.schemas.sentences import first_sentence
from cellwright.schemas.type_text import Parts, text, union
from cellwright.scope import Declaration, Shape

Spell = Callable[[str, Placed], tuple[Parts, Reading]]
_MARKS = 3  # values of an enum that distinguish records


def is_field(key: str) -> bool:
    """Whether a typed dict's class can have this key."""
    return key.isidentifier() and not keyword.iskeyword(key) and not key.startswith("__")


def record_shape(name: str, flat: FlatSchema, spell: Spell) -> tuple[Shape, RecordPlan]:
    shown = {key: placed for key, placed in flat.properties.items() if not as_object(placed[0]).get("writeOnly")}
    lines: list[Declaration] = []
    fields: dict[str, str] = {}
    reads: dict[str, Reading] = {}
    for key, attribute in attribute_names(shown).items():
        parts, reading = spell(key, shown[key])
        if key not in flat.required:
            parts = union([parts, ("None",)])
        fields[attribute] = key
        if reading is not None:
            reads[key] = reading
        lines.append(_line(attribute, text(parts), shown[key]))
    doc = first_sentence(flat.words.get("description"), 300)
    rest = spell("other", flat.additional)[1] if flat.additional and as_object(flat.additional[0]) else None
    plan = RecordPlan(
        name=name,
        doc=doc,
        fields=fields,
        reads=reads,
        rest=rest,
        required=tuple(key for key in flat.required if key in shown),
        marks={key: marks for key, (schema, _) in shown.items() if (marks := marks_of(schema))},
    )
    return Shape(name=name, kind="record", lines=tuple(lines), doc=doc), plan


def dict_shape(name: str, flat: FlatSchema, spell: Spell) -> Shape:
    lines: list[Declaration] = []
    for key, placed in flat.properties.items():
        if as_object(placed[0]).get("readOnly") or not is_field(key):
            continue
        gives = text(spell(key, placed)[0])
        lines.append(_line(key, gives if key in flat.required else f"NotRequired[{gives}]", placed))
    return Shape(name=name, kind="dict", lines=tuple(lines), doc=first_sentence(flat.words.get("description"), 300))


def _line(name: str, type: str, placed: Placed) -> Declaration:
    doc = first_sentence(as_object(placed[0]).get("description"))
    return Declaration(name=name, type=type, doc=doc)


def marks_of(schema: Any) -> list[Any]:
    """The values of a key that has only a few, all of them texts: they identify the record."""
    node = as_object(schema)
    values = [node["const"]] if "const" in node else as_list(node.get("enum"))
    return values if 0 < len(values) <= _MARKS and all(isinstance(value, str) for value in values) else []


# Unions of records: how the member of an object is recognised by its keys.

By = dict[str, Any]  # {"by": key, "map": {value: index}}


def union_reading(readings: list[Reading], by: By | None) -> Reading:
    """The reading of a union: None where no member holds records; the reading itself where one member does."""
    kept = [how for how in readings if how is not None]
    unlike = [how for at, how in enumerate(kept) if how not in kept[:at]]
    if len(unlike) < 2:
        return unlike[0] if unlike else None
    flat = [inner for how in unlike for inner in (how[1] if how[0] == "union" else [how])]
    if by is None or len(flat) != len(unlike):
        return ["union", [how for at, how in enumerate(flat) if how not in flat[:at]], None]
    index = {str(value): unlike.index(readings[at]) for value, at in by["map"].items() if readings[at] is not None}
    return ["union", unlike, {"by": by["by"], "map": index} if index else None]


def discriminator(flat: FlatSchema, members: list[Placed], resolve: Resolve, flattener: Flattener) -> By | None:
    """The key that distinguishes the members, by the `discriminator` or by their constants; with their indexes."""
    said = flat.words.get("discriminator")
    key = said if isinstance(said, str) else as_object(said).get("propertyName")
    names = [_named(placed, resolve) for placed in members]
    if not isinstance(key, str):
        return _by_constants(members, flattener)
    index: dict[str, int] = {name: at for at, (_, name) in enumerate(names) if name}
    by_id = {identity: at for at, (identity, _) in enumerate(names) if identity}
    for value, ref in as_object(as_object(said).get("mapping")).items():
        at = _mapped(ref, members[0][1], resolve, by_id, index)
        if at is not None:
            index[str(value)] = at
    return {"by": key, "map": index | _constants(members, flattener, key)}


def _mapped(ref: Any, base: str, resolve: Resolve, by_id: dict[str, int], by_name: dict[str, int]) -> int | None:
    if not isinstance(ref, str):
        return None
    if ref in by_name:
        return by_name[ref]
    try:
        return by_id.get(resolve(ref, base)[0])
    except LookupError:
        return None


def _named(placed: Placed, resolve: Resolve) -> tuple[str, str]:
    """The id and the name of a member that is a `$ref`."""
    ref = as_object(placed[0]).get("$ref")
    if not isinstance(ref, str):
        return "", ""
    try:
        identity = resolve(ref, placed[1])[0]
    except LookupError:
        return "", ""
    return identity, name_in(identity)


def _by_constants(members: list[Placed], flattener: Flattener) -> By | None:
    """A key whose values differ in each member, as Stripe's `object`."""
    keys = [
        {key for key, (schema, _) in flattener.flat(as_object(schema), base).properties.items() if marks_of(schema)}
        for schema, base in members
        if as_object(schema)
    ]
    shared = keys[0].intersection(*keys[1:]) if len(keys) > 1 else set[str]()
    for key in sorted(shared):
        found = _constants(members, flattener, key)
        if len(set(found.values())) == len(members):
            return {"by": key, "map": found}
    return None


def _constants(members: list[Placed], flattener: Flattener, key: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for at, (schema, base) in enumerate(members):
        inner = flattener.flat(as_object(schema), base).properties.get(key)
        for value in marks_of(inner[0]) if inner else ():
            found.setdefault(value, at)
    return found
