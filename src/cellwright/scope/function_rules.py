"""`FunctionRules`: the rules about a function that is a value: handed out by a call, held in an attribute, passed on.

A function is the same operation under every name: a method of its object, and what stands at other paths of the scope.
"""

from __future__ import annotations

import functools
import types
from dataclasses import replace
from typing import Any

from cellwright.doors import Operation
from cellwright.errors import NotPublic
from cellwright.scope.declared_rule import GRANTED, RuleVerdict
from cellwright.scope.handles import Handles
from cellwright.scope.members import FUNCTIONS, is_called, names_in
from cellwright.scope.operations import facts_of
from cellwright.scope.rules import Place, Rules
from cellwright_guest.wire import type_of

NOWHERE = "?"  # the path of an object that no path led to: no name begins so
_BOUND = (types.MethodType, types.BuiltinFunctionType, types.MethodWrapperType)


class FunctionRules:
    """For the objects of one session."""

    def __init__(self, rules: Rules, handles: Handles) -> None:
        self._rules = rules
        self._handles = handles

    def verdict(self, function: Any, *, alone: bool = True) -> RuleVerdict:
        """What rules say of the function, or of a class or an object that is called, however code got it.

        Not `alone`: host code calls it, and rules about all members of what it stands in hold for it, too.
        """
        if not self._rules or not is_called(function):
            return GRANTED
        while issubclass(type_of(function), (functools.partial, staticmethod)):
            function = function.func if issubclass(type_of(function), functools.partial) else function.__func__
        elsewhere = self._elsewhere(function)
        if not is_function(function):
            return self._of_object(function, elsewhere)
        if not alone and elsewhere:
            return self._rules.of_function(None, (), (), elsewhere)
        if type_of(function) in _BOUND and not isinstance(function.__self__, types.ModuleType | None):
            owner = function.__self__
            kind = owner if issubclass(type_of(owner), type) else type_of(owner)
            names = names_in(kind, getattr(function, "__func__", None)) or (function.__name__,)
            # a class method is the same whatever object of the class a rule names
            titles = self._elsewhere(function.__func__) if owner is kind and hasattr(function, "__func__") else ()
            return self._rules.of_function(self._place(owner, kind), names, elsewhere, titles)
        title = ".".join(str(getattr(function, "__qualname__", "")).split(".")[-2:])
        is_method = "." in title and "<locals>" not in title  # without its object, which code can give it
        titles = (*elsewhere, title)
        return self._rules.of_function(None, (), () if is_method else titles, titles if is_method else ())

    def _of_object(self, value: Any, elsewhere: tuple[str, ...]) -> RuleVerdict:
        """Of a class: whether code may build it. `read_only` is not about building."""
        if issubclass(type_of(value), type):
            made = self._rules.of_function(None, (), (), (*elsewhere, value.__name__))
            return replace(made, read_only=False, asks_writes=False)
        held = self._handles.known(value)
        paths = () if held is None else (held.place.path, *held.place.others)
        return self._rules.of_function(None, (), (), tuple(dict.fromkeys((*elsewhere, *paths))))

    def is_elsewhere(self, function: Any) -> bool:
        """Whether rules name the function by a path that is not a member of its object."""
        return bool(self._rules) and bool(self._elsewhere(function))

    def require(self, function: Any, facts: Operation | None = None) -> None:
        """Raise `NotPublic` if the rules hide the function; or, of a call with these `facts`, if it is read-only."""
        verdict = self.verdict(function)
        if verdict is GRANTED:
            return
        named = is_function(function) or issubclass(type_of(function), type)
        # an object that is no function may have any attribute: none is read
        name = getattr(function, "__name__", "") if named else self._shown(function)
        name = name or type_of(function).__name__
        if not verdict.visible:
            what = "function" if is_function(function) else "class" if named else "call of"
            raise NotPublic(f"the {what} {name!r} is not there: {verdict.why}, under every name")
        if facts is not None and verdict.read_only and not facts.reads:
            raise NotPublic(f"{name} is refused: this scope is read-only and does not know that it only reads")

    def require_handed(self, value: Any) -> None:
        """Raise `NotPublic` for a function that is not there. An object that is called has other members, too."""
        if self._rules and is_function(value):
            self.require(value)

    def require_argument(self, value: Any) -> None:
        """Raise `NotPublic` for a function that code may not call: host code that gets it would call it."""
        if self._rules and is_function(value):
            self.require(value, facts_of(value))

    def _shown(self, value: Any) -> str:
        held = self._handles.known(value)
        return "" if held is None else held.shown

    def _elsewhere(self, function: Any) -> tuple[str, ...]:
        return () if self._rules.objects is None else self._rules.objects.titles(function)

    def _place(self, owner: Any, kind: type) -> Place:
        held = self._handles.known(owner)
        if held is not None:
            return held.place
        return self._rules.placed(Place(kind.__name__ if owner is kind else NOWHERE, kind), owner)


def is_function(value: Any) -> bool:
    return issubclass(type_of(value), (*FUNCTIONS, functools.partial))
