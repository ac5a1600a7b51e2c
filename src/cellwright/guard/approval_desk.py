"""`ApprovalDesk`: decides the questions of a session, by its own approver or in the store. The first answer counts.

The store is looked at now and then, in a thread: another process may decide there, and nothing tells this one.
`decide` and `open_questions` do what `cellwright approve` does, for Python. It knows no guest.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeVar

from cellwright.errors import CellwrightError, NoQuestion, UsageError
from cellwright.events import ApprovalWanted, Event
from cellwright.guard.approver import Approvals, Approve, decision_by
from cellwright.guard.arguments_text import arguments_text
from cellwright.guard.hold import called_and_flow
from cellwright.journal import WITHDRAWN, is_late, is_open
from cellwright.sandboxes import waiting
from cellwright.store import Decision, Question, Store, off_loop, open_store

LOOK_S = 0.25
GONE = Decision(yes=False, reason="its session was forgotten", who="cellwright")


class ApprovalDesk:
    """For one session. `approve` is None where this process has nobody to ask."""

    def __init__(self, store: Store, approve: Approve | None, approvals: Approvals) -> None:
        self._store = store
        self._approve = approve
        self._approvals = approvals
        self._wanted: dict[asyncio.Future[Question], Question] = {}
        self._looking: asyncio.Task[None] | None = None

    @property
    def asks(self) -> bool:
        return self._approve is not None

    async def first(self, question: Question, wanted: ApprovalWanted) -> Question | None:
        """The question when it is decided, here or elsewhere, or too late; None where nobody does in `wait_s`."""
        wait_s = self._approvals.wait_s
        if self._approve is None and not wait_s:
            return None
        here = asyncio.ensure_future(self._here(question, wanted))
        there = asyncio.ensure_future(self.decided(question))
        try:
            await asyncio.wait({here, there}, timeout=wait_s, return_when=asyncio.FIRST_COMPLETED)
            if here.done():
                return here.result()
            return there.result() if there.done() else None
        finally:
            for task in (here, there):
                task.cancel()
            await asyncio.gather(here, there, return_exceptions=True)

    async def _here(self, question: Question, wanted: ApprovalWanted) -> Question | None:
        if self._approve is None:
            return await asyncio.get_running_loop().create_future()
        decision = await decision_by(self._approve, wanted)
        if decision is None:
            return None
        return await off_loop(self._store, settled, self._store, question, decision)

    async def decided(self, question: Question) -> Question:
        """The question when somebody has decided it in the store, or it is too late for that."""
        future: asyncio.Future[Question] = asyncio.get_running_loop().create_future()
        self._wanted[future] = question
        if self._looking is None or self._looking.done():
            self._looking = asyncio.ensure_future(self._look())
        try:
            return await future
        finally:
            self._wanted.pop(future, None)
            if not self._wanted:  # a task that sleeps would keep the session alive
                self._looking.cancel()
                self._looking = None

    async def _look(self) -> None:
        while self._wanted:
            await asyncio.sleep(LOOK_S)
            asked = {one.id: one for one in self._wanted.values()}
            try:
                found = await off_loop(self._store, self._found, list(asked.values()))
            except CellwrightError as error:
                for future in list(self._wanted):
                    if not future.done():
                        future.set_exception(error)
                return
            for future, question in list(self._wanted.items()):
                over = found.get(question.id)
                if over is not None and not future.done():
                    future.set_result(over)

    def _found(self, questions: Sequence[Question]) -> dict[str, Question]:
        """The questions of these that wait no longer, as they are now."""
        now = (self._now(one) for one in questions)
        return {one.id: one for one in now if one.decision is not None or is_late(one)}

    def _now(self, question: Question) -> Question:
        try:
            found = self._store.question(question.id)
        except NoQuestion:
            return replace(question, decision=GONE)
        grant = None if found.decision is not None else self._store.granted(found.session, found.operation)
        return found if grant is None else settled(self._store, found, once(grant))

    async def asked(
        self, questions: Sequence[Question], tell: Callable[[Event], None] | None, *, wait: bool
    ) -> Sequence[Question]:
        """See `cellwright.journal.Asker`."""
        left = await asyncio.gather(*(self._asked(one, tell) for one in questions))
        still = [one for one in left if one is not None]
        if wait:
            await asyncio.gather(*map(self.decided, still))
        return [] if wait else still

    async def consent(self, wanted: ApprovalWanted) -> Decision | None:
        """See `cellwright.journal.Asker`."""
        if self._approve is None:
            return None
        with waiting(wanted):
            return await decision_by(self._approve, wanted)

    async def _asked(self, question: Question, tell: Callable[[Event], None] | None) -> Question | None:
        wanted = wanted_of(question)
        if tell is not None:
            tell(wanted)
        return question if await self.first(question, wanted) is None else None


def wanted_of(question: Question, name: str = "", call: int = 0) -> ApprovalWanted:
    """A question as the approver gets it."""
    called, flow = called_and_flow(question.operation)
    return ApprovalWanted(
        session=question.session,
        cell=question.cell,
        call=call,
        name=name or called,
        arguments=question.arguments,
        question=question.id,
        expires=question.expires,
        why=question.why,
        flow=flow,
    )


def once(grant: Decision) -> Decision:
    """A decision for all calls, as the decision of one question."""
    return replace(grant, always="", at=time.time())


def settled(store: Store, question: Question, decision: Decision) -> Question:
    """The question with this decision; with another where somebody was first, with none where it was too late."""
    try:
        return store.decide(question.id, _kept(question, replace(decision, at=decision.at or time.time())))
    except NoQuestion:
        return replace(question, decision=GONE)
    except UsageError:
        return store.question(question.id)


def _kept(question: Question, decision: Decision) -> Decision:
    """The decision as it is kept: of an operation that only its session has, the session's, and removed with it."""
    own = decision.always and question.operation.endswith(f" in {question.session}")
    return replace(decision, always="session") if own else decision


