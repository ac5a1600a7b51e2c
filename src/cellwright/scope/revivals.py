"""Brings back host objects that the guest knows from an earlier process, each when it is first used.

It knows the journal only as a `Lineage`: the numbers that the guest knows, and the call that made each.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import Any

from cellwright.doors import Answer, Call, Lineage, Made, ObjectOrigin
from cellwright.errors import HandleLost, StaleHandle
from cellwright.scope.abouts import Abouts
from cellwright.scope.executor import CallExecutor, Given, Take, arguments
from cellwright.scope.handles import Handles
from cellwright.scope.lost_objects import LostObject, handle_lost, is_revivable, lost_object, named
from cellwright.scope.members import FUNCTIONS
from cellwright.scope.parcels import find_type, handles_in, has_guest_functions, type_key
from cellwright.scope.rules import Place
from cellwright.scope.scope import Scope
from cellwright.scope.values import Values
from cellwright_guest.unpacker import Unpacker
from cellwright_guest.wire import Packed, type_of

CHANGED = "it was used since in a way that may have changed it"
DEPTH = 100  # objects that bringing one back may need to bring back first
Edge = Callable[[Call, Callable[[], Awaitable[Answer]]], Awaitable[Answer]]
"""Does work as part of serving a call; what the work raises is a failed answer."""


class Revivals:
    """The lost objects of one session. Falsy when there are none, as in every session that was not resumed."""

    def __init__(self, scope: Scope, values: Values, abouts: Abouts, executor: CallExecutor, edge: Edge) -> None:
        self.lineage: Lineage | None = None
        self._lost: dict[int, Made] = {}
        self._still_held: dict[int, Any] = {}  # by this process, for an earlier guest
        self._under_way: dict[int, asyncio.Task[None]] = {}
        self._scope = scope
        self._values = values
        self._abouts = abouts
        self._executor = executor
        self._edge = edge

    def __bool__(self) -> bool:
        return bool(self._lost)

    def expect(self, lineage: Lineage, known: Iterable[Made], still_held: dict[int, Any]) -> None:
        """Expect uses of the known objects that have no handle, now that the names of the scope are bound again."""
        self.lineage = lineage
        self._lost = {made.number: made for made in known if self._handles.find(made.number) is None}
        self._still_held = {number: value for number, value in still_held.items() if number in self._lost}

    def still_held(self) -> dict[int, Any]:
        """The objects that the guest knows and this process has, for the next guest of the session."""
        return {**self._still_held, **self._handles.unbound()}

    def made(self, number: int) -> Made | None:
        return self._lost.get(number)

    def stand_in(self, number: object) -> LostObject:
        """What stands for a lost object in a value."""
        if type(number) is not int:
            return LostObject(handle=0, told="a function of the guest")
        return lost_object(number, self._lost.get(number), self._origin(number))

    def value(self, packed: Packed) -> Any:
        """The value of a cell, with a stand-in for each lost object."""

        def other(tag: str, body: Any, unpacker: Unpacker) -> Any:
            if tag == "h" and type(body) is int and body in self._lost:
                return self.stand_in(body)
            return self._values.unpack_other(tag, body, unpacker)

        return self._values.unpack(packed, other)

    @property
    def _handles(self) -> Handles:
        return self._values.handles

    def _origin(self, number: int) -> ObjectOrigin | None:
        return self.lineage.origin(number) if self.lineage is not None else None

    def stop(self) -> None:
        """The guest has ended: no call waits for an object any longer."""
        self._still_held.clear()
        for task in self._under_way.values():
            task.cancel()

    async def revive(self, *packed: Packed, target: int = 0) -> None:
        """Bring back every lost object that is named there. Raises `HandleLost` for one that cannot come back."""
        for number in sorted({target, *(n for part in packed for n in handles_in(part.tree))}):
            await self._revive(number, ())

    async def _revive(self, number: int, chain: tuple[int, ...]) -> None:
        made = self._lost.get(number)
        if made is None:
            return
        if number in chain or len(chain) >= DEPTH:
            raise handle_lost(made, self._origin(number), "too many other objects would have to come back first")
        task = self._under_way.get(number)
        if task is None:
            task = self._under_way[number] = asyncio.create_task(self._bring_back(made, chain))
            task.add_done_callback(lambda done: self._settled(number, done))
        await asyncio.shield(task)  # shared: a call that is cancelled does not stop it for the others

    def _settled(self, number: int, task: asyncio.Task[None]) -> None:
        del self._under_way[number]
        if not task.cancelled():
            task.exception()  # read here: asyncio would warn if all who waited were cancelled

    async def _bring_back(self, made: Made, chain: tuple[int, ...]) -> None:
        others: tuple[str, ...] = ()
        if made.number in self._still_held:
            value = self._still_held.pop(made.number)
        else:
            origin = await asyncio.to_thread(self._origin, made.number)  # it may have to be read from a journal
            if origin is None:
                raise self._not_bound(made)
            if origin.imported and await self._is_read_again(made, origin, (*chain, made.number)):
                origin = replace(origin, kept=None)  # a stranger's data
            elif self.lineage is not None and (why := await self.lineage.refusal(made, origin)):
                raise handle_lost(made, origin, why)
            value = await self._rebuilt(made, origin, (*chain, made.number))
            others = self._executor.others(origin.call)
        place = Place(made.path, type_of(value))
        self._handles.restore(made.number, value, self._scope.rules.placed(place, value, others))
        self._lost.pop(made.number, None)

    def _not_bound(self, made: Made) -> Exception:
        name = made.path.partition(".")[0]
        if name == "callback":
            return handle_lost(made, None)
        bound = name in (other for other, _ in self._scope.names())
        how = "is bound to something else now" if bound else "is no longer bound"
        return StaleHandle(f"{named(made)} was `{made.path}` in the scope, and `{name}` {how}")

    async def _rebuilt(self, made: Made, origin: ObjectOrigin, chain: tuple[int, ...]) -> Any:
        kept = None if origin.kept is None else unpack_recorded(self._values, origin.kept, self.stand_in)
        if kept is not None and made.number in kept:
            return await self._from_kept(made, origin, kept[made.number])
        await self._revive_needed(made, origin, chain)
        facts = self._abouts.of(origin.call).operation
        if facts.revive is not None:
            rules, refused = self._abouts.of_function(facts.revive, self._handles.find(origin.call.target))
            if rules.ask or refused:
                why = "waits for a person's yes" if rules.ask else "is refused in this scope"
                raise handle_lost(made, origin, f"its revive= {why}")
            return await self._by_function(made, origin, facts.revive, facts.thread)
        if not facts.reads:
            raise handle_lost(made, origin)
        if origin.touched and origin.call.verb != "get":
            raise handle_lost(made, origin, CHANGED)
        self._require_alone(made, origin)
        value = await self._outcome(made, origin, lambda take: self._executor.answer(origin.call, take))
        if type_key(type_of(value)) != made.kind:
            raise handle_lost(made, origin, f"asked again it gave a {type_of(value).__name__}")
        if origin.touched and not isinstance(value, FUNCTIONS) and not self._is_part_of_scope(origin, value):
            raise handle_lost(made, origin, CHANGED)
        return value

    async def _is_read_again(self, made: Made, origin: ObjectOrigin, chain: tuple[int, ...]) -> bool:
        """Whether it is an attribute of a bound object, which guest code may read without a yes, by its own path."""
        call = origin.call
        if call.verb != "get" or handles_in(call.arguments.tree) or not self._is_part_of_scope(origin, None):
            return False
        await self._revive_needed(made, origin, chain)
        held, facts = self._handles.find(call.target), self._abouts.of(call).operation
        return held is not None and made.path == f"{held.place.path}.{call.name}" and facts.reads and not facts.ask

    def _is_part_of_scope(self, origin: ObjectOrigin | None, value: Any) -> bool:
        """Whether the value is an attribute of a bound object, and so came back with it. An iterator had a position."""
        if hasattr(type_of(value), "__next__") or hasattr(type_of(value), "__anext__"):
            return False
        for _ in range(DEPTH):
            if origin is None or origin.call.verb != "get":
                return False
            held = self._handles.find(origin.call.target)
            if held is not None and held.bound:
                return True
            origin = self._origin(origin.call.target)
        return False

    async def _revive_needed(self, made: Made, origin: ObjectOrigin, chain: tuple[int, ...]) -> None:
        """Bring back the target and the arguments of the call that made the object."""
        try:
            for number in sorted({origin.call.target, *handles_in(origin.call.arguments.tree)}):
                await self._revive(number, chain)
        except (HandleLost, StaleHandle) as error:
            raise handle_lost(made, origin, f"and what it needs is gone: {error}") from None

    def _require_alone(self, made: Made, origin: ObjectOrigin) -> None:
        if not origin.alone:
            raise handle_lost(made, origin, "that answer held other objects too")
        if has_guest_functions(origin.call.arguments.tree):
            raise handle_lost(made, origin, "it was called with a function of the guest")

    async def _from_kept(self, made: Made, origin: ObjectOrigin, kept: Any) -> Any:
        cls = find_type(made.kind)
        name = made.path.partition(".")[0]
        try:
            root = self._scope.root(name)
        except KeyError:
            root = self
        if cls is None or not is_revivable(cls):
            raise handle_lost(made, origin, f"its class {made.kind} is not imported here, or has no from_journal")
        if root is self:
            raise handle_lost(made, origin, f"`{name}` is no longer bound")
        return await self._made_by(made, origin, cls.from_journal, ((kept, root), {}), None)

    async def _by_function(self, made: Made, origin: ObjectOrigin, function: Any, thread: str | None) -> Any:
        self._require_alone(made, origin)
        given = arguments(unpack_recorded(self._values, origin.call.arguments, self.stand_in))
        held = self._handles.find(origin.call.target)
        if origin.call.name and held is not None and not _fits(function, given):
            given = ((held.value, *given[0]), given[1])
        value = await self._made_by(made, origin, function, given, thread)
        if type_key(type_of(value)) != made.kind and not self._scope.by_handle(value):
            raise handle_lost(made, origin, f"revive= gave a {type_of(value).__name__}")
        return value

    async def _made_by(self, made: Made, origin: ObjectOrigin, function: Any, given: Given, thread: str | None) -> Any:
        async def call(take: Take) -> Answer:
            take(await self._executor.called(function, given, thread))
            return Answer(value=Packed(None, []))

        return await self._outcome(made, origin, call)

    async def _outcome(self, made: Made, origin: ObjectOrigin, start: Callable[[Take], Awaitable[Answer]]) -> Any:
        taken: list[Any] = []
        answer = await self._edge(origin.call, lambda: start(taken.append))
        if answer.failed:
            kind, _, _, text = answer.value.tree["E"]
            description: dict[str, Any] = {} if type(kind) is str else kind[1] or {}
            name = kind if type(kind) is str else description.get("name", "an error")
            raise handle_lost(made, origin, f"asked again it raised {name}: {text}"[:500])
        return taken[0]


def _fits(function: Any, given: Given) -> bool:
    args, kwargs = given
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError:
        return False
    except ValueError:  # no signature to ask
        return True
    return True


StandIn = Callable[[object], Any]
"""Gives what stands for an object that is not held, by its number; with None, for a function of the guest."""


def unpack_recorded(values: Values, packed: Packed, stand_in: StandIn) -> Any:
    """The value of a packed call or answer.

    A function of the guest is never taken again: the guest that lent it does not know that it is in use.
    """

    def held(number: Any) -> Any:
        entry = values.handles.find(number) if type(number) is int else None
        return stand_in(number) if entry is None else entry.value

    def other(tag: str, body: Any, unpacker: Unpacker) -> Any:
        match tag, body:
            case "h" | "f", [number, *_]:
                return held(number)
            case "h", number:
                return held(number)
            case "c" | "e" | "o", [number, dict() | None, *rest]:  # with a description: packed by the host
                return values.unpack_other(tag, [number, *rest] if rest else number, unpacker)
            case "E", [_, _, dict(), str(text)]:  # with attributes: packed by the host
                return RuntimeError(text)
            case "g", _:
                return stand_in(None)
            case _:
                return values.unpack_other(tag, body, unpacker)

    return values.unpack(packed, other)
