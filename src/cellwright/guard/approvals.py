"""`Approved` and `StoredApproval`: operations that wait for a person's yes, at the door. Without a yes, no effect.

They know calls and decisions; not how a person is asked. Where the session is journaled, a call that was made is
answered from the journal and never comes here again, and a question that was asked is found again with its decision.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

from cellwright.doors import BY_GUEST, Answer, Call, Host, Wrapper
from cellwright.errors import Denied, Fenced, JournalFailed, NoQuestion, UsageError
from cellwright.events import ApprovalWanted
from cellwright.guard.approval_desk import ApprovalDesk, once, wanted_of
from cellwright.guard.approver import Approvals, Approve, decision_by
from cellwright.guard.arguments_text import arguments_text
from cellwright.journal import CallQuestions, PauseWatch, is_late
from cellwright.sandboxes import guest_at_work, waiting
from cellwright.store import Decision, Question, off_loop
from cellwright_guest.wire import is_large

_VERBS = ("call", "new", "op")
_CLASS_VERB, _OBJECT_VERB = "new", "dir"  # whose titles are the bare names


class Approved(Wrapper):
    """In a session that is not kept: `approve` is asked; None: nobody can be asked."""

    def __init__(self, inner: Host, approve: Approve | None) -> None:
        super().__init__(inner)
        self._approve = approve

    async def call(self, call: Call) -> Answer:
        if call.refused is not None or not await self._asks(call):
            return await self.inner.call(call)
        denied = await self._asked(call)
        return await self.inner.call(replace(call, refused=denied, approved=denied is None))

    async def _asks(self, call: Call) -> bool:
        """Whether it waits for a yes."""
        return call.about.operation.ask

    async def _asked(self, call: Call) -> Denied | None:
        """None for a yes."""
        title = call.about.title
        if self._approve is None:
            why = "there is nobody to ask: Runtime(approve=…) says who is"
            return Denied(f"{title} waits for a person's yes, and {why}")
        arguments = await self._arguments(call)
        wanted = ApprovalWanted(session="", cell=call.cell, call=call.id, name=_name(call, title), arguments=arguments)
        with waiting(wanted):
            decision = await decision_by(self._approve, wanted)
        if decision is None:
            return Denied(f"{title} waits for a person's yes, and nobody gives it later: nothing is kept here")
        return _denial(title, decision)

    async def _arguments(self, call: Call) -> str:
        if is_large(call.arguments):
            return await asyncio.to_thread(arguments_text, call.arguments, self._object_name)
        return arguments_text(call.arguments, self._object_name)

    def _object_name(self, number: int) -> str:
        return self.inner.about(_OBJECT_VERB if number > 0 else _CLASS_VERB, number, "").title


class StoredApproval(Approved):
    """In a kept session: a question is stored, anybody may decide it, and the cell is paused while nobody does."""

    def __init__(
        self, inner: Host, questions: CallQuestions, pause: PauseWatch, desk: ApprovalDesk, approvals: Approvals
    ) -> None:
        super().__init__(inner, None)
        self._questions = questions
        self._pause = pause
        self._desk = desk
        self._approvals = approvals
        self._asking = 0  # calls whose questions are being written

    async def call(self, call: Call) -> Answer:
        await self._pause.gate()
        try:
            return await super().call(call)
        except (Fenced, JournalFailed) as error:
            return await self._questions.stop(error)

    async def _asks(self, call: Call) -> bool:
        return call.about.operation.ask or await self._questions.earlier(call) is not None

    async def _asked(self, call: Call) -> Denied | None:
        earlier = await self._questions.earlier(call)
        said = earlier.decision if earlier is not None else None
        if said is not None and said.yes and self._questions.began(call):  # a row alone may be imported, a stranger's
            return None
        try:
            return await self._decided(call, earlier)
        except UsageError as error:
            return Denied(f"{call.about.title} was denied: it cannot be asked for ({error})")

    async def _decided(self, call: Call, earlier: Question | None) -> Denied | None:
        questions, title = self._questions, call.about.title
        operation = self._operation(call) if earlier is None else earlier.operation
        grant = await questions.granted(operation) if earlier is None or earlier.decision is None else None
        if grant is not None:
            return await self._as_granted(call, operation, grant)
        if len(self._pause) + self._asking >= self._approvals.at_once:
            most = f"{self._approvals.at_once} calls of this session wait for a person's yes already"
            return Denied(f"{title} was denied: {most}; await some of them first")
        question = earlier or await self._counted(call, operation)
        if question.decision is None and not is_late(question):
            question = await self._answered(call, question)
        await self._pause.gate()
        if question.decision is None:
            when = datetime.fromtimestamp(question.expires or 0.0, UTC)
            return Denied(f"{title} was denied: nobody answered by {when:%Y-%m-%d %H:%M:%S} UTC")
        questions.heed(question.id, operation, question.decision)
        return _denial(title, question.decision)

    async def _ask(self, call: Call, operation: str) -> Question:
        arguments, title = await self._arguments(call), call.about.title
        if title not in operation:
            arguments += f" on {title.rpartition('.')[0]}"
        return await self._questions.ask(call, operation, arguments, self._approvals.expires_s)

    async def _counted(self, call: Call, operation: str) -> Question:
        self._asking += 1
        try:
            return await self._ask(call, operation)
        finally:
            self._asking -= 1

    async def _answered(self, call: Call, question: Question) -> Question:
        """The question when it is decided, or too late."""
        wanted = wanted_of(question, _name(call, call.about.title), call.id)
        try:
            with waiting(wanted), self._pause.waiting(call.path, (question.id,), guest_at_work()) as wait:
                answered = await self._desk.first(question, wanted)
                if answered is not None:
                    return answered
                self._pause.put_off(wait)
                return await self._desk.decided(question)
        except asyncio.CancelledError as error:
            if error.args == (BY_GUEST,):
                self._questions.give_up(question)
            raise

    async def _as_granted(self, call: Call, operation: str, grant: Decision) -> Denied | None:
        id, store = await self._questions.question_of(call), self._questions.store
        with suppress(NoQuestion, UsageError):  # never asked; or decided, or too late: what is said for good counts
            await off_loop(store, store.decide, id, once(grant))
        self._questions.heed(id, operation, replace(grant, at=time.time()))
        return _denial(call.about.title, grant)

    def _operation(self, call: Call) -> str:
        """What the operation is called, in every session; one without such a name is this session's alone."""
        if call.about.known_as:
            return _name(call, call.about.known_as)
        return f"{_name(call, call.about.title)} in {self._questions.session}"


def _name(call: Call, title: str) -> str:
    return title if call.verb in _VERBS else f"{call.verb} {title}"


def _denial(title: str, decision: Decision) -> Denied | None:
    """None for a yes."""
    if decision.yes:
        return None
    return Denied(f"{title} was denied: {decision.reason}" if decision.reason else f"{title} was denied")
