"""`ScopeHost`: the door's innermost part, which lets guest code work on the objects of a scope.

It knows objects, handles and rules; not who calls, nor how the call came here.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import asdict, replace
from typing import Any
from uuid import uuid4

from cellwright.doors import About, Answer, Beginning, Call, CallContent, GuestDoor, Lineage, Made
from cellwright.errors import ContentChanged, Denied, GuestError, HandleLost, NotReversible, StaleHandle, UsageError
from cellwright.scope import faults
from cellwright.scope.abouts import Abouts
from cellwright.scope.attributes import held_by
from cellwright.scope.call_contents import CallContents
from cellwright.scope.classes import Classes, ImportedClass, KnownClass, record_names
from cellwright.scope.content_writer import NoContent
from cellwright.scope.executor import CallExecutor, arguments
from cellwright.scope.guest_functions import Lender
from cellwright.scope.handles import Handles
from cellwright.scope.lost_objects import LostObject
from cellwright.scope.members import gives_coroutine, members
from cellwright.scope.operations import facts_of
from cellwright.scope.parcels import handles_in, type_key
from cellwright.scope.placement import Placed, parts_of, places_in
from cellwright.scope.revivals import Revivals, unpack_recorded
from cellwright.scope.rules import Place
from cellwright.scope.scope import Scope
from cellwright.scope.served_call import CURRENT, CurrentCall, Undoing, key_of, takes_call
from cellwright.scope.surfaces import Described, surface_of
from cellwright.scope.values import Values
from cellwright.scope.worker import Worker
from cellwright_guest.unpacker import simple_arguments
from cellwright_guest.wire import Bounds, Packed, WireError, is_large, type_of

CURSORS = frozenset(("sqlite3", "psycopg", "psycopg2", "duckdb", "pymysql", "pyodbc", "oracledb"))  # by their modules

Start = Callable[[], Awaitable[Answer]]
AskUndo = Callable[[Call, CallContent], Awaitable[Denied | None]]
TellUndo = Callable[[Call, Callable[[], Awaitable[Any]]], Awaitable[Any]]


class ScopeHost:
    """The host of one session. A new guest of the same session starts with the same names and no handles.

    `session` is the id of a journaled session. Its next guest knows the handles of the last one, too: `open` gets their
    lineage, and each object that the guest uses is brought back.
    """

    def __init__(self, scope: Scope, *, session: str = "", bounds: Bounds | None = None) -> None:
        self._scope = scope
        self._session = session
        self.secret = session or uuid4().hex  # idempotency keys are made of it: no other session of any journal has it
        self._bounds = bounds or Bounds()
        self.timeout_of: Callable[[About], float] | None = None  # what a policy says of operations that say nothing
        self.lent: Callable[[About], str] | None = None  # why it keeps a function from host code; "" where it does not
        self.denies: Callable[[About], bool] = lambda about: False  # of a function that undoes calls
        self.ask_undo: AskUndo | None = None  # asks a person about the undo of a call, where that is to be asked for
        self.tell_undo: TellUndo | None = None  # carries it out, and tells an audit of it
        self.made_with: Callable[[Call], Packed] | None = None  # the arguments of a call, with its private values
        self._worker = Worker("cellwright-host-calls")
        self._numbers = itertools.count(1)
        self._make_current = self._current  # bound once, not at each call
        self._begin(None, (), 1)

    def _begin(self, lineage: Lineage | None, known: Sequence[Made], first: int) -> None:
        self._lender = Lender(self._worker)
        self._handles = Handles(first=first)
        rules, more = self._scope.rules, () if lineage is None else (lineage.imported,)
        self._classes = Classes(rules, known, *more)
        self._values = Values(self._handles, self._classes, self._lender, self._bounds, self._scope.place_of)
        self._abouts = Abouts(self._scope.rules, self._handles, self._classes, lambda n: self._revivals.made(n))
        self._contents = CallContents(self._scope, self._values, self._abouts)
        self._executor = CallExecutor(self._scope.rules, self._values, self._worker, self._abouts, self._contents)
        if self.timeout_of is not None:
            self._executor.timeout_of = self.timeout_of
        self._revivals = Revivals(self._scope, self._values, self._abouts, self._executor, self._as_call)
        self._classes.name_of = self._name_of
        self._lender.pack = self._values.arguments
        self._lender.unpack = lambda packed: self._values.unpack_given(packed, str)
        self._values.guarded, self._abouts.lent = self._abouts.guarded, self.lent
        self._abouts.denies = self.denies

    def open(self, guest: GuestDoor, libraries: frozenset[str], lineage: Lineage | None = None) -> Beginning:
        self._lender.guest = None
        self._worker.renew()  # where a call of the last guest has not returned, the new guest does not wait for it
        still_held = self._revivals.still_held()
        self._revivals.stop()
        known = () if lineage is None else lineage.known()
        first = max((made.number for made in known), default=0) + 1
        self._begin(lineage, known, max(first, self._handles.next))  # no object is taken for one of the last guest
        self._lender.guest = guest
        self._values.libraries = libraries
        if self._scope.rules and self._scope.rules.objects is not None:
            self._scope.rules.objects.warn()
        for cls, path, bound in self._scope.entries():
            self._classes.enter(cls, Place(path, cls), bound=bound, buildable=True)
        if lineage is None:
            return self._names(None, ())
        objects = [made for made in known if made.number > 0]
        beginning = self._names(lineage, objects)
        self._revivals.expect(lineage, objects, still_held)
        if self._revivals:
            loop = asyncio.get_running_loop()
            self._lender.revive = lambda packed: asyncio.run_coroutine_threadsafe(self._revivals.revive(packed), loop)
        return beginning

    def _names(self, lineage: Lineage | None, objects: Sequence[Made]) -> Beginning:
        """Pack the names; an object that the last guest began with keeps its number."""
        began: dict[str, list[Made]] = {}
        for made in objects:  # that no call made. A path does not tell: results of bound functions have a name's, too
            if lineage is not None and lineage.origin(made.number) is None:
                began.setdefault(made.path, []).append(made)
        names = {name: (value, self._scope.path(name)) for name, value in self._scope.names()}
        for name, (value, path) in names.items():
            if not self._is_held(value):
                continue
            place, kind = self._placed(path, value), type_key(type_of(value))
            there = began.get(path, []) if self._handles.known(value) is None else []
            others = there[:1] if path == name else []  # an object bound to the same name may be of another type now
            for again in itertools.islice((*(made for made in there if made.kind == kind), *others), 1):
                there.remove(again)
                self._handles.restore(again.number, value, place, bound=True)
            held = self._handles.hold(value, place, bound=True)
            held.name, held.handed = held.name or name, self._scope.is_handed(name)
        for made in itertools.chain(*began.values()):
            self._handles.waiting.setdefault((made.path, made.kind), []).append(made.number)
        packed, made = self._values.names(names)
        self._handles.waiting.clear()
        return Beginning(names=packed, made=made)

    def _placed(self, path: str, value: Any) -> Place:
        known = self._scope.place_of(value)  # in the parent's session, where other paths may have led to it
        place = Place(path, type_of(value), () if known is None else known.others)
        return self._scope.rules.placed(place, value)

    def _name_of(self, value: Any) -> str:
        return next((name for name, bound in self._scope.names() if bound is value), "")

    def _is_held(self, value: Any) -> bool:
        return not isinstance(value, type) and self._scope.by_handle(value) and not self._values.is_copied(value)

    def close(self) -> None:
        self._lender.guest = None
        self._revivals.stop()
        self._handles.clear()
        self._worker.close()

    def value(self, packed: Packed, *, told: bool = False) -> object:
        """What a cell came to. `told`: tokens stand in it for private values, perhaps where its classes want others."""
        unpack = self._values.unpack_told if told else self._values.unpack
        try:
            return self._revivals.value(packed) if self._revivals else unpack(packed)
        except ImportedClass as error:
            return LostObject(handle=0, told=str(error))

    def drop(self, handle: int, count: int) -> None:
        self._handles.drop(handle, count)

    # objects that go to other sessions

    def place_of(self, value: Any) -> Place | None:
        """The place of an object that this session's guest has; None for any other."""
        held = self._handles.known(value)
        return None if held is None else held.place

    def class_of(self, cls: type) -> KnownClass | None:
        """A class that this session's guest may build."""
        return self._classes.find(cls)

    def placed(self, value: Any) -> Any:
        """A value of this session for the guest of another session: its live objects keep their places.

        `HandleLost` where the value holds an object that did not outlive its process.
        """
        for part in parts_of(value):
            if isinstance(part, LostObject):
                raise HandleLost(f"what came of it holds {part.told} and did not outlive its process; ask for it again")
        found = places_in(value, lambda part: self._scope.place_in(part, self))
        return Placed(value, {number: place for number, (_, place) in found.items()}) if found else value

    def about(self, verb: str, target: int, name: str, path: str = "") -> About:
        return self._abouts.about(verb, target, name)

    def field_names(self, number: int) -> tuple[str, ...]:
        """The names of the fields of a record, by the number of its class."""
        known = self._classes.find_number(number)
        return () if known is None else record_names(known.value)

    def member_names(self, number: int) -> tuple[str, ...]:
        """The names of what an object has, methods too; none of one that is not held. Runs no code of it."""
        held = self._handles.find(number) if number > 0 else None
        if held is None:
            return ()
        return (*members(type_of(held.value)), *held_by(held.value))

    def row_names(self, number: int) -> tuple[str, ...]:
        """The columns of the rows that a cursor of a database gives; none of any other object."""
        held = self._handles.find(number) if number > 0 else None
        if held is None or type_of(held.value).__module__.partition(".")[0].lstrip("_") not in CURSORS:
            return ()
        return tuple(str(column[0]) for column in getattr(held.value, "description", None) or ())

    @property
    def objects(self) -> int:
        """The number of the last host object that this session's guest was told of."""
        return self._handles.next - 1

    def described(self) -> dict[str, Described]:
        """The upstreams in scope that may describe their operations otherwise later."""
        surfaces = ((name, surface_of(value)) for name, value in self._scope.names())
        return {name: surface for name, surface in surfaces if isinstance(surface, Described)}

    @property
    def lends(self) -> bool:
        """Whether host code has a function of the guest, which it may call at any time."""
        return self._lender.lends

    def is_bound(self, number: int) -> bool:
        """Whether the developer bound this object by name."""
        held = self._handles.find(number)
        return held is not None and held.bound and not held.handed

    def refusal(self, call: Call) -> str:
        """Why the rules of the scope refuse a call; "" where they do not."""
        return self._abouts.refusal(call)

    def parameters(self, call: Call) -> tuple[str, ...]:
        """The names of the positional parameters of what a call calls; none where nobody knows them."""
        return self._abouts.parameters(call)

    def acts(self, number: int) -> bool:
        """Whether it is a function or a class whose call may do something: host code that is given it may call it."""
        return self._abouts.acts(number)

    def call(self, call: Call) -> Coroutine[Any, Any, Answer]:
        return self._serve(call, self._lender, None)

    async def content(self, call: Call) -> CallContent:
        """What a person is shown of the host objects in a call. See `Shows`."""
        try:
            if self._revivals:
                await self._revive_for(call)
            return await self._executor.content(call)
        except (GuestError, ReferenceError) as error:
            return CallContent(refused=error)  # an object is lost, or was never there

    async def _serve(self, call: Call, lender: Lender | None, start: Start | None) -> Answer:
        token = CURRENT.set((call, lender, next(self._numbers), self._make_current))
        try:
            if start is not None:
                return await start()
            if call.refused is not None:  # not raised: its traceback would keep the guest's message alive
                return self._values.failed(call.refused)
            if self._revivals:
                await self._revive_for(call)
                about = self._abouts.about(call.verb, call.target, call.name)  # what came back may say more
                call = replace(call, about=about)
            answer = await self._executor.answer(call)
        except (WireError, ContentChanged):
            raise
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            answer = await self._failed(error, call)  # the call was not cancelled: the host object raised it
        except (Exception, SystemExit) as error:  # an outer edge: what a host object raises is the answer
            answer = await self._failed(error, call)
        finally:
            CURRENT.reset(token)
        return replace(answer, made=self._values.confirmed(answer.made)) if answer.made else answer

    async def _failed(self, error: BaseException, call: Call) -> Answer:
        if is_large(call.arguments):
            return await self._worker.run(lambda: self._values.failed(error, call))
        return self._values.failed(error, call)

    # the call that host code serves

    def _current(self, call: Call, number: int) -> CurrentCall:
        return CurrentCall(
            name=self._abouts.of(call).title,
            cell=call.cell,
            path=call.path,
            session=self._session,
            idempotency_key=key_of(self.secret, call.path if self._session and call.path else f"#{number}"),
        )

    def _current_undo(self, call: Call, number: int) -> CurrentCall:
        current = self._current(call, number)
        return replace(current, name=f"undo {current.name}", idempotency_key=key_of(current.idempotency_key, "undo"))

    # objects of an earlier process

    async def _revive_for(self, call: Call) -> None:
        if simple_arguments(call.arguments.tree) is not None:
            return await self._revivals.revive(target=call.target)
        if is_large(call.arguments):
            handles = await self._worker.run(lambda: handles_in(call.arguments.tree))
            packed = Packed([{"h": number} for number in handles], [])
            return await self._revivals.revive(packed, target=call.target)
        return await self._revivals.revive(call.arguments, target=call.target)

    async def _as_call(self, call: Call, start: Start) -> Answer:
        return await self._serve(call, None, start)  # no guest waits for it: a callback in it has no parent call

    async def undo(self, call: Call, answer: Answer) -> None:
        """Undo a call that gave `answer`, by the `undo=` of its operation. Raises what the undo raises.

        `NotReversible` where the operation has no undo; `HandleLost` where the undo needs an object that is lost.
        """
        if self._revivals:
            await self._revivals.revive(answer.value, target=call.target)
        about = self._abouts.of(call)
        undo = about.operation.undo
        if answer.failed or undo is None:
            why = "it failed, and has no result" if answer.failed else "its operation has no undo="
            raise (UsageError if answer.failed else NotReversible)(f"{about.title} cannot be undone: {why}")
        given: tuple[Any, ...] = (unpack_recorded(self._values, answer.value, self._revivals.stand_in),)
        if takes_call(undo):
            given = (*given, await self._undoing(call))
        if why := self._refused_undo(call, undo):
            raise NotReversible(f"{about.title} cannot be undone: {why}")
        thread = "loop" if gives_coroutine(undo) else about.operation.thread
        call = replace(call, about=about)
        function = await self._asked_undo(call, undo, given)
        token = CURRENT.set((call, None, next(self._numbers), self._current_undo))
        try:
            if self.tell_undo is None:
                await self._executor.called(function, (given, {}), thread)
            else:
                await self.tell_undo(call, lambda: self._executor.called(function, (given, {}), thread))
        finally:
            CURRENT.reset(token)

    def _refused_undo(self, call: Call, undo: Any) -> str:
        refused = self._abouts.of_function(undo, self._handles.find(call.target))[1]
        return "its undo= is refused in this scope" if refused else ""

    async def _asked_undo(self, call: Call, undo: Any, given: tuple[Any, ...]) -> Any:
        """The undo; of one that asks, a function that runs what a person said yes to. `Denied` for a no."""
        facts, _ = self._abouts.of_function(undo, self._handles.find(call.target))
        if not facts.ask:
            return undo
        parts = [(one.target, one.args, one.kwargs) if isinstance(one, Undoing) else one for one in given]
        try:
            content = self._contents.of_given(parts, facts.shown)
        except NoContent as none:
            raise Denied(f"its undo asks a person, who cannot be shown {none.what}; shown= says what to show") from None
        denied = await self.ask_undo(call, content) if self.ask_undo is not None else Denied("nobody can be asked")
        if denied is not None:
            raise denied

        def approved(*args: Any) -> Any:
            if self._contents.of_given(parts, facts.shown).digest != content.digest:
                raise Denied("what it undoes has changed since a person was shown it; undo it again")
            return undo(*args)

        return approved

    async def cannot_undo(self, call: Call, answer: Answer) -> str:
        """Why an undo of the call would fail, as far as that is known beforehand; "" if no reason is known."""
        if call.target > 0 and self._handles.find(call.target) is None and self._revivals.made(call.target) is None:
            return f"object {call.target}, on which it was called, is not held any more"
        undo = self._abouts.of(call).operation.undo
        if undo is None:
            return "it has no undo"
        if why := self._refused_undo(call, undo):
            return why
        needed = [answer.value, call.arguments] if takes_call(undo) else [answer.value]
        try:
            if self._revivals:
                await self._revivals.revive(*needed, target=call.target)
        except (HandleLost, StaleHandle) as error:
            return str(error)
        numbers = {number for packed in needed for number in handles_in(packed.tree)}
        gone = next((number for number in sorted(numbers) if self._handles.find(number) is None), None)
        return "" if gone is None else f"object {gone}, which its undo needs, is not held any more"

    def undo_repeats(self, call: Call) -> bool:
        """Whether the undo of a call may run twice: its `undo=` function is an operation declared idempotent."""
        return facts_of(self._abouts.of(call).operation.undo).idempotent

    def told(self, error: BaseException) -> str:
        """The text of an exception of host code, without what guest code may not know."""
        return faults.error_text(error)

    async def _undoing(self, call: Call) -> Undoing:
        if self._revivals:
            await self._revivals.revive(call.arguments)
        held = self._handles.find(call.target) if call.name else None
        args, kwargs = arguments(unpack_recorded(self._values, call.arguments, self._revivals.stand_in))
        current = asdict(self._current(call, next(self._numbers)))
        return Undoing(**current, target=None if held is None else held.value, args=args, kwargs=kwargs)
