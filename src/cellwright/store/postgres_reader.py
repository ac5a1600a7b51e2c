"""Reads sessions from PostgreSQL: entries, what they come to, and lists of sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
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
from cellwright.store.postgres_database import PostgresDatabase, body_of
from cellwright.store.postgres_failures import reports_failures
from cellwright.store.postgres_link import Fetched
from cellwright.store.postgres_schema import plain, safe
from cellwright.store.rows import CellRow, Checkpoint, Facts, JournalEntry, Note, Row, Summary, TurnRow
from cellwright.store.sql_database import no_session

T = TypeVar("T")
PAGE = 256  # entries that are read at a time
Fold = Callable[[Iterable[Raw], Fetch], T]

COUNT = "coalesce((select max(e.number) from entries e where e.session = s.n), 0)"
HOLDER = ("machine", "process", "started", "holder")
SELECT = (
    f"select {', '.join(COUNT if name == 'entries' else f's.{name}' for name in (*SUMMARY, *HOLDER))}, "
    "s.until > clock_timestamp() from sessions s"
)
FAMILY = (
    "with recursive f (n, id) as (select n, id from sessions where n = %s union select c.n, c.id from f "
    f"join sessions c on c.parent = f.id or c.child_of = f.id) {SELECT} where s.n in (select n from f) "
    "order by s.n <> %s, s.n"
)


class PostgresReader(PostgresDatabase):
    """See `StoreReader`."""

    @reports_failures
    def sessions(self) -> Sequence[str]:
        return [plain(id) for (id,) in self._link.read("select id from sessions order by n")]

    @reports_failures
    def summaries(
        self, *, state: str = "", agent: str = "", limit: int | None = None, before: Summary | None = None
    ) -> Sequence[Summary]:
        tests: list[str] = []
        values: list[Any] = []
        if state:
            tests.append("s.state = any(%s)")
            values.append(["waiting", "asking"] if state == "waiting" else [state])
        if agent:
            tests.append("s.agent = %s")
            values.append(safe(agent))
        if before is not None:
            # A session that was forgotten meanwhile counts as older than those of the same time.
            tests.append("(s.updated, s.n) < (%s, coalesce((select n from sessions where id = %s), 0))")
            values += [before.updated, safe(before.id)]
        where = f" where {' and '.join(tests)}" if tests else ""
        values.append(None if limit is None else max(limit, 0))
        return _summaries(self._link.read(f"{SELECT}{where} order by s.updated desc, s.n desc limit %s", *values))

    @reports_failures
    def summary(self, session: str) -> Summary:
        found = self._link.read(f"{SELECT} where s.id = %s", safe(session))
        if not found:
            raise no_session(session)
        return _summaries(found)[0]

    @reports_failures
    def family(self, session: str) -> Sequence[Summary]:
        def work() -> Fetched:
            root = self._root(self._known(session))
            return self._link.fetch(FAMILY, root, root)

        return _summaries(self._link.reading(work))

    @reports_failures
    def facts(self, session: str) -> Facts:
        sql = "select f.body from facts f join sessions s on s.n = f.session where s.id = %s"
        found = self._link.read(sql, safe(session))
        if not found:
            raise no_session(session)
        with decoding(session):
            return FACTS.of_body(found[0][0], session, fetch=self._part)

    @reports_failures
    def entries(self, session: str, first: int = 1, upto: int | None = None) -> Sequence[JournalEntry]:
        sql = "e.number, e.parent, e.at, e.kind, e.cell, e.path, e.packed, e.body"
        with decoding(session):
            return [
                entry_of((session, number, parent, at), kind, (cell, plain(path), body_of(packed, body)), self._part)
                for number, parent, at, kind, cell, path, packed, body in self._of(
                    session, sql, "e.number >= %s", upto, first
                )
            ]

    @reports_failures
    def cells(self, session: str, first: int = 0, upto: int | None = None) -> Sequence[CellRow]:
        return self._folded(session, "e.kind = 'cell' and e.cell >= %s", upto, cells_of, first)

    @reports_failures
    def rows(self, session: str, first_cell: int = 0, upto: int | None = None) -> Sequence[Row]:
        return self._rows(session, first_cell, upto)

    @reports_failures
    def rows_by_path(self, session: str, path: str, first_cell: int = 0, before: int | None = None) -> Sequence[Row]:
        """See `RowsByPath`."""
        test = "and starts_with(e.path, %s)"
        if before is None:
            return self._rows(session, first_cell, None, test, safe(path))
        return self._rows(session, first_cell, None, f"{test} and e.cell < %s", safe(path), before)

    def _rows(
        self, session: str, first_cell: int, upto: int | None, test: str = "", *values: int | str
    ) -> Sequence[Row]:
        with decoding(session):
            entries = self._row_entries(session, first_cell, upto, test, *values)
            return rows_of(entries, self._part, partial(self._body, session))

    def _row_entries(
        self, session: str, first_cell: int, upto: int | None, more: str, *values: int | str
    ) -> Iterator[tuple[int, Raw]]:
        """The entries of rows with their numbers, a page at a time: a session may have more than fits in memory."""
        columns = "e.number, e.cell, e.path, e.packed, e.body"
        test, after = f"e.kind = 'row' and e.cell >= %s and e.number > %s {more}", 0
        while found := self._of(session, columns, test, upto, first_cell, after, *values, most=PAGE):
            yield from ((n, (cell, plain(path), body_of(packed, body))) for n, cell, path, packed, body in found)
            if len(found) < PAGE:
                return
            after = found[-1][0]

    @reports_failures
    def _body(self, session: str, number: int) -> Body:
        found = self._of(session, "e.packed, e.body", "e.number = %s", None, number)
        if not found:
            raise JournalFailed(f"journal {self.address.shown}: an entry is gone that was read before")
        return body_of(*found[0])

    @reports_failures
    def turns(self, session: str, upto: int | None = None) -> Sequence[TurnRow]:
        return self._folded(session, "e.kind = 'turn'", upto, turns_of)

    @reports_failures
    def notes(self, session: str, upto: int | None = None) -> Sequence[Note]:
        return self._folded(session, "e.kind = 'note'", upto, notes_of)

    @reports_failures
    def checkpoints(self, session: str) -> Sequence[Checkpoint]:
        sql = "select c.cell, c.body from sessions s left join checkpoints c on c.session = s.n where s.id = %s"
        found = self._link.read(f"{sql} order by c.cell", safe(session))
        if not found:
            raise no_session(session)
        with decoding(session):
            return [CHECKPOINTS.of_body(body, cell) for cell, body in found if body is not None]

    def _folded(self, session: str, test: str, upto: int | None, fold: Fold[T], *values: int) -> T:
        found = self._of(session, "e.cell, e.path, e.packed, e.body", test, upto, *values)
        with decoding(session):
            return fold([(cell, plain(path), body_of(packed, body)) for cell, path, packed, body in found], self._part)

    def _of(
        self, session: str, columns: str, test: str, upto: int | None, *values: int | str, most: int | None = None
    ) -> Fetched:
        """Entries of a session, as they were written, by one statement."""
        sql = f"select {columns} from sessions s left join entries e on e.session = s.n and {test}"
        if upto is not None:
            sql, values = f"{sql} and e.number <= %s", (*values, upto)
        found = self._link.read(f"{sql} where s.id = %s order by e.number limit %s", *values, safe(session), most)
        if not found:
            raise no_session(session)
        return [row for row in found if row[-1] is not None]


def _summaries(found: Fetched) -> list[Summary]:
    is_alive = cache(leases.is_alive)  # one process may hold many of them
    summaries: list[Summary] = []
    for row in found:
        *columns, machine, process, started, name, holds = row
        holder = holder_of(plain, machine, process, started, name) if holds and machine is not None else None
        summaries.append(summary_of(columns, plain, holder if holder is not None and is_alive(holder) else None))
    return summaries
