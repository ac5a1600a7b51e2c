"""Functions, methods and attributes of the host, as the guest sees them: each use of one is a call through the door."""

from __future__ import annotations

import inspect
from typing import Any

from cellwright_guest import records


class Method:
    """A method that is made on its first use: of a class with two hundred methods only the used ones cost."""

    def __init__(self, world: Any, name: str, flags: str, signature: Any, doc: str) -> None:
        self._parts = (world, name, flags, signature, doc)

    def __set_name__(self, owner: Any, name: str) -> None:
        self._owner = owner

    def __get__(self, proxy: Any, owner: Any = None) -> Any:
        world, name, flags, signature, doc = self._parts
        if "c" in flags:  # class and static methods are called on the class
            made: Any = staticmethod(_function_of(world, records.class_id(self._owner), name, flags))
        else:
            made = _method(world, name, flags)
            if signature is not None:  # `inspect` takes the first parameter of a bound method away
                signature = [[["self", 1, None, None], *signature[0]], signature[1]]
        dress(getattr(made, "__func__", made), f"{self._owner.__name__}.{name}", signature, doc)
        type.__setattr__(self._owner, name, made)
        return made.__get__(proxy, owner)


def _method(world: Any, name: str, flags: str) -> Any:
    if "a" in flags:

        async def awaited(self: Any, /, *args: Any, **kwargs: Any) -> Any:
            return await world.call_async("call", self._grip.handle, name, *args, **kwargs)

        return awaited

    def called(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        return world.call("call", self._grip.handle, name, *args, **kwargs)

    return called


def _function_of(world: Any, target: Any, name: str, flags: str) -> Any:
    if "a" in flags:

        async def awaited(*args: Any, **kwargs: Any) -> Any:
            return await world.call_async("call", target, name, *args, **kwargs)

        return awaited

    def called(*args: Any, **kwargs: Any) -> Any:
        return world.call("call", target, name, *args, **kwargs)

    return called


def function(world: Any, grip: Any, about: dict[str, Any]) -> Any:
    """A function of the host: a real function here, `async def` where the host's is."""
    made = _function_of(world, grip.handle, "", "a" if about["async"] else "")
    dress(made, about["name"], about["signature"], about["doc"])
    made.__dict__["_cellwright_grip"] = grip
    if world.door.journaled:  # for checkpoints
        made.__dict__["_cellwright_about"] = about
    return made


def dress(made: Any, qualname: str, signature: Any, doc: str) -> None:
    """Name, docs and signature, as `help` and `inspect` read them."""
    made.__name__ = qualname.rpartition(".")[2]
    made.__qualname__ = qualname
    made.__module__ = "scope"
    made.__doc__ = doc
    if signature is not None:
        made.__signature__ = signature_of(*signature)


def signature_of(parameters: list[Any], returns: str | None) -> inspect.Signature:
    return inspect.Signature(
        [_parameter(*p) for p in parameters],
        return_annotation=inspect.Signature.empty if returns is None else _Source(returns),
        __validate_parameters__=False,
    )


def _parameter(name: str, kind: int, default: str | None, annotation: str | None) -> inspect.Parameter:
    empty = inspect.Parameter.empty
    return inspect.Parameter(
        name,
        inspect._ParameterKind(kind),  # pyright: ignore[reportPrivateUsage]  the enum has no public name
        default=empty if default is None else _Source(default),
        annotation=empty if annotation is None else _Source(annotation),
    )


class _Source(str):
    """A default or an annotation as its source text: it prints without quotes."""

    def __repr__(self) -> str:
        return str(self)


class _Attribute(property):
    """An attribute of the host's instances. On a class that is in scope by name it is the host's class attribute."""

    name: str

    def __get__(self, proxy: Any, owner: Any = None) -> Any:
        if proxy is None and owner.__dict__.get("_cellwright_bound"):
            return owner._cellwright_world.call("get", records.class_id(owner), self.name)
        return super().__get__(proxy, owner)


def attribute(world: Any, name: str, doc: str) -> property:
    def read(self: Any) -> Any:
        return world.call("get", self._grip.handle, name)

    def write(self: Any, value: Any) -> None:
        world.call("set", self._grip.handle, name, value)

    def delete(self: Any) -> None:
        world.call("del", self._grip.handle, name)

    made = _Attribute(read, write, delete, doc)
    made.name = name
    made.__doc__ = doc  # a subclass of property keeps its own otherwise
    return made
