"""Objects with keys as classes: records for what an API gives, typed dicts for what code gives it."""

from __future__ import annotations

import keyword
from collections.abc import Callable
from typing import Any

from cellwright.schemas.flattening import Flat, Placed
from cellwright.schemas.json_values import as_list, as_object
from cellwright.schemas.literals import Parts, text, union
from cellwright.schemas.names import attribute_names
from cellwright.schemas.readings import Reading, RecordPlan
from cellwright.schemas.sentences import first_sentence
from cellwright.scope import Line, Shape

Spell = Callable[[str, Placed], tuple[Parts, Reading]]
_MARKS = 3  # values of an enum that tell one record from another


def is_field(key: str) -> bool:
    """Whether a typed dict's class can have this key."""
    return key.isidentifier() and not keyword.iskeyword(key) and not key.startswith("__")


def record_shape(name: str, flat: Flat, spell: Spell) -> tuple[Shape, RecordPlan]:
    shown = {key: placed for key, placed in flat.properties.items() if not as_object(placed[0]).get("writeOnly")}
    lines: list[Line] = []
    fields: dict[str, str] = {}
    reads: dict[str, Reading] = {}
    for key, attribute in attribute_names(shown).items():
        parts, reading = spell(key, shown[key])
        if key not in flat.required:
            parts = union([parts, ("None",)])
        fields[attribute] = key
        if reading is not None:
            reads[key] = reading
        lines.append(_line(attribute, text(parts), text(parts), shown[key]))
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


def dict_shape(name: str, flat: Flat, spell: Spell) -> Shape:
    lines: list[Line] = []
    for key, placed in flat.properties.items():
        if as_object(placed[0]).get("readOnly") or not is_field(key):
            continue
        gives = text(spell(key, placed)[0])
        lines.append(_line(key, gives if key in flat.required else f"NotRequired[{gives}]", gives, placed))
    return Shape(name=name, kind="dict", lines=tuple(lines), doc=first_sentence(flat.words.get("description"), 300))


def _line(name: str, head: str, gives: str, placed: Placed) -> Line:
    doc = first_sentence(as_object(placed[0]).get("description"))
    return Line(name=name, heads=(f"{name}: {head}",), callable=False, gives=gives, doc=doc)


def marks_of(schema: Any) -> list[Any]:
    """The few texts that a key may have, where they tell what an object is."""
    node = as_object(schema)
    values = [node["const"]] if "const" in node else as_list(node.get("enum"))
    return values if 0 < len(values) <= _MARKS and all(isinstance(value, str) for value in values) else []
