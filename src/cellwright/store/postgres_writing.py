"""Entries added to a session in PostgreSQL under a claim, and sessions forgotten.

The claim is checked in the statement that writes, which keeps others from taking it until it is done. An entry's number
is chosen here: one whose connection was lost can be looked for, and is written again where it is not there.
"""

from __future__ import annotations

from collections.abc import Sequence

import psycopg

from cellwright.errors import UsageError
from cellwright.store import encoding
from cellwright.store.encoding import Large
from cellwright.store.entries import stored
from cellwright.store.postgres_claims import Held, PostgresClaims
from cellwright.store.postgres_database import CLOCK, text_of
from cellwright.store.postgres_failures import told
from cellwright.store.postgres_schema import BLOBS, INDEXING, plain, safe
from cellwright.store.rows import Change, Checkpoint, Claim, Dropped, Forgotten, Kept, Note
from cellwright.store.standing import Standing, after, counts, follows, whole

Columns = tuple[str, int, str, bool, str]  # kind, cell, path, packed, body

ADD = "insert into entries (session, number, parent, epoch, at, kind, cell, path, packed, body)"
# `for share`: who claims the session waits until this is committed, or this waits for the claim and finds it taken.
ADD_ROW = (
    f"{ADD} select n, %s, %s, epoch, {CLOCK}, %s, %s, %s, %s, %s from sessions where n = %s and epoch = %s for share"
)
ADD_ANY = f"{ADD} values (%s, %s, %s, %s, {CLOCK}, %s, %s, %s, %s, %s)"
STANDING = "select title, name, state, turns, cells from sessions where n = %s and epoch = %s for no key update"
STAND = (
    f"update sessions set title = %s, name = %s, state = %s, turns = %s, cells = %s, updated = {CLOCK}, stale = true "
    "where n = %s"
)
CHECKPOINT = (
    "insert into checkpoints values (%s, %s, %s) on conflict (session, cell) do update set body = excluded.body"
)
SIZE = "select count(distinct b.digest), coalesce(sum(length(b.content)), 0)"
OWN = (  # the blobs that only this session uses
    "from blobs b where b.digest in (select digest from uses where session = %s) "
    "and not exists (select 1 from uses u where u.digest = b.digest and u.session <> %s)"
)


