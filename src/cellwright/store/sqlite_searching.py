"""Search in `SqliteStore`. What was written is taken into the index when somebody searches, not when it is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from cellwright.errors import JournalFailed
from cellwright.store import encoding, entries
from cellwright.store.encoding import restored
from cellwright.store.index import Hit, Index, Reached, found_of, is_damage
from cellwright.store.rows import Found, Reach
from cellwright.store.sqlite_file import SqliteFile, span
from cellwright.store.texts import texts_of

T = TypeVar("T")
BATCH = 200  # entries of one transaction: others wait that long to write
# Of rows only those of the model's door have texts; a body begins with status and door.
NEW = (
    "select number, at, kind, cell, path, body from entries where n between ? and ? and (kind <> 'row' "
    "or instr(substr(cast(body as text), 1, 32), '\"model\"')) order by n limit ?"
)


class SqliteSearching(SqliteFile):
    """See `Searching`."""

    def search(
        self, query: str, *, within: Sequence[Reach] | None = None, kinds: Sequence[str] = (), limit: int = 20
    ) -> Sequence[Found]:
        def tried() -> list[Found]:
            self._take_all()
            with self._reading():
                reached = None if within is None else self._reached(within)
                return self._told(Index(self._connection).find(query, reached, kinds, limit))

        return self._mending(tried)

    def catch_up(self) -> int:
        return self._mending(self._take_all)

    def _mending(self, tried: Callable[[], T]) -> T:
        """The index is a cache: where it is damaged it is made again, once."""
        try:
            return tried()
        except JournalFailed as failed:
            if not is_damage(failed.__cause__):
                raise
        self._make(anew=True)
        return tried()

    def _make(self, *, anew: bool) -> None:
        with self._transaction(quiet=True):
            index = Index(self._connection)
            if anew or not index.is_there:  # another process may have made it before the lock was ours
                index.make()
                self._run("update sessions set indexed = 0, stale = 1")

    def _take_all(self) -> int:
        """How many entries it took."""
        with self._reading():
            is_there = Index(self._connection).is_there
        if not is_there:
            self._make(anew=False)
        count = 0
        stale = "select n, indexed, turns from sessions where stale = 1 limit 1"
        while self._read(stale):
            with self._transaction(quiet=True):
                for number, indexed, turns in self._fetch(stale):
                    count += self._take_in(number, indexed, has_turns=bool(turns))
        return count

    def _take_in(self, number: int, indexed: int, *, has_turns: bool) -> int:
        """The next entries of one session."""
        found = self._fetch(NEW, *span(number, indexed + 1), BATCH)
        index = Index(self._connection)
        for entry, at, kind, cell, path, body in found:
            with suppress(JournalFailed), encoding.reading(""):  # what is damaged is told to who reads it, not here
                texts = texts_of(entries.kept_of(kind, (cell, path, body), self._locked_part), has_turns=has_turns)
                if texts is not None:
                    index.put(number, texts, entry, at)
        if len(found) == BATCH:
            self._run("update sessions set indexed = ? where n = ?", found[-1][0], number)
        else:
            last = "ifnull((select number from entries where n between ? and ? order by n desc limit 1), 0)"
            self._run(f"update sessions set stale = 0, indexed = {last} where n = ?", *span(number), number)
        return len(found)

    def _reached(self, within: Sequence[Reach]) -> Reached:
        reached: dict[int, int | None] = {}
        for reach in within:
            number = self._number(reach.session)
            if number is not None:
                known = reached.get(number, 0)
                reached[number] = None if reach.upto is None or known is None else max(known, reach.upto)
        return reached

    def _told(self, hits: Sequence[Hit]) -> list[Found]:
        sql = "select id from sessions where n = ?"
        names = {number: self._fetch(sql, number) for number in {hit.session for hit in hits}}
        return [found_of(hit, restored(names[hit.session][0][0])) for hit in hits if names[hit.session]]
