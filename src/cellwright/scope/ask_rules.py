"""`AskRules`: which uses of host objects wait for a person's yes, and which functions the rules refuse.

It decides by names, types and rules; no code of the objects runs.
"""

from __future__ import annotations

import functools
import inspect
import types
from dataclasses import replace
from typing import Any

from cellwright.doors import Call, Operation
from cellwright.scope.declared_rule import RuleVerdict
from cellwright.scope.function_rules import NOWHERE, FunctionRules
from cellwright.scope.handles import Handles, HeldObject
from cellwright.scope.members import OPERATORS
from cellwright.scope.operations import facts_of
from cellwright.scope.rules import Place, Rules
from cellwright.scope.verbs import WRITES
from cellwright.scope.writing import attribute_refusal, operator_refusal
from cellwright_guest.wire import type_of

_BOUND = (types.MethodType, types.BuiltinFunctionType)
_SPECIAL = {"items": "__next__", "await": "__await__"}  # the methods that these verbs run


class AskRules:
    """The decisions for one session."""

    def __init__(self, rules: Rules, handles: Handles) -> None:
        self._rules = rules
        self._handles = handles
        self._functions = FunctionRules(rules, handles)

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
        found = None if known.ask else self.home(function)
        if found is None:
            return known
        place, name = found
        verdict = self._functions.verdict(function)
        asks = self.is_declared(place, name) or verdict.facts.get("ask", False)
        asks = asks or (not known.reads and (verdict.asks_writes or self._rules.verdict(place, name).asks_writes))
        return replace(known, ask=True) if asks else known

    def home(self, function: Any) -> tuple[Place, str] | None:
        """The place of the object that a method belongs to, and the method's name there; None for any other value."""
        while type_of(function) is functools.partial:
            function = function.func
        if type_of(function) not in _BOUND:
            return None
        held = self._handles.known(function.__self__)
        owner = function.__self__
        place = held.place if held is not None else self._rules.placed(Place(NOWHERE, type_of(owner)), owner)
        return place, getattr(function, "__name__", "")  # of a function of Python's own kinds

    def refuses(self, held: HeldObject, known: Operation) -> bool:
        """Whether the rules refuse a call of a function that the guest holds, there or at its own object."""
        owner, _, name = held.place.path.rpartition(".")
        home = self.home(held.value)
        there = self._rules.verdict(Place(owner, held.place.kind), name)
        for same in (self._functions.verdict(held.value), self.operator(held, "__call__")):
            if not same.visible or (same.read_only and not known.reads):
                return True
        if home is None or home[1].startswith("_") or issubclass(home[0].kind, types.ModuleType):
            return there.read_only and not known.reads
        own = self._rules.verdict(*home)
        return not own.visible or ((own.read_only or there.read_only) and not known.reads)

    def used(self, held: HeldObject, call: Call, member: Any) -> bool:
        """Whether a verb other than `call` waits for a yes: `ask` is declared or marked of the member that it uses."""
        if call.verb in ("get", "set", "del"):
            return self._attribute(held, call, member)
        name = call.name if call.verb == "op" else _SPECIAL.get(call.verb, "")
        if name not in OPERATORS:
            return False
        place, bare = held.place, name.strip("_")
        if name in WRITES and operator_refusal(self._rules, held, name):
            return False
        if name in WRITES and (self.is_declared(place, bare) or self._rules.verdict(place, bare).asks_writes):
            return True
        if facts_of(inspect.getattr_static(place.kind, name, None)).ask:
            return True
        same = self.operator(held, name)
        return same.visible and not same.read_only and same.facts.get("ask", False)

    def operator(self, held: HeldObject, name: str) -> RuleVerdict:
        """What rules say of the members that are the same function as an operator."""
        return self._rules.of_operator(held.place, name)

    def _attribute(self, held: HeldObject, call: Call, member: Any) -> bool:
        if call.verb == "get" and (member is None or any("__call__" in vars(base) for base in type_of(member).__mro__)):
            return False  # a function that is read is not called yet
        verdict = self._rules.verdict(held.place, call.name, data=True)
        writes = call.verb != "get"
        if not verdict.visible or (
            writes and attribute_refusal(self._rules, held, call.name, deletes=call.verb == "del")
        ):
            return False
        if call.verb != "get" and verdict.asks_writes:
            return True
        return self.is_declared(held.place, call.name) or any(facts_of(function).ask for function in _accessors(member))

    def is_declared(self, place: Place, name: str) -> bool:
        """Whether the rules declare `ask` of a member."""
        return self._rules.verdict(place, name).facts.get("ask", False)


def _accessors(member: Any) -> tuple[Any, ...]:
    if issubclass(type_of(member), property):
        return (member.fget, member.fset, member.fdel)
    return (member.func,) if issubclass(type_of(member), functools.cached_property) else ()
