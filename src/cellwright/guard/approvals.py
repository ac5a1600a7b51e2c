"""`Approved`: operations that wait for a person's yes, at the door. Asks before the effect: without a yes, none.

It knows calls and what is said to them; not how a person is asked. Where the session is journaled, a call that was made
is answered from there and never comes here again, and a question that was asked is found again with its answer.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

from cellwright.doors import BY_GUEST, About, Answer, Call, Host, Wrapper
from cellwright.errors import Denied, Fenced, JournalFailed, NoQuestion, UsageError
from cellwright.events import ApprovalWanted
from cellwright.guard.desk import Desk, once, wanted_of
from cellwright.guard.saying import Approvals, Approve, said_by
from cellwright.guard.told import told
from cellwright.journal import Asking
from cellwright.sandboxes import guest_at_work, waiting
from cellwright.store import Decision, Question
from cellwright_guest.wire import NOTHING, is_large

_VERBS = ("call", "new", "op")
_CLASS_VERB, _OBJECT_VERB = "new", "dir"  # whose titles are the bare names


class Approved(Wrapper):
    """In a session that nobody writes down: `approve` is asked; None: nobody can be."""

    def __init__(self, inner: Host, approve: Approve | None) -> None:
        super().__init__(inner)
        self._approve = approve

    async def call(self, call: Call) -> Answer:
        if call.refused is not None:
            return await self.inner.call(call)
        about = self.inner.about(call)
        if not self._asks(call, about):
            return await self.inner.call(call)
        no = await self._asked(call, about)
        if no is not None:
            return await self.inner.call(replace(call, refused=no))
        return await self.inner.call(replace(call, approved=True))

    def _asks(self, call: Call, about: About) -> bool:
        """Whether it waits for a yes."""
        return about.operation.ask

    async def _asked(self, call: Call, about: About) -> Denied | None:
        """None for a yes."""
        if self._approve is None:
            return Denied(
                f"{about.title} waits for a person's yes, and there is nobody to ask: Runtime(approve=…) says who is"
            )
        arguments = await self._arguments(call)
        wanted = ApprovalWanted(
            session="", cell=call.cell, call=call.id, name=_name(call, about.title), arguments=arguments
        )
        with waiting(wanted):
            said = await said_by(self._approve, wanted)
        if said is None:
            return Denied(f"{about.title} waits for a person's yes, and nobody gives it later: nothing is kept here")
        return _denial(about.title, said)

    async def _arguments(self, call: Call) -> str:
        if is_large(call.arguments):
            return await asyncio.to_thread(told, call.arguments, self._called)
        return told(call.arguments, self._called)

    def _called(self, number: int) -> str:
        verb = _OBJECT_VERB if number > 0 else _CLASS_VERB
        named = Call(id=0, cell=0, verb=verb, target=number, name="", arguments=NOTHING)
        return self.inner.about(named).title


class Lasting(Approved):
    """In a journaled one: what is asked is kept, anybody may decide it, and the cell is paused while nobody does."""

    def __init__(self, inner: Host, asking: Asking, desk: Desk, approvals: Approvals) -> None:
        super().__init__(inner, None)
        self._asking = asking
        self._desk = desk
        self._approvals = approvals

    async def call(self, call: Call) -> Answer:
        await self._asking.pausing.gate()
        try:
            return await super().call(call)
        except (Fenced, JournalFailed) as error:
            return await self._asking.stop(error)

    def _asks(self, call: Call, about: About) -> bool:
        return about.operation.ask or self._asking.earlier(call) is not None

    async def _asked(self, call: Call, about: About) -> Denied | None:
        earlier = self._asking.earlier(call)
        if self._asking.began(call) and _said_yes(earlier):  # a row alone may be a stranger's: it came with an import
            return None
        try:
            return await self._decided(call, about, earlier)
        except UsageError as error:
            return Denied(f"{about.title} was denied: it cannot be asked for ({error})")

    async def _decided(self, call: Call, about: About, earlier: Question | None) -> Denied | None:
        asking, operation = self._asking, self._operation(call, about) if earlier is None else earlier.operation
        grant = asking.granted(operation) if earlier is None or earlier.decision is None else None
        if grant is not None:
            return self._as_said_before(call, about, operation, grant)
        if len(asking.pausing) >= self._approvals.at_once:
            most = f"{self._approvals.at_once} calls of this session wait for a person's yes already"
            return Denied(f"{about.title} was denied: {most}; await some of them first")
        question = earlier or await self._ask(call, about, operation)
        if question.decision is None and not _is_late(question):
            question = await self._answered(call, about, question)
        await asking.pausing.gate()
        if question.decision is None:
            return Denied(f"{about.title} was denied: {_too_late(question)}")
        asking.heed(question.id, operation, question.decision)
        return _denial(about.title, question.decision)

    async def _ask(self, call: Call, about: About, operation: str) -> Question:
        arguments = await self._arguments(call)
        if about.title not in operation:
            arguments += f" on {about.title.rpartition('.')[0]}"
        return self._asking.ask(call, about, operation, arguments, self._approvals.expires_s)

    async def _answered(self, call: Call, about: About, question: Question) -> Question:
        """The question when it is decided, or too late."""
        wanted = wanted_of(question, _name(call, about.title), call.id)
        pausing = self._asking.pausing
        try:
            with waiting(wanted), pausing.waiting(call.path, (question.id,), guest_at_work()) as wait:
                found = await self._desk.first(question, wanted)
                if found is not None:
                    return found
                pausing.put_off(wait)
                return await self._desk.decided(question)
        except asyncio.CancelledError as error:
            if error.args == (BY_GUEST,):
                self._asking.give_up(question)
            raise

    def _as_said_before(self, call: Call, about: About, operation: str, grant: Decision) -> Denied | None:
        id = self._asking.question_of(call)
        with suppress(NoQuestion, UsageError):  # never asked; or decided, or too late: what is said for good counts
            self._asking.store.decide(id, once(grant))
        self._asking.heed(id, operation, replace(grant, at=time.time()))
        return _denial(about.title, grant)

    def _operation(self, call: Call, about: About) -> str:
        """What the operation is called, in every session; one without such a name is this session's alone."""
        if about.known_as:
            return _name(call, about.known_as)
        return f"{_name(call, about.title)} in {self._asking.session}"


def _name(call: Call, title: str) -> str:
    return title if call.verb in _VERBS else f"{call.verb} {title}"


def _denial(title: str, said: Decision) -> Denied | None:
    """None for a yes."""
    if said.yes:
        return None
    return Denied(f"{title} was denied: {said.reason}" if said.reason else f"{title} was denied")


def _said_yes(question: Question | None) -> bool:
    return question is not None and question.decision is not None and question.decision.yes


def _is_late(question: Question) -> bool:
    return question.expires is not None and question.expires <= time.time()


def _too_late(question: Question) -> str:
    when = datetime.fromtimestamp(question.expires or 0.0, UTC)
    return f"nobody answered by {when:%Y-%m-%d %H:%M:%S} UTC"
