"""What a session asks people, in the store: the questions of its calls, those that are open, those that are withdrawn.

A question is written under an id that follows from the call, in one transaction with the call's row. Whoever repeats
the call finds the question again, with its decision. It does not know who is asked, nor how.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

from cellwright.doors import Call
from cellwright.errors import Fenced, JournalFailed, NoQuestion, UsageError
from cellwright.events import ApprovalWanted, Event
from cellwright.journal.call_rows import key_of, started
from cellwright.journal.effects import PREFIX
from cellwright.journal.replay import Replay
from cellwright.store import Decision, Note, Question, Store, Summary, off_loop

WITHDRAWN = "cellwright"  # who decides questions that nobody waits for any more
ID = 20  # hexadecimal digits: 2^40 calls until two have the same, and then their paths are compared


class Asker(Protocol):
    """Who can ask a person without a guest.

    `asked` asks about these questions and gives those that are open still; with `wait`, none is: it waits until
    each is decided or too late. `decided` waits for one question, and asks nobody. `consent` asks about what is no
    call of a guest, now or never: None where there is nobody.
    """

    async def asked(
        self, questions: Sequence[Question], tell: Callable[[Event], None] | None, *, wait: bool
    ) -> Sequence[Question]: ...
    async def decided(self, question: Question) -> Question: ...
    async def consent(self, wanted: ApprovalWanted) -> Decision | None: ...


class CallQuestions:
    """The questions of one guest's calls. `secret` is a text that no other session has."""

    def __init__(self, store: Store, session: str, secret: Callable[[], Awaitable[str]], replay: Replay) -> None:
        self.store = store
        self.session = session
        self._secret = secret
        self._replay = replay
        self._withdrawing: set[asyncio.Task[None]] = set()

    def began(self, call: Call) -> bool:
        """Whether the same call had its yes, and began, in an earlier guest."""
        row = self._replay.host_rows.get(call.path)
        return row is not None and row.status == "started" and key_of(row) == key_of(call)

    async def granted(self, operation: str) -> Decision | None:
        """The decision for all calls of this operation in this session, if there is one."""
        return await off_loop(self.store, self.store.granted, self.session, operation)

    async def question_of(self, call: Call, digest: str) -> str:
        """The id of the question of this call, about objects of this content."""
        return question_id(await self._secret(), call.path, key_of(call), digest)

    async def earlier(self, call: Call) -> Question | None:
        """Its last question, where an earlier guest asked it. For an object that is not back yet, only that says so."""
        row = self._replay.host_rows.get(call.path)
        if row is None or row.status not in ("asked", "started"):
            return None
        secret, key = await self._secret(), key_of(call)

        def read() -> Question | None:
            asked = [one for one in self.store.questions(self.session, decided=True) if one.path == call.path]
            own = [one for one in asked if one.id == question_id(secret, call.path, key, one.digest)]
            return max(own, key=lambda one: one.asked, default=None)

        return await off_loop(self.store, read)

    async def about(self, cell: int, operation: str) -> Question | None:
        """The last question of this cell about an operation, whichever call it is of."""

        def read() -> Question | None:
            asked = [one for one in self.store.questions(self.session, decided=True) if one.operation == operation]
            return max((one for one in asked if one.cell == cell), key=lambda one: one.asked, default=None)

        return await off_loop(self.store, read)

    async def supersede(self, question: Question) -> None:
        """What it is about has other content now."""
        await off_loop(self.store, withdraw, self.store, [question], "what it is about has changed")

    async def ask(
        self,
        call: Call,
        operation: str,
        arguments: str,
        expires_s: float | None,
        *,
        digest: str = "",
        whole: str = "",
        undo: bool = False,
    ) -> Question:
        """The question of this call, with its decision, if there is one. `UsageError` where it is another call's.

        `whole` is kept with it: all that the person cannot be shown at once. With `undo` it is about the call's undo.
        """
        now, path = time.time(), f"{PREFIX}{call.path}" if undo else call.path
        question = Question(
            id=question_id(await self._secret(), path, key_of(call), digest),
            session=self.session,
            cell=call.cell,
            path=path,
            operation=operation,
            arguments=arguments,
            asked=now,
            expires=None if expires_s is None else now + expires_s,
            line=call.line,
            digest=digest,
            why="" if call.ruling is None or undo else call.ruling.why,
        )
        notes = [Note(kind="shown", text=whole, about=question.id, at=now)] if whole else []
        rows = [] if undo else [started(call, "asked")]  # of an undo there is a row already
        # one transaction: neither is there without the other
        await self._replay.writer.now(*rows, question, *notes)
        kept = await off_loop(self.store, self.store.question, question.id)
        if (kept.session, kept.path, kept.operation) != (question.session, question.path, question.operation):
            raise UsageError("a question of another call has the same id")
        return kept

    def heed(self, about: str, operation: str, decision: Decision) -> None:
        """Write down the decision, and who made it: the call goes on by it."""
        what = "yes" if decision.yes else "no"
        what += {"session": ", always in this session", "operation": ", always", "": ""}[decision.always]
        text = f"{operation}: {what}" + (f": {decision.reason}" if decision.reason else "")
        self._replay.writer.soon(
            Note(kind="decided", text=text, who=decision.who, about=about, at=decision.at or time.time())
        )

    def labelled(self, text: str) -> None:
        """Write down that this session has labels: whoever resumes it reads them back. `text` says one of no answer."""
        self._replay.writer.soon(Note(kind="labelled", text=text, at=time.time()))

    def give_up(self, question: Question) -> None:
        """The guest no longer waits for it. Withdrawn when that is written down: a repeated run must not see a no."""
        self._replay.never_began.add(question.path)
        loop = asyncio.get_running_loop()
        loop.call_soon(loop.call_soon, self._begin_to_withdraw, question)

    def _begin_to_withdraw(self, question: Question) -> None:
        task = asyncio.get_running_loop().create_task(self._withdraw(question))
        self._withdrawing.add(task)
        task.add_done_callback(self._withdrawing.discard)

    async def _withdraw(self, question: Question) -> None:
        if self._replay.writer.can_write:
            try:
                await self._replay.writer.caught_up()
                await off_loop(self.store, withdraw, self.store, [question], "the code did not wait for it")
            except (Fenced, JournalFailed) as error:
                self._replay.writer.fail(error)

    async def stop(self, error: Fenced | JournalFailed) -> Any:
        """Answer nothing more: the writer tells whoever runs the cell."""
        return await self._replay.writer.stop(error)


