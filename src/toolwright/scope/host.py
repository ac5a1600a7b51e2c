"""`ScopeHost`: the door's innermost part, which lets guest code work on the objects of a scope.

It knows objects, handles and rules; not who asks, nor how the asking came here.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import types
from collections.abc import Awaitable, Callable
from typing import Any

from toolwright.doors import Answer, Call, Guest
from toolwright.errors import CannotCross, NotPublic
from toolwright.scope import construct
from toolwright.scope.classes import Classes, Known
from toolwright.scope.handles import Handles, Held
from toolwright.scope.lent import CURRENT, Lender
from toolwright.scope.members import is_async, members
from toolwright.scope.operations import Operation, facts_of
from toolwright.scope.presets import looks_up_by_name, refused_argument
from toolwright.scope.rules import Place
from toolwright.scope.scope import Scope
from toolwright.scope.values import Values, on_loop
from toolwright.scope.verbs import Verbs, explain
from toolwright.scope.worker import Worker
from toolwright_guest.packing import simple
from toolwright_guest.unpacking import simple_arguments
from toolwright_guest.wire import Bounds, Packed, WireError, is_large, type_of

TITLE = 200
# descriptors from which the function that reads a member of any object can be had
ACCESSORS = (property, functools.cached_property, types.MemberDescriptorType, types.GetSetDescriptorType)
_AWAITED = ("__anext__", "__aenter__", "__aexit__")


class ScopeHost:
    """The host of one session. A new guest of the same session starts with the same names and no handles."""

    def __init__(self, scope: Scope, *, bounds: Bounds | None = None) -> None:
        self._scope = scope
        self._bounds = bounds or Bounds()
        self._worker = Worker("toolwright-host-calls")
        self._verbs = Verbs(scope.rules)
        self._begin()

    def _begin(self) -> None:
        self._lender = Lender(self._worker)
        self._handles = Handles()
        self._classes = Classes(self._scope.rules)
        self._values = Values(self._handles, self._classes, self._lender, self._bounds)
        self._lender.pack = lambda value: self._values.pack(value, "callback")
        self._lender.unpack = self._values.unpack

    def open(self, guest: Guest, libraries: frozenset[str]) -> Packed:
        self._lender.guest = None
        if self._worker.busy:  # with a call of the last guest that does not return: this one does not wait for it
            self._worker.close()
            self._worker = Worker("toolwright-host-calls")
        self._begin()
        self._lender.guest = guest
        self._values.frame_kinds = libraries
        for name, cls in self._scope.classes():
            self._classes.enter(cls, Place(name or cls.__name__, cls), bound=bool(name), buildable=True)
        return self._pack_names()

    def _pack_names(self) -> Packed:
        names: dict[str, Any] = {}
        for name, value in self._scope.names():
            if not isinstance(value, type) and self._scope.by_handle(value) and not self._values.is_copied(value):
                self._handles.hold(value, Place(name, type_of(value)), bound=True)
            names[name] = value
        return self._values.pack(names, "scope")

    def close(self) -> None:
        self._lender.guest = None
        self._handles.clear()
        self._worker.close()

    def value(self, packed: Packed) -> object:
        return self._values.unpack(packed)

    def drop(self, handle: int, count: int) -> None:
        self._handles.drop(handle, count)

    def title(self, call: Call) -> str:
        name = call.name if call.name.isidentifier() else ascii(call.name) if call.name else ""
        try:
            if call.target < 0:
                return ".".join(filter(None, (self._classes.get(call.target).value.__name__, name)))[:TITLE]
            held = self._handles.get(call.target)
        except ReferenceError:
            return f"#{call.target}.{name}"[:TITLE]
        known = held.methods.get(call.name)
        if known is not None and call.verb == "call":
            return known[2]
        owner = held.place.path if held.bound else f"{held.place.kind.__name__}#{held.handle}"
        return ".".join(filter(None, (owner, name if call.verb != "items" else "next")))[:TITLE]

    async def call(self, call: Call) -> Answer:
        token = CURRENT.set(call.id)
        try:
            return await self._answer(call)
        except WireError:
            raise
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            return self._failed(error)  # nobody cancelled this call: the host object raised it
        except (Exception, SystemExit) as error:  # an outer edge: whatever a host object raises is the guest's answer
            return self._failed(error)
        finally:
            CURRENT.reset(token)

    def refusal(self, error: Exception) -> Answer:
        return self._failed(error)

    def _failed(self, error: BaseException) -> Answer:
        return Answer(value=self._values.pack_error(error), failed=True)

    async def _answer(self, call: Call) -> Answer:
        match call.verb:
            case "call":
                return await self._call(call)
            case "op" if call.name in _AWAITED:
                held = self._handles.get(call.target)
                args, _ = await self._args_beside(call)
                return await self._awaited(call, lambda: self._verbs.operator(held, call.name, args))
            case "await":
                held = self._handles.get(call.target)
                return await self._awaited(call, lambda: held.value)
            case "about":
                return self._about(call)
            case _:
                owner = None if call.target < 0 else self._handles.get(call.target)
                if owner is not None and on_loop(owner.value):
                    given = await self._args_beside(call)
                    return await self._on("loop", lambda: self._quick(call, given), call)
                return await self._on("worker", lambda: self._quick(call, self._args(call)), call)

    # calling functions

    async def _call(self, call: Call) -> Answer:
        method = self._known_method(call)
        if method is not None:
            given = simple_arguments(call.arguments.tree) or await self._args_beside(call)
            result = await self._run(method, call, given)
            return Answer(value=Packed(result, []) if simple(result) else self._values.pack(result, self._path(call)))
        version = self._scope.rules.version  # before they are asked: another thread may declare meanwhile
        function, facts = self._function(call)
        if is_async(function) or is_async(getattr(type_of(function), "__call__", None)):  # noqa: B004  how, not if
            self._remember(call, function, facts, version)
            given = await self._args_beside(call)
            work = self._awaited(call, lambda: self._run(function, call, given))
        elif (facts.thread or ("loop" if self._loop_bound(call, function) else "worker")) == "loop":
            given = await self._args_beside(call)
            work = self._on("loop", lambda: self._run(function, call, given), call)
        else:
            work = self._on("worker", lambda: self._run(function, call, self._args(call)), call)
        return await _within(facts.timeout_s, call, self.title, work)

    def _known_method(self, call: Call) -> Any:
        """An async method that has been called before, and to which nothing applies that must be asked each time."""
        held = self._handles.get(call.target) if call.target > 0 else None
        known = held.methods.get(call.name) if held is not None else None
        if held is None or known is None or known[1] != self._scope.rules.version:
            return None
        method = getattr(held.value, call.name, None)
        return method if getattr(method, "__func__", None) is known[0] else None

    def _remember(self, call: Call, function: Any, facts: Operation, version: int) -> None:
        plain = type_of(function) is types.MethodType and inspect.iscoroutinefunction(function)
        if call.target > 0 and call.name and plain and facts.timeout_s is None:
            held = self._handles.get(call.target)
            if _is_plain_method(held, call.name):  # of the class, so they are few: `__getattr__` may make up any number
                held.methods[call.name] = (function.__func__, version, self.title(call))

    def _loop_bound(self, call: Call, function: Any) -> bool:
        owner = self._handles.get(call.target).value if call.target > 0 else None
        return on_loop(owner) or on_loop(getattr(function, "__self__", None))

    def _function(self, call: Call) -> tuple[Any, Operation]:
        if call.target < 0:
            known = self._classes.get(call.target)
            return self._class_attribute(known, call.name), Operation()
        held = self._handles.get(call.target)
        if call.name and _is_plain_method(held, call.name):
            function = self._verbs.function(held, call.name)
        elif call.name:
            function = self._verbs.get(held, call.name)
            self._verbs.function(held, call.name)
        else:
            function = held.value
        owner, _, name = held.place.path.rpartition(".")
        place = held.place if call.name else Place(owner, held.place.kind)
        facts = self._scope.rules.facts(place, call.name or name, facts_of(function))
        if not call.name and not facts.reads and self._scope.rules.verdict(place, name).read_only:
            why = "this scope is read-only and does not know that it only reads"
            raise NotPublic(f"{held.place.path} is refused: {why}")
        return function, facts

    def _class_attribute(self, known: Known, name: str) -> Any:
        """What the class itself offers: its class methods, and its plain data.

        Never a method or a property to be called with an object at will: rules that hide a member of an object would
        not be asked.
        """
        member = members(known.value).get(name) if isinstance(known.value, type) else None
        of_class = member is not None and member.kind in ("class", "static")
        plain = member is not None and member.kind == "property" and not isinstance(member.value, ACCESSORS)
        if not of_class and not (plain and known.bound):
            raise NotPublic(f"class {known.value.__name__} has no attribute {name!r} here")
        verdict = self._scope.rules.require(known.place, name, data=plain)
        value = getattr(known.value, name)
        if verdict.read_only and of_class and not self._scope.rules.facts(known.place, name, facts_of(value)).reads:
            raise NotPublic(f"{known.value.__name__}.{name} is read-only in this scope")
        return value

    def _run(self, function: Any, call: Call, given: tuple[tuple[Any, ...], dict[str, Any]]) -> Any:
        args, kwargs = given
        owner = getattr(function, "__self__", None)  # asked of the function: the guest may hold it without its object
        if looks_up_by_name(type_of(owner), getattr(function, "__name__", "")):
            held = self._handles.known(owner)
            place = held.place if held is not None else Place("", type_of(owner))
            named = refused_argument(lambda name: self._scope.rules.hides(place, name), (*args, *kwargs.values()))
            if named is not None:
                raise NotPublic(f"{self.title(call)} is refused: it would call {named!r}, which is hidden")
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            trace = error.__traceback__
            if trace is not None and trace.tb_next is None:  # raised by the call itself, not inside it
                raise explain(function, self.title(call), args, kwargs, error) from None
            raise

    # the other verbs

    def _quick(self, call: Call, given: tuple[tuple[Any, ...], dict[str, Any]]) -> Any:
        args, kwargs = given
        if call.verb == "new":
            return self._new(self._classes.get(call.target), args, kwargs)
        if call.target < 0 and call.verb == "get":
            return self._class_attribute(self._classes.get(call.target), call.name)
        held = self._handles.get(call.target)
        match call.verb, args:
            case "get", ():
                return self._shown(held, call.name)
            case "set", (value,):
                return self._verbs.set(held, call.name, value)
            case "del", ():
                return self._verbs.delete(held, call.name)
            case "dir", ():
                return self._verbs.dir(held)
            case "op", _:
                return self._verbs.operator(held, call.name, args)
            case "items", ():
                return self._verbs.items(held)
            case _:
                raise WireError(f"a verb {call.verb!r:.40} that no guest sends")

    def _shown(self, held: Held, name: str) -> Any:
        value = self._verbs.get(held, name)
        if isinstance(value, type) and isinstance(held.value, types.ModuleType):
            # a bound module grants what it shows, its classes as well as its functions
            self._classes.enter(value, Place(f"{held.place.path}.{name}", value), bound=True)
        return value

    def _new(self, known: Known, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not known.buildable:
            raise CannotCross(f"class {known.value.__name__} is not in scope; bind it by name, or declare it")
        return construct.new(known, args, kwargs)

    def _about(self, call: Call) -> Answer:
        known = self._classes.get(call.target)
        known.told = False
        number, about = self._classes.reference(known, lambda value: self._values.pack(value, "").tree)
        return Answer(value=Packed({"about": [number, about]}, []))

    # where it runs

    async def _on(self, thread: str, work: Callable[[], Any], call: Call) -> Answer:
        """Run sync work where its object may be touched; its answer is packed there too."""

        def answer() -> Answer:
            try:
                return Answer(value=self._values.pack(work(), self._path(call)))
            except WireError:
                raise
            except (Exception, SystemExit) as error:  # the same outer edge as in `call`, on the worker's side of it
                return self._failed(error)

        return answer() if thread == "loop" else await self._worker.run(answer)

    async def _awaited(self, call: Call, start: Callable[[], Awaitable[Any]]) -> Answer:
        return Answer(value=self._values.pack(await start(), self._path(call)))

    async def _args_beside(self, call: Call) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a call that runs on the loop, unpacked on the worker where that takes long."""
        if is_large(call.arguments):
            return await self._worker.run(lambda: self._args(call))
        return self._args(call)

    def _args(self, call: Call) -> tuple[tuple[Any, ...], dict[str, Any]]:
        known = simple_arguments(call.arguments.tree)
        if known is not None:
            return known
        value = self._values.unpack(call.arguments)
        if type_of(value) is not tuple:
            raise WireError("arguments that are none")
        if len(value) == 2 and type_of(value[0]) is tuple and type_of(value[1]) is dict:
            return value
        return value, {}

    def _path(self, call: Call) -> str:
        if call.target < 0:
            return self._classes.get(call.target).value.__name__
        place = self._handles.get(call.target).place
        return f"{place.path}.{call.name}" if call.verb in ("get", "call") and call.name else place.path


def _is_plain_method(held: Held, name: str) -> bool:
    member = members(type_of(held.value)).get(name)
    return member is not None and member.kind != "property"


async def _within(seconds: float | None, call: Call, title: Callable[[Call], str], work: Awaitable[Answer]) -> Answer:
    if seconds is None:
        return await work
    late = asyncio.timeout(seconds)
    try:
        async with late:
            return await work
    except TimeoutError:
        if late.expired():
            raise TimeoutError(f"{title(call)} took longer than timeout_s={seconds:g}") from None
        raise
