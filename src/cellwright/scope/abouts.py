"""What is known of a call before it is made: its title for people, and the facts of its operation.

Asked for every call, and of objects that must not notice: no code of theirs runs.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from cellwright.doors import About, Call, Made, Operation
from cellwright.scope.asks import Asks
from cellwright.scope.classes import Classes, Known
from cellwright.scope.handles import Handles, Held
from cellwright.scope.members import FUNCTIONS, OPERATORS, members
from cellwright.scope.operations import CAREFUL, facts_of
from cellwright.scope.parcels import find_type, type_key
from cellwright.scope.placing import HANDED
from cellwright.scope.revive import named
from cellwright.scope.rules import Place, Rules
from cellwright.scope.surfaces import NAMESPACE
from cellwright.scope.verbs import READS, VERBS
from cellwright_guest.wire import type_of

TITLE = 200
READING = Operation(reads=True)
_READING_VERBS = frozenset(("get", "dir", "about"))
_DATA_KINDS = frozenset(("record", "model", "namedtuple", "object", "enum"))
_PYTHONS = ("builtins", "functools")  # where functions, partials and containers come from
_SLEEP = About(title="sleep", operation=READING)
_NO_OBJECT: Any = None


class Abouts:
    """For one session. `lost` tells of an object that the guest knows from an earlier process."""

    def __init__(self, rules: Rules, handles: Handles, classes: Classes, lost: Callable[[int], Made | None]) -> None:
        self._rules = rules
        self._handles = handles
        self._classes = classes
        self._lost = lost
        self._asks = Asks(rules, handles)

    def about(self, call: Call) -> About:
        """Never raises. What is not known is assumed to be the careful answer."""
        if call.verb == "sleep":
            return _SLEEP
        entry = self._entry(call.target)
        if entry is None:
            return About(title=self._bare_title(call), operation=_by_nature(call))
        key = call.name if call.verb == "call" else (call.verb, call.name)
        known = entry.abouts.get(key)
        version = self._rules.version  # before they are asked: another thread may declare meanwhile
        if known is not None and known[0] == version:
            return known[1]
        about = self._of_class(entry, call) if isinstance(entry, Known) else self._of_object(entry, call)
        if call.verb in VERBS and _is_bounded(entry, call.name):
            entry.abouts[key] = (version, about)
        return about

    def title(self, call: Call) -> str:
        return self.about(call).title

    def _entry(self, target: int) -> Held | Known | None:
        if target < 0:
            try:
                return self._classes.get(target)
            except ReferenceError:
                return None
        held = self._handles.find(target)
        made = self._lost(target) if held is None else None
        cls = find_type(made.kind) if made is not None else None
        if made is None or cls is None:
            return held
        return Held(_NO_OBJECT, target, Place(made.path, cls), False)  # its class says what it would have said

    def _bare_title(self, call: Call) -> str:
        made = self._lost(call.target)
        return f"{f'#{call.target}' if made is None else named(made)}.{_shown(call.name)}"[:TITLE]

    def _of_class(self, known: Known, call: Call) -> About:
        cls = known.value
        title = ".".join(filter(None, (cls.__name__, _shown(call.name))))[:TITLE]
        known_as = ".".join(filter(None, (type_key(cls), _shown(call.name)))) if isinstance(cls, type) else ""
        if call.verb == "call":
            member = members(cls).get(call.name) if isinstance(cls, type) else None
            said = CAREFUL if member is None else facts_of(member.value)
            facts = self._rules.facts(known.place, call.name, said)
            return About(
                title=title, operation=self._asks.called(known.place, call.name, facts, None), known_as=known_as
            )
        if call.verb == "new":
            facts = self._own(known.place, facts_of(cls), cls)
            # data alone comes of it: what its class checks may be checked twice
            facts = replace(facts, idempotent=True) if known.kind in _DATA_KINDS else facts
            return About(title=title, operation=facts, known_as=known_as)
        read = members(cls).get(call.name) if call.verb == "get" and isinstance(cls, type) else None
        asks = read is not None and read.kind == "property" and self._asks.is_declared(known.place, call.name)
        facts = replace(_by_nature(call), ask=True) if asks else _by_nature(call)
        return About(title=title, operation=facts, known_as=known_as)

    def _of_object(self, held: Held, call: Call) -> About:
        placed = held.bound or _names_itself(held) or _is_namespace(held)
        owner = _stands(held) if placed else f"{_kind(held)}#{held.handle}"
        title = ".".join(filter(None, (owner, "next" if call.verb == "items" else _shown(call.name))))[:TITLE]
        known_as = _known_as(held, call, placed=placed)
        if call.verb == "call":
            return About(title=title, operation=self._called(held, call.name), known_as=known_as)
        if call.verb == "get":  # other facts are of the call: to read a method is not to make it
            reads = self._rules.verdict(held.place, call.name).facts.get("reads", True)
            facts = self._used(held, call, READING if reads else CAREFUL)
            return About(title=title, operation=facts, known_as=known_as)
        return About(title=title, operation=self._used(held, call, _by_nature(call)), known_as=known_as)

    def _used(self, held: Held, call: Call, known: Operation) -> Operation:
        asks = self._asks.used(held, call, _static(held, call.name))
        return replace(known, ask=True) if asks else known

    def _called(self, held: Held, name: str) -> Operation:
        if not name:
            said = CAREFUL if held.value is _NO_OBJECT else facts_of(held.value)
            return self._own(held.place, said, held.value)
        function = _static(held, name)
        facts = self._rules.facts(held.place, name, facts_of(function))
        return self._asks.called(held.place, name, facts, function)

    def _own(self, place: Place, said: Operation, function: Any) -> Operation:
        """The facts of a function or class itself, which stands in the scope as a member of what is above it."""
        owner, _, name = place.path.rpartition(".")
        above = Place(owner, place.kind)
        return self._asks.itself(above, name, self._rules.facts(above, name, said), function)


def _stands(held: Held) -> str:
    """Where it stands. In a child's scope its name is the guest's choice, and a person is asked by what stands here."""
    path = held.place.path
    return held.shown if not path or path.startswith(HANDED) else path


def _known_as(held: Held, call: Call, *, placed: bool) -> str:
    """By its place, or by its class. Not what the guest named, nor a function, nor what is made by Python itself."""
    path, kind = held.place.path, held.place.kind
    if placed:
        return "" if not path or path.startswith(HANDED) else ".".join(filter(None, (path, _shown(call.name))))
    if kind.__module__ in _PYTHONS:
        return ""
    return ".".join(filter(None, (type_key(kind), _shown(call.name))))


def _names_itself(held: Held) -> bool:
    """Whether it is a function that was read off an object: its path says more than its number."""
    return issubclass(type_of(held.value), FUNCTIONS) and held.place.path.endswith(f".{held.value.__name__}")


def _is_namespace(held: Held) -> bool:
    """Whether it is a part of an upstream: there is one at its path, and no other."""
    return NAMESPACE in held.place.kind.__dict__


def _kind(held: Held) -> str:
    """What kind of thing it is. Of a function that has no place of its own, which one it is: a person may be asked."""
    partly = type_of(held.value) is functools.partial
    function = held.value.func if partly else held.value
    if type_of(function) is types.MethodType:
        function = function.__func__
    if type_of(function) not in (types.FunctionType, types.BuiltinFunctionType):
        return held.place.kind.__name__
    named = function.__qualname__.rpartition("<locals>.")[2]
    return f"partial({named})" if partly else named


def _static(held: Held, name: str) -> Any:
    member = members(held.place.kind).get(name)
    if member is not None and member.kind != "property":
        return member.value
    if issubclass(type_of(held.value), types.ModuleType):  # `isinstance` would ask the object
        return held.value.__dict__.get(name)
    return None if held.value is _NO_OBJECT else inspect.getattr_static(held.value, name, None)


def _by_nature(call: Call) -> Operation:
    reads = call.verb in _READING_VERBS or (call.verb == "op" and call.name in READS)
    return READING if reads else CAREFUL


def _is_bounded(entry: Held | Known, name: str) -> bool:
    """Whether there are few such names: an object may answer to any, and what is kept must not grow."""
    if not name or name in OPERATORS:
        return True
    if issubclass(type_of(entry.value), types.ModuleType):
        return name in vars(entry.value)
    return name in members(entry.value if isinstance(entry, Known) else entry.place.kind)


def _shown(name: str) -> str:
    return name if name.isidentifier() else ascii(name) if name else ""