def question_id(secret: str, path: str, key: str, digest: str = "") -> str:
    """The same for the same call of the same session, however often it is repeated; no other call has it.

    A call whose objects have other content than before is asked for under another id.
    """
    text = "\0".join((secret, path, key, digest) if digest else (secret, path, key)).encode("utf-8", "surrogatepass")
    return f"q-{hashlib.sha256(text).hexdigest()[:ID]}"


def is_late(question: Question) -> bool:
    return question.expires is not None and question.expires <= time.time()


def is_open(store: Store, question: Question) -> bool:
    """Whether it still waits: not decided, nor too late, nor granted for all such calls."""
    if question.decision is not None or is_late(question):
        return False
    return store.granted(question.session, question.operation) is None


def open_questions_in(store: Store, session: str) -> list[Question]:
    """The open questions of a session, and of those whose agents its code spawned."""
    found = [*store.questions(session)]
    for child in _below(store, session):
        found += store.questions(child.id)
    return [one for one in found if is_open(store, one)]


def _below(store: Store, session: str) -> list[Summary]:
    family = store.family(session)
    found, last = list[Summary](), {session}
    while last:
        new = [one for one in family if one.child_of in last and one not in found]
        last = {one.id for one in new}
        found += sorted(new, key=lambda one: one.id)
    return found


def withdraw(store: Store, questions: Sequence[Question], why: str) -> None:
    """Nobody waits for these any more, so nobody can say yes to them."""
    for question in questions:
        try:
            store.decide(question.id, Decision(yes=False, reason=f"withdrawn: {why}", who=WITHDRAWN, at=time.time()))
        except (NoQuestion, UsageError):
            continue  # it was decided meanwhile, was too late, or went with its session


def withdraw_of_lost_cells(store: Store, session: str, why: str = "its cell was ended, or taken back") -> None:
    """Withdraw what cells asked that are not part of the session's state any more, and what their code gave up.

    Also what is asked in sessions below it, whose agents such a cell spawned: nobody carries these on.
    """
    own = store.questions(session)
    begun = [(child.created, found) for child in _below(store, session) if (found := store.questions(child.id))]
    if not own and not begun:
        return
    cells = store.cells(session)
    lost = {cell.number for cell in cells if cell.status == "ended" or cell.undone}
    asked = [one for one in own if one.cell in lost]
    for at, found in begun:
        asked += found if max((cell.number for cell in cells if cell.at <= at), default=0) in lost else []
    withdraw(store, asked, why)
    given_up = {row.path for row in store.rows(session) if row.status == "cancelled"} if own else ()  # and then it died
    withdraw(store, [one for one in own if one.path in given_up], "the code did not wait for it")
