"""The classes that annotations promise: of what a property holds, or a method returns. No code of an object runs."""

from __future__ import annotations

import inspect
import sys
import types
import typing
from abc import ABCMeta
from collections.abc import AsyncGenerator, Coroutine, Generator, Iterable, Iterator
from typing import Any

from cellwright.scope.annotations import FRAMES, UNREADABLE, names_of, read
from cellwright.scope.classes import ATOMS, kind_of, type_hints

DEPTH = 12  # annotations in one another
# of which parts there are objects: the others are metadata, and what is sent into a generator
_OBJECTS: dict[Any, slice] = {
    typing.Annotated: slice(1),
    Generator: slice(1),
    AsyncGenerator: slice(1),
    Coroutine: slice(2, 3),
}
_CONTAINERS: tuple[Any, ...] = (list, tuple, set, frozenset, dict)


def is_own(cls: type) -> bool:
    """Whether the class is the developer's. `crm.*` is not about every object of a class that all programs use."""
    top = cls.__module__.partition(".")[0].lstrip("_")
    return top not in sys.stdlib_module_names and top not in FRAMES


def promised_bases(kind: type, classes: Iterable[type]) -> tuple[type, ...]:
    """Those of the classes that an object of this type may be promised as: bases, and where it is registered."""
    bases = kind.__mro__
    others = (cls for cls in classes if cls not in bases and isinstance(cls, ABCMeta) and is_own(cls))
    registered = (cls for cls in others if issubclass(kind, cls))
    return (*bases, *registered)


def returned(raw: Any) -> Any:
    """The annotation of what a method returns, or a property is."""
    function: Any = getattr(raw, "fget", None) or getattr(raw, "func", None) or raw
    if not isinstance(function, types.FunctionType):
        return None
    hint = type_hints(function).get("return")
    if hint is None:
        hint = function.__annotations__.get("return")
        hint = read(hint, names_of(function)) if isinstance(hint, str) else hint
    return hint


def promised(hint: Any, owner: type, depth: int = 0) -> Iterator[type | None]:
    """The classes of live objects in an annotation; None for a part that any object may fit, as it does a protocol."""
    if hint is getattr(typing, "Self"):  # noqa: B009  else a type checker takes it for a use
        yield owner
    elif hint in (object, Any) or (isinstance(hint, type) and getattr(hint, "_is_protocol", False)):
        yield None
    elif isinstance(hint, typing.TypeVar):
        for part in hint.__constraints__ or (hint.__bound__ or Any,):
            yield from promised(part, owner, depth + 1)
    elif isinstance(hint, type) and typing.get_origin(hint) is None:
        if hint is not type and not issubclass(hint, (*ATOMS, *_CONTAINERS)) and kind_of(hint) == "handle":
            yield hint
    elif depth < DEPTH:
        yield from _of_parts(hint, owner, depth)


def _of_parts(hint: Any, owner: type, depth: int) -> Iterator[type | None]:
    """Of a generic the class itself, and those that it is made of: items have the path of their container."""
    origin = typing.get_origin(hint)
    try:
        parts: tuple[Any, ...] = typing.get_args(hint)
    except UNREADABLE:
        return
    whole = origin if isinstance(origin, type) and (is_own(origin) or not _is_abstract(origin)) else None
    if whole is not None:
        yield from promised(whole, owner, depth + 1)
    for part in parts[_OBJECTS.get(origin, slice(None))]:
        for one in promised(part, owner, depth + 1):
            if one is not None or whole is None or issubclass(whole, _CONTAINERS):
                yield one


def _is_abstract(origin: type) -> bool:
    """Whether it names no class of objects: a union, or what iterators and awaitables have in common."""
    return inspect.isabstract(origin) or origin.__module__ in ("typing", types.__name__)
