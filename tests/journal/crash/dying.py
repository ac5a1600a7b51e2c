"""A death without a process: a journal that fails at a chosen write and from then on, before or after it is made.

To the runtime it is the end of all writing; with the objects of the desk dead as well, nothing happens after it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from cellwright.errors import JournalFailed
from cellwright.store import (
    CellRow,
    Change,
    Checkpoint,
    Claim,
    Decision,
    EntryHit,
    Facts,
    Forgotten,
    JournalEntry,
    LeaseHolder,
    Message,
    Note,
    Question,
    Reach,
    Row,
    Store,
    Summary,
    TurnRow,
)

T = TypeVar("T")


class Mortal:
    """A `Store` that lives for a number of writes. `points` counts moments: before and after each write are two.

    `path` is where a session's workspace is kept, as with a journal that is a file.
    """

    def __init__(self, inner: Store, path: Path | None = None) -> None:
        self._inner = inner
        self.path = path
        self.points = 0
        self.die_at: int | None = None
        self.dead = False

    def live_until(self, point: int | None) -> None:
        """From here on a new life, which ends at that moment."""
        self.points, self.die_at, self.dead = 0, point, False

    def _moment(self) -> None:
        if self.die_at is not None and self.points >= self.die_at:
            self.dead = True
        self.points += 1
        if self.dead:
            raise JournalFailed("this life is over")

    def _write(self, write: Callable[[], T]) -> T:
        self._moment()
        result = write()
        self._moment()
        return result

    def create(self, facts: Facts, holder: LeaseHolder | None = None) -> Claim:
        return self._write(lambda: self._inner.create(facts, holder))

    def claim(self, session: str, holder: LeaseHolder | None = None, *, take_over: bool = True) -> Claim:
        return self._write(lambda: self._inner.claim(session, holder, take_over=take_over))

    def renew(self, *claims: Claim) -> Sequence[Claim]:
        return () if self.dead else self._inner.renew(*claims)  # when it comes depends on the clock: no moment to count

    def release(self, claim: Claim) -> None:
        if not self.dead:
            self._inner.release(claim)

    def write(self, claim: Claim, *changes: Change) -> int:
        return self._write(lambda: self._inner.write(claim, *changes)) if changes else 0

    def keep(self, session: str, content: bytes) -> str:
        return self._write(lambda: self._inner.keep(session, content))

    def forget(self, session: str) -> Forgotten:
        return self._write(lambda: self._inner.forget(session))

    def ask(self, claim: Claim, question: Question) -> Question:
        return self._write(lambda: self._inner.ask(claim, question))

    def decide(self, question: str, decision: Decision) -> Question:
        return self._write(lambda: self._inner.decide(question, decision))

    def revoke(self, session: str, operation: str) -> bool:
        return self._write(lambda: self._inner.revoke(session, operation))

    def post(self, session: str, message: Message) -> Message:
        return self._write(lambda: self._inner.post(session, message))

    # reading

    def sessions(self) -> Sequence[str]:
        return self._inner.sessions()

    def summaries(
        self, *, state: str = "", agent: str = "", limit: int | None = None, before: Summary | None = None
    ) -> Sequence[Summary]:
        return self._inner.summaries(state=state, agent=agent, limit=limit, before=before)

    def summary(self, session: str) -> Summary:
        return self._inner.summary(session)

    def family(self, session: str) -> Sequence[Summary]:
        return self._inner.family(session)

    def facts(self, session: str) -> Facts:
        return self._inner.facts(session)

    def entries(self, session: str, first: int = 1, upto: int | None = None) -> Sequence[JournalEntry]:
        return self._inner.entries(session, first, upto)

    def cells(self, session: str, first: int = 0, upto: int | None = None) -> Sequence[CellRow]:
        return self._inner.cells(session, first, upto)

    def rows(self, session: str, first_cell: int = 0, upto: int | None = None) -> Sequence[Row]:
        return self._inner.rows(session, first_cell, upto)

    def turns(self, session: str, upto: int | None = None) -> Sequence[TurnRow]:
        return self._inner.turns(session, upto)

    def notes(self, session: str, upto: int | None = None) -> Sequence[Note]:
        return self._inner.notes(session, upto)

    def checkpoints(self, session: str) -> Sequence[Checkpoint]:
        return self._inner.checkpoints(session)

    def blob(self, digest: str) -> bytes:
        return self._inner.blob(digest)

    def question(self, question: str) -> Question:
        return self._inner.question(question)

    def questions(self, session: str | None = None, *, decided: bool = False) -> Sequence[Question]:
        return self._inner.questions(session, decided=decided)

    def granted(self, session: str, operation: str) -> Decision | None:
        return self._inner.granted(session, operation)

    def inbox(self, session: str) -> Sequence[Message]:
        return self._inner.inbox(session)

    def search(
        self, query: str, *, within: Sequence[Reach] | None = None, kinds: Sequence[str] = (), limit: int = 20
    ) -> Sequence[EntryHit]:
        return self._inner.search(query, within=within, kinds=kinds, limit=limit)

    def catch_up(self) -> int:
        return self._inner.catch_up()

    def close(self) -> None:
        """The one inside outlives many of these."""
