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

from cellwright.doors import BY_GUEST, Answer, Call, CallContent, Host, Ruling, Shows, Wrapper
from cellwright.errors import ContentChanged, Denied, Fenced, JournalFailed, NoQuestion, UsageError
from cellwright.events import ApprovalWanted
from cellwright.guard.approval_desk import ApprovalDesk, once, wanted_of
from cellwright.guard.approver import Approvals, Approve, decision_by
from cellwright.guard.arguments_text import CUT, LONGEST, arguments_text
from cellwright.journal import WITHDRAWN, CallQuestions, PauseWatch, is_late
from cellwright.sandboxes import guest_at_work, waiting
from cellwright.short_texts import printable
from cellwright.store import Decision, Question, off_loop
from cellwright_guest.wire import is_large

SHORT = 500  # characters of arguments
TIMES = 3  # that a person is asked about one call whose content changes meanwhile
MOST_KEPT = 4_000_000  # characters of a question that are kept, where fewer can be shown
_VERBS = ("call", "new", "op")
_CLASS_VERB, _OBJECT_VERB = "new", "dir"  # whose titles are the bare names


class Approved(Wrapper):
    """In a session that is not kept: `approve` is asked; None: nobody can be asked. `shows` knows the host objects."""

    def __init__(self, inner: Host, approve: Approve | None, shows: Shows) -> None:
        super().__init__(inner)
        self._approve = approve
        self._shows = shows
        self._of_cell: dict[tuple[int, str], asyncio.Future[Denied | None]] = {}  # decisions about destinations

    async def call(self, call: Call) -> Answer:
        if call.refused is not None or not await self._asks(call):
            return await self.inner.call(call)
        for _ in range(TIMES):
            with suppress(ContentChanged):  # between the question and the call: another question
                asked = await self._asked(call)
                answer = await self.inner.call(asked)
                return answer if asked.refused is None else replace(answer, refused=True)
        changed = f"what it is called with has changed {TIMES} times between the question and the call"
        return await self.inner.call(replace(call, refused=Denied(f"{call.about.title} was denied: {changed}")))

    async def _asks(self, call: Call) -> bool:
        """Whether it waits for a yes."""
        return _is_asked(call)

    async def _asked(self, call: Call) -> Call:
        """The call with what the person said."""
        content = await self._shows.content(call)
        if content.refused is not None:
            return replace(call, refused=content.refused)
        denied = await self._decision_of_cell(call, content)
        return replace(call, refused=denied, approved=denied is None, content=content)

    async def _decision_of_cell(self, call: Call, content: CallContent) -> Denied | None:
        """None for a yes. About one destination a person is asked once in a cell."""
        if not (key := _destination(call)):
            return await self._denied(call, content)
        known = self._of_cell.get((call.cell, key))
        if known is None or known.cancelled():
            known = asyncio.ensure_future(self._denied(call, content))
            self._of_cell = {place: one for place, one in self._of_cell.items() if place[0] == call.cell}
            self._of_cell[call.cell, key] = known
            try:
                return await known
            except asyncio.CancelledError:
                known.cancel()
                raise
        return await asyncio.shield(known)

    async def _denied(self, call: Call, content: CallContent) -> Denied | None:
        """None for a yes."""
        title, ruling = call.about.title, call.ruling or Ruling()
        if self._approve is None:
            why = f" ({ruling.why})" if ruling.why else ""
            nobody = "there is nobody to ask: Runtime(approve=…) says who is"
            return Denied(f"{title} waits for a person's yes{why}, and {nobody}")
        arguments, name = await self._arguments(call, content), _name(call, title)
        wanted = ApprovalWanted(
            session="", cell=call.cell, call=call.id, name=name, arguments=arguments, why=ruling.why, flow=ruling.key
        )
        with waiting(wanted):
            decision = await decision_by(self._approve, wanted)
        if decision is None:
            return Denied(f"{title} waits for a person's yes, and nobody gives it later: nothing is kept here")
        return _denial(title, decision)

    async def _arguments(self, call: Call, content: CallContent, *, whole: bool = False) -> str:
        """The text for the person: the arguments, and the object of the call where its name does not say all."""

        def text() -> str:
            objects = {**content.objects, **content.wholes} if whole else content.objects
            target = content.wholes.get(0, content.target) if whole else content.target

            def name(number: int) -> str:
                title = self.inner.about(_OBJECT_VERB if number > 0 else _CLASS_VERB, number, "").title
                shown = objects.get(number, "") if number > 0 else ""
                return title if shown in ("", title) else f"{title}: {shown}"

            def function(number: int) -> str:
                shown = objects.get(-number - 1, "")
                return f": {shown}" if shown else ""

            longest = MOST_KEPT if whole else LONGEST
            given = arguments_text(call.arguments, name, longest, functions=function, whole=whole)
            owner = call.about.title.rpartition(".")[0] if call.name else call.about.title
            if not target:
                return given
            on = f" on {owner}: {printable(target)}"
            return f"{given}{on}" if len(given) < SHORT else f"{on}: {given}"  # long arguments do not push it away

        if call.arguments.blobs or is_large(call.arguments):  # a frame among them may import its library
            return await asyncio.to_thread(text)
        return text()


