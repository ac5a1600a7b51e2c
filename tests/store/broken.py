"""Journals that each break one promise, for the check that must find it."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from cellwright.errors import Fenced
from cellwright.store import (
    CellRow,
    Change,
    Claim,
    Decision,
    Entry,
    Facts,
    Forgotten,
    Found,
    Holder,
    MemoryStore,
    Question,
    Reach,
    Row,
    SqliteStore,
    Summary,
)
from cellwright_guest.wire import Packed


class HasNoFence(MemoryStore):
    def write(self, claim: Claim, *changes: Change) -> int:
        try:
            return super().write(claim, *changes)
        except Fenced:
            return super().write(self.claim(claim.session), *changes)


class FencesAfterTheWrite(MemoryStore):
    def write(self, claim: Claim, *changes: Change) -> int:
        try:
            return super().write(claim, *changes)
        except Fenced:
            if claim.session in self.sessions():
                super().write(self.claim(claim.session), *changes)
            raise


class WritesOneByOne(MemoryStore):
    def write(self, claim: Claim, *changes: Change) -> int:
        super().write(claim)
        return sum(super(WritesOneByOne, self).write(claim, change) for change in changes)


class OrdersByTheLastWriting(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self._last: dict[tuple[str, int, str], int] = {}

    def write(self, claim: Claim, *changes: Change) -> int:
        added = super().write(claim, *changes)
        for change in changes:
            if isinstance(change, Row):
                key = claim.session, change.cell, change.path
                self._last.pop(key, None)
                self._last[key] = 0
        return added

    def rows(self, session: str, first_cell: int = 0, upto: int | None = None) -> Sequence[Row]:
        order = [(cell, path) for id, cell, path in self._last if id == session]
        return sorted(super().rows(session, first_cell, upto), key=lambda row: order.index((row.cell, row.path)))


class MixesUpSessions(MemoryStore):
    def rows(self, session: str, first_cell: int = 0, upto: int | None = None) -> Sequence[Row]:
        found = list(super().rows(session, first_cell, upto))
        parent = self.facts(session).parent
        return [*super().rows(parent, first_cell), *found] if parent in self.sessions() else found


class LosesSurrogates(MemoryStore):
    def rows(self, session: str, first_cell: int = 0, upto: int | None = None) -> Sequence[Row]:
        return [
            replace(row, title=row.title.encode("utf-8", "replace").decode())
            for row in super().rows(session, first_cell, upto)
        ]


class TakesTrueForOne(MemoryStore):
    def rows(self, session: str, first_cell: int = 0, upto: int | None = None) -> Sequence[Row]:
        return [replace(row, reads=row.reads + 0) for row in super().rows(session, first_cell, upto)]


class GivesEveryCell(MemoryStore):
    def cells(self, session: str, first: int = 0, upto: int | None = None) -> Sequence[CellRow]:
        return super().cells(session, upto=upto)


class RevivesClaims(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self._first: dict[str, Claim] = {}

    def create(self, facts: Facts, holder: Holder | None = None) -> Claim:
        old = self._first.setdefault(facts.id, super().create(facts, holder))
        self._sessions[facts.id].epoch = old.epoch
        return old


class LeavesBlobsBehind(MemoryStore):
    def forget(self, session: str) -> Forgotten:
        blobs = dict(self._blobs)
        told = super().forget(session)
        self._blobs |= blobs
        return told


class TakesBlobsOfOthers(MemoryStore):
    def forget(self, session: str) -> Forgotten:
        uses = self._known(session).uses
        told = super().forget(session)
        for digest in uses:
            self._blobs.pop(digest, None)
        return told


class ForgetsUnderForks(MemoryStore):
    def forget(self, session: str) -> Forgotten:
        for other in self._sessions.values():
            other.parent = ""
        return super().forget(session)


class KeepsNoCopies(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self._given: dict[tuple[str, int, str], Packed] = {}

    def write(self, claim: Claim, *changes: Change) -> int:
        added = super().write(claim, *changes)
        self._given |= {(claim.session, c.cell, c.path): c.arguments for c in changes if isinstance(c, Row)}
        return added

    def rows(self, session: str, first_cell: int = 0, upto: int | None = None) -> Sequence[Row]:
        found = super().rows(session, first_cell, upto)
        return [replace(row, arguments=self._given[session, row.cell, row.path]) for row in found]


class ReadsThePresent(MemoryStore):
    def rows(self, session: str, first_cell: int = 0, upto: int | None = None) -> Sequence[Row]:
        return super().rows(session, first_cell)


class ReplacesEntries(MemoryStore):
    def entries(self, session: str, first: int = 1, upto: int | None = None) -> Sequence[Entry]:
        last = {
            entry.change.path if isinstance(entry.change, Row) else id(entry): entry
            for entry in super().entries(session)
        }
        return list(last.values())


class HasNoLeases(MemoryStore):
    def claim(self, session: str, holder: Holder | None = None, *, take_over: bool = True) -> Claim:
        return super().claim(session, holder)


class KeepsTheDead(MemoryStore):
    def summary(self, session: str) -> Summary:
        return replace(super().summary(session), holder=self._known(session).holder)


class ListsTheOldestFirst(MemoryStore):
    def summaries(
        self, *, state: str = "", agent: str = "", limit: int | None = None, before: Summary | None = None
    ) -> Sequence[Summary]:
        return super().summaries(state=state, agent=agent, before=before)[::-1][:limit]


class LosesChildren(MemoryStore):
    def family(self, session: str) -> Sequence[Summary]:
        return [one for one in super().family(session) if not one.child_of]


class DecidesTwice(MemoryStore):
    def decide(self, question: str, decision: Decision) -> Question:
        with self._lock:
            self._questions[question] = replace(self.question(question), decision=None)
            return super().decide(question, decision)


class DecidesWhatIsLate(MemoryStore):
    def decide(self, question: str, decision: Decision) -> Question:
        with self._lock:
            self._questions[question] = replace(self.question(question), expires=None)
            return super().decide(question, decision)


class GrantsEverywhere(MemoryStore):
    def granted(self, session: str, operation: str) -> Decision | None:
        return next((said for (_, of), said in self._grants.items() if of == operation), None)


class GivesMessagesAgain(MemoryStore):
    def write(self, claim: Claim, *changes: Change) -> int:
        kept = dict(self._known(claim.session).inbox) if claim.session in self._sessions else {}
        added = super().write(claim, *changes)
        self._known(claim.session).inbox.update(kept)
        return added


class SearchesEverywhere(MemoryStore):
    def search(
        self, query: str, *, within: Sequence[Reach] | None = None, kinds: Sequence[str] = (), limit: int = 20
    ) -> Sequence[Found]:
        return super().search(query, kinds=kinds, limit=limit)


class FindsTheWorstFirst(MemoryStore):
    def search(
        self, query: str, *, within: Sequence[Reach] | None = None, kinds: Sequence[str] = (), limit: int = 20
    ) -> Sequence[Found]:
        found = super().search(query, within=within, kinds=kinds, limit=1000)
        return sorted(found, key=lambda hit: hit.score)[:limit]


class RemembersTheForgotten(MemoryStore):
    def forget(self, session: str) -> Forgotten:
        return replace(super().forget(session), indexed=0)


class SavesWhenItIsClosed(MemoryStore):
    """Outlives its process, if the process ends well."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        if path.exists():
            self._sessions, self._blobs, self._epochs, self._numbers = pickle.loads(path.read_bytes())

    def close(self) -> None:
        self._path.write_bytes(pickle.dumps((self._sessions, self._blobs, self._epochs, self._numbers)))


class ChecksClaimsInMemory(SqliteStore):
    """Fences what this object knows of, and no other process."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._mine: dict[str, Claim] = {}

    def create(self, facts: Facts, holder: Holder | None = None) -> Claim:
        self._mine[facts.id] = super().create(facts, holder)
        return self._mine[facts.id]

    def claim(self, session: str, holder: Holder | None = None, *, take_over: bool = True) -> Claim:
        self._mine[session] = super().claim(session, holder, take_over=take_over)
        return self._mine[session]

    def write(self, claim: Claim, *changes: Change) -> int:
        try:
            return super().write(claim, *changes)
        except Fenced:
            if self._mine.get(claim.session) != claim or claim.session not in self.sessions():
                raise
            return super().write(super().claim(claim.session), *changes)
