"""Host objects in the guest: classes made from the host's descriptions, whose methods are calls through the door.

A proxy has the public methods, the type's name, its docs and signatures, and those operators that the host's type has.
Nothing here guards anything: the guest may take it apart, and will find only itself. The guard is on the host.
"""

from __future__ import annotations

import inspect
from typing import Any

from toolwright_guest import faults, records
from toolwright_guest.wire import Unpacker

# operators that are one call each, by what a type's description may list
CALLS = frozenset(
    "__len__ __contains__ __getitem__ __setitem__ __delitem__ __reversed__ __next__ __enter__ "
    "__int__ __float__ __complex__ __index__ __abs__ __neg__ __pos__ __invert__ __round__ __trunc__ __floor__ __ceil__ "
    "__lt__ __le__ __gt__ __ge__ __eq__ __ne__ __hash__ __bool__ __repr__ __str__ __format__ __bytes__ "
    "__add__ __sub__ __mul__ __matmul__ __truediv__ __floordiv__ __mod__ __divmod__ __pow__ "
    "__lshift__ __rshift__ __and__ __or__ __xor__ "
    "__radd__ __rsub__ __rmul__ __rmatmul__ __rtruediv__ __rfloordiv__ __rmod__ __rdivmod__ __rpow__ "
    "__rlshift__ __rrshift__ __rand__ __ror__ __rxor__ "
    "__iadd__ __isub__ __imul__ __imatmul__ __itruediv__ __ifloordiv__ __imod__ __ipow__ "
    "__ilshift__ __irshift__ __iand__ __ior__ __ixor__".split()
)
AWAITED = frozenset(("__anext__", "__aenter__"))


def grip_of(value: Any) -> Any:
    """What holds the host object behind a proxy or a host function; None for every other thing."""
    if isinstance(value, Proxy):
        return object.__getattribute__(value, "_grip")
    namespace = getattr(value, "__dict__", None)
    return namespace.get("_toolwright_grip") if type(namespace) is dict else None


class ProxyClass(type):
    """A class of the host. Calling it builds on the host; `isinstance` follows the host's own bases."""

    _toolwright_world: Any

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> None:
        records.refuse_subclass(bases)
        super().__init__(name, bases, namespace)

    def __call__(cls, /, *args: Any, **kwargs: Any) -> Any:
        return cls._toolwright_world.call("new", records.class_id(cls), "", *args, **kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        return cls.__subclasscheck__(type(instance))

    def __subclasscheck__(cls, subclass: type) -> bool:
        number, bases = records.class_id(cls), subclass.__dict__.get("_toolwright_bases")
        if cls is subclass or bases is None or number in bases:
            return cls is subclass or bases is not None
        asked: set[Any] = subclass.__dict__["_toolwright_asked"]
        if number not in asked:  # `cls` may have come into scope after `subclass` was described
            asked.add(number)
            tell_again(subclass, cls._toolwright_world.call("about", records.class_id(subclass)))
        return number in subclass.__dict__["_toolwright_bases"]

    @property
    def __signature__(cls) -> inspect.Signature | None:
        packed = cls.__dict__.get("_toolwright_signature")
        return None if packed is None else _signature(*packed)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_") or not cls.__dict__.get("_toolwright_bound"):
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
        return cls._toolwright_world.call("get", records.class_id(cls), name)


class Proxy:
    """One host object."""

    __slots__ = ("__weakref__", "_grip")
    _toolwright_world: Any
    _grip: Any

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return self._toolwright_world.call("get", self._grip.handle, name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._toolwright_world.call("set", self._grip.handle, name, value)

    def __delattr__(self, name: str) -> None:
        self._toolwright_world.call("del", self._grip.handle, name)

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *self._toolwright_world.call("dir", self._grip.handle)})

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


