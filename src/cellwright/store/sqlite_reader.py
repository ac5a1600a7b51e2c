"""Reads sessions from SQLite: entries, what they come to, and lists of sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from cellwright.errors import JournalFailed
from cellwright.store import leases
from cellwright.store.codec import CHECKPOINTS, FACTS, Body, Fetch, decoding
from cellwright.store.entry_codec import (
    SUMMARY,
    Raw,
    cells_of,
    entry_of,
    holder_of,
    notes_of,
    rows_of,
    summary_of,
    turns_of,
)
from cellwright.store.rows import CellRow, Checkpoint, Facts, JournalEntry, Note, Row, Summary, TurnRow
from cellwright.store.session_state import LIVE
from cellwright.store.sql_database import no_session
from cellwright.store.sqlite_database import SqliteDatabase, restored, span, storable
from cellwright.store.sqlite_schema import NUMBER_BITS

T = TypeVar("T")
PAGE = 256  # entries that are read at a time

SELECT = f"select {', '.join(f's.{column}' for column in SUMMARY)} from sessions s"
HOLDERS = "select id, machine, process, started, holder from sessions where until > ? and until > 0"


class SqliteReader(SqliteDatabase):
    """See `StoreReader`."""

    def sessions(self) -> Sequence[str]:
        return [restored(id) for (id,) in self._read("select id from sessions order by n")]

    def facts(self, session: str) -> Facts:
        sql = "select body from facts join sessions on n = session where id = ?"
        found = self._read(sql, storable(session))
        if not found:
            raise no_session(session)
        with decoding(session):
            return FACTS.of_body(found[0][0], session, fetch=self._part)

    # entries

    def entries(self, session: str, first: int = 1, upto: int | None = None) -> Sequence[JournalEntry]:
        with self._reading():
            sql = "select number, parent, at, kind, cell, path, body from entries where n between ? and ? order by n"
            found = self._fetch(sql, *span(self._known(session), first, upto))
        with decoding(session):
            return [
                entry_of((session, number, parent, at), kind, (cell, restored(path), body), self._part)
                for number, parent, at, kind, cell, path, body in found
            ]

    def cells(self, session: str, first: int = 0, upto: int | None = None) -> Sequence[CellRow]:
        return self._numbered(session, "cell", first, upto, cells_of)

    def turns(self, session: str, upto: int | None = None) -> Sequence[TurnRow]:
        return self._numbered(session, "turn", 0, upto, turns_of)

    def rows(self, session: str, first_cell: int = 0, upto: int | None = None) -> Sequence[Row]:
        return self._rows(session, first_cell, upto)

    def rows_by_path(self, session: str, path: str, first_cell: int = 0, before: int | None = None) -> Sequence[Row]:
        """See `RowsByPath`."""
        begins = path.encode("utf-8", "surrogatepass")
        test = "and substr(cast(path as blob), 1, ?) = ?"
        if before is None:
            return self._rows(session, first_cell, None, test, len(begins), begins)
        return self._rows(session, first_cell, None, f"{test} and cell < ?", len(begins), begins, storable(before))

    def _rows(self, session: str, first_cell: int, upto: int | None, test: str = "", *values: Any) -> Sequence[Row]:
        with self._reading():
            number = self._known(session)
            begin = self._beginning(number, first_cell) if first_cell > 0 else 1
        with decoding(session):
            entries = self._row_entries(*span(number, begin, upto), test, storable(first_cell), *values)
            return rows_of(entries, self._part, self._body)

    def _row_entries(self, n: int, last: int, test: str, *values: Any) -> Iterator[tuple[int, Raw]]:
        """The entries of rows with their keys, a page at a time: a session may have more than fits in memory."""
        sql = (
            f"select n, cell, path, body from entries where n between ? and ? and kind = 'row' and cell >= ? {test} "
            f"order by n limit {PAGE}"
        )
        while found := self._read(sql, n, last, *values):
            yield from ((key, (cell, restored(path), body)) for key, cell, path, body in found)
            if len(found) < PAGE:
                return
            n = found[-1][0] + 1

    def _body(self, key: int) -> Body:
        found = self._read("select body from entries where n = ?", key)
        if not found:
            raise JournalFailed(f"journal {self._name}: an entry is gone that was read before")
        return found[0][0]

    def notes(self, session: str, upto: int | None = None) -> Sequence[Note]:
        sql = "select cell, path, body from entries where session = ? and kind = 'note' and n <= ? order by n"
        with self._reading():
            number = self._known(session)
            found = self._fetch(sql, number, span(number, 1, upto)[1])
        with decoding(session):
            return notes_of(found, self._part)

    def checkpoints(self, session: str) -> Sequence[Checkpoint]:
        with self._reading():
            sql = "select cell, body from checkpoints where session = ? order by cell"
            found = self._fetch(sql, self._known(session))
        with decoding(session):
            return [CHECKPOINTS.of_body(body, int(cell)) for cell, body in found]

    def _numbered(
        self,
        session: str,
        kind: str,
        first: int,
        upto: int | None,
        fold: Callable[[Iterable[Raw], Fetch], list[T]],
    ) -> list[T]:
        """The last entry of each number. The kind is written out, so that SQLite sees that it can use its index."""
        sql = (
            f"select cell, path, body from entries where session = ? and kind = '{kind}' and cell >= ? "
            "and n <= ? order by cell, n"
        )
        with self._reading():
            number = self._known(session)
            found = self._fetch(sql, number, storable(first), span(number, 1, upto)[1])
        with decoding(session):
            return fold(found, self._part)

    def _beginning(self, number: int, first_cell: int) -> int:
        """The first entry that may be a row of these cells."""
        ((early,),) = self._fetch("select early from sessions where n = ?", number)
        if first_cell <= int(early):
            return 1
        sql = "select min(n) from entries where session = ? and kind = 'cell' and cell >= ?"
        ((found,),) = self._fetch(sql, number, storable(first_cell))
        return (1 << NUMBER_BITS) - 1 if found is None else found & ((1 << NUMBER_BITS) - 1)

    # summaries

    def summaries(
        self, *, state: str = "", agent: str = "", limit: int | None = None, before: Summary | None = None
    ) -> Sequence[Summary]:
        terms: list[str] = []
        values: list[Any] = []
        if state:
            terms.append("s.state in (?, ?)")
            values += [state, "asking" if state == "waiting" else state]
        if agent:
            terms.append("s.agent = ?")
            values.append(storable(agent))
        if before is not None:
            # A session that was forgotten meanwhile counts as older than those of the same time.
            terms.append("(s.updated, s.n) < (?, ifnull((select n from sessions where id = ?), 0))")
            values += [before.updated, storable(before.id)]
        where = f"where {' and '.join(terms)} " if terms else ""
        sql = f"{SELECT} {where} order by s.updated desc, s.n desc limit ?"
        with self._reading():
            return self._summed(sql, *values, -1 if limit is None else max(limit, 0))

    def summary(self, session: str) -> Summary:
        with self._reading():
            found = self._summed(f"{SELECT} where s.id = ?", storable(session))
        if not found:
            raise no_session(session)
        return found[0]

    def family(self, session: str) -> Sequence[Summary]:
        sql = (
            "with recursive f (n, id) as (select n, id from sessions where n = ? union select c.n, c.id from f "
            "join sessions c on c.parent = f.id or c.child_of = f.id) "
            f"{SELECT} where s.n in (select n from f) order by s.n <> ?, s.n"
        )
        with self._reading():
            root = self._root(self._known(session))
            return self._summed(sql, root, root)

    def _summed(self, sql: str, *values: Any) -> list[Summary]:
        """With the lock held."""
        holders = {id: holder_of(restored, *who) for id, *who in self._fetch(HOLDERS, self.clock())}
        living = {id: who for id, who in holders.items() if leases.is_alive(who)}
        return [
            summary_of(self._counted(columns) if columns[2] in LIVE else columns, restored, living.get(columns[0]))
            for columns in self._execute(sql, values)
        ]

    def _counted(self, columns: tuple[Any, ...]) -> tuple[Any, ...]:
        """With the number of entries: while a session is live, its rows are not counted as they are written."""
        ((number,),) = self._fetch("select n from sessions where id = ?", columns[0])
        return *columns[:7], self._last(number), *columns[8:]