class StoredApproval(Approved):
    """In a kept session: a question is stored, anybody may decide it, and the cell is paused while nobody does."""

    def __init__(
        self,
        inner: Host,
        shows: Shows,
        questions: CallQuestions,
        pause: PauseWatch,
        desk: ApprovalDesk,
        approvals: Approvals,
    ) -> None:
        super().__init__(inner, None, shows)
        self._questions = questions
        self._pause = pause
        self._desk = desk
        self._approvals = approvals
        self._asking = 0  # calls whose questions are being written
        self._destinations: dict[tuple[int, str], asyncio.Lock] = {}

    async def call(self, call: Call) -> Answer:
        await self._pause.gate()
        try:
            return await super().call(call)
        except (Fenced, JournalFailed) as error:
            return await self._questions.stop(error)

    async def _asks(self, call: Call) -> bool:
        return _is_asked(call) or (not call.approved and await self._questions.earlier(call) is not None)

    async def _asked(self, call: Call) -> Call:
        earlier = await self._questions.earlier(call)
        said = earlier.decision if earlier is not None else None
        if earlier is not None and said is not None and not said.yes and said.who != WITHDRAWN:
            # the last word about this call, whatever an earlier question about other content was answered
            self._questions.heed(earlier.id, earlier.operation, said)
            return replace(call, refused=_denial(call.about.title, said))
        # a row alone may be imported, a stranger's
        began = said is not None and said.yes and self._questions.began(call)
        if began and not call.about.operation.idempotent:
            return replace(call, approved=True)  # it is in doubt, and not made again
        content = await self._shows.content(call)
        if earlier is not None and (content.refused is not None or content.digest != earlier.digest):
            await self._questions.supersede(earlier)
            earlier, began = None, False
        if content.refused is not None:
            return replace(call, refused=content.refused)
        if began:
            return replace(call, approved=True, content=content)
        try:
            denied = await self._decided(call, content, earlier)
        except UsageError as error:
            denied = Denied(f"{call.about.title} was denied: it cannot be asked for ({error})")
        return replace(call, refused=denied, approved=denied is None, content=content)

    async def _decided(self, call: Call, content: CallContent, earlier: Question | None) -> Denied | None:
        questions, title = self._questions, call.about.title
        operation = self._operation(call) if earlier is None else earlier.operation
        grant = await questions.granted(operation) if earlier is None or earlier.decision is None else None
        if grant is not None:
            return await self._as_granted(call, content, operation, grant)
        if len(self._pause) + self._asking >= self._approvals.at_once:
            most = f"{self._approvals.at_once} calls of this session wait for a person's yes already"
            return Denied(f"{title} was denied: {most}; await some of them first")
        question = earlier or await self._question_of_cell(call, content, operation)
        if question.decision is None and not is_late(question):
            question = await self._answered(call, question)
        await self._pause.gate()
        if question.decision is None:
            when = datetime.fromtimestamp(question.expires or 0.0, UTC)
            return Denied(f"{title} was denied: nobody answered by {when:%Y-%m-%d %H:%M:%S} UTC")
        questions.heed(question.id, operation, question.decision)
        return _denial(title, question.decision)

    async def _ask(self, call: Call, content: CallContent, operation: str) -> Question:
        arguments, title = await self._arguments(call, content), call.about.title
        if title not in operation and not content.target:
            arguments += f" on {title.rpartition('.')[0]}"
        shortened = content.wholes or (content.digest and CUT in arguments)
        whole = await self._arguments(call, content, whole=True) if shortened else ""
        return await self._questions.ask(
            call, operation, arguments, self._approvals.expires_s, digest=content.digest, whole=whole
        )

    async def _counted(self, call: Call, content: CallContent, operation: str) -> Question:
        self._asking += 1
        try:
            return await self._ask(call, content, operation)
        finally:
            self._asking -= 1

    async def _question_of_cell(self, call: Call, content: CallContent, operation: str) -> Question:
        """The call's question; or that of another call of the cell, where it is about the same destination."""
        if not _destination(call):
            return await self._counted(call, content, operation)
        async with self._destinations.setdefault((call.cell, operation), asyncio.Lock()):
            other = await self._questions.about(call.cell, operation)
            if other is not None and (other.decision is None or other.decision.who != WITHDRAWN):
                return other
            return await self._counted(call, content, operation)

    async def _answered(self, call: Call, question: Question) -> Question:
        """The question when it is decided, or too late. That of another call is not asked about again."""
        if question.path != call.path:
            with self._pause.waiting(call.path, (question.id,), guest_at_work()) as wait:
                self._pause.put_off(wait)
                return await self._desk.decided(question)
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

    async def _as_granted(self, call: Call, content: CallContent, operation: str, grant: Decision) -> Denied | None:
        id, store = await self._questions.question_of(call, content.digest), self._questions.store
        with suppress(NoQuestion, UsageError):  # never asked; or decided, or too late: what is said for good counts
            await off_loop(store, store.decide, id, once(grant))
        self._questions.heed(id, operation, replace(grant, at=time.time()))
        return _denial(call.about.title, grant)

    async def undo_denied(self, call: Call, content: CallContent) -> Denied | None:
        """Ask about the undo of a call, where that is an operation that asks. None for a yes.

        Nothing is paused for it. Where nobody answers, the question stays: who undoes again finds its answer.
        """
        questions, title = self._questions, f"undo {call.about.title}"
        operation = f"undo {call.about.known_as}" if call.about.known_as else f"{title} in {questions.session}"
        grant = await questions.granted(operation)
        if grant is not None:
            return _denial(title, grant)
        given, whole = printable(content.target), printable(content.wholes.get(0, ""))
        expires_s, digest = self._approvals.expires_s, content.digest
        question = await questions.ask(call, operation, given, expires_s, digest=digest, whole=whole, undo=True)
        if question.decision is None and not is_late(question):
            wanted = wanted_of(question, title, call.id)
            with waiting(wanted):
                question = await self._desk.first(question, wanted) or question
        if question.decision is None:
            return Denied(f"{title} waits for a person's yes (question {question.id}); undo it again after that")
        questions.heed(question.id, operation, question.decision)
        return _denial(title, question.decision)

    def _operation(self, call: Call) -> str:
        """What the operation is called, in every session; one without such a name is this session's alone.

        A question of the data flow is about the operation and where it leads.
        """
        if (ruling := call.ruling) is not None and ruling.key:
            own = ruling.own or not call.about.known_as
            return f"{ruling.key} in {self._questions.session}" if own else ruling.key
        if call.about.known_as:
            return _name(call, call.about.known_as)
        return f"{_name(call, call.about.title)} in {self._questions.session}"


def _name(call: Call, title: str) -> str:
    return title if call.verb in _VERBS else f"{call.verb} {title}"


def _is_asked(call: Call) -> bool:
    """Whether the call waits for a yes: its operation always does, or a rule says so of this one."""
    return not call.approved and (call.about.operation.ask or (call.ruling is not None and call.ruling.asks))


def _destination(call: Call) -> str:
    """What a question of the data flow is about, "" for other calls: one that always asks, asks for each call."""
    return "" if call.ruling is None or call.about.operation.ask else call.ruling.key


def _denial(title: str, decision: Decision) -> Denied | None:
    """None for a yes."""
    if decision.yes:
        return None
    return Denied(f"{title} was denied: {decision.reason}" if decision.reason else f"{title} was denied")
