"""What host objects hold: attributes, slots and items of containers. No code of an object runs."""

from __future__ import annotations

import functools
import itertools
import types
from collections import deque
from collections.abc import Callable
from typing import Any

from cellwright.scope.attributes import held_by, own_dict
from cellwright.scope.classes import ATOMS
from cellwright.scope.members import members, module_members
from cellwright.scope.path_patterns import Progress
from cellwright_guest.wire import type_of

ITEMS = 1_000  # of one container
_LISTS: tuple[Any, ...] = (list, tuple, set, frozenset)
_DICT: Any = dict
_DATA = frozenset((*ATOMS, *_LISTS, dict))


class RuledHolder:
    """An object that holds others under names that rules speak of. It stands at a path.

    `progress` is how far the path has come in the patterns of the rules.
    """

    def __init__(self, value: Any, kind: type, path: str, progress: Progress, ruled: Callable[[str], bool]) -> None:
        self.path = path
        self.progress = progress
        self._value = value
        self._kind: type[Any] = kind
        self._ruled = functools.cache(ruled)
        self._has_slots = any(isinstance(one.value, types.MemberDescriptorType) for one in members(kind).values())
        self._ids: list[int] = []
        self.fresh()

    @property
    def is_empty(self) -> bool:
        """Whether it has no such name."""
        return not any(self._is_ruled(name) for name in held_in(self._value, self._kind))

    def fresh(self) -> list[tuple[str, Any]]:
        """The objects that it did not hold when it was last asked, each with its name."""
        own = own_dict(self._value).copy()  # not only what is public, which would take longer
        names = {**_of_slots(self._value, self._kind), **own} if self._has_slots else own
        held = [(name, _objects(there)) for name, there in names.items() if self._is_ruled(name)]
        were, self._ids = self._ids, [number for _, objects in held for number in map(id, objects)]
        if self._ids == were:
            return []
        known = frozenset(were)
        return [(name, one) for name, objects in held for one in objects if id(one) not in known]

    def _is_ruled(self, name: Any) -> bool:
        return type_of(name) is str and not name.startswith("_") and self._ruled(name)


def held_in(value: Any, kind: type[Any]) -> dict[str, Any]:
    """The public attributes of an object, by name."""
    if issubclass(kind, types.ModuleType):
        return module_members(value)
    return {**_of_slots(value, kind), **held_by(value)}


def is_container(value: Any) -> bool:
    return type_of(value) in (*_LISTS, dict)


def items_of(value: Any, kind: type) -> list[Any]:
    """The first items of a container, by Python's own methods; taken at once, because other threads may change it."""
    base: Any = next((base for base in (_DICT, *_LISTS, deque) if issubclass(kind, base)), None)
    if base is None:
        return []
    return list(itertools.islice(_DICT.values(value) if base is _DICT else base.__iter__(value), ITEMS))


def _objects(value: Any, depth: int = 2) -> list[Any]:
    """An object, and the items of a container. No data: it changes all the time."""
    kind = type_of(value)
    if kind in ATOMS:
        return []
    own = [] if is_container(value) else [value]
    items = items_of(value, kind) if depth else []
    kinds = set(map(type_of, items))
    if kinds.issubset(ATOMS):
        return own
    if kinds.isdisjoint(_DATA):
        return own + items
    return own + [one for item in items for one in _objects(item, depth - 1)]


def _of_slots(value: Any, kind: type[Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, member in members(kind).items():
        if isinstance(member.value, types.MemberDescriptorType):
            try:
                found[name] = member.value.__get__(value, kind)
            except AttributeError:
                continue
    return found