def make_class(world: Any, number: int, about: dict[str, Any], unpacker: Unpacker) -> Any:
    """The guest's class for a class of the host, by the kind that its description names."""
    match about["kind"]:
        case "record" | "model":
            return records.make_record(world, number, about)
        case "namedtuple":
            return records.make_namedtuple(world, number, about)
        case "enum":
            return records.make_enum(number, about, unpacker)
        case "error":
            bases = tuple(world._class(*base, unpacker) for base in about["bases"])
            cls = faults.make_class(about, bases)
            if cls.__dict__.get("__init__") is faults.rebuilt:  # else it is the standard library's own
                cls._toolwright_class = number
            return cls
        case _:
            return _make_proxy_class(world, number, about)


def _make_proxy_class(world: Any, number: int, about: dict[str, Any]) -> Any:
    namespace: dict[str, Any] = {
        "__slots__": (),
        "__doc__": about["doc"],
        "__module__": about["module"],
        "_toolwright_class": number,
        "_toolwright_bases": frozenset((number, *about["ancestors"])),
        "_toolwright_asked": set[int](),
        "_toolwright_world": world,
        "_toolwright_bound": about["bound"],
        "_toolwright_signature": about["signature"],
    }
    for name, flags, signature, doc in about["methods"]:
        namespace[name] = _Lazy(world, name, flags, signature, doc)
    for name, doc in about["properties"]:
        namespace[name] = _property(world, name, doc)
    for name in about["operators"]:
        if name in CALLS:
            namespace[name] = _operator(world, name)
        elif name in AWAITED:
            namespace[name] = _async_operator(world, name)
        elif name in _SPECIAL:
            namespace[name.removeprefix("async ")] = _SPECIAL[name](world)
    if "__next__" in namespace:
        namespace["__iter__"] = _itself
    if "__anext__" in namespace:
        namespace["__aiter__"] = _itself
    if "__eq__" in namespace and "__hash__" not in namespace:
        namespace["__hash__"] = None
    return ProxyClass(about["name"], (Proxy,), namespace)


def tell_again(cls: Any, about: dict[str, Any]) -> None:
    """What changes about a class that is known already: it came into scope by name, and so did bases of it."""
    type.__setattr__(cls, "_toolwright_bound", about["bound"])
    if "_toolwright_bases" in cls.__dict__:
        type.__setattr__(cls, "_toolwright_bases", frozenset((records.class_id(cls), *about["ancestors"])))


class _Lazy:
    """A method that is made on its first use: a class of two hundred methods costs what is used of it."""

    def __init__(self, world: Any, name: str, flags: str, signature: Any, doc: str) -> None:
        self._parts = (world, name, flags, signature, doc)

    def __set_name__(self, owner: Any, name: str) -> None:
        self._owner = owner

    def __get__(self, proxy: Any, owner: Any = None) -> Any:
        world, name, flags, signature, doc = self._parts
        if "c" in flags:  # class and static methods are called on the class
            made: Any = staticmethod(_class_method(world, records.class_id(self._owner), name, flags))
        else:
            made = _method(world, name, flags)
            if signature is not None:  # `inspect` takes the first parameter of a bound method away
                signature = [[["self", 1, None, None], *signature[0]], signature[1]]
        dress(getattr(made, "__func__", made), f"{self._owner.__name__}.{name}", signature, doc)
        type.__setattr__(self._owner, name, made)
        return made.__get__(proxy, owner)


def _method(world: Any, name: str, flags: str) -> Any:
    if "a" in flags:

        async def method(self: Any, /, *args: Any, **kwargs: Any) -> Any:
            return await world.call_async("call", self._grip.handle, name, *args, **kwargs)
    else:

        def method(self: Any, /, *args: Any, **kwargs: Any) -> Any:
            return world.call("call", self._grip.handle, name, *args, **kwargs)

    return method


def _class_method(world: Any, number: Any, name: str, flags: str) -> Any:
    if "a" in flags:

        async def method(*args: Any, **kwargs: Any) -> Any:
            return await world.call_async("call", number, name, *args, **kwargs)
    else:

        def method(*args: Any, **kwargs: Any) -> Any:
            return world.call("call", number, name, *args, **kwargs)

    return method


