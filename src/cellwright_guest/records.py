"""Data classes of the host in the guest: plain objects with the same fields. Building one asks the host to check it."""

from __future__ import annotations

import builtins
import collections
import dataclasses
import enum
import json
from collections.abc import Callable, Iterator
from typing import Any

from cellwright_guest.packer import Packer
from cellwright_guest.unpacker import Unpacker
from cellwright_guest.wire import type_of


def refuse_subclass(bases: tuple[type, ...]) -> None:
    """What the host made has its behaviour there; a class derived from it here would have none of it."""
    for base in bases:
        if class_id(base) is not None:
            name = base.__name__
            raise TypeError(f"no class can be derived from {name}, which lives on the host; hold one and call it")


def class_id(value: Any) -> int | None:
    """The number of a class that came from the host; None for every other thing."""
    if isinstance(value, type):
        number = value.__dict__.get("_cellwright_class")
        return number if type(number) is int else None
    return None


class RecordClass(type):
    """Calling a record's class builds it on the host, which validates, and gives back a copy."""

    _cellwright_world: Any

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> None:
        refuse_subclass(bases)
        super().__init__(name, bases, namespace)

    def __call__(cls, /, *args: Any, **kwargs: Any) -> Any:
        return cls._cellwright_world.call("new", class_id(cls), "", *args, **kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        # a record that holds a host object is a proxy, not a copy
        return type.__instancecheck__(cls, instance) or cls.__subclasscheck__(type_of(instance))

    def __subclasscheck__(cls, subclass: type) -> bool:
        return class_id(cls) in getattr(subclass, "_cellwright_bases", ()) or type.__subclasscheck__(cls, subclass)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_") or not cls.__dict__.get("_cellwright_bound"):
            raise AttributeError(name)
        return cls._cellwright_world.call("get", class_id(cls), name)


def make_record(world: Any, number: int, about: dict[str, Any]) -> Any:
    """A class with the fields of the host's dataclass or model."""
    names: list[str] = about["fields"]
    namespace: dict[str, Any] = {
        "__annotations__": dict.fromkeys(names, Any),
        "__doc__": about["doc"],
        "__module__": about["module"],
        "_cellwright_class": number,
        "_cellwright_bases": frozenset((number, *about["ancestors"])),
        "_cellwright_world": world,
    }
    if about["kind"] == "model":
        namespace |= {"model_dump": _dump, "model_dump_json": _dump_json, "model_copy": _copy, "__iter__": _pairs}
        namespace["model_fields"] = dict.fromkeys(names)
    cls: Any = RecordClass(about["name"], (), namespace)
    options = {"eq": about["eq"], "order": about["order"], "frozen": about["frozen"], "unsafe_hash": about["hash"]}
    cls = dataclasses.dataclass(cls, init=False, **options)
    cls.__match_args__ = tuple(names)
    cls._cellwright_bound = about["bound"]  # last: `dataclass` looks for defaults, and would ask the host for each
    return cls


def make_namedtuple(world: Any, number: int, about: dict[str, Any]) -> Any:
    make: Callable[..., Any] = collections.namedtuple  # its fields are known when the host tells them, not before
    cls = make(about["name"], about["fields"], module=about["module"])

    def new(_: Any, /, *args: Any, **kwargs: Any) -> Any:
        return world.call("new", number, "", *args, **kwargs)

    cls.__new__ = new
    cls._cellwright_class = number
    return cls


def make_enum(number: int, about: dict[str, Any], unpacker: Unpacker) -> Any:
    base: Any = getattr(enum, about["base"])
    members = [(name, unpacker.unpack(value)) for name, value in about["members"]]
    mixin = getattr(builtins, about["mixin"]) if about["mixin"] and base is enum.Enum else None
    cls: Any = base(about["name"], members, module=about["module"], type=mixin)
    type.__setattr__(cls, "_cellwright_class", number)
    cls.__doc__ = about["doc"]
    return cls


def member(cls: Any, name: str | int) -> Any:
    """A member of an enum by its name; a combination of flags by its number."""
    return cls[name] if isinstance(name, str) else cls(name)


def build(cls: Any, values: list[Any]) -> Any:
    """A copy of a host record."""
    if tuple in cls.__mro__:
        return tuple.__new__(cls, values)  # pyright: ignore[reportUnknownMemberType]  a tuple of anything
    record = object.__new__(cls)
    record.__dict__.update(zip(cls.__match_args__, values, strict=True))
    return record


def pack(number: int, value: Any, packer: Packer) -> Any:
    """A record or an enum member on its way to the host, which checks every field."""
    if isinstance(value, enum.Enum):
        alone = value.name in type_of(value).__members__
        return {"e": [number, value.name if alone else value.value]}
    if issubclass(type_of(value), tuple):
        return {"o": [number, [packer.pack(v) for v in value]]}
    return {"o": [number, [packer.pack(value.__dict__.get(name)) for name in type_of(value).__match_args__]]}


def _dump(
    self: Any, *, mode: str = "python", include: Any = None, exclude: Any = (), exclude_none: bool = False
) -> Any:
    if mode == "json":
        return json.loads(_dump_json(self, include=include, exclude=exclude, exclude_none=exclude_none))
    names = (n for n in type_of(self).__match_args__ if n not in exclude and (include is None or n in include))
    dumped = {name: _dumped(getattr(self, name), exclude_none) for name in names}
    return {k: v for k, v in dumped.items() if v is not None} if exclude_none else dumped


_SEQUENCES: tuple[type[Any], ...] = (list, tuple, set, frozenset)


def _dumped(value: Any, exclude_none: bool) -> Any:
    kind = type_of(value)
    if kind in _SEQUENCES:
        return kind(_dumped(v, exclude_none) for v in value)
    if issubclass(kind, dict):
        return {k: _dumped(v, exclude_none) for k, v in value.items()}
    return _dump(value, exclude_none=exclude_none) if "model_dump" in vars(kind) else value


def _dump_json(self: Any, *, indent: int | None = None, **which: Any) -> str:
    separators = (",", ": " if indent is not None else ":")
    return json.dumps(_dump(self, **which), indent=indent, separators=separators, default=_as_json, ensure_ascii=False)


def _as_json(value: Any) -> Any:
    if issubclass(type_of(value), (set, frozenset)):
        return list(value)
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, bytes):
        return value.decode()
    return value.isoformat().replace("+00:00", "Z") if hasattr(value, "isoformat") else str(value)


def _pairs(self: Any) -> Iterator[tuple[str, Any]]:
    return iter(self.__dict__.items())


def _copy(self: Any, *, update: dict[str, Any] | None = None) -> Any:
    return build(type(self), [(update or {}).get(n, getattr(self, n)) for n in type_of(self).__match_args__])
