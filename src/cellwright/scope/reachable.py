"""Every function that guest code reaches from a scope by names alone, with the facts of its operation.

It reads classes, annotations and the dictionaries of instances; no property and no other code of an object runs.
"""

from __future__ import annotations

import datetime as dt
import decimal
import functools
import inspect
import keyword
import pathlib
import types
import typing
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cellwright.doors import Operation
from cellwright.scope.annotations import FRAMES, UNREADABLE, names_of
from cellwright.scope.attributes import held_by
from cellwright.scope.classes import kind_of
from cellwright.scope.members import FUNCTIONS, is_async, members
from cellwright.scope.operations import facts_of
from cellwright.scope.presets import granted_operators
from cellwright.scope.rules import Place, Rules
from cellwright.scope.scope import Scope
from cellwright.scope.signatures import signature, unbound
from cellwright_guest.wire import type_of

DEPTH = 3  # attributes between a bound name and a method: `crm.api.contacts.list`
_PLAIN = (
    type(None), bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset,
    dt.date, dt.time, dt.timedelta, dt.tzinfo, decimal.Decimal, uuid.UUID, pathlib.PurePath,
)  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class ReachableFunction:
    """A function under the path that guest code writes. `names` are defined where its annotations were written."""

    path: str
    function: Any
    bound: bool  # the caller does not give the first parameter
    operation: Operation
    is_async: bool
    names: Mapping[str, Any]

    @property
    def signature(self) -> inspect.Signature | None:
        """Without the parameter that is bound; None where Python cannot tell it."""
        found = signature(self.function)
        return unbound(found) if self.bound and found is not None else found


def callables(scope: Scope) -> Iterator[ReachableFunction]:
    """In the order of the scope, without functions that the rules hide, or refuse because they may write."""
    walk = _Walk(scope.rules)
    built_only = {cls for cls, _, usable in scope.entries() if not usable}
    for name, value in scope.names():
        if not (isinstance(value, type) and value in built_only):
            stands = scope.path(name)  # the path for the rules; in a child's scope it is the path in the parent's
            owner, _, last = stands.rpartition(".")
            yield from walk.named(value, name, stands, Place(owner, object), last)


def has_labels(scope: Scope) -> bool:
    """Whether something in scope is declared to give what outsiders wrote, or what is private."""
    labels = {"untrusted", "private"}
    if any(labels & rule.facts.keys() for rule in scope.rules.declared):
        return True
    return any(found.operation.untrusted or found.operation.private for found in callables(scope))


def class_names(scope: Scope) -> dict[type, str]:
    """The classes that guest code can name, each with its path: bound classes, and those of bound modules."""
    found: dict[type, str] = {cls: name for name, cls in scope.classes() if name}
    for name, value in scope.names():
        if isinstance(value, types.ModuleType):
            place = Place(scope.path(name), types.ModuleType)
            for inner, shown in scope.rules.of_module(place, value).items():
                if isinstance(shown, type):
                    found.setdefault(shown, f"{name}.{inner}")
    return found


class _Walk:
    """One walk through a scope. An object that has several paths is listed under the first."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._seen: set[int] = set()

    def named(
        self, value: Any, path: str, stands: str, owner: Place, name: str, depth: int = 0
    ) -> Iterator[ReachableFunction]:
        """The functions at and below `path`. For the rules the value is at `stands`, the member `name` of `owner`."""
        kind = type_of(value)
        called = issubclass(kind, (*FUNCTIONS, functools.partial))
        if called or (not issubclass(kind, type) and "__call__" in granted_operators(kind)):
            yield from self._callable(value, path, owner, name, bound=False)
        visible = self._rules.verdict(owner, name, data=depth > 0).visible
        if not called and visible and _is_live(kind) and depth <= DEPTH and id(value) not in self._seen:
            self._seen.add(id(value))
            yield from self._inside(value, path, stands, depth)

    def _inside(self, value: Any, path: str, stands: str, depth: int) -> Iterator[ReachableFunction]:
        kind = type_of(value)
        place = self._rules.placed(Place(stands, value if issubclass(kind, type) else kind), value)
        if issubclass(kind, type):
            if kind_of(value) == "handle":
                yield from self._of_type(value, place, path, depth, of_class=True)
            return
        if issubclass(kind, types.ModuleType):
            shown = self._rules.of_module(place, value)
            inner = {name: member for name, member in shown.items() if not isinstance(member, type)}
        else:
            yield from self._of_type(kind, place, path, depth, of_class=False)
            inner = {name: held for name, held in held_by(value).items() if name not in members(kind)}
        for name, held in inner.items():
            if is_name(name):
                yield from self.named(held, f"{path}.{name}", f"{stands}.{name}", place, name, depth + 1)

    def _of_type(
        self, cls: type, place: Place, path: str, depth: int, *, of_class: bool
    ) -> Iterator[ReachableFunction]:
        for name, member in members(cls).items():
            if not is_name(name) or _is_pydantics(member.value):
                continue
            whole = f"{path}.{name}"
            if member.kind == "property":
                if not of_class:
                    yield from self._behind(member.value, whole, place, name, depth)
            elif not of_class or member.kind != "method":
                yield from self._callable(member.value, whole, place, name, bound=member.kind != "static", cls=cls)

    def _behind(self, getter: Any, path: str, owner: Place, name: str, depth: int) -> Iterator[ReachableFunction]:
        """The methods of the class that a property is annotated with."""
        cls = _returned(getter)
        if cls is None or id(cls) in self._seen or depth >= DEPTH:
            return
        if self._rules.verdict(owner, name, data=True).visible and _is_live(cls):
            self._seen.add(id(cls))
            place = Place(f"{owner.path}.{name}" if owner.path else name, cls)
            yield from self._of_type(cls, place, path, depth + 1, of_class=False)
            self._seen.discard(id(cls))  # only on this branch: two properties may return objects of one class

    def _callable(
        self, function: Any, path: str, owner: Place, name: str, *, bound: bool, cls: type | None = None
    ) -> Iterator[ReachableFunction]:
        verdict = self._rules.verdict(owner, name)
        known = self._rules.facts(owner, name, facts_of(function))
        if not verdict.visible or (verdict.read_only and not known.reads):
            return
        own = type_of(function)
        called: Any = function if issubclass(own, (*FUNCTIONS, functools.partial)) else own.__call__
        names = {**(names_of(cls) if cls is not None else {}), **names_of(called)}
        waits = is_async(function) or is_async(called)
        yield ReachableFunction(path=path, function=function, bound=bound, operation=known, is_async=waits, names=names)


def is_name(name: str) -> bool:
    """Whether code can, and may, write the name after a dot."""
    return name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("_")


def _is_live(kind: type) -> bool:
    """Whether objects of this type cross as handles, as far as the type tells."""
    if issubclass(kind, type | types.ModuleType):
        return True
    data = issubclass(kind, _PLAIN) or kind.__module__.partition(".")[0] in FRAMES
    return not data and kind_of(kind) == "handle"


def _is_pydantics(function: Any) -> bool:
    """Whether pydantic defines the method: every model has two dozen of them, and nobody needs them described."""
    return str(getattr(function, "__module__", "")).startswith("pydantic.")


def _returned(getter: Any) -> type | None:
    """The class that the getter of a property is annotated with."""
    function = getattr(getter, "fget", None) or getattr(getter, "func", None)
    if not isinstance(function, types.FunctionType):
        return None
    try:
        hint: Any = typing.get_type_hints(function).get("return")
    except UNREADABLE:
        return None
    return hint if isinstance(hint, type) and typing.get_origin(hint) is None else None
