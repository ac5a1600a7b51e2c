"""What the guest knows of the host: the handles it holds, the classes it has descriptions of, the functions it lent.

Turns values into trees and back on the guest's side, and makes the calls. Proxies are its children.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import enum
import inspect
import types
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

from cellwright_guest import clock, faults, frames, hints, json_records, methods, operators, paths, proxies, records
from cellwright_guest.cell_end import CellEnd
from cellwright_guest.door import FROM_HOST, TO_HOST, Door, Mailbox
from cellwright_guest.loans import Loans
from cellwright_guest.methods import Method, attribute
from cellwright_guest.packer import Packer, simple
from cellwright_guest.proxies import Proxy, ProxyClass
from cellwright_guest.unpacker import Unpacker
from cellwright_guest.wire import Packed, type_of


class Grip:
    """Holds one host object for the guest; letting go of it tells the host, with the next call."""

    __slots__ = ("__weakref__", "_drops", "count", "handle")

    def __init__(self, handle: int, drops: deque[tuple[int, int]]) -> None:
        self.handle = handle
        self.count = 0
        self._drops = drops

    def __del__(self) -> None:
        self._drops.append((self.handle, self.count))


class _NoData(TypeError):
    """A value of the guest that is no data."""


class World:
    """The host as this guest sees it."""

    def __init__(self, door: Door) -> None:
        self.door = door
        self.classes: dict[int, Any] = {}
        self.bound: dict[str, Any] = {}  # what the scope has, whatever the session's code does to its names
        self.abouts: dict[int, Any] = {}  # their descriptions as they came, where the session is journaled
        self._proxies: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        self._futures: dict[int, asyncio.Future[Any]] = {}
        self.lent = Loans()
        self.cell_end = CellEnd()

    # values

    def pack(self, value: Any, *, lending: bool = True) -> Packed:
        """A value for the host. Without `lending` a function or an iterator of the guest does not go."""
        try:
            return Packer(self._pack_other if lending else self._pack_data, nodes=TO_HOST.nodes).packed(value)
        except RecursionError:
            raise TypeError("data that holds itself through a record, or is nested too deeply, cannot cross") from None

    def unpack(self, tree: Any, blobs: list[Any]) -> Any:
        return Unpacker(blobs, self._unpack_other, FROM_HOST).unpack(tree)

    def _pack_other(self, value: Any, packer: Packer) -> Any:
        try:
            return self._pack_data(value, packer)
        except _NoData as refused:
            if callable(value) or hasattr(value, "__next__") or hasattr(value, "__anext__"):
                return {"g": self.lend(value)}
            raise TypeError(str(refused)) from None

    def _pack_data(self, value: Any, packer: Packer) -> Any:
        grip = proxies.grip_of(value)
        if grip is not None:
            return {"h": grip.handle}
        number = records.class_id(value)
        if number is not None:
            return {"c": number}
        if hints.is_expression(value):
            return hints.pack(value, _numbered, packer)
        named = hints.pack_named(value)
        if named is not None:
            return named
        number = records.class_id(type(value))
        if number is not None and not isinstance(value, BaseException):
            how = json_records.pack if isinstance(value, json_records.Record) else records.pack
            return how(number, value, packer)
        framed = frames.pack(value, packer)
        if framed is not None:
            return framed
        if isinstance(value, BaseException):
            return faults.pack(value, packer)
        plain = _as_plain(value)
        if plain is not value:
            return packer.pack(plain)
        if hasattr(type_of(value), "__await__"):
            raise _NoData(f"a {type(value).__name__} is not awaited: write `await` before it, and pass what that gives")
        raise _NoData(
            f"a {type(value).__name__} of yours cannot cross to the host; pass plain data (dict, list, str, …), "
            "a function, or an object that came from the host"
        )

    def _unpack_other(self, tag: str, body: Any, unpacker: Unpacker) -> Any:
        match tag:
            case "h":
                handle, number, about = body
                return self._proxy(handle, lambda grip: proxies.instance(self._class(number, about, unpacker), grip))
            case "f":
                handle, about = body
                return self._proxy(handle, lambda grip: methods.function(self, grip, about))
            case "c":
                number, about = body
                return self._class(number, about, unpacker)
            case "T":
                return hints.named(body)
            case "G":
                return hints.build(body, unpacker, called=True)
            case "o":
                number, about, fields = body
                cls, values = self._class(number, about, unpacker), unpacker.values(fields)
                return (
                    json_records.build(cls, *values)
                    if issubclass(cls, json_records.Record)
                    else records.build(cls, values)
                )
            case "e":
                number, about, name = body
                return records.member(self._class(number, about, unpacker), name)
            case "E":
                return faults.build(self, body, unpacker)
            case "g":
                return self.lent[body]
            case "a":
                return frames.build(body, unpacker)
            case "about":
                return body[1]
            case _:
                raise ValueError(f"the host sent a {tag!r}, which this guest does not know")

    def _proxy(self, handle: int, make: Callable[[Grip], Any]) -> Any:
        proxy = self._proxies.get(handle)
        if proxy is None:
            grip = Grip(handle, self.door.drops)
            grip.count = 1  # counted before the proxy is made: if that fails, the dropped grip was counted
            proxy = self._proxies[handle] = make(grip)
        else:
            proxies.grip_of(proxy).count += 1
        return proxy

    def _class(self, number: int, about: Any, unpacker: Unpacker) -> Any:
        known = self.classes.get(number)
        if known is None:
            if about is None:  # its description travels with an answer that is not here yet
                about = self.call("about", number)
            known = self.classes[number] = _make_class(self, number, about, unpacker)
        elif about is not None and hasattr(known, "_cellwright_bound"):
            proxies.tell_again(known, about)
        if about is not None and self.door.journaled:
            self.abouts[number] = about
        return known

    # calls to the host

    def call(self, verb: str, target: int, name: str = "", /, *args: Any, **kwargs: Any) -> Any:
        """Ask and wait, blocking this thread; calls of the host into the guest are served meanwhile."""
        self.cell_end.check(target, name)
        packed = self._pack_arguments(args, kwargs)
        mailbox = Mailbox()
        door = self.door
        door.enter(mailbox)
        number = door.start(mailbox, verb, target, name, packed.tree, packed.blobs)
        try:
            while True:
                message, blobs = door.receive(mailbox)
                if message[0] == "a":
                    self._take_up(message[4:])
                    return self._answer(message, blobs)
                self.admit(message, blobs, None)
        except BaseException:
            door.cancel(number)
            raise
        finally:
            door.leave(mailbox)

    async def call_async(self, verb: str, target: int, name: str = "", /, *args: Any, **kwargs: Any) -> Any:
        """Ask and await; others run meanwhile. Cancelling the await cancels the host's side."""
        self.cell_end.check(target, name)
        loop: Any = asyncio.get_running_loop()
        packed = self._pack_arguments(args, kwargs)
        number = self.door.start(loop.selector.mailbox, verb, target, name, packed.tree, packed.blobs)
        try:
            if not self._futures and loop.has_nothing_else():
                # Nothing can run before a message comes: waiting here is what the loop would do, without its detour.
                received = self.door.receive(loop.selector.mailbox, only=number)
                if received is not None:
                    loop.selector.woken()
                    message, blobs = received
                    self._take_up(message[4:])
                    return self._answer(message, blobs)
            future = self._futures[number] = loop.create_future()
            message, blobs = await future
        except BaseException:
            self._futures.pop(number, None)
            self.door.cancel(number)
            raise
        return self._answer(message, blobs)

    def _pack_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Packed:
        if all(map(simple, args)) and not kwargs:
            tree = {"t": list(args)}
            return Packed({"t": [tree, {"m": {}}]} if len(args) == 2 else tree, [])
        return self.pack(_arguments(args, kwargs))

    def _answer(self, message: list[Any], blobs: list[Any]) -> Any:
        fine, tree = message[2:4]
        value = tree if fine and type_of(tree) not in (dict, list) else self.unpack(tree, blobs)
        if fine:
            return value
        self.cell_end.hear(value)
        raise value

    def _take_up(self, journaled: list[Any]) -> None:
        """What a journaled session's message ends with: the time, and functions that the host gives back."""
        if journaled:
            at, back = journaled
            clock.move(at)
            self.lent.take_back(back)

    def deliver(self, message: Any, loop: Any) -> None:
        """A message for a loop: an answer wakes its task or is the end of a wait, a call of the host is served."""
        body, blobs = message
        if body[0] == "a":
            self._take_up(body[4:])
            if loop is not None and loop.selector.timers.over(body[1]):
                self._answer(body, blobs)  # a host that refuses to wait ends the loop, which could not go on
                return
            future = self._futures.pop(body[1], None)
            if future is not None and not future.done() and not future.get_loop().is_closed():
                future.set_result((body, blobs))
        elif body[0] == "i":
            self.admit(body, blobs, loop)
        elif body[0] == "u":
            self.lent.give_back(body[1], body[2])

    # calls of the host

    def lend(self, value: Any) -> list[Any]:
        return self.lent.lend(value)

    def admit(self, message: list[Any], blobs: list[Any], loop: Any) -> None:
        """A call of the host is served; in a journaled session under the path that it came with."""
        if len(message) == 5:
            self.serve(message, blobs, loop)
            return
        self._take_up(message[6:])
        with paths.under(message[5]):
            self.serve(message, blobs, loop)

    def serve(self, message: list[Any], blobs: list[Any], loop: Any) -> None:
        """Run a function that the host calls; the reply goes out when it is done."""
        _, number, _, lent, tree, *_ = message
        try:
            target = self.lent[lent]
            args, kwargs = self.unpack(tree, blobs)
            result = target(*args, **kwargs) if callable(target) else _advance(target)
            if inspect.isawaitable(result):
                if loop is not None:
                    task: asyncio.Task[Any] = loop.create_own_task(_awaited(result))
                    task.add_done_callback(lambda done: self._reply_of(number, done))
                    return
                nested: Any = asyncio.new_event_loop()
                try:
                    result = nested.run_own(_awaited(result))
                finally:
                    nested.close()
        except BaseException as error:
            self._fail(number, error)
        else:
            self._reply(number, result)

    def _reply_of(self, number: int, task: asyncio.Task[Any]) -> None:
        if task.cancelled():
            self._fail(number, asyncio.CancelledError())
        elif (error := task.exception()) is not None:
            self._fail(number, error)
        else:
            self._reply(number, task.result())

    def _reply(self, number: int, value: Any) -> None:
        try:
            packed = self.pack(value)
        except BaseException as error:  # a value with a hostile or broken repr is the callback's failure
            self._fail(number, error)
        else:
            self.door.send(["v", number, 1, packed.tree], packed.blobs)

    def _fail(self, number: int, error: BaseException) -> None:
        packer = Packer(self._pack_other)
        self.door.send(["v", number, 0, faults.pack(error, packer)], packer.blobs)


