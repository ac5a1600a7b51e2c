"""`Scope`: the names that guest code may use, and what is declared about them."""

from __future__ import annotations

import dataclasses
import keyword
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, cast

from toolwright.errors import UsageError
from toolwright.scope.classes import kind_of
from toolwright.scope.members import FUNCTIONS, members
from toolwright.scope.rules import Rules
from toolwright_guest import packing
from toolwright_guest.wire import type_of


class Scope:
    """Names and rules. Binding an object grants everything that its public methods can do on the host.

    >>> scope = Scope({"crm": crm})
    >>> scope.declare("crm.*", hide=["delete_everything"])
    >>> scope.declare("crm.contacts.list", reads=True)
    >>> scope.declare(Contact)          # guest code may build this class
    """

    def __init__(self, names: Mapping[str, Any] | None = None) -> None:
        self.rules = Rules()
        self._names: dict[str, Any] = {}
        self._declared: list[type] = []
        for name, value in (names or {}).items():
            self.bind(name, value)

    @classmethod
    def of(cls, scope: Scope | Mapping[str, Any] | None) -> Scope:
        return scope if isinstance(scope, Scope) else cls(scope)

    def bind(self, name: str, value: Any) -> None:
        """Give guest code `value` under `name`."""
        if not name.isidentifier() or keyword.iskeyword(name) or name.startswith("_"):
            needs = "give a Python identifier without a leading underscore"
            raise UsageError(f"{name!r} cannot be a name in scope: {needs}")
        self._names[name] = value

    def declare(
        self,
        what: str | type,
        *,
        hide: bool | Iterable[str] | None = None,
        only: Iterable[str] | None = None,
        read_only: bool = False,
        **facts: Any,
    ) -> None:
        """Say what is known of members (by a pattern like "crm.contacts.*"), or that guest code may build a class."""
        if isinstance(what, str):
            self.rules.add(what, hide=hide, only=only, read_only=read_only, **facts)
            return
        self._declared.append(what)
        if hide is not None or only is not None or read_only or facts:
            self.rules.add(f"{what.__name__}.*", hide=hide, only=only, read_only=read_only, **facts)

    def extended(self, names: Mapping[str, Any]) -> Scope:
        """This scope, under the same rules, with further names. A name that it has already is a `UsageError`."""
        made = Scope()
        made.rules, made._names, made._declared = self.rules, dict(self._names), self._declared
        for name, value in names.items():
            if name in made._names:
                raise UsageError(f"{name!r} is in this scope already; choose another name")
            made.bind(name, value)
        return made

    def names(self) -> Iterator[tuple[str, Any]]:
        yield from self._names.items()

    def get(self, name: str) -> Any:
        """The object bound to `name`; KeyError where there is none."""
        return self._names[name]

    def classes(self) -> Iterator[tuple[str, type]]:
        """Classes that guest code may build: bound by name, declared, or taken as a parameter by what is bound."""
        seen: set[type] = set()
        for name, value in self._names.items():
            if isinstance(value, type):
                seen.add(value)
                yield name, value
        for cls in (*self._declared, *self._parameters()):
            if cls not in seen:
                seen.add(cls)
                yield "", cls

    def by_handle(self, value: Any) -> bool:
        """Whether a bound value goes by handle, and so can be held under its name."""
        try:
            packing.Packer(packing.plain).pack(value)
        except TypeError:
            return not isinstance(value, list | tuple | dict | set | frozenset) and kind_of(type(value)) == "handle"
        return False

    def _parameters(self) -> Iterator[type]:
        for value in self._names.values():
            if isinstance(value, FUNCTIONS):
                yield from _records_in(value)
            elif not isinstance(value, type):
                for member in members(type_of(value)).values():
                    if member.kind != "property":
                        yield from _records_in(member.value)


def _records_in(function: Callable[..., Any]) -> Iterator[type]:
    """Data classes that a function takes: naming one in a parameter says that callers build it."""
    try:
        hints = typing.get_type_hints(function)
    except (NameError, TypeError, AttributeError, ValueError, LookupError, ImportError, SyntaxError):
        return  # an annotation that only a type checker can read
    hints.pop("return", None)
    pending = list(hints.values())
    seen: set[Any] = set()
    while pending:
        hint: Any = pending.pop()
        if isinstance(hint, type) and hint not in seen and kind_of(hint) in ("record", "model", "enum", "namedtuple"):
            seen.add(hint)
            yield hint
            if dataclasses.is_dataclass(hint):
                pending.extend(_field_hints(hint))
            pending.extend(f.annotation for f in getattr(cast(Any, hint), "model_fields", {}).values())
        pending.extend(typing.get_args(hint))


def _field_hints(cls: type) -> list[Any]:
    try:
        return list(typing.get_type_hints(cls).values())
    except (NameError, TypeError, AttributeError, ValueError, LookupError, ImportError, SyntaxError):
        return []
