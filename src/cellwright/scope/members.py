"""The public members of a type, read from the class and never from the instance: no property runs to describe it."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal
from weakref import ref

from cellwright.scope.guest_functions import GuestFunction
from cellwright.scope.operations import facts_of
from cellwright.scope.weak_cache import weak_cache
from cellwright_guest.operators import AWAITED, CALLS
from cellwright_guest.wire import type_of

# the operators that the guest can build, in one order for all sessions
OPERATORS = (*sorted(CALLS | AWAITED), "__iter__", "__aiter__", "__exit__", "__aexit__", "__call__", "__await__")

FUNCTIONS = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.MethodWrapperType,
    types.ClassMethodDescriptorType,
)
# attributes of the interpreter's own machinery, whose names carry no underscore
MACHINERY = ("gi_", "cr_", "ag_", "tb_", "f_", "co_")
_MACHINE_TYPES = (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType)

_WRAPPED = (staticmethod, classmethod, functools.partialmethod, functools.partial)

Kind = Literal["method", "class", "static", "property"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Member:
    """One public name of a type."""

    name: str
    kind: Kind
    base: ref[type]  # the class that has it: members are cached, and a function may lead to its class
    is_async: bool = False

    @property
    def value(self) -> Any:
        """The function, or the descriptor."""
        base = self.base()
        raw = None if base is None else base.__dict__.get(self.name)
        return _function(raw) if isinstance(raw, staticmethod | classmethod) else raw


@weak_cache
def members(kind: type) -> dict[str, Member]:
    """The public methods and properties of a type, by name."""
    found: dict[str, Member] = {}
    for name, raw, base in _raw(kind):
        member = _member(name, raw, ref(base))
        if member is not None:
            found[name] = member
    return found


def _raw(kind: type) -> Iterator[tuple[str, Any, type]]:
    seen: set[str] = set()
    for base in kind.__mro__:
        if base is object:
            continue
        for name, raw in vars(base).items():
            if name in seen or name.startswith("_"):
                continue
            seen.add(name)
            if issubclass(kind, _MACHINE_TYPES) and name.startswith(MACHINERY):
                continue
            yield name, raw, base


def _member(name: str, raw: Any, base: ref[type]) -> Member | None:
    if isinstance(raw, staticmethod | classmethod):
        function = _function(raw)
        how: Kind = "static" if isinstance(raw, staticmethod) else "class"
        return Member(name=name, kind=how, base=base, is_async=is_async(function))
    if isinstance(raw, types.ClassMethodDescriptorType):
        return Member(name=name, kind="class", base=base)
    if isinstance(raw, type | types.ModuleType):
        return None
    wraps = callable(getattr(raw, "__wrapped__", None)) or not hasattr(type_of(raw), "__get__")
    if isinstance(raw, FUNCTIONS) or (callable(raw) and wraps):
        return Member(name=name, kind="method", base=base, is_async=is_async(raw))
    return Member(name=name, kind="property", base=base)


@weak_cache
def aliases(kind: type) -> dict[str, tuple[str, ...]]:
    """The public names of a type that stand for the same function or property as other names, with those."""
    names: dict[int, dict[str, None]] = {}
    for base in kind.__mro__[:-1]:
        for name, raw in vars(base).items():
            if not name.startswith("_") and _is_shared(raw):
                names.setdefault(id(_shared(raw)), {})[name] = None
    alike = [tuple(same) for same in names.values() if len(same) > 1]
    found: dict[str, tuple[str, ...]] = {}
    for same in alike:
        for name in same:
            found[name] = (*found.get(name, ()), *(other for other in same if other != name))
    return found


def names_in(kind: type, function: Any) -> tuple[str, ...]:
    """The public names under which a type has a function."""
    wanted = _shared(function)
    raw = ((name, raw) for base in kind.__mro__[:-1] for name, raw in vars(base).items() if not name.startswith("_"))
    return tuple({name: None for name, there in raw if _is_shared(there) and _shared(there) is wanted})


@weak_cache
def operator_names(kind: type) -> dict[str, tuple[str, ...]]:
    """The operators of a type that are the same function as public members (`__call__ = send`), with their names."""
    found: dict[str, tuple[str, ...]] = {}
    for name in operators(kind):
        raw = next(vars(base)[name] for base in kind.__mro__ if name in vars(base))
        if _is_shared(raw) and (names := names_in(kind, raw)):
            found[name] = names
    return found


def _is_shared(raw: Any) -> bool:
    """Whether it is code, which is the same under each of its names; equal data is not."""
    kind = type_of(raw)
    if issubclass(kind, type | types.ModuleType):
        return False
    return hasattr(kind, "__get__") or is_called(raw)


def is_called(value: Any) -> bool:
    """Whether it can be called. A class has the `__call__` of its metaclass."""
    return any("__call__" in vars(base) for base in type_of(value).__mro__)


def _shared(raw: Any) -> Any:
    while isinstance(raw, _WRAPPED):
        raw = raw.func if isinstance(raw, functools.partialmethod | functools.partial) else _function(raw)
    return raw


def _function(method: Any) -> Any:
    return method.__func__


def is_async(function: Any) -> bool:
    """Whether guest code has to await it, as far as can be known without calling it."""
    return gives_coroutine(function) and facts_of(function).thread != "task"


def gives_coroutine(function: Any) -> bool:
    """Whether calling it on the host gives a coroutine."""
    if issubclass(type_of(function), GuestFunction):
        return function.kind == "async"
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "func", None))


@weak_cache
def operators(kind: type) -> tuple[str, ...]:
    """The operators that a type has beyond those of `object`."""
    found: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        if base is not object:
            found.update(vars(base))
    return tuple(name for name in OPERATORS if found.get(name) is not None)


def module_members(module: types.ModuleType) -> dict[str, Any]:
    """The names of a bound module: its `__all__`, else what it, its submodules or its C half define. No modules."""
    listed: Any = getattr(module, "__all__", None)
    name_of = module.__name__
    shown: dict[str, Any] = {}
    for name, value in list(vars(module).items()):  # looking at a lazy member may load others
        if name.startswith("_") or isinstance(value, types.ModuleType):
            continue
        if listed is not None:
            if name in listed:
                shown[name] = value
            continue
        home = getattr(value, "__module__", None)
        own = isinstance(home, str) and (home in (name_of, f"_{name_of}") or home.startswith(f"{name_of}."))
        if own or isinstance(value, int | float | str | bytes):
            shown[name] = value
    return shown
