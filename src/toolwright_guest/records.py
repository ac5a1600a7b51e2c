"""Data classes of the host in the guest: plain objects with the same fields. Building one asks the host to check it."""

from __future__ import annotations

import collections
import dataclasses
import enum
from typing import Any

from toolwright_guest.wire import Packer, Unpacker


def class_id(value: Any) -> int | None:
    """The number of a class that came from the host; None for every other thing."""
    if isinstance(value, type):
        number = value.__dict__.get("_toolwright_class")
        return number if type(number) is int else None
    return None


class RecordClass(type):
    """Calling a record's class builds it on the host, which validates, and gives back a copy."""

    _toolwright_world: Any

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return cls._toolwright_world.call("new", class_id(cls), "", *args, **kwargs)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_") or not cls.__dict__.get("_toolwright_bound"):
            raise AttributeError(name)
        return cls._toolwright_world.call("get", class_id(cls), name)


def make_record(world: Any, number: int, about: dict[str, Any]) -> Any:
    """A class with the fields of the host's dataclass or model."""
    names: list[str] = about["fields"]
    namespace: dict[str, Any] = {
        "__annotations__": {name: Any for name in names},
        "__doc__": about["doc"],
        "__module__": about["module"],
        "_toolwright_class": number,
        "_toolwright_world": world,
        "_toolwright_bound": about["bound"],
    }
    if about["kind"] == "model":
        namespace |= {"model_dump": _dump, "model_copy": _copy, "model_fields": {n: None for n in names}}
    cls: Any = RecordClass(about["name"], (), namespace)
    cls = dataclasses.dataclass(cls, init=False, eq=about["eq"], frozen=about["frozen"], unsafe_hash=about["hash"])
    cls.__match_args__ = tuple(names)
    return cls


def make_namedtuple(number: int, about: dict[str, Any]) -> Any:
    cls: Any = collections.namedtuple(about["name"], about["fields"], module=about["module"])  # noqa: PYI024
    cls._toolwright_class = number
    return cls


def make_enum(number: int, about: dict[str, Any], unpacker: Unpacker) -> Any:
    base: Any = getattr(enum, about["base"])
    members = [(name, unpacker.unpack(value)) for name, value in about["members"]]
    cls: Any = base(about["name"], members, module=about["module"])
    type.__setattr__(cls, "_toolwright_class", number)
    cls.__doc__ = about["doc"]
    return cls


def build(cls: Any, values: list[Any]) -> Any:
    """A copy of a host record."""
    if issubclass(cls, tuple):
        return tuple.__new__(cls, values)
    record = object.__new__(cls)
    record.__dict__.update(zip(cls.__match_args__, values, strict=True))
    return record


def pack(number: int, value: Any, packer: Packer) -> Any:
    """A record or an enum member on its way to the host, which checks every field."""
    if isinstance(value, enum.Enum):
        return {"e": [number, value.name]}
    if isinstance(value, tuple):
        return {"o": [number, [packer.pack(v) for v in value]]}
    known = packer.seen(value)
    if known:
        raise TypeError(f"a {type(value).__name__} that holds itself, or stands twice in the same arguments, cannot cross")
    return {"o": [number, [packer.pack(value.__dict__.get(name)) for name in type(value).__match_args__]]}


def _dump(self: Any) -> dict[str, Any]:
    return {name: _dumped(getattr(self, name)) for name in type(self).__match_args__}


def _dumped(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_dumped(v) for v in value]
    if isinstance(value, dict):
        return {k: _dumped(v) for k, v in value.items()}
    return value.model_dump() if hasattr(value, "model_dump") else value


def _copy(self: Any, *, update: dict[str, Any] | None = None) -> Any:
    return build(type(self), [(update or {}).get(n, getattr(self, n)) for n in type(self).__match_args__])