class PostgresWriting(PostgresClaims):
    """The other half of `Writing`."""

    @told
    def write(self, claim: Claim, *changes: Change) -> int:
        large: Large = {}
        columns = [_columns(change, large) for change in changes]
        small = len(changes) == 1 and columns[0][0] == "row" and not large and not counts(changes[0])
        try:
            if small:
                return self._add_row(claim, columns[0])
        except psycopg.errors.UniqueViolation:
            pass  # another object wrote under the same claim, and its entries are to be counted first
        return self._add_all(claim, changes, columns, large)

    def _add_row(self, claim: Claim, columns: Columns) -> int:
        """One small row, as nearly all are: a statement is a transaction."""
        size = len(columns[-1])

        def work() -> int:
            held = self._holder(claim)
            number = held.last + 1
            added = self._link.run(ADD_ROW, number, held.last, *columns, held.number, claim.epoch)
            if added.rowcount != 1:
                raise self._fenced(claim)
            held.last = number
            return size

        def made() -> int | None:
            held = self._holder(claim)
            if not self._is_there(held, held.last + 1, claim, columns):
                return None
            held.last += 1
            return size

        return self._link.once(work, made)

    def _add_all(self, claim: Claim, changes: Sequence[Change], columns: Sequence[Columns], large: Large) -> int:
        """Any changes: all or none."""
        size = sum(len(one[-1]) for one in columns)
        held: Held | None = None

        def work() -> int:
            nonlocal held
            number = self._holder(claim).number
            standing = self._standing(number, claim)
            held = self._hold(claim.session, number)  # not as this object knows it: others may have written
            added = size + self._store(number, large)
            for change, one in zip(changes, columns, strict=True):
                if isinstance(change, Checkpoint):
                    self._link.run(CHECKPOINT, number, change.cell, one[-1])
                elif isinstance(change, Dropped):
                    self._drop(number, change.cell)
                else:
                    standing = after(standing, change, lambda kind, n: self._is_known(number, kind, n))
                    self._add(held, claim, change, one)
            if any(map(counts, changes)):
                texts = safe(standing.title), safe(standing.name)
                self._link.run(STAND, *texts, standing.state, standing.turns, standing.cells, number)
            return added

        def made() -> int | None:
            kept = [one for one in columns if one[0]]
            return size if held and kept and self._is_there(held, held.last, claim, kept[-1]) else None

        # Who drops a blob must not meet one that another session begins to use.
        drops = any(isinstance(change, Dropped) for change in changes)
        first = self._locked(BLOBS) if drops else self._keeping(large)
        added = self._link.transact(work, first=first, made=made)
        if held is not None:
            self._held[claim.epoch] = held
        return added

    def _is_there(self, held: Held, number: int, claim: Claim, columns: Columns) -> bool:
        """Whether an entry was written after all, before the connection was lost."""
        sql = "select 1 from entries where session = %s and number = %s and epoch = %s and body = %s"
        return bool(self._link.fetch(sql, held.number, number, claim.epoch, columns[-1]))

    def _standing(self, number: int, claim: Claim) -> Standing:
        found = self._link.fetch(STANDING, number, claim.epoch)
        if not found:
            raise self._fenced(claim)
        ((title, name, state, turns, cells),) = found
        return Standing(title=plain(title), name=plain(name), state=state, turns=turns, cells=cells)

    def _is_known(self, number: int, kind: str, of: int) -> bool:
        sql = f"select 1 from entries where session = %s and kind = '{kind}' and cell = %s limit 1"
        return bool(self._link.fetch(sql, number, of))

    def _add(self, held: Held, claim: Claim, change: Kept, columns: Columns) -> None:
        number = held.last + 1
        parent = self._before(held, change) if isinstance(change, Note) else held.last
        self._link.run(ADD_ANY, held.number, number, parent, claim.epoch, *columns)
        held.last = number
        if isinstance(change, Note) and change.kind == "message":
            self._link.run("delete from inbox where session = %s and n = %s", held.number, whole(change.about))

    def _before(self, held: Held, note: Note) -> int:
        known = follows(note, held.last)
        if known is not None:
            return known
        sql = (
            "select number from entries where session = %s and kind = 'cell' and cell <= %s "
            "order by cell desc, number desc limit 1"
        )
        found = self._link.fetch(sql, held.number, whole(note.about) or 0)
        return found[0][0] if found else 0

    def _drop(self, number: int, cell: int) -> None:
        """A checkpoint with its blob."""
        sql = "delete from checkpoints where session = %s and cell = %s returning body"
        for (body,) in self._link.fetch(sql, number, cell):
            digest = safe(encoding.checkpoint_of(cell, body).digest)
            self._link.run("delete from uses where session = %s and digest = %s", number, digest)
            unused = "delete from blobs where digest = %s and not exists (select 1 from uses where digest = %s)"
            self._link.run(unused, digest, digest)

    @told
    def forget(self, session: str) -> Forgotten:
        def work() -> Forgotten:
            found = self._link.fetch("select n from sessions where id = %s for update", safe(session))
            number: int = found[0][0] if found else self._known(session)
            self._check_alone(session, number)
            run, fetch = self._link.run, self._link.fetch
            ((blobs, content),) = fetch(f"{SIZE} {OWN}", number, number)
            sql = "select count(*), coalesce(sum(length(body)), 0) from entries where session = %s"
            ((count, size),) = fetch(sql, number)
            run(f"delete {OWN}", number, number)
            run("delete from decisions where question in (select n from questions where session = %s)", number)
            for table in ("entries", "uses", "checkpoints", "facts", "questions", "grants", "inbox"):
                run(f"delete from {table} where session = %s", number)
            indexed = run("delete from texts where session = %s", number).rowcount
            run("delete from sessions where n = %s", number)
            return Forgotten(entries=count, blobs=blobs, bytes=int(size + content), indexed=indexed)

        return self._link.transact(work, first=f"{self._locked(BLOBS)}; {self._locked(INDEXING)}")

    def _check_alone(self, session: str, number: int) -> None:
        for column, what in (("parent", "fork"), ("child_of", "child")):
            sql = f"select id from sessions where {column} = %s and n <> %s limit 1"
            for (other,) in self._link.fetch(sql, safe(session), number):
                raise UsageError(f"session {session!r} has a {what}, {plain(other)!r}; forget that one first")


def _columns(change: Change, large: Large) -> Columns:
    """An entry as the table has it; for what is none, the body alone."""
    if isinstance(change, Checkpoint):
        return "", 0, "", False, text_of(encoding.checkpoint_body(change, large))
    if isinstance(change, Dropped):
        return "", 0, "", False, ""
    kind, cell, path, body = stored(change, large)
    return kind, cell, safe(path), isinstance(body, bytes), text_of(body)