def _arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Positional arguments alone go as they are, save two: these the host would read as arguments with keywords."""
    return (args, kwargs) if kwargs or len(args) == 2 else args


def _numbered(cls: type) -> Any:
    number = records.class_id(cls)
    return None if number is None else {"c": number}


def _as_plain(value: Any) -> Any:
    """Standard containers that stand for plain data, as that data."""
    kind = type_of(value)
    if kind is memoryview:
        return bytes(value)
    if kind in _VIEWS or issubclass(kind, deque):
        return list(value)
    if kind is types.MappingProxyType:
        return dict(value)
    if isinstance(value, enum.Enum):
        return value.value
    for plain in _PLAIN:
        if isinstance(value, plain):
            return plain(value)
    if isinstance(value, dt.datetime):  # pandas has its own; its NaT is no moment, and does not cross
        parts = (value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond)
        return dt.datetime(*parts, value.tzinfo, fold=value.fold) if value == value else value
    if isinstance(value, dt.timedelta) and value == value:
        return dt.timedelta(value.days, value.seconds, value.microseconds)
    scalar = getattr(value, "item", None)
    if scalar is not None and getattr(value, "shape", None) == () and kind.__module__ == "numpy":
        return scalar()
    return value


_PLAIN: tuple[type[Any], ...] = (dict, list, tuple, set, frozenset, str, bytes, int, float)
_NOTHING: dict[Any, Any] = {}
_VIEWS = (type_of(_NOTHING.keys()), type_of(_NOTHING.values()), type_of(_NOTHING.items()))


def _advance(iterator: Any) -> Any:
    return next(iterator) if hasattr(iterator, "__next__") else iterator.__anext__()


async def _awaited(value: Any) -> Any:
    return await value


def _make_class(world: Any, number: int, about: dict[str, Any], unpacker: Unpacker) -> Any:
    """The guest's class for a class of the host, by the kind that its description names."""
    match about["kind"]:
        case "record" | "model":
            return records.make_record(world, number, about)
        case "object":
            return json_records.make_class(world, number, about)
        case "namedtuple":
            return records.make_namedtuple(world, number, about)
        case "enum":
            return records.make_enum(number, about, unpacker)
        case "error":
            bases = tuple(world._class(*base, unpacker) for base in about["bases"])
            cls = faults.make_class(about, bases)
            if cls.__dict__.get("__init__") is faults.rebuilt:  # else it is the standard library's own
                cls._cellwright_class = number
            return cls
        case _:
            return _make_proxy_class(world, number, about)


def _make_proxy_class(world: Any, number: int, about: dict[str, Any]) -> Any:
    namespace: dict[str, Any] = {
        "__slots__": (),
        "__doc__": about["doc"],
        "__module__": about["module"],
        "_cellwright_class": number,
        "_cellwright_bases": frozenset((number, *about["ancestors"])),
        "_cellwright_asked": set[int](),
        "_cellwright_world": world,
        "_cellwright_bound": about["bound"],
        "_cellwright_signature": about["signature"],
    }
    for name, flags, signature, doc in about["methods"]:
        namespace[name] = Method(world, name, flags, signature, doc)
    for name, doc in about["properties"]:
        namespace[name] = attribute(world, name, doc)
    namespace |= operators.of_type(world, about["operators"])
    return ProxyClass(about["name"], (Proxy,), namespace)
