"""The reading half of `MemoryStore`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cellwright.store import encoding, entries, leases
from cellwright.store.entries import Raw
from cellwright.store.memory_sessions import MemorySession, MemorySessions
from cellwright.store.rows import CellRow, Checkpoint, Entry, Facts, Note, Row, Summary, TurnRow
from cellwright.store.standing import shown


class MemoryReading(MemorySessions):
    """See `Reading`."""

    def sessions(self) -> Sequence[str]:
        with self._lock:
            return list(self._sessions)

    def facts(self, session: str) -> Facts:
        with self._lock:
            body = self._known(session).facts
        return encoding.facts_of(session, body, self._part)

    def entries(self, session: str, first: int = 1, upto: int | None = None) -> Sequence[Entry]:
        first = max(first, 1)
        with self._lock:
            found = self._known(session).entries[first - 1 : None if upto is None else max(upto, 0)]
        return [
            entries.entry_of(
                (session, number, one.parent, one.at), one.kind, (one.cell, one.path, one.body), self._part
            )
            for number, one in enumerate(found, first)
        ]

    def cells(self, session: str, first: int = 0, upto: int | None = None) -> Sequence[CellRow]:
        return entries.cells_of(self._of("cell", session, first, upto), self._part)

    def rows(self, session: str, first_cell: int = 0, upto: int | None = None) -> Sequence[Row]:
        return entries.rows_of(self._of("row", session, first_cell, upto), self._part)

    def turns(self, session: str, upto: int | None = None) -> Sequence[TurnRow]:
        return entries.turns_of(self._of("turn", session, 0, upto), self._part)

    def notes(self, session: str, upto: int | None = None) -> Sequence[Note]:
        return entries.notes_of(self._of("note", session, 0, upto), self._part)

    def _of(self, kind: str, session: str, first: int, upto: int | None) -> list[Raw]:
        with self._lock:
            found = self._known(session).entries[: None if upto is None else max(upto, 0)]
        return [(one.cell, one.path, one.body) for one in found if one.kind == kind and one.cell >= first]

    def checkpoints(self, session: str) -> Sequence[Checkpoint]:
        with self._lock:
            found = sorted(self._known(session).checkpoints.items())
        return [encoding.checkpoint_of(cell, body) for cell, body in found]

    # summaries

    def summaries(
        self, *, state: str = "", agent: str = "", limit: int | None = None, before: Summary | None = None
    ) -> Sequence[Summary]:
        with self._lock:
            found = sorted(self._sessions.values(), key=lambda one: (one.updated, one.number), reverse=True)
            if before is not None:
                known = self._sessions.get(before.id)
                bound = before.updated, 0 if known is None else known.number
                found = [one for one in found if (one.updated, one.number) < bound]
            told = [self._summed(one) for one in found]
        fits = [one for one in told if state in ("", one.state) and agent in ("", one.agent)]
        return fits if limit is None else fits[: max(limit, 0)]

    def summary(self, session: str) -> Summary:
        with self._lock:
            return self._summed(self._known(session))

    def family(self, session: str) -> Sequence[Summary]:
        with self._lock:
            root, seen = session, set[str]()
            while root not in seen:
                seen.add(root)
                found = self._known(root)
                above = found.parent or found.child_of
                root = above if above in self._sessions else root
            members = {root}
            while grown := {
                id for id, one in self._sessions.items() if id not in members and {one.parent, one.child_of} & members
            }:
                members |= grown
            others = [id for id in self._sessions if id in members and id != root]
            return [self._summed(self._sessions[id]) for id in (root, *others)]

    def _summed(self, one: MemorySession) -> Summary:
        held = one.holder is not None and one.until > self.clock() and leases.lives(one.holder)
        facts, now = one.made, one.standing
        same: dict[str, Any] = {name: getattr(facts, name) for name in ("id", "created", "agent", "parent_cell")}
        return Summary(
            title=now.name or now.title,
            state=shown(now.state),
            updated=one.updated,
            turns=now.turns,
            cells=now.cells,
            entries=len(one.entries),
            name=now.name,
            parent=one.parent,
            parent_entry=facts.parent_entry,
            child_of=one.child_of,
            holder=one.holder if held else None,
            **same,
        )
