"""Where live objects stand, for those that go from one session to another: an agent's to its child's, and back.

Rules are matched by the path at which an object was first reached. In another session it keeps that path, whatever the
name is that it has there. Knows places alone; not what is bound, nor how a value crosses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from cellwright.scope.classes import Known, field_names, kind_of
from cellwright.scope.copies import ATOMS
from cellwright.scope.rules import Place
from cellwright_guest.wire import type_of

HANDED = ":"  # begins the path of what no session held before: no name of a scope does, so no rule is meant for it
_SEQUENCES = (list, tuple, set, frozenset)

PlaceOf = Callable[[Any], Place | None]


class Holder(Protocol):
    """What holds the objects of one session: a `ScopeHost`."""

    def place_of(self, value: Any) -> Place | None: ...
    def class_of(self, cls: type) -> Known | None: ...


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """A value for the guest, with the places of the live objects in it, by their ids; these live as long as it does."""

    value: Any
    places: dict[int, Place]


def places_in(value: Any, place_of: PlaceOf) -> dict[int, tuple[Any, Place]]:
    """The live objects in a value that stand somewhere, by their ids: each with its place."""
    found: dict[int, tuple[Any, Place]] = {}
    for part in parts_of(value):
        place = place_of(part)
        if place is not None:
            found[id(part)] = (part, place)
    return found


def parts_of(value: Any) -> Iterator[Any]:
    """All that stands in plain containers and records, each once; no atoms."""
    pending: list[Any] = [value]
    seen: dict[int, Any] = {}  # with the parts themselves: an id is good while its object lives
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
