"""Runs a call on the thread where its object may be touched, and packs the answer there.

It knows objects, handles and rules; not what a journal keeps of a call, nor how lost objects come back.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import types
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, TypeVar

from cellwright.doors import About, Answer, Call, CallContent, Operation
from cellwright.errors import CannotCross, ContentChanged, Denied, NotPublic
from cellwright.scope.abouts import Abouts
from cellwright.scope.call_contents import CallContents
from cellwright.scope.classes import KnownClass
from cellwright.scope.construction import build_new
from cellwright.scope.function_rules import FunctionRules
from cellwright.scope.handles import HeldObject
from cellwright.scope.hidden_fields import reading_members
from cellwright.scope.library_calls import call_rule, owner_of
from cellwright.scope.library_checks import Given, LibraryChecks
from cellwright.scope.members import FUNCTIONS, gives_coroutine, members
from cellwright.scope.method_limits import check_method, is_measured
from cellwright.scope.operations import facts_of
from cellwright.scope.presets import machinery_of, never_crosses
from cellwright.scope.rules import Place, Rules
from cellwright.scope.sqlite_guard import GUARDED, guarded
from cellwright.scope.values import Values, on_loop
from cellwright.scope.verbs import Verbs, explain
from cellwright.scope.worker import Worker
from cellwright_guest import hints
from cellwright_guest.packer import is_bulky, simple
from cellwright_guest.unpacker import simple_arguments
from cellwright_guest.wire import NOTHING, Packed, WireError, is_large, type_of

# descriptors that give away the function that reads a member of any object
ACCESSORS = (property, functools.cached_property, types.MemberDescriptorType, types.GetSetDescriptorType)
TIMEOUT_S = 3_600.0  # of an operation of which nobody says how long it may take
T = TypeVar("T")
YEAR_S = 366 * 86_400.0
_WRAPPERS: tuple[Any, ...] = (staticmethod, classmethod)
_AWAITED = ("__anext__", "__aenter__", "__aexit__")

Take = Callable[[Any], None]


class KnownMethod(NamedTuple):
    """A method of a held object that was called before. `thread` is None for an async one; `run` calls it."""

    function: Any
    version: int  # of the rules
    thread: str | None
    run: Callable[[Any, Call, Given], Any]
    timeout_s: float | None


class CallExecutor:
    """The calls of one guest. Where `take` is given, it gets the value of a call instead of the guest."""

    def __init__(self, rules: Rules, values: Values, worker: Worker, abouts: Abouts, contents: CallContents) -> None:
        self._rules = rules
        self._values = values
        self._handles = values.handles
        self._classes = values.classes
        self._worker = worker
        self._verbs = Verbs(rules)
        self._abouts = abouts
        self._contents = contents
        self._functions = FunctionRules(rules, values.handles)
        self._checks = LibraryChecks(rules, values.handles, abouts)
        self.timeout_of: Callable[[About], float] = lambda about: TIMEOUT_S

    async def answer(self, call: Call, take: Take | None = None) -> Answer:
        if call.verb != "call":  # a call is checked when its function is found
            self._require_yes(call, False)
        match call.verb:
            case "call":
                return await self._call(call, take)
            case "op" if call.name in _AWAITED:
                held = self._handles.get(call.target)
                args, _ = await self._args_beside(call)
                self._contents.require_same(call)
                return await self._awaited(call, lambda: self._verbs.operator(held, call.name, args), take)
            case "await":
                held = self._handles.get(call.target)
                self._contents.require_same(call)
                return await self._awaited(call, lambda: self._verbs.awaited(held), take)
            case "about":
                return self._values.described(call.target)
            case "sleep":
                return await _sleep(self._args(call))
            case _:
                owner = None if call.target < 0 else self._handles.get(call.target)
                if owner is not None and on_loop(owner.value):
                    given = await self._args_beside(call)
                    return await self._on("loop", lambda: self._quick(call, given), call, take)
                work = self._on("worker", lambda: self._quick(call, self._args(call)), call, take)
                return await _within(self._timeout_s(call, self._abouts.of(call).operation), call, self._abouts, work)

    async def content(self, call: Call) -> CallContent:
        """What a person is shown of the objects in a call, read on the thread where it would run."""
        contents = self._contents
        tags = await self._worker.run(lambda: contents.tags(call)) if is_large(call.arguments) else contents.tags(call)
        if contents.needs_none(call, tags):
            return CallContent()
        if contents.on_loop(call):
            return contents.of(call, tags)
        return await self._worker.run(lambda: contents.of(call, tags))

    async def called(self, function: Any, given: Given, thread: str | None) -> Any:
        """The result of a developer's function that no guest named: awaited, on the loop, or on the worker."""
        args, kwargs = given
        if thread == "loop" or gives_coroutine(function):
            result = function(*args, **kwargs)
        else:
            result = await self._worker.run(lambda: function(*args, **kwargs))
        return await result if inspect.isawaitable(result) else result

    # calling functions

    async def _call(self, call: Call, take: Take | None) -> Answer:
        method, known = self._known_method(call) if take is None else (None, None)
        if known is not None and known.thread is not None:
            work = self._on(known.thread, lambda: known.run(method, call, self._args(call)), call, None)
            return await _within(known.timeout_s, call, self._abouts, work)
        if known is not None:
            given = simple_arguments(call.arguments.tree) or await self._args_beside(call)
            result = await _within(known.timeout_s, call, self._abouts, known.run(method, call, given))
            if simple(result):
                return Answer(value=Packed(result, []))
            return await self._packed_beside(result, call, None)
        version = self._rules.version  # read before the rules: another thread may declare meanwhile
        function, facts = self._function(call)
        self._require_yes(call, facts.ask)
        if gives_coroutine(function) or gives_coroutine(getattr(type_of(function), "__call__", None)):  # noqa: B004  how, not if
            self._remember(call, function, facts, version, None)
            given = await self._args_beside(call)
            work = self._awaited(call, lambda: self._run(function, call, given), take)
        elif (facts.thread or ("loop" if self._loop_bound(call, function) else "worker")) == "loop":
            given = await self._args_beside(call)
            work = self._on("loop", lambda: self._run(function, call, given), call, take)
        else:
            self._remember(call, function, facts, version, "worker")
            work = self._on("worker", lambda: self._run(function, call, self._args(call)), call, take)
        return await _within(self._timeout_s(call, facts), call, self._abouts, work)

    def _timeout_s(self, call: Call, facts: Operation) -> float | None:
        """None for what waits for people."""
        usual = None if facts.patient else self.timeout_of(self._abouts.of(call))
        return usual if facts.timeout_s is None else facts.timeout_s

    def _require_yes(self, call: Call, asks: bool) -> None:
        """The last check before the effect. It looks the call up anew: since it came in, an object may have come back
        or been handed over under its number, and a rule may have been declared.
        """
        about = self._abouts.about(call.verb, call.target, call.name)
        if not call.approved and (asks or about.operation.ask):
            title = about.title
            raise Denied(f"{title} waits for a person's yes, and nobody has been asked for it; call it once more")

    def _known_method(self, call: Call) -> tuple[Any, KnownMethod | None]:
        """A method that was called before, and whose rules need no second look; (None, None) for any other."""
        held = self._handles.get(call.target) if call.target > 0 else None
        known = held.methods.get(call.name) if held is not None else None
        if held is None or known is None or known.version != self._rules.version:
            return None, None
        method = getattr(held.value, call.name, None)
        return (method, known) if getattr(method, "__func__", None) is known.function else (None, None)

    def _remember(self, call: Call, function: Any, facts: Operation, version: int, thread: str | None) -> None:
        plain = type_of(function) is types.MethodType and (thread is not None or inspect.iscoroutinefunction(function))
        if call.target > 0 and call.name and plain and facts.timeout_s is None and not call.approved:
            held = self._handles.get(call.target)
            tells = call.name in reading_members(type_of(held.value))  # a secret may be added to its object later
            if not tells and self._verbs.is_method(held, call.name):  # `__getattr__` may invent any number of others
                run = self._run if is_measured(function) or call_rule(function) is not None else self._run_unchecked
                timeout_s = self._timeout_s(call, facts)
                held.methods[call.name] = KnownMethod(function.__func__, version, thread, run, timeout_s)

    def _loop_bound(self, call: Call, function: Any) -> bool:
        owner = self._handles.get(call.target).value if call.target > 0 else None
        return on_loop(owner) or on_loop(getattr(function, "__self__", None))

    def _function(self, call: Call) -> tuple[Any, Operation]:
        if call.target < 0:
            known = self._classes.get(call.target)
            value = self._class_attribute(known, call.name)
            return value, self._rules.facts(known.place, call.name, facts_of(value))
        held = self._handles.get(call.target)
        if call.name and self._verbs.is_method(held, call.name):
            function = self._verbs.function(held, call.name)
            if type_of(function) is not types.MethodType and not issubclass(type_of(function), type):
                self._require_callable(function, f"{held.place.path}.{call.name}")  # a class is a static method
        elif call.name:
            function = self._verbs.get(held, call.name)
            self._verbs.function(held, call.name)
            self._require_callable(function, f"{held.place.path}.{call.name}")
        else:
            function = held.value
            self._verbs.require_operator(held, "__call__")
        owner, _, name = held.place.path.rpartition(".")
        place = held.place if call.name else Place(owner, held.place.kind)
        facts = self._rules.facts(place, call.name or name, facts_of(function))
        if not call.name and not facts.reads and self._rules.verdict(place, name).read_only:
            raise NotPublic(f"{held.shown} is refused: this scope is read-only and does not know that it only reads")
        if not (call.name and self._verbs.is_method(held, call.name)) or self._functions.is_elsewhere(function):
            self._functions.require(function, facts)
        return function, facts

    def _require_callable(self, function: Any, path: str) -> None:
        """Check an attribute that is called at once as if guest code had read it first: it may be no function."""
        if machine := machinery_of(function):
            raise CannotCross(f"{path}, a method of a {machine.__name__}, is not called through an attribute; bind it")
        kind: Any = type_of(function)
        if issubclass(kind, (*FUNCTIONS, functools.partial)):
            return
        wraps = hints.is_expression(function) or kind in _WRAPPERS  # `Popen[bytes]`
        if issubclass(kind, type) or wraps or never_crosses(kind):
            raise CannotCross(f"{path}, a {kind.__name__}, is not called through an attribute; bind it by name")
        self._classes.require_known(Place(path, kind))
        self._verbs.require_operator(HeldObject(function, 0, Place(path, kind), False), "__call__")

    def _class_attribute(self, known: KnownClass, name: str) -> Any:
        """An attribute of the class itself: a class method, or plain data.

        Never a method or a property, which guest code could call with any object: the rules that hide a member of that
        object would not be asked.
        """
        member = members(known.value).get(name) if isinstance(known.value, type) else None
        of_class = member is not None and member.kind in ("class", "static")
        plain = member is not None and member.kind == "property" and not isinstance(member.value, ACCESSORS)
        if not of_class and not (plain and known.bound):
            raise NotPublic(f"class {known.value.__name__} has no attribute {name!r} here")
        verdict = self._rules.require(known.place, name, data=plain)
        value = getattr(known.value, name)
        if verdict.read_only and of_class and not self._rules.facts(known.place, name, facts_of(value)).reads:
            raise NotPublic(f"{known.value.__name__}.{name} is read-only in this scope")
        if of_class:
            self._functions.require(value, self._rules.facts(known.place, name, facts_of(value)))
        return value

    def _run(self, function: Any, call: Call, given: Given) -> Any:
        args, kwargs = given
        check_method(function, args, kwargs)
        rule = call_rule(function)
        if rule is not None:
            self._checks.arguments(rule, function, call, given)
        elif type_of(function) is types.BuiltinMethodType:
            self._checks.items(function, call, given)
        if call.content is not None:
            self._contents.require_same(call)
        if rule is None or rule.library not in GUARDED:
            return self._run_unchecked(function, call, given)
        run = functools.partial(self._run_unchecked, function, call, given)
        return guarded(run, owner_of(function), self._abouts.of(call).title)

    def _run_unchecked(self, function: Any, call: Call, given: Given) -> Any:
        args, kwargs = given
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            trace = error.__traceback__
            if trace is not None and trace.tb_next is None:  # raised by the call itself, not inside it
                raise explain(function, self._abouts.of(call).title, args, kwargs, error) from None
            raise

    # the other verbs

    def _quick(self, call: Call, given: Given) -> Any:
        args, kwargs = given
        if call.content is not None:
            self._contents.require_same(call)
        if call.verb == "new":
            known = self._classes.get(call.target)
            if not known.buildable:
                raise CannotCross(f"class {known.value.__name__} is not in scope; bind it by name, or declare it")
            self._functions.require(known.value)
            self._checks.building(known, given)
            return build_new(known, args, kwargs)
        if call.target < 0 and call.verb == "get":
            return self._class_attribute(self._classes.get(call.target), call.name)
        held = self._handles.get(call.target)
        self._checks.operands(held, call.name, args)
        match call.verb, args:
            case "get", ():
                return self._get(held, call.name)
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

    def _get(self, held: HeldObject, name: str) -> Any:
        value = self._verbs.get(held, name)
        if isinstance(value, type) and isinstance(held.value, types.ModuleType):
            # a bound module grants its public members, classes as well as functions
            self._classes.enter(value, Place(f"{held.place.path}.{name}", value), bound=True)
        return value

    # where it runs

    async def _on(self, thread: str, work: Callable[[], Any], call: Call, take: Take | None) -> Answer:
        """Run sync work on the thread where its object may be touched, and pack its answer there."""

        def answer() -> Answer:
            try:
                return self._packed(work(), call, take)
            except (WireError, ContentChanged):
                raise
            except (Exception, SystemExit) as error:  # the outer edge of `ScopeHost`, on the worker's side
                return self._values.failed(error, call)

        return await self._packed_beside(work(), call, take) if thread == "loop" else await self._worker.run(answer)

    async def _awaited(self, call: Call, start: Callable[[], Awaitable[Any]], take: Take | None) -> Answer:
        return await self._packed_beside(await start(), call, take)

    async def _packed_beside(self, value: Any, call: Call, take: Take | None) -> Answer:
        """The answer of a call that ran on the loop, packed on the worker if it is large."""
        if take is None and not simple(value) and is_bulky(value):
            return await self._worker.run(lambda: self._packed(value, call, take))
        return self._packed(value, call, take)

    def _packed(self, value: Any, call: Call, take: Take | None) -> Answer:
        if take is None:
            return self._values.answer(value, self._path(call), bool(call.path), self.others(call))
        take(value)
        return Answer(value=NOTHING)

    async def _args_beside(self, call: Call) -> Given:
        """The arguments of a call that runs on the loop, unpacked on the worker if they are large."""
        if is_large(call.arguments):
            return await self._worker.run(lambda: self._args(call))
        return self._args(call)

    def _args(self, call: Call) -> Given:
        given = simple_arguments(call.arguments.tree)
        if given is not None:
            return given
        if self._abouts.of(call).operation.takes_guarded:
            return arguments(self._values.unpack(call.arguments))
        return arguments(self._values.unpack_given(call.arguments, lambda: self._abouts.pattern(call)))

    def others(self, call: Call) -> tuple[str, ...]:
        """The paths of a call's result from the other paths of its object."""
        held = self._handles.find(call.target) if call.target > 0 else None
        if held is None or not held.place.others:
            return ()
        inside = f".{call.name}" if call.verb in ("get", "call") and call.name else ""
        return tuple(path + inside for path in held.place.others)

    def _path(self, call: Call) -> str:
        if call.target < 0:
            return self._classes.get(call.target).value.__name__
        place = self._handles.get(call.target).place
        return f"{place.path}.{call.name}" if call.verb in ("get", "call") and call.name else place.path


def arguments(value: Any) -> Given:
    """Arguments as the guest packs them: a tuple of positional ones, or a pair of both kinds."""
    if type_of(value) is not tuple:
        raise WireError("arguments that are not a tuple")
    if len(value) == 2 and type_of(value[0]) is tuple and type_of(value[1]) is dict:
        return value
    return value, {}


async def _sleep(given: Given) -> Answer:
    seconds: Any = given[0][0] if given[0] else None
    if len(given[0]) != 1 or given[1] or type_of(seconds) not in (int, float):
        raise TypeError("sleep takes one number of seconds")
    if not 0 <= seconds <= YEAR_S:  # NaN fails too
        raise ValueError(f"sleep takes 0 to {YEAR_S:.0f} seconds (a year), not {seconds!r:.40}")
    await asyncio.sleep(seconds)
    return Answer(value=NOTHING)


async def _within(seconds: float | None, call: Call, abouts: Abouts, work: Awaitable[T]) -> T:
    if seconds is None:
        return await work
    late = asyncio.timeout(seconds)
    try:
        async with late:
            return await work
    except TimeoutError:
        if late.expired():
            raise TimeoutError(f"{abouts.of(call).title} took longer than timeout_s={seconds:g}") from None
        raise
