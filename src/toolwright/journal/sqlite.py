"""A journal in one SQLite file: many sessions, many processes, one writer a session.

A call costs one statement before its effect and one after it. The statement has the fence in it, so there is no moment
between the check of a claim and the write. It does not know what rows mean to a replay.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from toolwright.errors import Fenced, JournalFailed, NoSession, UsageError
from toolwright.journal import encoding
from toolwright.journal.encoding import Large, storable
from toolwright.journal.rows import CellRow, Change, Checkpoint, Claim, Dropped, Facts, Row
from toolwright.journal.schema import connect, failure

SEQ_BITS = 32  # a claim's rows are numbered from `epoch << SEQ_BITS`: later claims come later


# Under a claim: the row, then the session's number and the claim's epoch. No row is written where the two do not meet.
_FENCED, _REPLACED = "from sessions where n = ? and epoch = ?", "do update set body = excluded.body"
WRITE_ROW = (
    f"insert into calls (session, cell, path, body, seq) select n, ?, ?, ?, ? {_FENCED} "
    f"on conflict (session, cell, path) {_REPLACED}"
)
WRITE_CELL = (
    f"insert into cells (session, number, body) select n, ?, ? {_FENCED} on conflict (session, number) {_REPLACED}"
)
WRITE_CHECKPOINT = (
    f"insert into checkpoints (session, cell, body) select n, ?, ? {_FENCED} on conflict (session, cell) {_REPLACED}"
)
DROP_CHECKPOINT = "delete from checkpoints where cell = ? and session = ?"


@dataclass(kw_only=True, slots=True)
class _Held:
    """A claim as this object knows it: the session's number in the file, and how far its rows are numbered."""

    session: str
    number: int
    seq: int


