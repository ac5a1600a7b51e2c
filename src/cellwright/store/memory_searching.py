"""Search in `MemoryStore`: the index of the one on disk, in memory."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import suppress

from cellwright.errors import JournalFailed
from cellwright.store import encoding, entries
from cellwright.store.index import Index, Reached, found_of
from cellwright.store.memory_sessions import MemorySession, MemorySessions
from cellwright.store.rows import Found, Reach
from cellwright.store.tables import TEXTS
from cellwright.store.texts import texts_of


class MemorySearching(MemorySessions):
    """See `Searching`."""

    def __init__(self) -> None:
        super().__init__()
        self._index: Index | None = None

    def search(
        self, query: str, *, within: Sequence[Reach] | None = None, kinds: Sequence[str] = (), limit: int = 20
    ) -> Sequence[Found]:
        with self._lock:
            self.catch_up()
            index = self._made()
            ids = {one.number: id for id, one in self._sessions.items()}
            hits = index.find(query, None if within is None else self._reached(within), kinds, limit)
            return [found_of(hit, ids[hit.session]) for hit in hits]

    def catch_up(self) -> int:
        with self._lock:
            index = self._made()
            return sum(self._take_in(index, session) for session in self._sessions.values())

    def _made(self) -> Index:
        if self._index is None:
            connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
            for statement in TEXTS:
                connection.execute(statement)
            self._index = Index(connection)
            self._index.make()
        return self._index

    def _take_in(self, index: Index, session: MemorySession) -> int:
        new = session.entries[session.indexed :]
        count = 0
        for number, one in enumerate(new, session.indexed + 1):
            with suppress(JournalFailed), encoding.reading(""):
                change = entries.kept_of(one.kind, (one.cell, one.path, one.body), self._part)
                texts = texts_of(change, has_turns=bool(session.standing.turns))
                if texts is not None:
                    count += 1
                    index.put(session.number, texts, number, one.at)
        session.indexed += len(new)
        return count

    def _forget_texts(self, session: MemorySession) -> int:
        return 0 if self._index is None else self._index.forget(session.number)

    def _reached(self, within: Sequence[Reach]) -> Reached:
        reached: dict[int, int | None] = {}
        for reach in within:
            if reach.session in self._sessions:
                number = self._sessions[reach.session].number
                known = reached.get(number, 0)
                reached[number] = None if reach.upto is None or known is None else max(known, reach.upto)
        return reached
