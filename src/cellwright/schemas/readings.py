"""Results as records: how the JSON of a schema is read, as plain values, and the reading of it.

A value that does not fit its schema stays unchanged: the API is right about its own results. It knows no schemas.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, cast

from cellwright.scope import Record

# JSON itself: None (as it is) | ["record", name] | ["list", R] | ["map", R]
#              | ["union", [R…], {"by": key, "map": {value: index}} | None]
Reading = Any


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordPlan:
    """The records of one schema. `fields`: each attribute with its key; `reads`: the keys whose values hold records.

    `rest` is how the values of other keys are read. `required` and `marks` (keys that have one of few values) tell the
    members of a union apart.
    """

    name: str
    doc: str = ""
    fields: dict[str, str] = field(default_factory=dict[str, str])
    reads: dict[str, Reading] = field(default_factory=dict[str, Reading])
    rest: Reading = None
    required: tuple[str, ...] = ()
    marks: dict[str, list[Any]] = field(default_factory=dict[str, list[Any]])

    def to_plain(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_plain(cls, found: Mapping[str, Any]) -> RecordPlan:
        made = dict(found)
        made["required"] = tuple(found.get("required", ()))
        return cls(**made)


RecordOf = Callable[[str], "tuple[type[Record], RecordPlan] | None"]


def read(value: Any, reading: Reading, record: RecordOf, via: Mapping[str, Any] | None = None) -> Any:
    """JSON data with records where its reading says so. `value` is not changed. Any depth: it does not recurse."""
    top: list[Any] = [value]
    todo: list[tuple[Any, Any, Reading]] = [(top, 0, reading)]
    while todo:
        holder, at, how = todo.pop()
        found = holder[at]
        kind = how[0] if how else None
        if kind == "union":
            how = _chosen(found, how[1], how[2], record)
            kind = how[0] if how else None
        if kind == "record" and type(found) is dict:
            known = record(how[1])
            if known is not None:
                holder[at] = _record(cast("dict[str, Any]", found), known, via or {}, todo)
        elif kind == "list" and type(found) is list:
            holder[at] = made = list(cast("list[Any]", found))
            todo.extend((made, index, how[1]) for index, inner in enumerate(made) if type(inner) in (dict, list))
        elif kind == "map" and type(found) is dict:
            holder[at] = made = dict(cast("dict[str, Any]", found))
            todo.extend((made, key, how[1]) for key, inner in made.items() if type(inner) in (dict, list))
    return top[0]


def _record(
    found: dict[str, Any],
    known: tuple[type[Record], RecordPlan],
    via: Mapping[str, Any],
    todo: list[tuple[Any, Any, Reading]],
) -> Any:
    cls, plan = known
    names = cls._names  # pyright: ignore[reportPrivateUsage]  the host's side of a record
    if names and not found.keys().isdisjoint(names.values()):
        return found  # an undescribed key has the name of another key's attribute: one of the two values would be lost
    made = cls._of(found, via)  # pyright: ignore[reportPrivateUsage]
    slots = made.__dict__
    for key, how in plan.reads.items():
        if type(found.get(key)) in (dict, list):
            todo.append((slots, names.get(key, key), how))
    if plan.rest:
        keys = set(plan.fields.values())
        todo.extend((slots, k, plan.rest) for k, v in found.items() if k not in keys and type(v) in (dict, list))
    return made


def _chosen(found: Any, members: list[Reading], by: Mapping[str, Any] | None, record: RecordOf) -> Reading:
    """The member of a union that a value belongs to: by the discriminator, else the best fit."""
    if type(found) is list:
        return next((how for how in members if how and how[0] == "list"), None)
    if type(found) is not dict:
        return None
    keys = cast("dict[str, Any]", found)
    if by:
        mark = keys.get(by["by"])
        index = by["map"].get(mark) if isinstance(mark, str) else None
        if index is not None and index < len(members):
            return members[index]
    best, score = None, -1
    for how in members:
        known = record(how[1]) if how and how[0] == "record" else None
        fit = -1 if known is None else _fit(keys, known[1])
        if fit > score:
            best, score = how, fit
    return best or next((how for how in members if how and how[0] == "map"), None)


def _fit(keys: Mapping[str, Any], plan: RecordPlan) -> int:
    """How well an object fits this plan: -1 where a mark excludes it."""
    if any(key in keys and keys[key] not in allowed for key, allowed in plan.marks.items()):
        return -1
    known = set(plan.fields.values())
    lacks = sum(key not in keys for key in plan.required)
    strange = sum(key not in known for key in keys)
    agrees = sum(key in keys for key in plan.marks)
    return max(0, 100_000 - 1000 * lacks - 10 * strange + 5 * agrees + min(9, len(known & keys.keys())))
