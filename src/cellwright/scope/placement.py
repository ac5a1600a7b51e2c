"""The places of live objects that go from one session to another: from an agent's session to its child's, and back.

Rules match the paths of an object. In another session the object keeps them, whatever its name is there.
This module knows places alone; not what is bound, nor how a value crosses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from cellwright.scope.classes import ATOMS, KnownClass, field_names, kind_of
from cellwright.scope.rules import Place
from cellwright_guest.wire import type_of

HANDED = ":"  # begins the path of an object that no session held before: no rule matches it, for no name begins so
_SEQUENCES = (list, tuple, set, frozenset)

PlaceOf = Callable[[Any], Place | None]


class ObjectHolder(Protocol):
    """Holds the objects of one session: a `ScopeHost`."""

    def place_of(self, value: Any) -> Place | None: ...
    def class_of(self, cls: type) -> KnownClass | None: ...


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """A value for the guest, with the places of the live objects in it, by their ids. The value keeps them alive."""

    value: Any
    places: dict[int, Place]


def places_in(value: Any, place_of: PlaceOf) -> dict[int, tuple[Any, Place]]:
    """The live objects in a value that have a place, by their ids."""
    placed: dict[int, tuple[Any, Place]] = {}
    for part in parts_of(value):
        place = place_of(part)
        if place is not None:
            placed[id(part)] = (part, place)
    return placed


def parts_of(value: Any) -> Iterator[Any]:
    """All objects inside of plain containers and records, each once; no atoms."""
    pending: list[Any] = [value]
    seen: dict[int, Any] = {}  # keeps the parts: an id is only good while its object lives
    while pending:
        part: Any = pending.pop()
        kind = type_of(part)
        if kind in ATOMS or id(part) in seen:
            continue
        seen[id(part)] = part
        if kind in _SEQUENCES:
            pending.extend(part)
        elif kind is dict:
            pending.extend((*part.keys(), *part.values()))
        else:
            yield part
            how = kind_of(kind)
            if how == "namedtuple":
                pending.extend(part)
            elif how == "object":
                pending.extend(part.__dict__.values())
            elif how in ("record", "model"):
                pending.extend(getattr(part, name, None) for name in field_names(kind))
