"""`Private`: innermost at the door, round the host objects: what leaves them has tokens, what they get has values.

So the journal, the audit, people's questions and the guest all have tokens. `PrivateEntry` is outermost: a value that
guest code has by itself, from a file of the workspace, becomes a token before anybody writes it down.
"""

from __future__ import annotations

import asyncio
import functools
import json
import re
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from cellwright.doors import Answer, Beginning, Call, CallContent, GuestDoor, Host, Lineage, Made, ObjectOrigin, Wrapper
from cellwright.errors import Denied
from cellwright.guard.approver import Approve
from cellwright.guard.privacy import Kinds, SessionPrivacy
from cellwright.journal import TRANSACTION_VERBS
from cellwright.scope import ScopeHost
from cellwright_guest.wire import Packed, WireError, is_large, type_of

_QUIET = frozenset(("sleep", "about", "dir")) | TRANSACTION_VERBS
LONG, LONG_BYTES = 1_000, 1 << 16  # of a value that is looked through in a thread
_ITEM = ("__getitem__", "get")
_TABLES = ("pandas", "polars", "pyarrow")  # of which an attribute may be a column
SERVED_PRIVACY: ContextVar[SessionPrivacy | None] = ContextVar("cellwright_privacy", default=None)
"""Of the session whose call is served: a session that host code opens meanwhile shares its tokens."""


