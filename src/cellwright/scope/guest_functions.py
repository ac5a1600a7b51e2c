"""Functions and iterators of the guest that host code holds. Calling one is a call into the guest."""

from __future__ import annotations

import asyncio
import inspect
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from cellwright.doors import Answer, GuestDoor, Made
from cellwright.errors import CallLimit, GuestGone, UsageError
from cellwright.scope.served_call import CURRENT
from cellwright.scope.worker import Worker
from cellwright_guest import hints
from cellwright_guest.packer import is_bulky
from cellwright_guest.wire import Packed, WireError, is_large, size_of

LIVE = 10_000
ITEMS = 1_000_000  # that one iterator gives, and bytes of them: host code may keep them all
ITEM_BYTES = 256 << 20
Seen = Callable[[Packed], None]
KINDS = ("function", "async", "iterator", "async iterator")


class Lender:
    """The functions and iterators that the guest has lent to this session's host code."""

    def __init__(self, worker: Worker) -> None:
        self.guest: GuestDoor | None = None
        self.pack: Callable[[Any], tuple[Packed, tuple[Made, ...]]]
        self.unpack: Callable[[Packed], Any]
        self.revive: Callable[[Packed], Future[None]] | None = None  # the objects that an answer of the guest names
        self._worker = worker
        self._lent: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()

    def take(self, number: object, kind: object, name: object) -> Any:
        """The host's object for a guest function: the same one as long as host code holds it."""
        fresh = self.described(number, kind, name)
        lent = self._lent.get(fresh._number)
        if lent is None:
            if len(self._lent) >= LIVE:
                raise CallLimit(f"more than {LIVE} guest functions are held by the host at once; lend fewer")
            lent = self._lent[fresh._number] = fresh
            finalizer = weakref.finalize(lent, _give_back, self, fresh._number, _counts_of(lent))
            finalizer.atexit = False
        _counts_of(lent)[0] += 1
        return lent

    def described(self, number: object, kind: object, name: object) -> Any:
        """A new object for a guest function, which nobody counts."""
        if type(number) is not int or number < 0 or kind not in KINDS or type(name) is not str or len(name) > 200:
            raise WireError("a guest function without its parts")
        return _CLASSES[kind](self, number, kind, name)

    @property
    def lends(self) -> bool:
        """Whether host code has a function of the guest, which it may call at any time."""
        return len(self._lent) > 0

    def number_of(self, lent: Any) -> int | None:
        return lent._number if self._lent.get(lent._number) is lent else None

    def invoke(self, number: int, args: Any, kwargs: Any) -> Future[Answer]:
        if self.guest is None:
            raise GuestGone("this guest function belongs to a session that has ended")
        serving = CURRENT.get()
        parent = serving[0].id if serving is not None and serving[1] is self else 0  # else a call of another session
        packed, made = self.pack((args, kwargs))
        if made:
            return self.guest.invoke(number, parent, packed, made=made)
        return self.guest.invoke(number, parent, packed)

    def call(self, number: int, args: Any, kwargs: Any, seen: Seen | None = None) -> Any:
        answer = self._worker.wait(self.invoke(number, args, kwargs))
        if seen is not None:
            seen(answer.value)
        if self.revive is not None:
            self._worker.wait(self.revive(answer.value))
        return self.settle(answer)

    async def call_async(self, number: int, args: Any, kwargs: Any, seen: Seen | None = None) -> Any:
        if is_bulky((args, kwargs)):
            invoked = await self._worker.run(lambda: self.invoke(number, args, kwargs))
        else:
            invoked = self.invoke(number, args, kwargs)
        answer = await asyncio.wrap_future(invoked)
        if seen is not None:
            seen(answer.value)
        if self.revive is not None:
            await asyncio.wrap_future(self.revive(answer.value))
        return await self._worker.run(lambda: self.settle(answer)) if is_large(answer.value) else self.settle(answer)

    def settle(self, answer: Answer) -> Any:
        try:
            value = self.unpack(answer.value)
        except WireError as error:  # host code made this call, perhaps for another session, which is not to blame
            raise GuestGone(f"a guest function answered with what no guest sends ({error})") from None
        if not answer.failed:
            return value
        raise value if isinstance(value, BaseException) else GuestGone("a guest function failed without an exception")


