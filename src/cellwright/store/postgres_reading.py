"""Reading sessions from PostgreSQL: what was written, folded, and lists of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, TypeVar

from cellwright.store import encoding, entries, leases, standing
from cellwright.store.postgres_blobs import PostgresBlobs
from cellwright.store.postgres_claims import holder_of
from cellwright.store.postgres_database import body_of, no_session
from cellwright.store.postgres_failures import told
from cellwright.store.postgres_link import Fetched
from cellwright.store.postgres_schema import plain, safe
from cellwright.store.rows import CellRow, Checkpoint, Entry, Facts, Holder, Note, Row, Summary, TurnRow

T = TypeVar("T")
Fold = Callable[[Iterable[entries.Raw], encoding.Fetch], T]

SUMMARY = (
    "select s.id, s.title, s.name, s.state, s.created, s.updated, s.turns, s.cells, s.agent, s.parent, s.parent_cell, "
    "s.parent_entry, s.child_of, s.machine, s.process, s.started, s.holder, s.until > clock_timestamp(), "
    "coalesce((select max(e.number) from entries e where e.session = s.n), 0) from sessions s"
)
UP = "select p.n from sessions s join sessions p on p.id = coalesce(s.parent, s.child_of) where s.n = %s"
FAMILY = (
    "with recursive f (n, id) as (select n, id from sessions where n = %s union select c.n, c.id from f "
    f"join sessions c on c.parent = f.id or c.child_of = f.id) {SUMMARY} where s.n in (select n from f) "
    "order by s.n <> %s, s.n"
)


class PostgresReading(PostgresBlobs):
    """See `Reading`."""

    @told
    def sessions(self) -> Sequence[str]:
        return [plain(id) for (id,) in self._link.read("select id from sessions order by n")]

    @told
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
            # One that is not there any more was, at its time, before all that have that time.
            tests.append("(s.updated, s.n) < (%s, coalesce((select n from sessions where id = %s), 0))")
            values += [before.updated, safe(before.id)]
        where = f" where {' and '.join(tests)}" if tests else ""
        values.append(None if limit is None else max(limit, 0))
        return _summaries(self._link.read(f"{SUMMARY}{where} order by s.updated desc, s.n desc limit %s", *values))

    @told
    def summary(self, session: str) -> Summary:
        found = self._link.read(f"{SUMMARY} where s.id = %s", safe(session))
        if not found:
            raise no_session(session)
        return _summaries(found)[0]

    @told
    def family(self, session: str) -> Sequence[Summary]:
        def work() -> Fetched:
            root = self._root(self._known(session))
            return self._link.fetch(FAMILY, root, root)

        return _summaries(self._link.reading(work))

    def _root(self, number: int) -> int:
        seen: set[int] = set()
        while number not in seen:
            seen.add(number)
            found = self._link.fetch(UP, number)
            number = found[0][0] if found else number
        return number

    @told
    def facts(self, session: str) -> Facts:
        sql = "select f.body from facts f join sessions s on s.n = f.session where s.id = %s"
        found = self._link.read(sql, safe(session))
        if not found:
            raise no_session(session)
        with encoding.reading(session):
            return encoding.facts_of(session, found[0][0], self._part)

    @told
    def entries(self, session: str, first: int = 1, upto: int | None = None) -> Sequence[Entry]:
        sql = "e.number, e.parent, e.at, e.kind, e.cell, e.path, e.packed, e.body"
        with encoding.reading(session):
            return [
                entries.entry_of(
                    (session, number, parent, at), kind, (cell, plain(path), body_of(packed, body)), self._part
                )
                for number, parent, at, kind, cell, path, packed, body in self._of(
                    session, sql, "e.number >= %s", upto, first
                )
            ]

    @told
    def cells(self, session: str, first: int = 0, upto: int | None = None) -> Sequence[CellRow]:
        return self._folded(session, "e.kind = 'cell' and e.cell >= %s", upto, entries.cells_of, first)

    @told
    def rows(self, session: str, first_cell: int = 0, upto: int | None = None) -> Sequence[Row]:
        return self._folded(session, "e.kind = 'row' and e.cell >= %s", upto, entries.rows_of, first_cell)

    @told
    def turns(self, session: str, upto: int | None = None) -> Sequence[TurnRow]:
        return self._folded(session, "e.kind = 'turn'", upto, entries.turns_of)

    @told
    def notes(self, session: str, upto: int | None = None) -> Sequence[Note]:
        return self._folded(session, "e.kind = 'note'", upto, entries.notes_of)

    @told
    def checkpoints(self, session: str) -> Sequence[Checkpoint]:
        sql = "select c.cell, c.body from sessions s left join checkpoints c on c.session = s.n where s.id = %s"
        found = self._link.read(f"{sql} order by c.cell", safe(session))
        if not found:
            raise no_session(session)
        with encoding.reading(session):
            return [encoding.checkpoint_of(cell, body) for cell, body in found if body is not None]

    def _folded(self, session: str, test: str, upto: int | None, fold: Fold[T], *values: int) -> T:
        found = self._of(session, "e.cell, e.path, e.packed, e.body", test, upto, *values)
        with encoding.reading(session):
            return fold([(cell, plain(path), body_of(packed, body)) for cell, path, packed, body in found], self._part)

    def _of(self, session: str, columns: str, test: str, upto: int | None, *values: int) -> Fetched:
        """Entries of a session, as they were written. One statement: one moment, and one message."""
        sql = f"select {columns} from sessions s left join entries e on e.session = s.n and {test}"
        if upto is not None:
            sql, values = f"{sql} and e.number <= %s", (*values, upto)
        found = self._link.read(f"{sql} where s.id = %s order by e.number", *values, safe(session))
        if not found:
            raise no_session(session)
        return [one for one in found if one[-1] is not None]


def _summaries(found: Fetched) -> list[Summary]:
    lives = cache(leases.lives)  # one process may hold many of them
    return [_summary(lives, *one) for one in found]


def _summary(lives: Callable[[Holder], bool], *columns: Any) -> Summary:
    id, title, name, state, created, updated, turns, cells, agent, parent, cell, entry, child_of, *lease, last = columns
    *who, holds = lease
    holder = holder_of(*who) if holds else None
    return Summary(
        id=plain(id),
        title=plain(name or title),
        state=standing.shown(state),
        created=created,
        updated=updated,
        turns=turns,
        cells=cells,
        entries=last,
        name=plain(name),
        agent=plain(agent),
        parent=plain(parent or ""),
        parent_cell=cell,
        parent_entry=entry,
        child_of=plain(child_of or ""),
        holder=holder if holder is not None and lives(holder) else None,
    )
