"""Host objects in the guest: proxies, whose methods and operators are calls through the door.

A proxy has the public methods, the type's name, its docs and signatures, and those operators that the host's type has.
Nothing here guards anything: the guest may take it apart, and will find only itself. The guard is on the host.
"""

from __future__ import annotations

import inspect
import types
from typing import Any

from cellwright_guest import records
from cellwright_guest.methods import signature_of
from cellwright_guest.wire import type_of


def grip_of(value: Any) -> Any:
    """What holds the host object behind a proxy or a host function; None for every other thing."""
    if isinstance(value, Proxy):
        return object.__getattribute__(value, "_grip")
    if not issubclass(type_of(value), (types.FunctionType, types.MethodType)):  # a record may have any key
        return None
    namespace: Any = getattr(value, "__dict__", None)
    return namespace.get("_cellwright_grip") if type_of(namespace) is dict else None


class ProxyClass(type):
    """A class of the host. Calling it builds on the host; `isinstance` follows the host's own bases."""

    _cellwright_world: Any

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> None:
        records.refuse_subclass(bases)
        super().__init__(name, bases, namespace)

    def __call__(cls, /, *args: Any, **kwargs: Any) -> Any:
        return cls._cellwright_world.call("new", records.class_id(cls), "", *args, **kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        return cls.__subclasscheck__(type_of(instance))

    def __subclasscheck__(cls, subclass: type) -> bool:
        number, bases = records.class_id(cls), subclass.__dict__.get("_cellwright_bases")
        if cls is subclass or bases is None or number in bases:
            return cls is subclass or bases is not None
        asked: set[Any] = subclass.__dict__["_cellwright_asked"]
        if number not in asked:  # `cls` may have come into scope after `subclass` was described
            asked.add(number)
            tell_again(subclass, cls._cellwright_world.call("about", records.class_id(subclass)))
        return number in subclass.__dict__["_cellwright_bases"]

    @property
    def __signature__(cls) -> inspect.Signature | None:
        packed = cls.__dict__.get("_cellwright_signature")
        return None if packed is None else signature_of(*packed)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_") or not cls.__dict__.get("_cellwright_bound"):
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
        return cls._cellwright_world.call("get", records.class_id(cls), name)


class Proxy:
    """One host object."""

    __slots__ = ("__weakref__", "_grip")
    _cellwright_world: Any
    _grip: Any

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return self._cellwright_world.call("get", self._grip.handle, name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._cellwright_world.call("set", self._grip.handle, name, value)

    def __delattr__(self, name: str) -> None:
        self._cellwright_world.call("del", self._grip.handle, name)

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *self._cellwright_world.call("dir", self._grip.handle)})

    def __repr__(self) -> str:
        return f"<{type(self).__name__} on the host>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"a {type(self).__name__} lives on the host and cannot be pickled")

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self


def instance(cls: Any, grip: Any) -> Any:
    proxy = object.__new__(cls)
    object.__setattr__(proxy, "_grip", grip)
    return proxy


def tell_again(cls: Any, about: dict[str, Any]) -> None:
    """What changes about a class that is known already: it came into scope by name, and so did bases of it."""
    type.__setattr__(cls, "_cellwright_bound", about["bound"])
    if "_cellwright_bases" in cls.__dict__:
        type.__setattr__(cls, "_cellwright_bases", frozenset((records.class_id(cls), *about["ancestors"])))