class Private(Wrapper):
    """For one session. `say` tells a person, once, which values an operation did not get."""

    def __init__(self, inner: ScopeHost, privacy: SessionPrivacy, say: Callable[[str], None]) -> None:
        super().__init__(inner)
        self._scope_host = inner
        self._privacy = privacy
        self._say = say
        self._told: set[str] = set()
        self._kinds: dict[int, Kinds] = {}  # of calls under way, that guest functions may be called for
        self._columns: dict[int, str] = {}  # of objects, such as a column of a frame: what their values are
        self._lineage: Lineage | None = None
        inner.made_with = self._made_with  # a rule about an address is about the one that a mail goes to

    def _made_with(self, call: Call) -> Packed:
        return self._privacy.reveal(call.arguments, self._privacy.options.allowed(call.about))[0]

    async def call(self, call: Call) -> Answer:
        if call.verb in _QUIET:
            return await self.inner.call(call)
        kinds = self._privacy.options.allowed(call.about)
        if call.about.operation.own:
            kinds = self._privacy.options.answers if call.about.title == "done" else ()
        revealed, left = await _aside(call.arguments, lambda: self._privacy.reveal(call.arguments, kinds))
        if left and call.refused is None and not call.about.operation.own:
            call = self._without(call, left)
        kind = self._column(call)
        self._kinds[call.id] = kinds
        token = SERVED_PRIVACY.set(self._privacy)
        try:
            answer = await self.inner.call(replace(call, arguments=revealed))
        finally:
            SERVED_PRIVACY.reset(token)
            self._kinds.pop(call.id, None)
        return await self._hidden(call, answer, kind)

    def _without(self, call: Call, left: set[str]) -> Call:
        """A call with tokens whose values it may not have."""
        what = f"{call.about.title} may not have {', '.join(sorted(left))}"
        how = f"declare it: may_have={json.dumps(sorted(left))}"
        if self._privacy.options.strict:
            return replace(call, refused=Denied(f"{what}, and is given no token either; {how}"))
        if what not in self._told:
            self._told.add(what)
            self._say(f"cellwright: {what}, and is given the token; if it needs the value, {how}")
        return call

    async def _hidden(self, call: Call, answer: Answer, kind: str | None) -> Answer:
        if kind is not None:
            for made in answer.made:
                if self._column_of(call.target) or _is_column(call, made):
                    self._columns[made.number] = kind
        row = self._scope_host.row_names(call.target)
        value = await _aside(answer.value, lambda: self._hide(answer.value, kind, row))
        kept = answer.kept
        if kept is not None:
            kept = await _aside(kept, functools.partial(self._hide, kept))
        self._privacy.keep()
        return replace(answer, value=value, kept=kept)

    def _hide(self, packed: Packed, kind: str | None = None, row: tuple[str, ...] = ()) -> Packed:
        return self._privacy.hide(packed, self._scope_host.field_names, kind, row)

    def _column(self, call: Call) -> str | None:
        """What the answer is known to be by name: `patient.email`, `row["email"]`, an item of a column."""
        name = call.name if call.verb == "get" else ""
        if call.name in _ITEM and call.verb in ("op", "call"):
            given: Any = call.arguments.tree.get("t") if type_of(call.arguments.tree) is dict else None
            name = given[0] if type_of(given) is list and given and type_of(given[0]) is str else ""
        named = self._privacy.kinds_of((name,)).get(name) if name else None
        if named is None and call.verb == "get":  # `name` says more beside `email`
            named = self._privacy.kinds_of((name, *self._scope_host.member_names(call.target))).get(name)
        of_operation = (self._privacy.options.columns.get(name) for name in call.about.names)
        return named or next(filter(None, of_operation), None) or self._column_of(call.target)

    def _column_of(self, number: int) -> str | None:
        """Of an object; in a session that was resumed the call that gave it tells."""
        if number <= 0 or number in self._columns or self._lineage is None:
            return self._columns.get(number) or None
        self._columns[number] = ""
        origin = self._lineage.origin(number)
        made = next((one for one in self._lineage.known() if one.number == number), None)
        if origin is None or made is None:
            return None
        if self._column_of(origin.call.target) or _is_column(origin.call, made):
            self._columns[number] = self._column(origin.call) or ""
        return self._columns[number] or None

    def value(self, packed: Packed) -> object:
        return self._scope_host.value(packed, told=True)

    def open(self, guest: GuestDoor, libraries: frozenset[str], lineage: Lineage | None = None) -> Beginning:
        self._lineage = lineage
        door = _PrivateGuest(guest, self)
        told = None if lineage is None else _PrivateLineage(lineage, self)
        beginning = self.inner.open(door, libraries, told)
        return replace(beginning, names=self._hide(beginning.names))

    # what undoes calls, and tells people of them

    async def content(self, call: Call) -> CallContent:
        """What a person is shown of the host objects in a call, with tokens: see `Shows`."""
        hide = self._privacy.hide_text
        content = await self._scope_host.content(call)
        texts = {number: hide(text) for number, text in content.objects.items()}
        wholes = {number: hide(text) for number, text in content.wholes.items()}
        self._privacy.keep()
        return replace(content, target=hide(content.target), objects=texts, wholes=wholes)

    async def undo(self, call: Call, answer: Answer) -> None:
        await self._scope_host.undo(self._with_values(call), replace(answer, value=self._all(answer.value)))

    async def cannot_undo(self, call: Call, answer: Answer) -> str:
        return await self._scope_host.cannot_undo(call, answer)

    def undo_repeats(self, call: Call) -> bool:
        return self._scope_host.undo_repeats(call)

    def told(self, error: BaseException) -> str:
        return self._privacy.hide_text(self._scope_host.told(error))

    def with_tokens(self, call: Call) -> Call:
        """A call of the host itself, for what writes it down."""
        return replace(call, arguments=self._hide(call.arguments))

    def _with_values(self, call: Call) -> Call:
        about = self._scope_host.about(call.verb, call.target, call.name)
        kinds = self._privacy.options.allowed(about)
        return replace(call, arguments=self._privacy.reveal(call.arguments, kinds)[0])

    def _all(self, packed: Packed) -> Packed:
        return self._privacy.reveal(packed, True)[0]

    # for the parts below

    def origin_of(self, origin: ObjectOrigin) -> ObjectOrigin:
        kept = None if origin.kept is None else self._all(origin.kept)
        return replace(origin, call=self._with_values(origin.call), kept=kept)

    def to_guest(self, arguments: Packed, loop: asyncio.AbstractEventLoop) -> Packed:
        hidden = self._hide(arguments)
        loop.call_soon_threadsafe(self._privacy.keep)  # before the call is written down
        return hidden

    def from_guest(self, answer: Answer, parent: int) -> Answer:
        return replace(answer, value=self._privacy.reveal(answer.value, self._kinds.get(parent, ()))[0])