def _counts_of(lent: Any) -> list[int]:
    return lent._counts


def _give_back(lender: Lender, number: int, counts: list[int]) -> None:
    if lender.guest is not None:
        lender.guest.give_back(number, counts[0])


class _Lent:
    """What the guest lent. Its attributes are private: a session that holds it must not walk from it into another."""

    __cellwright_crosses__ = True

    def __init__(self, lender: Lender, number: int, kind: str, name: str) -> None:
        self._lender = lender
        self._number = number
        self.kind = kind
        self._counts = [0]
        self.__name__ = self.__qualname__ = name

    def __repr__(self) -> str:
        return f"<guest {self.kind} {self.__name__}>"


class GuestFunction(_Lent):
    """A function of the guest. From a sync host function just call it; from async code `await it.call_async(…)`."""

    def __init__(self, lender: Lender, number: int, kind: str, name: str) -> None:
        super().__init__(lender, number, kind, name)
        if kind == "async":
            self._is_coroutine = getattr(asyncio.coroutines, "_is_coroutine", None)
            self._is_coroutine_marker = getattr(inspect, "_is_coroutine_mark", None)  # from 3.12 on

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if self.kind == "async":
            return self._lender.call_async(self._number, args, kwargs)
        _refuse_on_loop(self.__name__, "call_async(…)")
        return self._lender.call(self._number, args, kwargs)

    async def call_async(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call it from async host code."""
        return await self._lender.call_async(self._number, args, kwargs)


class GuestIterator(_Lent):
    """An iterator of the guest: each item is a call into it. `async for` works where the loop must not wait.

    It ends with `CallLimit` after so many items that only an endless one has them.
    """

    def __init__(self, lender: Lender, number: int, kind: str, name: str) -> None:
        super().__init__(lender, number, kind, name)
        self._items = self._bytes = 0

    def _seen(self, item: Packed) -> None:
        self._items += 1
        self._bytes += size_of(item)
        if self._items > ITEMS or self._bytes > ITEM_BYTES:
            most = f"{ITEMS} items and {ITEM_BYTES >> 20} MB"
            raise CallLimit(f"the iterator {self.__name__!r} gave the host more than {most}; give it fewer at a time")

    def __aiter__(self) -> GuestIterator:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self._lender.call_async(self._number, (), {}, self._seen)
        except (StopIteration, RuntimeError) as ended:
            if isinstance(ended, StopIteration) or isinstance(ended.__cause__, StopIteration):
                raise StopAsyncIteration from None
            raise


class GuestSyncIterator(GuestIterator):
    """An iterator that a plain `for` takes too. Libraries tell the two kinds apart by their methods."""

    def __iter__(self) -> GuestIterator:
        return self

    def __next__(self) -> Any:
        _refuse_on_loop(self.__name__, "__anext__()")
        return self._lender.call(self._number, (), {}, self._seen)


_CLASSES: dict[object, type[GuestFunction | GuestIterator]] = {
    "function": GuestFunction,
    "async": GuestFunction,
    "iterator": GuestSyncIterator,
    "async iterator": GuestIterator,
}


def given_type(value: Any) -> Any:
    """The type that guest code meant: a bare `list` comes as a guest function that makes lists."""
    return hints.WITHIN.get(value.__name__, value) if isinstance(value, GuestFunction) else value


def _refuse_on_loop(name: str, instead: str) -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise UsageError(
        f"guest function {name!r} was called on the event loop, which would stop every session; "
        f"use `await {name}.{instead}`, or make the host function a plain `def`"
    )
