"""Values as Python expressions for guest code. Data stays data, whatever a model puts into it.

Knows values and the names of classes; not where they came from, nor who reads the code. An expression names the
standard library as `_datetime.datetime`: the code around it imports `ExpressionWriter.modules` under such names.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import inspect
import keyword
import math
import pathlib
import types
import typing
import uuid
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, cast

from cellwright_guest.wire import type_of

DEPTH = 60  # Python's own reader takes 200 brackets inside each other, and a record has two
LONG_INT_BITS = 10_000  # above it decimal digits are slow to read, and too many are refused
_ISO = {dt.datetime: "datetime", dt.date: "date", dt.time: "time"}
_LEAVES: tuple[type, ...] = (
    bool, int, float, str, bytes, dt.datetime, dt.date, dt.time, dt.timedelta, Decimal, uuid.UUID, pathlib.PurePath,
    list, tuple, dict, set, frozenset, type(None), object,
)  # fmt: skip
_WRAPPERS: tuple[Any, ...] = (typing.Annotated, typing.Required, typing.NotRequired, typing.Final)


def is_dataclass(cls: Any) -> bool:
    return hasattr(cls, "__dataclass_fields__")


class NoExpression(ValueError):
    """A value, or a type, that has no expression in guest code. The message says which and why."""


class ExpressionWriter:
    """Writes several values, and collects the standard modules that they need: `datetime` as `_datetime`.

    `names` are the classes that guest code can name, and how it writes them.
    """

    def __init__(self, names: Mapping[type, str]) -> None:
        self._names = names
        self.modules: set[str] = set()

    def write(self, value: Any, depth: int = 0) -> str:
        if depth > DEPTH:
            raise NoExpression(f"data nested deeper than {DEPTH} levels")
        if value is None or value is True or value is False:
            return repr(value)
        if isinstance(value, enum.Enum):
            return self._member(value)
        match value:
            case str():
                return str.__repr__(value)
            case bytes():
                return bytes.__repr__(value)
            case int():
                return int.__repr__(value) if value.bit_length() <= LONG_INT_BITS else hex(value)
            case float():
                return self._float(value)
            case list() | tuple() | set() | frozenset() | dict():
                return self._container(cast(Any, value), depth)
            case _:
                return self._standard(value) or self._record(value, depth)

    def call(self, path: str, args: Iterable[Any], kwargs: Mapping[str, Any], depth: int = 0) -> str:
        """`path(…)`. A keyword that is no identifier is passed as a key of `**{…}`, where it is a string."""
        parts = [self.write(value, depth + 1) for value in args]
        odd: dict[str, Any] = {}
        for name, value in kwargs.items():
            if name.isidentifier() and name.isascii() and not keyword.iskeyword(name) and name != "__debug__":
                parts.append(f"{name}={self.write(value, depth + 1)}")
            else:
                odd[name] = value
        if odd:
            parts.append(f"**{self.write(odd, depth)}")
        return f"{path}({', '.join(parts)})"

    def _module(self, name: str) -> str:
        self.modules.add(name)
        return f"_{name}"

    def _float(self, value: float) -> str:
        if math.isfinite(value):
            return float.__repr__(value)
        sign = "-" if value < 0 else ""
        return f"{sign}{self._module('math')}.{'nan' if math.isnan(value) else 'inf'}"

    def _container(self, value: Any, depth: int) -> str:
        kind = type_of(value)
        if hasattr(kind, "_fields"):  # a named tuple
            return self.call(self._name(kind), value, {}, depth)
        if issubclass(kind, dict):
            pairs = ", ".join(f"{self.write(k, depth + 1)}: {self.write(v, depth + 1)}" for k, v in value.items())
            return f"{{{pairs}}}"
        inner = ", ".join(self.write(item, depth + 1) for item in value)
        closed = f"({inner},)" if inner else "()"
        if issubclass(kind, list):
            return f"[{inner}]"
        if issubclass(kind, tuple):
            return closed
        if issubclass(kind, frozenset):
            return f"{self._module('builtins')}.frozenset({closed})"
        return f"{{{inner}}}" if inner else "{*()}"

    def _standard(self, value: Any) -> str:
        """Dates, numbers, ids and paths; "" for anything else."""
        name = next((name for kind, name in _ISO.items() if isinstance(value, kind)), "")
        if name:
            code = f"{self._module('datetime')}.{name}.fromisoformat({value.isoformat()!r})"
            return f"{code}.replace(fold=1)" if getattr(value, "fold", 0) else code
        if isinstance(value, dt.timedelta):
            return f"{self._module('datetime')}.timedelta({value.days}, {value.seconds}, {value.microseconds})"
        if isinstance(value, Decimal):
            return f"{self._module('decimal')}.Decimal({str(value)!r})"
        if isinstance(value, uuid.UUID):
            return f"{self._module('uuid')}.UUID({str(value)!r})"
        for kind in (pathlib.Path, pathlib.PureWindowsPath, pathlib.PurePath):
            if isinstance(value, kind):
                return f"{self._module('pathlib')}.{kind.__name__}({str(value)!r})"
        return ""

    def _member(self, value: enum.Enum) -> str:
        cls = type(value)
        name = self._name(cls)
        if value.name not in cls.__members__:  # a combination of flags
            return f"{name}({self.write(value.value)})"
        if value.name.isidentifier() and value.name.isascii() and not keyword.iskeyword(value.name):
            return f"{name}.{value.name}"
        return f"{name}[{value.name!r}]"

    def _record(self, value: Any, depth: int) -> str:
        cls = type_of(value)
        if is_dataclass(cls):
            fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(cls) if f.init}
        elif hasattr(cls, "model_fields") and hasattr(cls, "model_fields_set"):
            given = {n for n in cls.model_fields if n in value.model_fields_set}
            fields = {_keyword_of(cls, n): getattr(value, n) for n in cls.model_fields if n in given}
            fields |= getattr(value, "model_extra", None) or {}
        else:
            raise NoExpression(f"a {cls.__name__} cannot be written as a value here; write code that makes it")
        return self.call(self._name(cls), (), fields, depth)

    def _name(self, cls: type) -> str:
        name = self._names.get(cls)
        if name is None:
            raise NoExpression(unnamed(cls))
        return name


def _keyword_of(cls: Any, name: str) -> str:
    """The keyword for a field of a pydantic model."""
    field, config = cls.model_fields[name], cls.model_config
    alias: Any = field.validation_alias or field.alias
    by_name = config.get("populate_by_name") or config.get("validate_by_name")
    return alias if isinstance(alias, str) and not by_name else name


def unnamed(cls: type) -> str:
    return f"{cls.__name__} has no name that guest code can use; bind the class by name"


def check_writable(annotation: Any, names: Mapping[type, str]) -> None:
    """Raise `UnwritableArgument` where values of a type could not be written. What it cannot judge it lets pass."""
    seen: set[int] = set()
    pending: list[Any] = [annotation]
    while pending:
        hint = pending.pop()
        if isinstance(hint, typing.NewType) or type(hint).__name__ == "TypeAliasType":
            hint = getattr(hint, "__supertype__", None) or getattr(hint, "__value__", None)
        if id(hint) in seen:
            continue
        seen.add(id(hint))
        origin = typing.get_origin(hint)
        if origin is typing.Literal:
            pending.extend(type_of(choice) for choice in typing.get_args(hint))
        elif origin is not None:
            inner = typing.get_args(hint)
            pending.extend(inner[:1] if origin in _WRAPPERS else inner)
        elif isinstance(hint, type) and not isinstance(hint, types.GenericAlias):
            pending.extend(_checked(hint, names))


def _checked(cls: Any, names: Mapping[type, str]) -> list[Any]:
    """Check the class itself, and give the annotations of its fields."""
    if typing.is_typeddict(cls):
        return list(_hints(cls))
    kind: type = cls
    named_tuple = hasattr(cls, "_fields") and tuple in kind.__mro__
    if is_dataclass(cls) or hasattr(cls, "model_fields") or named_tuple or issubclass(kind, enum.Enum):
        if cls not in names:
            raise NoExpression(unnamed(kind))
        kept = {f.name for f in dataclasses.fields(cls)} if is_dataclass(cls) else set[str]()
        if is_dataclass(cls) and not set(inspect.signature(cls).parameters) <= kept:
            raise NoExpression(f"{kind.__name__} takes values that it does not keep; call it from code")
        return [] if issubclass(kind, enum.Enum) else list(_hints(cls))
    if cls not in _LEAVES and not cls.__module__.startswith(("typing", "collections")):
        plain = any(issubclass(cls, leaf) for leaf in _LEAVES if leaf is not object)
        if not plain and not hasattr(cls, "__get_pydantic_core_schema__"):
            raise NoExpression(f"a {cls.__name__} cannot be written as a value here; call it from code")
    return []


def _hints(cls: Any) -> Iterable[Any]:
    try:
        return typing.get_type_hints(cls, include_extras=True).values()
    except (NameError, TypeError, AttributeError, ValueError, LookupError, ImportError, SyntaxError):
        return ()
