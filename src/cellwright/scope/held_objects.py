"""What host objects hold: attributes, slots and items of containers. No code of an object runs."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from cellwright.scope.attributes import held_by, own_dict
from cellwright.scope.classes import ATOMS
from cellwright.scope.members import members, module_members
from cellwright_guest.wire import type_of

ITEMS = 1_000  # of one container
_LISTS: tuple[Any, ...] = (list, tuple, set, frozenset)
_DICT: Any = dict


class RuledHolder:
    """An object, and the ids of the objects that it held, when it was looked at, under names that rules speak of."""

    def __init__(self, value: Any, kind: type, ruled: Callable[[str], bool]) -> None:
        self._value = value
        self._kind: type[Any] = kind
        self._ruled = functools.cache(ruled)
        self._has_slots = any(isinstance(one.value, types.MemberDescriptorType) for one in members(kind).values())
        self.were = self.ids()

    @property
    def is_empty(self) -> bool:
        """Whether it has no such name."""
        return not any(self._is_ruled(name) for name in held_in(self._value, self._kind))

    def ids(self) -> tuple[int, ...]:
        own = own_dict(self._value).copy()  # not only what is public, which would take longer
        held = {**_of_slots(self._value, self._kind), **own} if self._has_slots else own
        return tuple(number for name, there in held.items() if self._is_ruled(name) for number in _ids(there))

    def _is_ruled(self, name: Any) -> bool:
        return type_of(name) is str and not name.startswith("_") and self._ruled(name)


def held_in(value: Any, kind: type[Any]) -> dict[str, Any]:
    """The public attributes of an object, by name."""
    if issubclass(kind, types.ModuleType):
        return module_members(value)
    return {**_of_slots(value, kind), **held_by(value)}


def is_container(value: Any) -> bool:
    return type_of(value) in (*_LISTS, dict)


def items_of(value: Any, kind: type) -> Iterator[Any]:
    """The items of a container, by Python's own methods."""
    base: Any = next((base for base in (_DICT, *_LISTS) if issubclass(kind, base)), None)
    if base is not None:
        items: Iterable[Any] = _DICT.values(value) if base is _DICT else base.__iter__(value)
        for _, item in zip(range(ITEMS), items, strict=False):
            yield item


def _ids(value: Any, depth: int = 2) -> Iterator[int]:
    """The id of an object, or those of the items of a container. Of data none: it changes all the time."""
    kind = type_of(value)
    if kind in ATOMS:
        return
    if not is_container(value):
        yield id(value)
    elif depth:
        for item in items_of(value, kind):
            yield from _ids(item, depth - 1)


def _of_slots(value: Any, kind: type[Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, member in members(kind).items():
        if isinstance(member.value, types.MemberDescriptorType):
            try:
                found[name] = member.value.__get__(value, kind)
            except AttributeError:
                continue
    return found