T = TypeVar("T")
Always = Literal["", "session", "operation"]


def open_questions(store: str | Path | Store, session: str | None = None) -> Sequence[Question]:
    """The calls that wait for a person's yes, the oldest first: in all sessions of the store, or in one."""
    return _in(store, lambda place: [one for one in place.questions(session) if is_open(place, one)])


def decide(
    store: str | Path | Store, question: str, *, yes: bool, reason: str = "", who: str = "", always: Always = ""
) -> Question:
    """Say yes or no to a question. The first one counts: `UsageError` where it is decided already, or was too late.

    `always` says the same of all later calls of that operation: "session" in this session, "operation" in every
    session of the store. Those that wait already are decided with it.
    """
    if always not in ("", "session", "operation"):
        raise UsageError(f'always={always!r}: give "session" or "operation"')
    return _in(store, lambda place: _decide(place, question, Decision(yes=yes, reason=reason, who=who, always=always)))


def _decide(store: Store, question: str, said: Decision) -> Question:
    decision = _kept(store.question(question), replace(said, at=time.time()))
    try:
        decided = store.decide(question, decision)
    except UsageError:
        before = store.question(question).decision
        if before is None or before.who != WITHDRAWN:
            raise
        raise UsageError(f"question {question!r} was {before.reason}; nobody waits for an answer any more") from None
    if decision.always:
        for other in store.questions(decided.session if decision.always == "session" else None):
            if other.operation == decided.operation:
                with suppress(NoQuestion, UsageError):  # somebody was quicker
                    store.decide(other.id, once(decision))
    return decided


def full_arguments(store: str | Path | Store, question: Question) -> str:
    """All of a question's arguments, however long, as kept with it. Its own text where they are gone."""

    def read(place: Store) -> str:
        kept = [one.text for one in place.notes(question.session) if (one.kind, one.about) == ("shown", question.id)]
        if kept or question.digest:
            return kept[-1] if kept else question.arguments
        rows = place.rows(question.session, question.cell)
        found = next((row for row in rows if row.path == question.path and row.door == "host"), None)
        if found is None:
            return question.arguments
        return arguments_text(found.arguments, lambda number: f"object {number}", longest=None, whole=True)

    return _in(store, read)


def _in(store: str | Path | Store, what: Callable[[Store], T]) -> T:
    given = open_store(str(store), make=False) if isinstance(store, str | Path) else store
    with closing(given) if isinstance(store, str | Path) else nullcontext():
        return what(given)
