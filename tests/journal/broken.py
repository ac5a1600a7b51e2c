"""Journals that each break one promise, for the check that must find it."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from toolwright.errors import Fenced
from toolwright.journal import CellRow, Change, Claim, Facts, MemoryJournal, Row, SqliteJournal
from toolwright_guest.wire import Packed


class HasNoFence(MemoryJournal):
    def write(self, claim: Claim, *changes: Change) -> int:
        try:
            return super().write(claim, *changes)
        except Fenced:
            return super().write(self.claim(claim.session), *changes)


class FencesAfterTheWrite(MemoryJournal):
    def write(self, claim: Claim, *changes: Change) -> int:
        try:
            return super().write(claim, *changes)
        except Fenced:
            if claim.session in self.sessions():
                super().write(self.claim(claim.session), *changes)
            raise


class WritesOneByOne(MemoryJournal):
    def write(self, claim: Claim, *changes: Change) -> int:
        super().write(claim)
        return sum(super(WritesOneByOne, self).write(claim, change) for change in changes)


class OrdersByTheLastWriting(MemoryJournal):
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

    def rows(self, session: str, first_cell: int = 0) -> Sequence[Row]:
        order = [(cell, path) for id, cell, path in self._last if id == session]
        return sorted(super().rows(session, first_cell), key=lambda row: order.index((row.cell, row.path)))


class MixesUpSessions(MemoryJournal):
    def rows(self, session: str, first_cell: int = 0) -> Sequence[Row]:
        found = list(super().rows(session, first_cell))
        parent = self.facts(session).parent
        return [*super().rows(parent, first_cell), *found] if parent in self.sessions() else found


class LosesSurrogates(MemoryJournal):
    def rows(self, session: str, first_cell: int = 0) -> Sequence[Row]:
        return [replace(row, title=row.title.encode("utf-8", "replace").decode()) for row in super().rows(session)]


class TakesTrueForOne(MemoryJournal):
    def rows(self, session: str, first_cell: int = 0) -> Sequence[Row]:
        return [replace(row, reads=row.reads + 0) for row in super().rows(session, first_cell)]


class GivesEveryCell(MemoryJournal):
    def cells(self, session: str, first: int = 0) -> Sequence[CellRow]:
        return super().cells(session)


class RevivesClaims(MemoryJournal):
    def __init__(self) -> None:
        super().__init__()
        self._first: dict[str, Claim] = {}

    def create(self, facts: Facts) -> Claim:
        old = self._first.setdefault(facts.id, super().create(facts))
        self._sessions[facts.id].epoch = old.epoch
        return old


class LeavesBlobsBehind(MemoryJournal):
    def forget(self, session: str) -> None:
        blobs = dict(self._blobs)
        super().forget(session)
        self._blobs |= blobs


class TakesBlobsOfOthers(MemoryJournal):
    def forget(self, session: str) -> None:
        uses = self._known(session).uses
        super().forget(session)
        for digest in uses:
            self._blobs.pop(digest, None)


class ForgetsUnderForks(MemoryJournal):
    def forget(self, session: str) -> None:
        for other in self._sessions.values():
            other.parent = ""
        super().forget(session)


class KeepsNoCopies(MemoryJournal):
    def __init__(self) -> None:
        super().__init__()
        self._given: dict[tuple[str, int, str], Packed] = {}

    def write(self, claim: Claim, *changes: Change) -> int:
        added = super().write(claim, *changes)
        self._given |= {(claim.session, c.cell, c.path): c.arguments for c in changes if isinstance(c, Row)}
        return added

    def rows(self, session: str, first_cell: int = 0) -> Sequence[Row]:
        found = super().rows(session, first_cell)
        return [replace(row, arguments=self._given[session, row.cell, row.path]) for row in found]


class SavesWhenItIsClosed(MemoryJournal):
    """Outlives its process, if the process ends well."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        if path.exists():
            self._sessions, self._blobs, self._epochs = pickle.loads(path.read_bytes())

    def close(self) -> None:
        self._path.write_bytes(pickle.dumps((self._sessions, self._blobs, self._epochs)))


class ChecksClaimsInMemory(SqliteJournal):
    """Fences what this object knows of, and no other process."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._mine: dict[str, Claim] = {}

    def create(self, facts: Facts) -> Claim:
        self._mine[facts.id] = super().create(facts)
        return self._mine[facts.id]

    def claim(self, session: str) -> Claim:
        self._mine[session] = super().claim(session)
        return self._mine[session]

    def write(self, claim: Claim, *changes: Change) -> int:
        try:
            return super().write(claim, *changes)
        except Fenced:
            if self._mine.get(claim.session) != claim or claim.session not in self.sessions():
                raise
            return super().write(super().claim(claim.session), *changes)