def function(world: Any, grip: Any, about: dict[str, Any]) -> Any:
    """A function of the host: a real function here, `async def` where the host's is."""
    handle = grip.handle
    if about["async"]:

        async def made(*args: Any, **kwargs: Any) -> Any:
            return await world.call_async("call", handle, "", *args, **kwargs)
    else:

        def made(*args: Any, **kwargs: Any) -> Any:
            return world.call("call", handle, "", *args, **kwargs)

    dress(made, about["name"], about["signature"], about["doc"])
    made.__dict__["_toolwright_grip"] = grip
    return made


def dress(made: Any, qualname: str, signature: Any, doc: str) -> None:
    """Name, docs and signature, as `help` and `inspect` read them."""
    made.__name__ = qualname.rpartition(".")[2]
    made.__qualname__ = qualname
    made.__module__ = "scope"
    made.__doc__ = doc
    if signature is not None:
        made.__signature__ = _signature(*signature)


def _signature(parameters: list[Any], returns: str | None) -> inspect.Signature:
    return inspect.Signature(
        [_parameter(*p) for p in parameters],
        return_annotation=inspect.Signature.empty if returns is None else _Source(returns),
        __validate_parameters__=False,
    )


def _parameter(name: str, kind: int, default: str | None, annotation: str | None) -> inspect.Parameter:
    empty = inspect.Parameter.empty
    return inspect.Parameter(
        name,
        inspect._ParameterKind(kind),  # pyright: ignore[reportPrivateUsage]
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
        if proxy is None and owner.__dict__.get("_toolwright_bound"):
            return owner._toolwright_world.call("get", records.class_id(owner), self.name)
        return super().__get__(proxy, owner)


def _property(world: Any, name: str, doc: str) -> property:
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


def _operator(world: Any, name: str) -> Any:
    def operator(self: Any, *args: Any) -> Any:
        return world.call("op", self._grip.handle, name, *args)

    operator.__name__ = name
    return operator


def _async_operator(world: Any, name: str) -> Any:
    async def operator(self: Any) -> Any:
        return await world.call_async("op", self._grip.handle, name)

    operator.__name__ = name
    return operator


def _call_operator(world: Any) -> Any:
    def operator(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        return world.call("call", self._grip.handle, "", *args, **kwargs)

    return operator


def _async_call_operator(world: Any) -> Any:
    async def operator(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        return await world.call_async("call", self._grip.handle, "", *args, **kwargs)

    return operator


def _iter_operator(world: Any) -> Any:
    def operator(self: Any) -> Any:
        return iterate(world, self)

    return operator


def iterate(world: Any, proxy: Any) -> Any:
    """The items of a host object, one call each; several at once where the host says that looking ahead is safe."""
    iterator = world.call("op", proxy._grip.handle, "__iter__")
    if not isinstance(iterator, Proxy):  # the host wraps an iterator of ours
        yield from iterator
        return
    while True:
        items, more = world.call("items", iterator._grip.handle)
        yield from items
        if not more:
            return


def _itself(self: Any) -> Any:
    return self


def _aiter_operator(world: Any) -> Any:
    def operator(self: Any) -> Any:
        return world.call("op", self._grip.handle, "__aiter__")

    return operator


def _await_operator(world: Any) -> Any:
    async def awaited(proxy: Any) -> Any:  # holds the proxy, which is often a temporary, until the answer is here
        return await world.call_async("await", proxy._grip.handle)

    def operator(self: Any) -> Any:
        return awaited(self).__await__()

    return operator


def _exit_operator(world: Any) -> Any:
    def operator(self: Any, kind: Any, error: Any, traceback: Any) -> Any:
        return world.call("op", self._grip.handle, "__exit__", error)

    return operator


def _aexit_operator(world: Any) -> Any:
    async def operator(self: Any, kind: Any, error: Any, traceback: Any) -> Any:
        return await world.call_async("op", self._grip.handle, "__aexit__", error)

    return operator


_SPECIAL: dict[str, Any] = {
    "__call__": _call_operator,
    "async __call__": _async_call_operator,
    "__iter__": _iter_operator,
    "__aiter__": _aiter_operator,
    "__await__": _await_operator,
    "__exit__": _exit_operator,
    "__aexit__": _aexit_operator,
}
