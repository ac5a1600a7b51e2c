"""Checks what guest code gives to the members of known libraries, directly before they run.

It joins what a library's table says (`library_calls`) with what is declared of the objects at hand.
"""

from __future__ import annotations

import types
from collections import deque
from typing import Any

from cellwright.doors import Call
from cellwright.errors import NotPublic
from cellwright.redaction import is_secret_name
from cellwright.scope.abouts import Abouts
from cellwright.scope.classes import KnownClass
from cellwright.scope.grant_tables import listed
from cellwright.scope.handles import Handles, HeldObject
from cellwright.scope.hidden_fields import extra_of
from cellwright.scope.library_calls import (
    CallRule,
    build_rule,
    owner_of,
    refused_argument,
    telling_record,
    wrong_argument,
)
from cellwright.scope.presets import row_of
from cellwright.scope.rules import Place, Rules
from cellwright_guest.wire import type_of

CONTAINERS: tuple[Any, ...] = (list, tuple, dict, set, frozenset, deque)
# methods and operators of containers that take the items of what they are given
_READING = frozenset(
    "extend extendleft update union intersection difference symmetric_difference intersection_update difference_update "
    "symmetric_difference_update isdisjoint issubset issuperset fromkeys __add__ __iadd__ __ior__".split()
)

Given = tuple[tuple[Any, ...], dict[str, Any]]


class LibraryChecks:
    """For the objects of one session."""

    def __init__(self, rules: Rules, handles: Handles, abouts: Abouts) -> None:
        self._rules = rules
        self._handles = handles
        self._abouts = abouts

    def arguments(self, rule: CallRule, function: Any, call: Call, given: Given) -> None:
        """`NotPublic` for arguments that a library's table does not grant."""
        args, kwargs = given
        owner = owner_of(function)
        name = "__call__" if owner is function else str(function.__name__)
        held = self._handles.known(owner)
        if held is not None:
            place = held.place
        elif type_of(owner) in (types.NoneType, types.ModuleType) and call.target > 0:  # a function: a name of a module
            target = self._handles.get(call.target).place
            path, _, last = target.path.rpartition(".")
            place, name = (target, call.name) if call.name else (Place(path, target.kind), last)
        else:
            place = Place("", owner if issubclass(type_of(owner), type) else type_of(owner))
        wrong = wrong_argument(rule, function, args, kwargs) or self._record(rule, given)
        if wrong and not (self._rules.lifts(place, call.name or name) or self._rules.lifts(place, name)):
            title = self._abouts.of(call).title
            raise NotPublic(f"{title} is refused: {wrong}; {place.grant(call.name or name)} grants it")
        if rule.by_name:
            named = refused_argument(lambda name: self._rules.hides(place, name), (*args, *kwargs.values()))
            if named is not None:
                raise NotPublic(f"{self._abouts.of(call).title} is refused: it would call {named!r}, which is hidden")

    def building(self, known: KnownClass, given: Given) -> None:
        """`NotPublic` for a library's class that its table does not let guest code build so."""
        rule = build_rule(known.value) if known.bound and isinstance(known.value, type) else None
        wrong = "" if rule is None else wrong_argument(rule, known.value, *given) or self._record(rule, given)
        if wrong and not self._rules.lifts(known.place, "__init__"):
            raise NotPublic(f"building {known.value.__name__}: {wrong}; {known.place.grant('__init__')} grants it")

    def items(self, function: Any, call: Call, given: Given) -> None:
        """`NotPublic` for a record that a method of one of Python's containers would read item by item."""
        owner = getattr(function, "__self__", None)
        if str(function.__name__) not in _READING:
            return
        kind: Any = owner if issubclass(type_of(owner), type) else type_of(owner)
        told = self._item_by_item(kind, given[0])  # what is given by name is a value of a dict
        held = self._handles.known(owner)
        place = Place("", kind) if held is None else held.place
        if told and not self._rules.lifts(place, str(function.__name__)):
            title = self._abouts.of(call).title
            raise NotPublic(f"{title} would read {told}; {place.grant(function.__name__)} grants it")

    def operands(self, held: HeldObject, name: str, values: tuple[Any, ...]) -> None:
        """`NotPublic` for what an operator, or a library's attribute that is set, would read as a whole."""
        row = row_of(held.place.kind, name) if values else None
        reads = row is not None and listed(row.keeps, name) is None
        told = telling_record(values, self._tells) if reads else ""
        if name in _READING or (name == "__setitem__" and slice in map(type_of, values[:1])):
            told = told or self._item_by_item(held.place.kind, values)
        if told and not self._rules.lifts(held.place, name):
            raise NotPublic(f"{held.shown} is not given {told}; {held.place.grant(name)} grants it")

    def _item_by_item(self, kind: type, values: tuple[Any, ...]) -> str:
        """What speaks against giving these values to a container, which keeps their items, or their pairs."""
        if not issubclass(kind, CONTAINERS):
            return ""
        pairs = (one for value in values if type_of(value) in (list, tuple) for one in value)
        read = (*values, *pairs) if issubclass(kind, dict) else values
        record = next((one for one in read if issubclass(type_of(one), tuple) and self._tells(one)), None)
        return "" if record is None else f"a {type_of(record).__name__}, which has a hidden field"

    def _record(self, rule: CallRule, given: Given) -> str:
        args, kwargs = given
        told = "" if rule.keeps else telling_record((*args, *kwargs.values()), self._tells)
        return told and f"binding it does not grant that it is given {told}"

    def _tells(self, part: Any) -> bool:
        """Whether a record has a field that guest code does not see."""
        held = self._handles.known(part)
        place = Place("", type_of(part)) if held is None else held.place
        return self._rules.withholds_field(place) or any(map(is_secret_name, extra_of(part)))
