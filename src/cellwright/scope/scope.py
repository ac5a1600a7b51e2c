"""`Scope`: the names that guest code may use, and what is declared about them."""

from __future__ import annotations

import dataclasses
import keyword
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, cast

from cellwright.errors import CannotCross, NotInScope, UsageError, WrongArguments
from cellwright.scope.classes import kind_of, type_hints
from cellwright.scope.distributions import check_binding
from cellwright.scope.members import FUNCTIONS, members
from cellwright.scope.object_rules import ObjectRules
from cellwright.scope.placement import HANDED, ObjectHolder, places_in
from cellwright.scope.rules import Place, Rules
from cellwright.scope.served_call import CURRENT
from cellwright.scope.surfaces import root_of, surface_of
from cellwright.scope.value_text import shown
from cellwright_guest import hints, packer
from cellwright_guest.wire import type_of

NAMES = 1000  # that a child may be given


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Binding:
    """The value of one name."""

    value: Any
    path: str  # its place: its name, or in a child's scope the path that it has in the parent's
    own: bool = False  # belongs to this session alone: not handed on to a child
    built_only: bool = False  # a class that guest code may build, and not use by itself
    given: bool = False  # a guest chose the value: its name tells a person nothing


class Scope:
    """Names and rules. Binding an object grants everything that its public methods can do on the host.

    >>> scope = Scope({"crm": crm})
    >>> scope.declare("crm.*", hide=["delete_everything"])
    >>> scope.declare("crm.contacts.list", reads=True)
    >>> scope.declare(Contact)          # guest code may build this class

    With `strict_binding` objects of other installed distributions are refused, unless an `only=` says what they show.
    """

    def __init__(self, names: Mapping[str, Any] | None = None, *, strict_binding: bool = False) -> None:
        self.rules = Rules()
        self.rules.objects = ObjectRules(self.rules, self.names)
        self.rules.strict_binding = strict_binding
        self._names: dict[str, Binding] = {}
        self._declared: list[type] = []
        self._above: tuple[Scope, ObjectHolder | None] | None = None  # a child's: its parent's, who holds its objects
        self._kept: dict[int, tuple[Any, Place]] = {}  # live objects inside of values that were handed on
        for name, value in (names or {}).items():
            self.bind(name, value)

    @classmethod
    def of(cls, scope: Scope | Mapping[str, Any] | None) -> Scope:
        return scope if isinstance(scope, Scope) else cls(scope)

    def bind(self, name: str, value: Any, *, own: bool = False) -> None:
        """Give guest code `value` under `name`. A value of the session's `own` is not handed on to its children."""
        wrong = _wrong_name(name)
        if wrong:
            raise UsageError(wrong)
        check_binding(self.rules, name, value)
        self._names[name] = Binding(value=root_of(value), path=name, own=own)
        if self.rules.objects is not None:
            self.rules.objects.forget()

    def declare(
        self,
        what: str | type,
        *,
        hide: bool | Iterable[str] | None = None,
        only: Iterable[str] | None = None,
        read_only: bool = False,
        writable: bool | Iterable[str] | None = None,
        **facts: Any,
    ) -> None:
        """Declare facts of members (by a pattern like "crm.contacts.*"), or that guest code may build a class."""
        if isinstance(what, str):
            self.rules.add(what, hide=hide, only=only, read_only=read_only, writable=writable, **facts)
            return
        self._declared.append(what)
        if hide is not None or only is not None or read_only or writable is not None or facts:
            pattern = f"{what.__name__}.*"
            self.rules.add(pattern, hide=hide, only=only, read_only=read_only, writable=writable, **facts)

    def extended(self, names: Mapping[str, Any], *, own: bool = True, given: bool = False) -> Scope:
        """This scope, under the same rules, with further names. A name that it has already is a `UsageError`.

        Values that are the session's `own` are not handed on: a child's session has its own. Values that are `given`
        come from a guest, as all do that are bound while its call is served.
        """
        given = given or (not own and CURRENT.get() is not None)
        scope = Scope()
        scope.rules, scope._names, scope._declared = self.rules, dict(self._names), self._declared
        scope._above, scope._kept = self._above, self._kept
        for name, value in names.items():
            if name in scope._names:
                raise UsageError(f"{name!r} is in this scope already; choose another name")
            scope.bind(name, value, own=own)
            if given:
                scope._names[name] = dataclasses.replace(scope._names[name], given=True)
        return scope

    def names(self) -> Iterator[tuple[str, Any]]:
        for name, bound in self._names.items():
            yield name, bound.value

    def get(self, name: str) -> Any:
        """The object bound to `name`; KeyError if there is none."""
        return self._names[name].value

    def path(self, name: str) -> str:
        """The path, for the rules, of the value that is bound to `name`."""
        return self._names[name].path

    def bound_as(self, value: Any) -> str:
        """The name under which the developer bound an object; "" for none. Names in a child's scope are a guest's."""
        if self._above is not None:
            return self._above[0].bound_as(value)
        return next((name for name, bound in self._names.items() if bound.value is value and not bound.given), "")

    def is_handed(self, name: str) -> bool:
        """Whether a guest chose the value of a child's name: the developer bound it under no name."""
        bound = self._names[name]
        return self._above is not None and not bound.own and not self.bound_as(bound.value)

    def root(self, name: str) -> Any:
        """The value at the beginning of a path: a child's scope may not bind it. KeyError if there is none."""
        if name in self._names and self._names[name].path == name:
            return self._names[name].value
        if self._above is None:
            raise KeyError(name)
        return self._above[0].root(name)

    def classes(self, *, declared: bool = True) -> Iterator[tuple[str, type]]:
        """Classes that guest code may build: bound by name, `declared`, or taken as a parameter by what is bound."""
        seen: set[type] = set()
        for name, value in self.names():
            if isinstance(value, type):
                seen.add(value)
                yield name, value
        taken = self._parameters()
        if self._above is not None:  # a function that a child is given may take classes that the parent cannot build
            buildable = {cls for _, cls in self._above[0].classes()}
            taken = (cls for cls in taken if cls in buildable)
        for cls in (*(self._all_declared() if declared else ()), *taken):
            if cls not in seen:
                seen.add(cls)
                yield "", cls

    def entries(self) -> Iterator[tuple[type, str, bool]]:
        """The same classes, each with its path and whether the class itself may be used."""
        for name, cls in self.classes():
            if not name:
                yield cls, cls.__name__, False
            elif not self._names[name].path.startswith(HANDED):  # a standard type is the same on both sides
                yield cls, self._names[name].path, not self._names[name].built_only

    def _all_declared(self) -> Iterator[type]:
        yield from self._declared
        if self._above is not None:
            yield from self._above[0]._all_declared()

    def by_handle(self, value: Any) -> bool:
        """Whether a bound value crosses by handle, and so can be held under its name."""
        if hints.is_expression(value):
            return False
        try:
            packer.Packer(packer.plain).pack(value)
        except TypeError:
            return not isinstance(value, list | tuple | dict | set | frozenset) and kind_of(type(value)) == "handle"
        return False

    def _parameters(self) -> Iterator[type]:
        for _, value in self.names():
            if isinstance(value, FUNCTIONS):
                yield from _records_in(value)
            elif not isinstance(value, type) and surface_of(value) is None:
                for member in members(type_of(value)).values():
                    if member.kind != "property":
                        yield from _records_in(member.value)

    # a scope for a child

    @property
    def is_child(self) -> bool:
        """Whether this scope was narrowed from another."""
        return self._above is not None

    def narrowed(
        self,
        names: Iterable[str] | Mapping[str, Any] | None = None,
        *,
        host: ObjectHolder | None = None,
        classes: Iterable[type] = (),
    ) -> Scope:
        """A scope that is never wider than this one, under the same rules: with these names, or with all.

        A mapping gives values that this session's guest handed over: their live objects keep the places that `host`,
        which holds this session's objects, knows. The rest is the guest's own: plain data, its functions. The child
        can name the `classes` too, each by its own name if that is free.
        """
        child = Scope()
        child.rules, child._above = self.rules, (self, host)
        given = _named(cast("Mapping[str, Any]", names)) if isinstance(names, Mapping) else self._chosen(names)
        for name, value in given.items():
            path = HANDED + name if isinstance(names, Mapping) else self.path(name)
            child._names[name] = self._handed(path, value, host)
            child._kept |= places_in(value, lambda part: self.place_in(part, host))
        for cls in classes:
            if not _wrong_name(cls.__name__) and all(cls is not value for _, value in child.names()):
                child._names.setdefault(cls.__name__, self._handed_class(HANDED + cls.__name__, cls, host))
        return child

    def _chosen(self, names: Iterable[str] | None) -> dict[str, Any]:
        if isinstance(names, str):
            raise WrongArguments(f"scope={names!r:.100}: give a list of names, or a dict")
        there = [name for name, bound in self._names.items() if not bound.own]
        wanted = there if names is None else list(names)
        if names is not None and len(wanted) > NAMES:
            raise WrongArguments(f"{len(wanted)} names are more than {NAMES}")
        for name in wanted:
            if type_of(name) is not str or name not in there:
                title = name[:100] if type_of(name) is str else shown(name, 100)
                raise NotInScope(f"`{title}` is not in scope; in scope: {', '.join(there) or 'nothing'}")
        return {name: self._names[name].value for name in wanted}

    def _handed(self, path: str, value: Any, host: ObjectHolder | None) -> Binding:
        """A value for a child: it keeps its place in this scope, or gets `path` if it has none."""
        if isinstance(value, type):
            return self._handed_class(path, value, host)
        place = self.place_in(value, host) if self.by_handle(value) else None
        return Binding(value=value, path=path if place is None else place.path)

    def _handed_class(self, path: str, cls: type, host: ObjectHolder | None) -> Binding:
        for bound in self._names.values():
            if bound.value is cls:
                return dataclasses.replace(bound, own=False)
        known = host.class_of(cls) if host is not None else None
        if known is not None:
            return Binding(value=cls, path=known.place.path, built_only=not known.bound)
        if any(cls is declared for _, declared in self.classes()):
            return Binding(value=cls, path=cls.__name__, built_only=True)
        if hints.name_of(cls) is not None:
            return Binding(value=cls, path=path)
        raise CannotCross(f"class {cls.__name__} is not in scope; bind it by name, or declare it")

    def place_in(self, value: Any, host: ObjectHolder | None) -> Place | None:
        """The place of a live object in the session of this scope, whose objects `host` holds; None if it has none."""
        for name, bound in self._names.items():
            if bound.own and bound.value is value:
                raise CannotCross(f"`{name}` belongs to the agent that has it, and is not handed on")
        known = host.place_of(value) if host is not None else None
        if known is not None:
            return known
        for bound in self._names.values():
            if bound.value is value:
                return Place(bound.path, type_of(value))
        return self.place_of(value)

    def place_of(self, value: Any) -> Place | None:
        """The place of an object before it came into this scope; None if it was in no other scope."""
        kept = self._kept.get(id(value))
        if kept is not None:
            return kept[1]
        return None if self._above is None else self._above[0].place_in(value, self._above[1])


