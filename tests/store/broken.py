"""Journals that each break one promise, for the check that must find it."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from cellwright.errors import Fenced
from cellwright.store import (
    CellRow,
    Change,
    Claim,
    Decision,
    EntryHit,
    Facts,
    Forgotten,
    JournalEntry,
    LeaseHolder,
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


class ReadsEverything(MemoryStore):
    def rows(self, session: str, first_cell: int = 0, upto: int | None = None) -> Sequence[Row]:
        rows = super().rows(session, first_cell, upto)
        return [replace(row, value=row.value and Packed(*row.value)) for row in rows]


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
        self._latest: dict[tuple[str, int, str], int] = {}

    def write(self, claim: Claim, *changes: Change) -> int:
        added = super().write(claim, *changes)
        for change in changes:
            if isinstance(change, Row):
                key = claim.session, change.cell, change.path
                self._latest.pop(key, None)
                self._latest[key] = 0
        return added

    def rows(self, session: str, first_cell: int = 0, upto: int | None = None) -> Sequence[Row]:
        order = [(cell, path) for id, cell, path in self._latest if id == session]
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

    def create(self, facts: Facts, holder: LeaseHolder | None = None) -> Claim:
        old = self._first.setdefault(facts.id, super().create(facts, holder))
        with self._transaction():
            self._run("update sessions set epoch = ? where id = ?", old.epoch, facts.id)
        self._claims.clear()
        return old


class LeavesBlobsBehind(MemoryStore):
    def forget(self, session: str) -> Forgotten:
        blobs = self._read("select digest, content from blobs")
        told = super().forget(session)
        with self._transaction():
            for digest, content in blobs:
                self._run("insert or ignore into blobs (digest, content) values (?, ?)", digest, content)
        return told


class TakesBlobsOfOthers(MemoryStore):
    def forget(self, session: str) -> Forgotten:
        uses = self._read("select digest from uses where session = (select n from sessions where id = ?)", session)
        told = super().forget(session)
        with self._transaction():
            for (digest,) in uses:
                self._run("delete from blobs where digest = ?", digest)
        return told


class ForgetsUnderForks(MemoryStore):
    def forget(self, session: str) -> Forgotten:
        with self._transaction():
            self._run("update sessions set parent = null")
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
    def entries(self, session: str, first: int = 1, upto: int | None = None) -> Sequence[JournalEntry]:
        last = {
            entry.change.path if isinstance(entry.change, Row) else id(entry): entry
            for entry in super().entries(session)
        }
        return list(last.values())


class HasNoLeases(MemoryStore):
    def claim(self, session: str, holder: LeaseHolder | None = None, *, take_over: bool = True) -> Claim:
        return super().claim(session, holder)


class KeepsTheDead(MemoryStore):
    def summary(self, session: str) -> Summary:
        ((machine, process, started, name),) = self._read(
            "select machine, process, started, holder from sessions where id = ?", session
        )
        holder = machine and LeaseHolder(machine=machine, process=process, started=started, name=name)
        return replace(super().summary(session), holder=holder)


class ListsTheOldestFirst(MemoryStore):
    def summaries(
        self, *, state: str = "", agent: str = "", limit: int | None = None, before: Summary | None = None
    ) -> Sequence[Summary]:
        return super().summaries(state=state, agent=agent, before=before)[::-1][:limit]


class LosesChildren(MemoryStore):
    def family(self, session: str) -> Sequence[Summary]:
        return [one for one in super().family(session) if not one.child_of]


class AsksApart(MemoryStore):
    """A question is written by itself: what should go with it may be lost."""

    def write(self, claim: Claim, *changes: Change) -> int:
        asked = [change for change in changes if isinstance(change, Question)]
        added = sum(super(AsksApart, self).write(claim, question) for question in asked)
        return added + super().write(claim, *(change for change in changes if not isinstance(change, Question)))


class DecidesTwice(MemoryStore):
    def decide(self, question: str, decision: Decision) -> Question:
        with self._transaction():
            self._run("delete from decisions where question = (select n from questions where id = ?)", question)
        return super().decide(question, decision)


class DecidesWhatIsLate(MemoryStore):
    def decide(self, question: str, decision: Decision) -> Question:
        self.clock = lambda: 0.0
        try:
            return super().decide(question, decision)
        finally:
            self.clock = time.time


class GrantsEverywhere(MemoryStore):
    def granted(self, session: str, operation: str) -> Decision | None:
        ids = (id for id in self.sessions() if super(GrantsEverywhere, self).granted(id, operation))
        return super().granted(next(ids, session), operation)


class GivesMessagesAgain(MemoryStore):
    def write(self, claim: Claim, *changes: Change) -> int:
        waiting = self._read("select n, session, body from inbox")
        added = super().write(claim, *changes)
        with self._transaction():
            for message in waiting:
                self._run("insert or ignore into inbox values (?, ?, ?)", *message)
        return added


class SearchesEverywhere(MemoryStore):
    def search(
        self, query: str, *, within: Sequence[Reach] | None = None, kinds: Sequence[str] = (), limit: int = 20
    ) -> Sequence[EntryHit]:
        return super().search(query, kinds=kinds, limit=limit)


class FindsTheWorstFirst(MemoryStore):
    def search(
        self, query: str, *, within: Sequence[Reach] | None = None, kinds: Sequence[str] = (), limit: int = 20
    ) -> Sequence[EntryHit]:
        found = super().search(query, within=within, kinds=kinds, limit=1000)
        return sorted(found, key=lambda hit: hit.score)[:limit]


class RemembersTheForgotten(MemoryStore):
    def forget(self, session: str) -> Forgotten:
        return replace(super().forget(session), indexed=0)


class DropsWhatRowsNeed(MemoryStore):
    def drop(self, claim: Claim, digests: Collection[str]) -> None:
        rows = self._known(claim.session)
        self._connection.executemany("delete from uses where session = ? and digest = ?", [(rows, d) for d in digests])
        super().drop(claim, digests)


class FindsPathsAnywhere(MemoryStore):
    def rows_by_path(self, session: str, path: str, first_cell: int = 0, before: int | None = None) -> Sequence[Row]:
        return [row for row in self.rows(session, first_cell) if path in row.path]


class SavesWhenItIsClosed(MemoryStore):
    """Outlives its process, if the process ends well."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        if path.exists():
            self._connection.deserialize(path.read_bytes())

    def close(self) -> None:
        self._path.write_bytes(self._connection.serialize())


class ChecksClaimsInMemory(SqliteStore):
    """Fences what this object knows of, and no other process."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._mine: dict[str, Claim] = {}

    def create(self, facts: Facts, holder: LeaseHolder | None = None) -> Claim:
        self._mine[facts.id] = super().create(facts, holder)
        return self._mine[facts.id]

    def claim(self, session: str, holder: LeaseHolder | None = None, *, take_over: bool = True) -> Claim:
        self._mine[session] = super().claim(session, holder, take_over=take_over)
        return self._mine[session]

    def write(self, claim: Claim, *changes: Change) -> int:
        try:
            return super().write(claim, *changes)
        except Fenced:
            if self._mine.get(claim.session) != claim or claim.session not in self.sessions():
                raise
            return super().write(super().claim(claim.session), *changes)
