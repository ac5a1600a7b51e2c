"""Search in SQLite. A search indexes what was written since the last one; writing does not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from cellwright.errors import JournalFailed
from cellwright.store.codec import decoding
from cellwright.store.entry_codec import change_of
from cellwright.store.entry_texts import texts_of
from cellwright.store.rows import EntryHit, Reach
from cellwright.store.sql_database import reached
from cellwright.store.sqlite_database import SqliteDatabase, restored, span
from cellwright.store.sqlite_index import Reached, TextIndex, is_damage

T = TypeVar("T")
BATCH = 200  # entries of one transaction: other writers wait for its end
# Only rows of the model's door have texts; a body begins with status and door.
NEW = (
    "select number, at, kind, cell, path, body from entries where n between ? and ? and (kind <> 'row' "
    "or instr(substr(cast(body as text), 1, 32), '\"model\"')) order by n limit ?"
)


class SqliteSearch(SqliteDatabase):
    """See `SearchStore`."""

    def search(
        self, query: str, *, within: Sequence[Reach] | None = None, kinds: Sequence[str] = (), limit: int = 20
    ) -> Sequence[EntryHit]:
        def tried() -> list[EntryHit]:
            self._index_all()
            with self._reading():
                numbers: Reached | None = None
                if within is not None:
                    bounds = ((self._number(id), upto) for id, upto in reached(within).items())
                    numbers = {number: upto for number, upto in bounds if number is not None}
                return TextIndex(self._connection).find(query, numbers, kinds, limit)

        return self._repairing(tried)

    def catch_up(self) -> int:
        return self._repairing(self._index_all)

    def _repairing(self, tried: Callable[[], T]) -> T:
        """Try again with a new index where the index is damaged."""
        try:
            return tried()
        except JournalFailed as failed:
            if not is_damage(failed.__cause__):
                raise
        self._make(anew=True)
        return tried()

    def _make(self, *, anew: bool) -> None:
        with self._transaction(quiet=True):
            index = TextIndex(self._connection)
            if anew or not index.is_there:  # another process may have made it before this one had the lock
                index.make()
                self._run("update sessions set indexed = 0, stale = 1")

    def _index_all(self) -> int:
        """Index all new entries; gives how many."""
        with self._reading():
            is_there = TextIndex(self._connection).is_there
        if not is_there:
            self._make(anew=False)
        count = 0
        stale = "select n, indexed, turns from sessions where stale = 1 limit 1"
        while self._read(stale):
            with self._transaction(quiet=True):
                for number, indexed, turns in self._fetch(stale):
                    count += self._index_next(number, indexed, has_turns=bool(turns))
        return count

    def _index_next(self, number: int, indexed: int, *, has_turns: bool) -> int:
        """Index the next entries of one session; gives how many."""
        found = self._fetch(NEW, *span(number, indexed + 1), BATCH)
        index = TextIndex(self._connection)
        for entry, at, kind, cell, path, body in found:
            with suppress(JournalFailed), decoding(""):  # a damaged entry is reported to whoever reads it
                texts = texts_of(change_of(kind, (cell, restored(path), body), self._locked_part), has_turns=has_turns)
                if texts is not None:
                    index.put(number, texts, entry, at)
        if len(found) == BATCH:
            self._run("update sessions set indexed = ? where n = ?", found[-1][0], number)
        else:
            last = "ifnull((select number from entries where n between ? and ? order by n desc limit 1), 0)"
            self._run(f"update sessions set stale = 0, indexed = {last} where n = ?", *span(number), number)
        return len(found)
