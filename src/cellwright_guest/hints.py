"""Types on their way over the wire: `int`, `list[Contact]`, `str | None`, `Literal["a"]`. Both sides use it.

A type is built from standard ones by their names in a table, from classes that the other side asks for by number, and
from a few ways to combine these. Nothing is imported or evaluated, and each expression is bounded.
"""

from __future__ import annotations

import collections.abc
import datetime as dt
import decimal
import enum
import pathlib
import types
import typing
import uuid
from collections.abc import Callable
from typing import Any

from cellwright_guest.packer import INT_HIGH, INT_LOW, Packer
from cellwright_guest.unpacker import Unpacker
from cellwright_guest.wire import WireError, type_of

DEPTH, PARTS, LITERAL = 12, 200, 200  # levels, parts of one expression, characters of a literal's text

_any: Any = typing.Any  # a class from 3.11 on
_TYPES: tuple[type, ...] = (bool, int, float, complex, str, object, dict, type(None))
_TIMES: tuple[type, ...] = (dt.datetime, dt.date, dt.time, dt.timedelta, dt.timezone)
_LISTS: tuple[type, ...] = (list, tuple, set, frozenset)
# Types that are themselves on both sides: `astype(float)` means the host's float. Host code may call what it is given:
# none of these can make much of little.
NAMED: dict[str, Any] = {
    kind.__name__: kind for kind in (*_TYPES, *_TIMES, decimal.Decimal, uuid.UUID, pathlib.Path, _any)
}
# These can, of a range or of a number: alone they are functions of the guest, as any callable is; in a type they are
# themselves.
WITHIN: dict[str, Any] = NAMED | {kind.__name__: kind for kind in (*_LISTS, bytes, bytearray)}
ORIGINS: dict[str, Any] = {kind.__name__: kind for kind in (*_LISTS, dict)} | {
    name: getattr(collections.abc, name) for name in ("Sequence", "Mapping", "Iterable")
}
_PAIRS = ("dict", "Mapping")  # take two parts; the others take one, and a tuple any number