class SqliteJournal:
    """See `Journal`. Durable against the death of the process; against power loss too when `power_safe`.

    Its methods may be called from any thread, and wait for each other. `on_write` is for crash tests: it is called with
    the number of a durable write, and "before" or "after" it.
    """

    def __init__(self, path: str | os.PathLike[str], *, power_safe: bool = False) -> None:
        self.path = Path(path)
        self.on_write: Callable[[int, Literal["before", "after"]], None] | None = None
        self._writes = 0
        self._lock = threading.Lock()
        self._held: dict[int, _Held] = {}  # by epoch
        self._connection = connect(self.path, power_safe=power_safe)

    def close(self) -> None:
        with self._lock:
            self._held.clear()
            self._connection.close()

    # writing

    def create(self, facts: Facts) -> Claim:
        large: Large = {}
        body = encoding.facts_body(facts, large)
        with self._transaction():
            if self._number(facts.id) is not None:
                raise UsageError(f"there is a session {facts.id!r} already; name another, or resume it")
            epoch = self._next_epoch()
            insert = "insert into sessions (epoch, id, parent, body) values (?, ?, ?, ?)"
            values = epoch, storable(facts.id), storable(facts.parent) or None, body
            number = self._connection.execute(insert, values).lastrowid or 0
            self._store(number, large)
        return self._hold(facts.id, number, epoch)

    def claim(self, session: str) -> Claim:
        with self._transaction():
            number = self._known(session)
            epoch = self._next_epoch()
            self._connection.execute("update sessions set epoch = ? where n = ?", (epoch, number))
        return self._hold(session, number, epoch)

    def write(self, claim: Claim, *changes: Change) -> int:
        large: Large = {}
        steps = [_step(change, large) for change in changes]
        added = sum(len(columns[-1]) for sql, columns in steps if sql is not DROP_CHECKPOINT)
        if len(steps) != 1 or large or steps[0][0] is DROP_CHECKPOINT:
            with self._transaction():
                held = self._holder(claim)
                if not steps:
                    self._check(held, claim)
                added += self._store(held.number, large)
                for sql, columns in steps:
                    self._execute(held, claim, sql, columns)
            return added
        # The same for one small row, as nearly all are: a statement is a transaction.
        ((sql, columns),) = steps
        try:
            with self._lock:
                if self.on_write is not None:
                    self._announce("before")
                self._execute(self._holder(claim), claim, sql, columns)
                if self.on_write is not None:
                    self._announce("after")
        except sqlite3.Error as error:
            raise failure(self.path, error) from error
        return added

    def forget(self, session: str) -> None:
        with self._transaction():
            number = self._known(session)
            fork = self._fetch("select id from sessions where parent = ? and n <> ?", storable(session), number)
            if fork:
                raise UsageError(
                    f"session {session!r} has a fork, {encoding.restored(fork[0][0])!r}; forget that one first"
                )
            self._connection.execute(
                "delete from blobs where digest in (select digest from uses where session = ?) "
                "and not exists (select 1 from uses where uses.digest = blobs.digest and session <> ?)",
                (number, number),
            )
            for table in ("uses", "checkpoints", "cells", "calls"):
                self._connection.execute(f"delete from {table} where session = ?", (number,))
            self._connection.execute("delete from sessions where n = ?", (number,))

    def keep(self, session: str, content: bytes) -> str:
        content = bytes(content)
        digest = encoding.digest_of(content)
        with self._transaction():
            self._store(self._known(session), {digest: content})
        return digest

    # reading

    def sessions(self) -> Sequence[str]:
        return [encoding.restored(id) for (id,) in self._read("select id from sessions order by n")]

    def facts(self, session: str) -> Facts:
        found = self._read("select body from sessions where id = ?", storable(session))
        if not found:
            raise _no_session(session)
        with encoding.reading(session):
            return encoding.facts_of(session, found[0][0], self._part)

    def cells(self, session: str, first: int = 0) -> Sequence[CellRow]:
        found = self._of(session, "select number, body from cells where session = ? and number >= ? order by 1", first)
        with encoding.reading(session):
            return [encoding.cell_of(int(number), body, self._part) for number, body in found]

    def rows(self, session: str, first_cell: int = 0) -> Sequence[Row]:
        sql = "select cell, path, body from calls where session = ? and cell >= ? order by seq"
        found, restored = self._of(session, sql, first_cell), encoding.restored
        with encoding.reading(session):
            return [encoding.row_of(int(cell), restored(path), body, self._part) for cell, path, body in found]

    def checkpoints(self, session: str) -> Sequence[Checkpoint]:
        found = self._of(session, "select cell, body from checkpoints where session = ? order by cell")
        with encoding.reading(session):
            return [encoding.checkpoint_of(int(cell), body) for cell, body in found]

    def blob(self, digest: str) -> bytes:
        found = self._read("select content from blobs where digest = ?", storable(digest))
        if not found:
            raise KeyError(digest)
        return encoding.checked(digest, found[0][0])

    def _part(self, digest: str) -> bytes:
        """A large part of a row."""
        try:
            return self.blob(digest)
        except KeyError:
            raise JournalFailed(f"journal {self.path}: blob {digest} is missing, and a row needs it") from None

    def _of(self, session: str, sql: str, *first: int) -> list[tuple[Any, ...]]:
        try:
            with self._lock:
                return self._fetch(sql, self._known(session), *first)
        except sqlite3.Error as error:
            raise failure(self.path, error) from error

    def _read(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        try:
            with self._lock:
                return self._fetch(sql, *values)
        except sqlite3.Error as error:
            raise failure(self.path, error) from error

    # with the lock held

    @contextmanager
    def _transaction(self) -> Generator[None]:
        """All or nothing, from the first read to the last write, with nobody else's write between."""
        try:
            with self._lock:
                if self.on_write is not None:
                    self._announce("before")
                self._connection.execute("begin immediate")
                try:
                    yield
                    self._connection.execute("commit")
                finally:
                    if self._connection.in_transaction:
                        with suppress(sqlite3.Error):  # what failed first is the reason
                            self._connection.execute("rollback")
                if self.on_write is not None:
                    self._announce("after")
        except sqlite3.Error as error:
            raise failure(self.path, error) from error

    def _announce(self, moment: Literal["before", "after"]) -> None:
        if moment == "before":
            self._writes += 1
        if self.on_write is not None:
            self.on_write(self._writes, moment)

    def _fetch(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql, values).fetchall()

    def _number(self, session: str) -> int | None:
        found = self._fetch("select n from sessions where id = ?", storable(session))
        return found[0][0] if found else None

    def _known(self, session: str) -> int:
        number = self._number(session)
        if number is None:
            raise _no_session(session)
        return number

    def _next_epoch(self) -> int:
        self._connection.execute("update epochs set last = last + 1")
        return self._fetch("select last from epochs")[0][0]

    def _store(self, number: int, large: Large) -> int:
        added, insert = 0, "insert or ignore into blobs (digest, content) values (?, ?)"
        for digest, content in large.items():
            new = self._connection.execute(insert, (digest, content)).rowcount
            added += len(content) if new else 0
            self._connection.execute("insert or ignore into uses values (?, ?)", (number, digest))
        return added

    def _hold(self, session: str, number: int, epoch: int) -> Claim:
        self._held[epoch] = _Held(session=session, number=number, seq=epoch << SEQ_BITS)
        return Claim(session=session, epoch=epoch)

    def _holder(self, claim: Claim) -> _Held:
        """What is known of a claim. Whether it still holds is for the write itself to find."""
        held = self._held.get(claim.epoch)
        if held is None or held.session != claim.session:
            found = self._fetch(
                "select n from sessions where id = ? and epoch = ?", storable(claim.session), claim.epoch
            )
            if not found:
                raise self._fenced(claim)
            number: int = found[0][0]
            ((last,),) = self._fetch("select max(seq) from calls where session = ?", number)
            held = _Held(session=claim.session, number=number, seq=max(last or 0, claim.epoch << SEQ_BITS))
            self._held[claim.epoch] = held
        return held

    def _check(self, held: _Held, claim: Claim) -> None:
        if not self._fetch("select 1 from sessions where n = ? and epoch = ?", held.number, claim.epoch):
            raise self._fenced(claim)

    def _execute(self, held: _Held, claim: Claim, sql: str, columns: tuple[Any, ...]) -> None:
        if sql is DROP_CHECKPOINT:
            self._check(held, claim)
            return self._drop(held.number, *columns)
        if sql is WRITE_ROW:
            held.seq += 1
            columns = (*columns, held.seq, held.number, claim.epoch)
        else:
            columns = (*columns, held.number, claim.epoch)
        try:
            cursor = self._connection.execute(sql, columns)
        except (UnicodeEncodeError, OverflowError):
            cursor = self._connection.execute(sql, [storable(column) for column in columns])
        if cursor.rowcount != 1:
            raise self._fenced(claim)

    def _drop(self, number: int, cell: int) -> None:
        """A checkpoint with its blob."""
        found = self._fetch("select body from checkpoints where cell = ? and session = ?", storable(cell), number)
        for (body,) in found:
            digest = storable(encoding.checkpoint_of(cell, body).digest)
            self._connection.execute(DROP_CHECKPOINT, (storable(cell), number))
            self._connection.execute("delete from uses where session = ? and digest = ?", (number, digest))
            self._connection.execute(
                "delete from blobs where digest = ? and not exists (select 1 from uses where digest = ?)",
                (digest, digest),
            )

    def _fenced(self, claim: Claim) -> Fenced:
        self._held.pop(claim.epoch, None)
        gone = self._number(claim.session) is None
        what = "was forgotten" if gone else "was taken over by another process"
        return Fenced(f"session {claim.session!r} {what}; this one writes nothing more to it")


def _step(change: Change, large: Large) -> tuple[str, tuple[Any, ...]]:
    if type(change) is Row:
        return WRITE_ROW, (change.cell, change.path, encoding.row_body(change, large))
    if type(change) is CellRow:
        return WRITE_CELL, (change.number, encoding.cell_body(change, large))
    if type(change) is Checkpoint:
        return WRITE_CHECKPOINT, (change.cell, encoding.checkpoint_body(change, large))
    if type(change) is Dropped:
        return DROP_CHECKPOINT, (change.cell,)
    raise UsageError(f"a journal keeps Row, CellRow and Checkpoint; this is a {type(change).__name__}")


def _no_session(session: str) -> NoSession:
    return NoSession(f"the journal has no session {session!r}")
