"""The facts of an operation, said once: by `@operation` on a function of yours, by `scope.declare` on any other."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from typing import Any, Literal, TypeVar

from cellwright.doors import Operation
from cellwright.errors import UsageError
from cellwright_guest.wire import type_of

Function = TypeVar("Function", bound=Callable[..., Any])
MARK = "__cellwright_operation__"
_UNMARKABLE = frozenset(
    (types.NoneType, types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType)
    + (types.MethodWrapperType, types.ClassMethodDescriptorType)
)

CAREFUL = Operation()
FACTS = frozenset(f.name for f in fields(Operation))


def refuse_operator(pattern: str) -> None:
    """`UsageError` for a rule about an operator: of operators only `hide=False` is declared."""
    owner, _, name = pattern.rpartition(".")
    if name.startswith("__") and name.endswith("__"):
        instead = f"declare({owner!r}, …)" if name in ("__call__", "__init__", "__new__") else "@operation(…) on it"
        raise UsageError(f"declare({pattern!r}): a rule about an operator holds nothing; write {instead}")


def operation(
    *,
    reads: bool = False,
    idempotent: bool = False,
    undo: Callable[..., Any] | None = None,
    revive: Callable[..., Any] | None = None,
    direct: bool = False,
    ask: bool = False,
    shown: Callable[[Any], Any] | None = None,
    takes_guarded: bool = False,
    patient: bool = False,
    timeout_s: float | None = None,
    destructive: bool = False,
    open_world: bool = False,
    own: bool = False,
    untrusted: bool | Iterable[str] = False,
    private: bool | Iterable[str] = False,
    trusted: bool | Iterable[str] = False,
    selecting: Iterable[str] | None = None,
    outward: bool | None = None,
    may_have: bool | Iterable[str] = False,
    thread: Literal["worker", "loop", "task"] | None = None,
) -> Callable[[Function], Function]:
    """Declare the facts of a function or a method. The function itself does not change."""
    facts = Operation(
        reads=reads,
        idempotent=idempotent,
        undo=undo,
        revive=revive,
        direct=direct,
        ask=ask,
        shown=shown,
        takes_guarded=takes_guarded,
        patient=patient,
        timeout_s=timeout_s,
        destructive=destructive,
        open_world=open_world,
        own=own,
        untrusted=_names(untrusted),
        private=_names(private),
        trusted=_names(trusted),
        selecting=None if selecting is None else _names(selecting),
        outward=outward,
        may_have=_names(may_have),
        thread=thread,
    )

    def mark(function: Function) -> Function:
        setattr(function, MARK, facts)
        return function

    return mark


def _names(given: Any) -> Any:
    return given if isinstance(given, bool | str) else tuple(given)


def facts_of(function: Any) -> Operation:
    """The facts that `@operation` declared of a function, or the careful default. Runs no code of the function."""
    kind = type_of(function)
    if kind in (types.MethodType, staticmethod, classmethod):
        return facts_of(function.__func__)
    if kind in _UNMARKABLE:
        return CAREFUL
    if kind is types.FunctionType:
        known = function.__dict__.get(MARK)
    elif kind is functools.partial:
        return facts_of(function.func)
    elif issubclass(kind, type):
        known = function.__dict__.get(MARK)  # not that of a base class, which makes other objects
    else:
        known = inspect.getattr_static(function, MARK, None)
        called = inspect.getattr_static(kind, "__call__", None)
        if known is None and type_of(called) is types.FunctionType:
            return facts_of(called)
    return known if isinstance(known, Operation) else CAREFUL


def with_facts(known: Operation, facts: dict[str, Any]) -> Operation:
    return replace(known, **facts) if facts else known
