"""Whether guest code may set or delete an attribute or an item of a host object. Binding an object does not grant it.

It decides by names and types, and looks at what an instance holds; no code of the object runs.
"""

from __future__ import annotations

import types
from collections.abc import MutableMapping, MutableSequence, MutableSet
from typing import Any

from cellwright.scope.handles import HeldObject
from cellwright.scope.members import FUNCTIONS, members
from cellwright.scope.presets import granted_operators, may_set, row_of
from cellwright.scope.rules import Rules
from cellwright.scope.surfaces import NAMESPACE
from cellwright.scope.weak_cache import weak_cache
from cellwright_guest.wire import type_of

ITEMS = "[]"  # stands for item assignment and deletion where a member has its name
_SETTING = frozenset(("__setitem__", "__delitem__"))
_CONTAINERS = (MutableMapping, MutableSequence, MutableSet)
# slots and attributes of types made in C: data, whatever sets them
_DATA = (types.MemberDescriptorType, types.GetSetDescriptorType)


def attribute_refusal(rules: Rules, held: HeldObject, name: str, *, deletes: bool = False) -> str:
    """Why guest code may not set an attribute, or delete it; "" where it may. Whether it is visible is not asked."""
    value: Any = held.value
    kind: type[Any] = held.place.kind
    verdict = rules.verdict(held.place, name, data=True)
    if verdict.read_only or issubclass(kind, types.ModuleType):
        return "is read-only in this scope"
    if NAMESPACE in vars(kind):
        return "is an upstream's, and cannot be set"
    member = members(kind).get(name)
    if issubclass(kind, FUNCTIONS) or (member is not None and member.kind != "property") or _holds_code(value, name):
        return "is code of the host, which guest code does not replace"
    by_table = may_set(kind, name)
    granted = verdict.writable
    if granted is None:
        granted = by_table if by_table is not None else _has_setter(kind, name, deletes)
    return (
        ""
        if granted
        else f"is not set by guest code unless that is declared: {held.place.grant(name, 'writable=True')}"
    )


def operator_refusal(rules: Rules, held: HeldObject, name: str) -> str:
    """Why guest code may not use an operator that changes the object: `[]=`, `del []`, or one in place."""
    bare = name.strip("_")
    if rules.verdict(held.place, bare).read_only:
        return "is read-only in this scope"
    kind = held.place.kind
    written = ITEMS if name in _SETTING else bare
    granted = rules.verdict(held.place, written).writable
    if granted is None:
        by_table = may_set(kind, ITEMS) if name in _SETTING else None
        granted = by_table if by_table is not None else is_container(kind) or _by_operator(kind, name)
    declared = held.place.grant(written, "writable=True")
    return "" if granted else f"is not changed by guest code unless that is declared: {declared}"


@weak_cache
def is_container(kind: type) -> bool:
    """Whether objects of a type hold items that their owner may change: a dict, a list, and what derives from such."""
    return any(issubclass(kind, abc) for abc in _CONTAINERS)


def _by_operator(kind: type, name: str) -> bool:
    """Whether a library's row grants an operator in place."""
    return name not in _SETTING and may_set(kind, name) is not None and name in granted_operators(kind)


def _holds_code(value: Any, name: str) -> bool:
    """Whether an instance holds a function under this name of its own: replacing it would replace code."""
    slot: Any = next((vars(base)[name] for base in type_of(value).__mro__ if name in vars(base)), None)
    if type_of(slot) is types.MemberDescriptorType:
        try:
            return is_code(slot.__get__(value))
        except (AttributeError, TypeError):  # empty, or the stand-in of a lost object
            return False
    try:
        own: Any = object.__getattribute__(value, "__dict__")
    except (AttributeError, TypeError):
        return False
    return is_code(own.get(name) if type_of(own) is dict else None)


def is_code(value: Any) -> bool:
    """Whether a value can be called."""
    return any("__call__" in vars(base) for base in type_of(value).__mro__)


def _has_setter(kind: type, name: str, deletes: bool) -> bool:
    """Whether the class has a property with a setter, or a descriptor that a library's table says is a column."""
    member = members(kind).get(name)
    raw = None if member is None else member.value
    if isinstance(raw, property):
        return (raw.fdel if deletes else raw.fset) is not None
    how = type_of(raw)
    if raw is None or isinstance(raw, _DATA):
        return False
    wanted = "__delete__" if deletes else "__set__"
    row = row_of(how, "__set__")
    return any(wanted in vars(base) for base in how.__mro__) if row is None else "__set__" in row.operators