def _is_column(call: Call, made: Made) -> bool:
    """Whether an object is what its name says: `rows["email"]`; `office.mail` is one that reads mails."""
    return call.name in _ITEM or re.split("[.:]", made.kind)[0] in _TABLES


class _PrivateGuest:
    """The way back: host code calls guest functions with tokens. What they give may be values, as for the call."""

    def __init__(self, guest: GuestDoor, private: Private) -> None:
        self._guest = guest
        self._private = private
        self._loop = asyncio.get_running_loop()

    def invoke(
        self,
        lent: int,
        parent: int,
        arguments: Packed,
        path: str = "",
        at: float = 0.0,
        made: tuple[Made, ...] = (),
    ) -> Future[Answer]:
        hidden = self._private.to_guest(arguments, self._loop)
        answered = self._guest.invoke(lent, parent, hidden, path, at, made)
        told: Future[Answer] = Future()
        told.set_running_or_notify_cancel()

        def settle(done: Future[Answer]) -> None:
            error = done.exception()
            try:
                answer = None if error is not None else self._private.from_guest(done.result(), parent)
            except WireError as wrong:
                error, answer = wrong, None
            if answer is not None:
                told.set_result(answer)
            else:
                told.set_exception(error)

        answered.add_done_callback(settle)
        return told

    def give_back(self, lent: int, count: int) -> None:
        self._guest.give_back(lent, count)


class _PrivateLineage:
    """What the journal knows of host objects, with values: what brings one back makes its call again."""

    def __init__(self, lineage: Lineage, private: Private) -> None:
        self._lineage = lineage
        self._private = private

    def known(self) -> Sequence[Made]:
        return self._lineage.known()

    def origin(self, handle: int) -> ObjectOrigin | None:
        origin = self._lineage.origin(handle)
        return None if origin is None else self._private.origin_of(origin)

    def imported(self, number: int) -> bool:
        return self._lineage.imported(number)

    async def refusal(self, made: Made, origin: ObjectOrigin) -> str:
        return await self._lineage.refusal(made, replace(origin, call=self._private.with_tokens(origin.call)))


class PrivateEntry(Wrapper):
    """Outermost: arguments of the guest, and what a cell comes to, with tokens."""

    def __init__(self, inner: Host, host: ScopeHost, privacy: SessionPrivacy) -> None:
        super().__init__(inner)
        self._host = host
        self._privacy = privacy

    async def call(self, call: Call) -> Answer:
        if call.verb in _QUIET or call.arguments.tree in ({"t": []}, None):
            return await self.inner.call(call)
        hide = self._privacy.hide_guessed
        given = await _aside(call.arguments, lambda: hide(call.arguments, self._host.field_names, arguments=True))
        self._privacy.keep()
        return await self.inner.call(replace(call, arguments=given))

    def value(self, packed: Packed) -> object:
        return self.inner.value(self._privacy.hide_guessed(packed, self._host.field_names))


async def _aside(packed: Packed, work: Callable[[], Any]) -> Any:
    """What `work` makes of a value: in a thread where that takes long. Looking through a text takes 100 ns a letter."""
    return await asyncio.to_thread(work) if is_large(packed, LONG, LONG_BYTES) else work()


Undone = Callable[[Call, Any], Awaitable[Any]]


def telling(private: Private, tell: Undone) -> Undone:
    """What is told of an undo, or asked about it, is told with tokens."""
    return lambda call, rest: tell(private.with_tokens(call), rest)


def revealing(approve: Approve | None, privacy: SessionPrivacy) -> Approve | None:
    """A person who is asked sees the values: whom a mail goes to is what the question is about."""
    if approve is None:
        return None
    reveal = privacy.reveal_text
    return lambda wanted: approve(replace(wanted, arguments=reveal(wanted.arguments), why=reveal(wanted.why)))
