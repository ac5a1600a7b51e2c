"""Entries added to a session of `SqliteStore` under a claim, and sessions forgotten.

A call costs one statement before its effect and one after it. The statement has the fence in it, so there is no moment
between the check of a claim and the write.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from cellwright.errors import UsageError
from cellwright.store import encoding
from cellwright.store.encoding import Large, restored, storable
from cellwright.store.entries import stored
from cellwright.store.index import Index
from cellwright.store.rows import CellRow, Change, Checkpoint, Claim, Dropped, Forgotten, Kept, Note, Row
from cellwright.store.schema import failure
from cellwright.store.sqlite_claims import Held, SqliteClaims
from cellwright.store.sqlite_file import span
from cellwright.store.standing import LIVE, Standing, after, counts, follows, whole
from cellwright.store.tables import NUMBER_BITS

ADD = "insert into entries (n, session, number, parent, kind, cell, path, at, body)"
ADD_ROW = f"{ADD} select ?, n, ?, ?, 'row', ?, ?, ?, ? from sessions where n = ? and epoch = ?"
ADD_ANY = f"{ADD} values (?, ?, ?, ?, ?, ?, ?, ?, ?)"
STANDING = "select title, name, state, turns, cells, early from sessions where n = ? and epoch = ?"


class SqliteWriting(SqliteClaims):
    """See `Writing`."""

    def write(self, claim: Claim, *changes: Change) -> int:
        large: Large = {}
        if len(changes) == 1 and type(row := changes[0]) is Row and row.door != "model":
            body = encoding.row_body(row, large)
            if not large and self._add_row(claim, row, body):
                return len(body)
        return self._write(claim, changes)

    def _add_row(self, claim: Claim, row: Row, body: encoding.Body) -> bool:
        """One small row, as nearly all are: a statement is a transaction. False where it takes more than that."""
        try:
            with self._lock:
                held = self._holder(claim)
                if row.cell > held.top or not held.live:
                    return False
                if self.on_write is not None:
                    self._announce("before")
                number = held.last + 1
                place = (held.number << NUMBER_BITS) + number, number, held.last
                values = (*place, row.cell, row.path, self.clock(), body, held.number, claim.epoch)
                try:
                    changed = self._connection.execute(ADD_ROW, values)
                except (UnicodeEncodeError, OverflowError):
                    changed = self._connection.execute(ADD_ROW, [storable(value) for value in values])
                if changed.rowcount != 1:
                    raise self._fenced(claim)
                held.last = number
                if self.on_write is not None:
                    self._announce("after")
        except sqlite3.IntegrityError:
            return False  # another object wrote under the same claim, and its entries are to be counted first
        except sqlite3.Error as error:
            raise failure(self.path, error) from error
        return True

    def _write(self, claim: Claim, changes: Sequence[Change]) -> int:
        """Any changes: all or none."""
        large: Large = {}
        parts = [_parts(change, large) for change in changes]
        files: list[str] = []
        with self._transaction():
            number = self._holder(claim).number
            standing = known = self._standing(number, claim)
            held = self._hold(claim.session, number)  # not as this object knows it: others may have written
            last = held.last
            added = self._store(number, large) + sum(len(part[-1]) for part in parts)
            for change, part in zip(changes, parts, strict=True):
                if isinstance(change, Checkpoint):
                    sql = "insert or replace into checkpoints (session, cell, body) values (?, ?, ?)"
                    self._run(sql, number, change.cell, part[-1])
                elif isinstance(change, Dropped):
                    files += self._drop(number, change.cell)
                else:
                    standing = after(standing, change, lambda kind, n: self._is_known(number, kind, n))
                    if isinstance(change, Row) and change.cell > held.top:
                        held.top, standing = change.cell, replace(standing, early=change.cell)
                    self._add(held, change, part)
            if any(map(counts, changes)) or (not held.live and held.last > last):
                self._stand(held, standing)
            elif standing != known:
                self._run("update sessions set early = ? where n = ?", standing.early, number)
        self._held[claim.epoch] = held
        if files:
            self._remove_files(files)
        return added

    def _standing(self, number: int, claim: Claim) -> Standing:
        found = self._fetch(STANDING, number, storable(claim.epoch))
        if not found:
            raise self._fenced(claim)
        ((title, name, state, turns, cells, early),) = found
        return Standing(
            title=restored(title), name=restored(name), state=state, turns=turns, cells=cells, early=int(early)
        )

    def _stand(self, held: Held, now: Standing) -> None:
        held.live = now.state in LIVE
        self._run(
            "update sessions set title = ?, name = ?, state = ?, turns = ?, cells = ?, early = ?, entries = ?, "
            "updated = ?, stale = 1 where n = ?",
            *(now.title, now.name, now.state, now.turns, now.cells, now.early, held.last, self.clock(), held.number),
        )

    def _is_known(self, number: int, kind: str, of: int) -> bool:
        sql = f"select 1 from entries where session = ? and kind = '{kind}' and cell = ? limit 1"
        return bool(self._fetch(sql, number, storable(of)))

    def _add(self, held: Held, change: Kept, part: tuple[Any, ...]) -> None:
        number = held.last + 1
        parent = self._before(held, change) if isinstance(change, Note) else held.last
        place = (held.number << NUMBER_BITS) + number, held.number, number, parent
        self._run(ADD_ANY, *place, *part[:3], self.clock(), part[3])
        held.last = number
        if isinstance(change, CellRow):
            held.top = max(held.top, change.number)
        elif isinstance(change, Note) and change.kind == "message":
            self._run("delete from inbox where session = ? and n = ?", held.number, whole(change.about))

    def _before(self, held: Held, note: Note) -> int:
        known = follows(note, held.last)
        if known is not None:
            return known
        sql = (
            "select number from entries where session = ? and kind = 'cell' and cell <= ? "
            "order by cell desc, n desc limit 1"
        )
        found = self._fetch(sql, held.number, whole(note.about) or 0)
        return found[0][0] if found else 0

    def _drop(self, number: int, cell: int) -> list[str]:
        """A checkpoint with its blob. Those blobs that are files, and nobody's any more, are to be removed."""
        files: list[str] = []
        found = self._fetch("select body from checkpoints where cell = ? and session = ?", storable(cell), number)
        for (body,) in found:
            digest = encoding.checkpoint_of(cell, body).digest
            self._run("delete from checkpoints where cell = ? and session = ?", cell, number)
            self._run("delete from uses where session = ? and digest = ?", number, digest)
            unused = "from blobs where digest = ? and not exists (select 1 from uses where digest = ?)"
            one = storable(digest)
            files += [name for (name,) in self._fetch(f"select digest {unused} and {IS_FILE}", one, one)]
            self._run(f"delete {unused}", one, one)
        return files

    def forget(self, session: str) -> Forgotten:
        with self._transaction():
            number = self._known(session)
            self._check_alone(session, number)
            ((blobs, content),) = self._fetch(f"select count(*), ifnull(sum({SIZE}), 0) {OWN}", number, number)
            files = [name for (name,) in self._fetch(f"select digest {OWN} and {IS_FILE}", number, number)]
            sql = "select count(*), ifnull(sum(length(cast(body as blob))), 0) from entries where n between ? and ?"
            ((count, size),) = self._fetch(sql, *span(number))
            self._run(f"delete {OWN}", number, number)
            self._run("delete from entries where n between ? and ?", *span(number))
            indexed = Index(self._connection).forget(number)
            self._run("delete from decisions where question in (select n from questions where session = ?)", number)
            for table in ("uses", "checkpoints", "facts", "questions", "grants", "inbox"):
                self._run(f"delete from {table} where session = ?", number)
            self._run("delete from sessions where n = ?", number)
        if files:
            self._remove_files(files)
        return Forgotten(entries=count, blobs=blobs, bytes=size + content, indexed=indexed)

    def _check_alone(self, session: str, number: int) -> None:
        for column, what in (("parent", "fork"), ("child_of", "child")):
            sql = f"select id from sessions where {column} = ? and n <> ? limit 1"
            for (other,) in self._fetch(sql, storable(session), number):
                raise UsageError(f"session {session!r} has a {what}, {restored(other)!r}; forget that one first")


IS_FILE = "typeof(content) = 'text'"
SIZE = f"case when {IS_FILE} then cast(content as integer) else length(content) end"
OWN = (  # the blobs that only this session uses
    "from blobs where digest in (select digest from uses where session = ?) "
    "and not exists (select 1 from uses where uses.digest = blobs.digest and session <> ?)"
)


def _parts(change: Change, large: Large) -> tuple[Any, ...]:
    """Kind, cell, path and body of an entry; for what is none, the body alone."""
    if isinstance(change, Checkpoint):
        return (encoding.checkpoint_body(change, large),)
    if isinstance(change, Dropped):
        return ("",)
    return stored(change, large)
