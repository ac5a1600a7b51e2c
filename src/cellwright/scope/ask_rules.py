"""Which uses of a host object wait for a person's yes. Decides by names, types and marks: no code of the object runs.

A use that the rules refuse is refused, and no person is asked about it.
"""

from __future__ import annotations

import functools
import inspect
import types
from dataclasses import replace
from typing import Any

from cellwright.doors import Call, Operation
from cellwright.scope.handles import Handles, HeldObject
from cellwright.scope.members import OPERATORS
from cellwright.scope.operations import facts_of
from cellwright.scope.rules import Place, Rules
from cellwright.scope.verbs import WRITES
from cellwright_guest.wire import type_of

_BOUND = (types.MethodType, types.BuiltinFunctionType)
_SPECIAL = {"items": "__next__", "await": "__await__"}  # the methods that these verbs run


class AskRules:
    """The decisions for one session."""

    def __init__(self, rules: Rules, handles: Handles) -> None:
        self._rules = rules
        self._handles = handles

    def called(self, place: Place, name: str, known: Operation, function: Any) -> Operation:
        """The facts of a call of the member `name`, which is `function`."""
        known = self.itself(place, name, known, function)
        return known if not known.ask or self._rules.verdict(place, name).visible else replace(known, ask=False)

    def itself(self, owner: Place, name: str, known: Operation, function: Any) -> Operation:
        """The facts of a call of a function or class that the guest holds, and that stands in `owner` as `name`."""
        known = self._of_method(known, function)
        verdict = self._rules.verdict(owner, name)
        if not known.reads and verdict.asks_writes:
            known = replace(known, ask=True)
        refused = known.ask and not known.reads and verdict.read_only
        return replace(known, ask=False) if refused else known

    def _of_method(self, known: Operation, function: Any) -> Operation:
        """The facts, with `ask` if it is declared of the method at the place of its own object.

        The guest may hold a method without its object.
        """
        while type_of(function) is functools.partial:
            function = function.func
        if known.ask or type_of(function) not in _BOUND:
            return known
        owner = function.__self__
        held = self._handles.known(owner)
        place = held.place if held is not None else Place("?", type_of(owner))
        name = getattr(function, "__name__", "")  # of a function of Python's own kinds
        asks = self.is_declared(place, name) or (not known.reads and self._rules.verdict(place, name).asks_writes)
        return replace(known, ask=True) if asks else known

    def used(self, held: HeldObject, call: Call, member: Any) -> bool:
        """Whether a verb other than `call` waits for a yes: `ask` is declared or marked of the member that it uses."""
        if call.verb in ("get", "set", "del"):
            return self._attribute(held, call, member)
        name = call.name if call.verb == "op" else _SPECIAL.get(call.verb, "")
        if name not in OPERATORS:
            return False
        if name in WRITES and self._asks_to_write(held.place, name.strip("_")):
            return True
        return facts_of(inspect.getattr_static(held.place.kind, name, None)).ask

    def _attribute(self, held: HeldObject, call: Call, member: Any) -> bool:
        if call.verb == "get" and (member is None or any("__call__" in vars(base) for base in type_of(member).__mro__)):
            return False  # a function that is read is not called yet
        verdict = self._rules.verdict(held.place, call.name, data=True)
        if not verdict.visible or (verdict.read_only and call.verb != "get"):
            return False
        if call.verb != "get" and verdict.asks_writes:
            return True
        return self.is_declared(held.place, call.name) or any(facts_of(function).ask for function in _accessors(member))

    def _asks_to_write(self, place: Place, name: str) -> bool:
        return self.is_declared(place, name) or self._rules.verdict(place, name).asks_writes

    def is_declared(self, place: Place, name: str) -> bool:
        """Whether the rules declare `ask` of a member."""
        return self._rules.verdict(place, name).facts.get("ask", False)


def _accessors(member: Any) -> tuple[Any, ...]:
    if issubclass(type_of(member), property):
        return (member.fget, member.fset, member.fdel)
    return (member.func,) if issubclass(type_of(member), functools.cached_property) else ()