def _named(names: Mapping[str, Any]) -> dict[str, Any]:
    """The names that guest code chose for the values that it hands over."""
    if len(names) > NAMES:
        raise WrongArguments(f"{len(names)} names are more than {NAMES}")
    for name in names:
        if wrong := _wrong_name(name):
            raise WrongArguments(wrong)
    return dict(names)


def _wrong_name(name: Any) -> str:
    """Why something cannot be a name in scope; "" if it can."""
    if type(name) is str and name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("_"):
        return ""
    return f"{shown(name, 100)} cannot be a name in scope: give a Python identifier without a leading underscore"


def _records_in(function: Callable[..., Any]) -> Iterator[type]:
    """Data classes that a function takes: a class in a parameter's annotation is one that callers build."""
    pending = [hint for name, hint in type_hints(function).items() if name != "return"]
    seen: set[Any] = set()
    while pending:
        hint: Any = pending.pop()
        if isinstance(hint, type) and hint not in seen and kind_of(hint) in ("record", "model", "enum", "namedtuple"):
            seen.add(hint)
            yield hint
            if dataclasses.is_dataclass(hint):
                pending.extend(type_hints(hint).values())
            pending.extend(f.annotation for f in getattr(cast(Any, hint), "model_fields", {}).values())
        pending.extend(typing.get_args(hint))
