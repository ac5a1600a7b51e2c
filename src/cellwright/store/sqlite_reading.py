"""The reading half of `SqliteStore`: entries as they lie in the file, and what they come to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from cellwright.store import encoding, entries, leases
from cellwright.store.encoding import Fetch, restored, storable
from cellwright.store.entries import Raw
from cellwright.store.rows import CellRow, Checkpoint, Entry, Facts, Holder, Note, Row, Summary, TurnRow
from cellwright.store.sqlite_file import SqliteFile, no_session, span
from cellwright.store.standing import LIVE, shown
from cellwright.store.summaries import COLUMNS, summary_of
from cellwright.store.tables import NUMBER_BITS

T = TypeVar("T")

SUMMARY = f"select {', '.join(f's.{column}' for column in COLUMNS)} from sessions s"
HOLDERS = "select id, machine, process, started, holder from sessions where until > ? and until > 0"


class SqliteReading(SqliteFile):
    """See `Reading`."""

    def sessions(self) -> Sequence[str]:
        return [restored(id) for (id,) in self._read("select id from sessions order by n")]

    def facts(self, session: str) -> Facts:
        sql = "select body from facts join sessions on n = session where id = ?"
        found = self._read(sql, storable(session))
        if not found:
            raise no_session(session)
        with encoding.reading(session):
            return encoding.facts_of(session, found[0][0], self._part)

    # entries

    def entries(self, session: str, first: int = 1, upto: int | None = None) -> Sequence[Entry]:
        with self._reading():
            sql = "select number, parent, at, kind, cell, path, body from entries where n between ? and ? order by n"
            found = self._fetch(sql, *span(self._known(session), first, upto))
        with encoding.reading(session):
            return [
                entries.entry_of((session, number, parent, at), kind, (cell, path, body), self._part)
                for number, parent, at, kind, cell, path, body in found
            ]

    def cells(self, session: str, first: int = 0, upto: int | None = None) -> Sequence[CellRow]:
        return self._numbered(session, "cell", first, upto, entries.cells_of)

    def turns(self, session: str, upto: int | None = None) -> Sequence[TurnRow]:
        return self._numbered(session, "turn", 0, upto, entries.turns_of)

    def rows(self, session: str, first_cell: int = 0, upto: int | None = None) -> Sequence[Row]:
        sql = "select cell, path, body from entries where n between ? and ? and kind = 'row' and cell >= ? order by n"
        with self._reading():
            number = self._known(session)
            begin = self._beginning(number, first_cell) if first_cell > 0 else 1
            found = self._fetch(sql, *span(number, begin, upto), storable(first_cell))
        with encoding.reading(session):
            return entries.rows_of(found, self._part)

    def notes(self, session: str, upto: int | None = None) -> Sequence[Note]:
        sql = "select cell, path, body from entries where session = ? and kind = 'note' and n <= ? order by n"
        with self._reading():
            number = self._known(session)
            found = self._fetch(sql, number, span(number, 1, upto)[1])
        with encoding.reading(session):
            return entries.notes_of(found, self._part)

    def checkpoints(self, session: str) -> Sequence[Checkpoint]:
        with self._reading():
            sql = "select cell, body from checkpoints where session = ? order by cell"
            found = self._fetch(sql, self._known(session))
        with encoding.reading(session):
            return [encoding.checkpoint_of(int(cell), body) for cell, body in found]

    def _numbered(
        self,
        session: str,
        kind: str,
        first: int,
        upto: int | None,
        made: Callable[[Iterable[Raw], Fetch], list[T]],
    ) -> list[T]:
        """The last entry of each number. A plain `kind = 'cell'` for SQLite to see that the index has them all."""
        sql = (
            f"select cell, path, body from entries where session = ? and kind = '{kind}' and cell >= ? "
            "and n <= ? order by cell, n"
        )
        with self._reading():
            number = self._known(session)
            found = self._fetch(sql, number, storable(first), span(number, 1, upto)[1])
        with encoding.reading(session):
            return made(((cell, path, body) for cell, path, body in found), self._part)

    def _beginning(self, number: int, first_cell: int) -> int:
        """The entry that all rows of these cells come after."""
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
            # One that is not there any more was, at its time, before all that have that time.
            terms.append("(s.updated, s.n) < (?, ifnull((select n from sessions where id = ?), 0))")
            values += [before.updated, storable(before.id)]
        where = f"where {' and '.join(terms)} " if terms else ""
        sql = f"{SUMMARY} {where} order by s.updated desc, s.n desc limit ?"
        with self._reading():
            return self._summed(sql, *values, -1 if limit is None else max(limit, 0))

    def summary(self, session: str) -> Summary:
        with self._reading():
            found = self._summed(f"{SUMMARY} where s.id = ?", storable(session))
        if not found:
            raise no_session(session)
        return found[0]

    def family(self, session: str) -> Sequence[Summary]:
        sql = (
            "with recursive f (n, id) as (select n, id from sessions where n = ? union select c.n, c.id from f "
            "join sessions c on c.parent = f.id or c.child_of = f.id) "
            f"{SUMMARY} where s.n in (select n from f) order by s.n <> ?, s.n"
        )
        with self._reading():
            root = self._root(self._known(session))
            return self._summed(sql, root, root)

    def _root(self, number: int) -> int:
        seen: set[int] = set()
        up = "select p.n from sessions s join sessions p on p.id = ifnull(s.parent, s.child_of) where s.n = ?"
        while number not in seen:
            seen.add(number)
            found = self._fetch(up, number)
            number = found[0][0] if found else number
        return number

    def _summed(self, sql: str, *values: Any) -> list[Summary]:
        """With the lock held."""
        holders = {id: holder_of(*who) for id, *who in self._fetch(HOLDERS, self.clock())}
        living = {id: who for id, who in holders.items() if leases.lives(who)}
        return [
            summary_of(one)
            if one[2] not in LIVE and one[0] not in living
            else summary_of((*one[:2], shown(one[2]), *one[3:7], self._count(one), *one[8:]), living.get(one[0]))
            for one in self._connection.execute(sql, values)
        ]

    def _count(self, columns: tuple[Any, ...]) -> int:
        """Entries. While a session is live, its rows are not counted as they are written."""
        if columns[2] not in LIVE:
            return columns[7]
        ((number,),) = self._fetch("select n from sessions where id = ?", columns[0])
        return self._last(number)


def holder_of(machine: Any, process: Any, started: Any, name: Any) -> Holder:
    return Holder(machine=restored(machine), process=int(process), started=restored(started), name=restored(name))
