"""`Asking`: what the one who asks people needs of the journal, in one life of a session's guest.

A question is written to the store under an id that follows from the call, beside the call's own row: whoever repeats
the call finds the question again, with what was said to it. It does not know who is asked, nor how.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from cellwright.doors import About, Call
from cellwright.errors import Fenced, JournalFailed, NoQuestion, UsageError
from cellwright.journal.keys import key_of
from cellwright.journal.life import Life, started
from cellwright.journal.pausing import Pausing
from cellwright.journal.questions import question_id, withdraw
from cellwright.store import Decision, Note, Question, Store


class Asking:
    """`secret` is of no other session."""

    def __init__(self, store: Store, session: str, secret: Callable[[], str], life: Life, pausing: Pausing) -> None:
        self.store = store
        self.session = session
        self.pausing = pausing
        self._secret = secret
        self._life = life

    def began(self, call: Call) -> bool:
        """Whether the same call had its yes, and began, in an earlier life."""
        row = self._life.host_rows.get(call.path)
        return row is not None and row.status == "started" and key_of(row) == key_of(call)

    def granted(self, operation: str) -> Decision | None:
        """What was said for good of calls of this operation in this session."""
        return self.store.granted(self.session, operation)

    def question_of(self, call: Call) -> str:
        """The id of the question of this call."""
        return question_id(self._secret(), call.path, key_of(call))

    def earlier(self, call: Call) -> Question | None:
        """Its question, where an earlier life asked it. Of an object that is not back yet nothing else says so."""
        row = self._life.host_rows.get(call.path)
        if row is None or row.status not in ("asked", "started"):
            return None
        try:
            found = self.store.question(self.question_of(call))
        except NoQuestion:
            return None
        return found if (found.session, found.path) == (self.session, call.path) else None

    def ask(self, call: Call, about: About, operation: str, arguments: str, expires_s: float | None) -> Question:
        """The question of this call, with what was said to it, if anything was. `UsageError` where it is another's."""
        writer = self._life.writer
        assert writer is not None
        now = time.time()
        question = Question(
            id=self.question_of(call),
            session=self.session,
            cell=call.cell,
            path=call.path,
            operation=operation,
            arguments=arguments,
            asked=now,
            expires=None if expires_s is None else now + expires_s,
            line=call.line,
        )
        writer.now(started(call, about, "asked"))
        found = self.store.ask(writer.claim, question)
        if (found.session, found.path, found.operation) != (question.session, question.path, question.operation):
            raise UsageError("a question of another call has the same id")
        return found

    def heed(self, about: str, operation: str, decision: Decision) -> None:
        """Write down that this was said, and by whom, as the call goes on by it."""
        writer = self._life.writer
        assert writer is not None
        what = "yes" if decision.yes else "no"
        what += {"session": ", always in this session", "operation": ", always", "": ""}[decision.always]
        text = f"{operation}: {what}" + (f": {decision.reason}" if decision.reason else "")
        writer.soon(Note(kind="decided", text=text, who=decision.who, about=about, at=decision.at or time.time()))

    def give_up(self, question: Question) -> None:
        """The guest no longer waits for it. Withdrawn when that is written down: a repeated run must not see a no."""
        self._life.never_began.add(question.path)
        loop = asyncio.get_running_loop()
        loop.call_soon(loop.call_soon, self._withdraw, question)

    def _withdraw(self, question: Question) -> None:
        if self._life.writer is not None and self._life.writer.failed is None:
            try:
                withdraw(self.store, [question], "the code did not wait for it")
            except (Fenced, JournalFailed) as error:
                self._life.writer.fail(error)

    async def stop(self, error: Fenced | JournalFailed) -> Any:
        """Answer nothing more: the one who runs the cell is told by the writer."""
        if self._life.writer is not None:
            self._life.writer.fail(error)
        return await asyncio.get_running_loop().create_future()
