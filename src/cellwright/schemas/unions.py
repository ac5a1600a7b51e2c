"""Unions of records: how the member that an object is can be told from its keys."""

from __future__ import annotations

from typing import Any

from cellwright.schemas.flattening import Flat, Flattener, Placed
from cellwright.schemas.json_values import as_object
from cellwright.schemas.objects import marks_of
from cellwright.schemas.readings import Reading
from cellwright.schemas.resolving import Resolve, name_in

By = dict[str, Any]  # {"by": key, "map": {value: index}}


def union_reading(readings: list[Reading], by: By | None) -> Reading:
    """How one of several is read. None where none holds records; the only one that does stands for itself."""
    kept = [how for how in readings if how is not None]
    unlike = [how for at, how in enumerate(kept) if how not in kept[:at]]
    if len(unlike) < 2:
        return unlike[0] if unlike else None
    flat = [inner for how in unlike for inner in (how[1] if how[0] == "union" else [how])]
    if by is None or len(flat) != len(unlike):
        return ["union", [how for at, how in enumerate(flat) if how not in flat[:at]], None]
    index = {str(value): unlike.index(readings[at]) for value, at in by["map"].items() if readings[at] is not None}
    return ["union", unlike, {"by": by["by"], "map": index} if index else None]


def discriminator(flat: Flat, members: list[Placed], resolve: Resolve, flattener: Flattener) -> By | None:
    """Which key tells the members apart, as the schema says it or as their own constants do; with their indexes."""
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
    """A key that each member has with values of its own, as Stripe's `object`."""
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
