"""Operators of host objects: the special methods that a proxy's class gets, by what the host says that its type has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from cellwright_guest.proxies import grip_of

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


def of_type(world: Any, listed: list[str]) -> dict[str, Any]:
    """The special methods of a class whose type on the host has those that are listed."""
    made: dict[str, Any] = {}
    for name in listed:
        if name in CALLS:
            made[name] = _operator(world, name)
        elif name in AWAITED:
            made[name] = _async_operator(world, name)
        elif name in _SPECIAL:
            made[name.removeprefix("async ")] = _SPECIAL[name](world)
    if "__next__" in made:
        made["__iter__"] = _itself
    if "__anext__" in made:
        made["__aiter__"] = _itself
    if "__eq__" in made and "__hash__" not in made:
        made["__hash__"] = None
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


def iterate(world: Any, proxy: Any) -> Iterator[Any]:
    """The items of a host object, one call each; several at once where the host says that looking ahead is safe."""
    iterator = world.call("op", proxy._grip.handle, "__iter__")
    grip = grip_of(iterator)
    if grip is None:  # the host wraps an iterator of ours
        yield from iterator
        return
    while True:
        items, more = world.call("items", grip.handle)
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


_SPECIAL: dict[str, Callable[[Any], Any]] = {
    "__call__": _call_operator,
    "async __call__": _async_call_operator,
    "__iter__": _iter_operator,
    "__aiter__": _aiter_operator,
    "__await__": _await_operator,
    "__exit__": _exit_operator,
    "__aexit__": _aexit_operator,
}
