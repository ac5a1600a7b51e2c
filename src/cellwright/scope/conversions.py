"""What may be given where pydantic converts a value: text for a number or a date, a dict for a dataclass, and so on.

`Annotated[X, CONVERTED]` is the type of such a parameter. The checker's module has an alias for each type, `__int` for
`int`, so that a message names the type itself.
"""

from __future__ import annotations

import datetime as dt
import enum
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

CONVERTED = "converted by pydantic"
PREFIX = "__"  # of an alias; `readable` takes it off again
_NUMBER = "_builtins.float | _builtins.str | _decimal.Decimal"
_TIME = "_builtins.float | _builtins.str | _builtins.bytes"
_ITEMS = "_builtins.list[_typing.Any] | _builtins.tuple[_typing.Any, ...]"
ATOMS: dict[type, tuple[str, str]] = {
    bool: ("bool", f"_builtins.int | {_NUMBER}"),
    int: ("int", f"_builtins.int | {_NUMBER}"),
    float: ("float", _NUMBER),
    str: ("str", "_builtins.str | _builtins.bytes"),
    bytes: ("bytes", "_builtins.bytes | _builtins.bytearray | _builtins.str"),
    Decimal: ("Decimal", f"_builtins.int | {_NUMBER}"),
    UUID: ("UUID", "_uuid.UUID | _builtins.str | _builtins.bytes"),
    dt.date: ("date", f"_datetime.date | {_TIME}"),
    dt.datetime: ("datetime", f"_datetime.date | {_TIME}"),
    dt.time: ("time", f"_datetime.time | {_TIME}"),
    dt.timedelta: ("timedelta", f"_datetime.timedelta | {_TIME}"),
    Path: ("Path", "_pathlib.PurePath | _builtins.str"),
}
CONTAINERS = ("list", "set", "frozenset", "deque")
"""Each takes the items of any other."""

ALIASES = (*(name for name, _ in ATOMS.values()), *CONTAINERS)
_MODULES = ("collections", "datetime", "decimal", "pathlib", "uuid")
_BEFORE = ("BeforeValidator", "PlainValidator", "WrapValidator")


def alias_lines() -> Iterator[str]:
    """The aliases, for the checker's module."""
    yield from (f"import {module} as _{module}" for module in _MODULES)
    for name, text in ATOMS.values():
        yield f'{PREFIX}{name} = _typing_extensions.TypeAliasType("{PREFIX}{name}", {text})'
    yield '_cellwright_member = _typing.TypeVar("_cellwright_member")'
    item = "_cellwright_member"
    listed = f"_ty_extensions.Intersection[_builtins.list[_typing.Any], _abc.Sequence[{item}]]"
    text = f"{listed} | _builtins.tuple[{item}, ...] | _abc.Set[{item}] | _abc.ValuesView[{item}]"
    text += f" | _ty_extensions.Intersection[_collections.deque[_typing.Any], _abc.Sequence[{item}]] | _builtins.range"
    for name in CONTAINERS:
        yield f'{PREFIX}{name} = _typing_extensions.TypeAliasType("{PREFIX}{name}", {text}, type_params=({item},))'


def takes_anything(metadata: tuple[Any, ...]) -> bool:
    """Whether a validator of an `Annotated` type sees the value before its type is checked."""
    return any(type(one).__name__ in _BEFORE for one in metadata)


def instead_of(cls: Any) -> str | None:
    """What may be given for an object of a class of data; "" for nothing else, None for anything."""
    decorators = getattr(cls, "__pydantic_decorators__", None)
    validators: Any = getattr(decorators, "model_validators", {})
    if any(one.info.mode != "after" for one in validators.values()) or getattr(cls, "__pydantic_root_model__", False):
        return None
    if issubclass(cls, enum.Enum):
        values = [member.value for member in cls]
        plain = all(type(value) in (str, int, bool, bytes, type(None)) for value in values)
        return f"_typing.Literal[{', '.join(map(repr, values))}]" if plain and values else None
    if tuple in cls.__mro__ and hasattr(cls, "_fields"):
        return f"{_ITEMS} | _builtins.dict[_builtins.str, _typing.Any]"
    if hasattr(cls, "__dataclass_fields__") or hasattr(cls, "model_fields"):
        return "_builtins.dict[_builtins.str, _typing.Any]"
    return ""