class Uncalled(types.GenericAlias):
    """`list[int]` as any other, but host code that takes it for a function does not build a list of it."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"{self!r} is a type that guest code gave, and is not called")


_BARE = frozenset((type_of(typing.List), type_of(typing.Tuple)))  # noqa: UP006
_FORMS: tuple[Any, ...] = (
    list[int],
    int | str,
    typing.List[int],  # noqa: UP006
    typing.Union[int, str],  # noqa: UP007
    typing.Literal[1],
    typing.Annotated[int, 1],
    typing.Callable[[int], int],
    collections.abc.Callable[[int], int],
)
_KINDS = _BARE | {Uncalled, *map(type_of, _FORMS)}

Number = Callable[[type], Any]
"""The tree of a class that the other side knows; None for every other."""


def is_expression(value: Any) -> bool:
    return type_of(value) in _KINDS


def name_of(value: Any, table: dict[str, Any] = WITHIN) -> str | None:
    """The name of a standard type; None for every other thing."""
    name: Any = value.__name__ if issubclass(type_of(value), type) else None
    return name if type_of(name) is str and table.get(name) is value else None


def pack_named(value: Any) -> Any:
    """The tree of a standard type that may cross alone; None for every other thing."""
    name = name_of(value, NAMED)
    return None if name is None else {"T": name}


def pack(value: Any, number: Number, packer: Packer) -> Any:
    """The tree of an expression. One that cannot cross raises `TypeError`."""
    return _Writer(number, packer, value).expression(value, 0)


class _Writer:
    """One expression on its way out."""

    def __init__(self, number: Number, packer: Packer, whole: Any) -> None:
        self._number = number
        self._packer = packer
        self._whole = whole
        self._parts = 0

    def expression(self, value: Any, depth: int) -> Any:
        origin: Any = typing.get_origin(value)
        args = _any_parts(origin) if type_of(value) in _BARE else typing.get_args(value)
        self._parts += len(args)
        if depth > DEPTH or self._parts > PARTS:
            raise self._refused(f"it has more than {DEPTH} levels or {PARTS} parts")
        self._packer.count(len(args))
        if origin in (typing.Union, types.UnionType):
            return {"G": ["Union", [self._part(arg, depth) for arg in args]]}
        if origin is typing.Literal:
            return {"G": ["Literal", [self._literal(arg) for arg in args]]}
        name = name_of(origin, ORIGINS)
        if name is None or not _counts(name, args):
            raise self._refused(f"{value!r:.100} is not made of types that both sides have")
        return {"G": [name, [self._part(arg, depth) for arg in args]]}

    def _part(self, value: Any, depth: int) -> Any:
        if value is None:
            return None
        if value is ...:
            return {"x": ["ellipsis"]}
        named = name_of(value)
        if named is not None:
            return {"T": named}
        if type_of(value) in _KINDS:
            return self.expression(value, depth + 1)
        if not issubclass(type_of(value), type):
            raise self._refused(f"{value!r:.100} in it is no type")
        tree = self._number(value)
        if tree is None:
            raise self._refused(f"class {value.__name__} is not in scope")
        return tree

    def _literal(self, value: Any) -> Any:
        kind = type_of(value)
        if kind in (type(None), bool) or (kind is int and INT_LOW <= value < INT_HIGH):
            return value
        if kind is str and len(value) <= LITERAL:
            return value
        if isinstance(value, enum.Enum):
            tree = self._packer.pack(value)
            if type_of(tree) is dict and "e" in tree:
                return tree
        raise self._refused(f"{value!r:.100} in it is no short text, whole number, bool, None or enum member in scope")

    def _refused(self, why: str) -> TypeError:
        return TypeError(f"the type {self._whole!r:.200} cannot cross: {why}")


def named(body: Any) -> Any:
    """A standard type that stands alone."""
    if type(body) is not str or body not in NAMED:
        raise WireError("a type that is not known")
    return NAMED[body]


def build(body: Any, unpacker: Unpacker, *, called: bool) -> Any:
    """The type that an expression stands for. Every step of it may have been made by an enemy."""
    return _Reader(unpacker, types.GenericAlias if called else Uncalled).expression(body, 0)


class _Reader:
    """One expression on its way in. Classes and enum members are asked for as anywhere else in the tree."""

    def __init__(self, unpacker: Unpacker, alias: Callable[..., Any]) -> None:
        self._unpacker = unpacker
        self._alias = alias
        self._parts = 0

    def expression(self, body: Any, depth: int) -> Any:
        name, trees = _pair(body)
        self._parts += len(trees)
        if depth > DEPTH or self._parts > PARTS:
            raise WireError("a type deeper or larger than the bound")
        if name == "Literal" and trees:
            return _combined(typing.Literal, tuple(map(self._literal, trees)))
        parts = tuple(self._part(tree, depth, name) for tree in trees)
        if name == "Union":
            made = _combined(typing.Union, parts) if parts else None
            if typing.get_origin(made) is not typing.Union:  # equal parts collapse to one type
                raise WireError("an invalid union")
            return made
        if name not in ORIGINS or not _counts(name, parts):
            raise WireError("an invalid type")
        return self._alias(ORIGINS[name], parts)

    def _part(self, tree: Any, depth: int, within: str) -> Any:
        if tree is None:
            return None
        tag, body = _tag(tree)
        match tag:
            case "T" if type(body) is str and body in WITHIN:
                return WITHIN[body]
            case "c":
                cls = self._unpacker.other(tag, body, self._unpacker)
                if isinstance(cls, type):
                    return cls
            case "G":
                return self.expression(body, depth + 1)
            case "x" if body == ["ellipsis"] and within == "tuple":
                return ...
            case _:
                pass
        raise WireError("an invalid part of a type")

    def _literal(self, tree: Any) -> Any:
        kind = type_of(tree)
        if kind in (type(None), bool) or (kind is int and INT_LOW <= tree < INT_HIGH):
            return tree
        if kind is str and len(tree) <= LITERAL:
            return tree
        tag, body = _tag(tree)
        value = self._unpacker.other(tag, body, self._unpacker) if tag == "e" else None
        if isinstance(value, enum.Enum):
            return value
        raise WireError("an invalid literal")


def _any_parts(origin: Any) -> tuple[Any, ...]:
    """What `List` says without parts: `List[Any]`."""
    return (Any, ...) if origin is tuple else (Any, Any) if name_of(origin, ORIGINS) in _PAIRS else (Any,)


def _combined(form: Any, parts: tuple[Any, ...]) -> Any:
    try:
        return form[parts]
    except TypeError:
        raise WireError("an invalid type") from None


def _counts(name: str, parts: tuple[Any, ...]) -> bool:
    """Whether it has as many parts as its kind takes, and `...` only at the end of a pair."""
    if name == "tuple":
        return ... not in parts or (len(parts) == 2 and parts[0] is not ... and parts[1] is ...)
    return len(parts) == (2 if name in _PAIRS else 1)


def _pair(body: Any) -> tuple[str, list[Any]]:
    if type_of(body) is not list or len(body) != 2 or type_of(body[0]) is not str or type_of(body[1]) is not list:
        raise WireError("a type without its parts")
    return body[0], body[1]


def _tag(tree: Any) -> tuple[str, Any]:
    if type_of(tree) is not dict or len(tree) != 1:
        raise WireError("an invalid part of a type")
    return next(iter(tree.items()))
