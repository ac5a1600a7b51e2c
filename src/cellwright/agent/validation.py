"""Checks of an answer before pydantic reads it, and the text of pydantic's errors, both with a bound.

A guest may have made the answer. pydantic would follow a list that holds itself along every path, and read an endless
iterator: neither is given to pydantic. Knows values and pydantic's errors; not what an answer is for.
"""

from __future__ import annotations

import typing
from collections.abc import Iterable, Iterator
from typing import Any

from cellwright.scope import kind_of, shown
from cellwright_guest.wire import type_of

FIRST = 5  # errors that the text names
COUNTED = 1_000  # with more errors none is described: pydantic takes longer to describe errors than to find them
HEAD = 100  # items of a long list that are checked again for its first errors
_CONTAINERS: tuple[type, ...] = (list, tuple, set, frozenset, dict)
_ATOMS = frozenset((type(None), bool, int, float, complex, str, bytes))


def unfit(value: Any, named: tuple[type, ...]) -> str:
    """Why a value must not be given to pydantic, or "". `named`: classes whose instances are allowed."""
    begun: set[int] = set()
    ended: set[int] = set()
    pending: list[tuple[Any, bool]] = [(value, False)]
    while pending:
        part, left = pending.pop()
        kind = type_of(part)
        if left:
            ended.add(id(part))
        elif kind in _ATOMS or id(part) in ended:
            continue
        elif kind not in _CONTAINERS:
            if is_endless(part) and not any(_is_of(part, cls) for cls in named):
                return f"a {kind.__name__} is read by iterating, perhaps without end; give a list of its items"
        elif id(part) in begun:
            return "it holds itself"
        else:
            begun.add(id(part))
            pending.append((part, True))
            inner: Iterable[Any] = (*part.keys(), *part.values()) if kind is dict else part
            if not _ATOMS.issuperset(map(type, inner)):
                pending.extend((child, False) for child in inner)
    return ""


def is_endless(value: Any) -> bool:
    """Whether the value is a live object that can be iterated and has no length."""
    cls = type_of(value)
    if not hasattr(cls, "__iter__") or hasattr(cls, "__len__") or hasattr(cls, "model_fields"):
        return False
    return kind_of(cls) == "handle"


def _is_of(value: Any, cls: type) -> bool:
    try:
        return isinstance(value, cls)
    except TypeError:  # a protocol or a TypedDict: isinstance does not work
        return False


def classes_named(hint: Any) -> Iterator[type]:
    """The classes that a type names anywhere, except `object` and `Any`."""
    origin = typing.get_origin(hint)
    for cls in (hint, origin):
        if isinstance(cls, type) and cls is not object and cls is not typing.Any:
            yield cls
    for each in typing.get_args(hint):
        yield from classes_named(each)


def words_of(error: Exception, adapter: Any, value: Any) -> str:
    """The text of pydantic's errors, without links; the text of any other error."""
    found: Any = error
    if not hasattr(error, "error_count"):
        return str(error)[:COUNTED]
    count: int = found.error_count()
    if count <= COUNTED:
        return _told(found)
    if type_of(value) is list and len(value) > HEAD:
        try:
            adapter.validate_python(value[:HEAD])
        except ValueError as first:
            return f"{words_of(first, adapter, None)}; and so on: {count:,} errors"
    return f"{count:,} errors"


def _told(error: Any) -> str:
    lines: list[str] = []
    for one in error.errors(include_url=False, include_context=False)[:FIRST]:
        where = ".".join(part[:60] if type(part) is str else shown(part, 60) for part in one["loc"])
        lines.append(f"{where + ': ' if where else ''}{one['msg']} (got {shown(one['input'], 80)})")
    return "; ".join(lines)
