"""Claims sessions in SQLite, adds entries under a claim, and forgets sessions.

A call costs one statement before its effect and one after it. The statement itself checks the claim, so no other claim
can come between the check and the write.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from cellwright.errors import UsageError
from cellwright.store import leases
from cellwright.store.codec import CHECKPOINTS, FACTS, Body, Large
from cellwright.store.contract import LEASE_S
from cellwright.store.entry_codec import holder_of, parts_of
from cellwright.store.row_codec import row_body
from cellwright.store.rows import (
    CellRow,
    Change,
    Checkpoint,
    Claim,
    DroppedCheckpoint,
    EntryChange,
    Facts,
    Forgotten,
    LeaseHolder,
    Note,
    Question,
    Row,
)
from cellwright.store.session_state import LIVE, SessionState, after, asked, counts, whole
from cellwright.store.sql_database import OpenClaim
from cellwright.store.sqlite_database import IS_FILE, SIZE, WouldWait, restored, span, storable
from cellwright.store.sqlite_index import TextIndex
from cellwright.store.sqlite_questions import SqliteQuestions
from cellwright.store.sqlite_schema import NUMBER_BITS

ADD = "insert into entries (n, session, number, parent, kind, cell, path, at, body)"
ADD_ROW = f"{ADD} select ?, n, ?, ?, 'row', ?, ?, ?, ? from sessions where n = ? and epoch = ?"
ADD_ANY = f"{ADD} values (?, ?, ?, ?, ?, ?, ?, ?, ?)"
STATE = "select title, name, state, turns, cells, early from sessions where n = ? and epoch = ?"
PROMPT = 256 << 10  # bytes of contents that are written at once, where nothing may wait
LEASE = "update sessions set epoch = ?, machine = ?, process = ?, started = ?, holder = ?, until = ? where n = ?"


class SqliteWriter(SqliteQuestions):
    """See `StoreWriter`."""

    _flushes = False  # a commit waits for the disk

    # claims

    def create(self, facts: Facts, holder: LeaseHolder | None = None) -> Claim:
        large: Large = {}
        body = FACTS.body(facts, large)
        with self._transaction():
            if self._number(facts.id) is not None:
                raise UsageError(f"there is a session {facts.id!r} already; name another, or resume it")
            epoch = self._next_epoch()
            self._run(
                "insert into sessions (epoch, id, parent, child_of, parent_cell, parent_entry, agent, created, "
                "updated, early) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                *(epoch, facts.id, facts.parent or None, facts.child_of or None, facts.parent_cell, facts.parent_entry),
                *(facts.agent, facts.created, facts.created, max(facts.parent_cell, 0)),
            )
            number = self._known(facts.id)
            self._run("insert into facts values (?, ?)", number, body)
            self._store(number, large)
            self._lease(number, epoch, holder)
        self._claims[epoch] = OpenClaim(session=facts.id, number=number, last=0, top=max(facts.parent_cell, 0))
        return Claim(session=facts.id, epoch=epoch)

    def claim(self, session: str, holder: LeaseHolder | None = None, *, take_over: bool = True) -> Claim:
        with self._transaction():
            number = self._known(session)
            if not take_over:
                self._check_free(session, number, holder)
            epoch = self._next_epoch()
            self._lease(number, epoch, holder)
            held = self._open_claim(session, number)
        self._claims[epoch] = held
        return Claim(session=session, epoch=epoch)

    def renew(self, *claims: Claim) -> Sequence[Claim]:
        sql = "update sessions set until = case when machine is null then 0 else ? end where id = ? and epoch = ?"
        with self._transaction(quiet=True):
            until = self.clock() + LEASE_S
            return [claim for claim in claims if self._run(sql, until, claim.session, claim.epoch)]

    def release(self, claim: Claim) -> None:
        with self._transaction():
            sql = "update sessions set until = 0, machine = null where id = ? and epoch = ?"
            self._run(sql, claim.session, claim.epoch)
        self._claims.pop(claim.epoch, None)  # a process may have thousands of sessions, one after the other

    def _check_free(self, session: str, number: int, holder: LeaseHolder | None) -> None:
        ((until, *other),) = self._fetch(
            "select until, machine, process, started, holder from sessions where n = ?", number
        )
        if until <= self.clock() or other[0] is None:
            return
        leases.check_free(session, holder_of(restored, *other), holder)

    def _lease(self, number: int, epoch: int, holder: LeaseHolder | None) -> None:
        if holder is None:
            self._run(LEASE, epoch, None, None, None, None, 0, number)
        else:
            until = self.clock() + LEASE_S
            self._run(LEASE, epoch, holder.machine, holder.process, holder.started, holder.name, until, number)

    def _next_epoch(self) -> int:
        self._connection.execute("update epochs set last = last + 1")
        return self._fetch("select last from epochs")[0][0]

    def _open_claim(self, session: str, number: int) -> OpenClaim:
        ((state, early, cell),) = self._fetch(
            "select state, early, (select max(cell) from entries where session = sessions.n and kind = 'cell') "
            "from sessions where n = ?",
            number,
        )
        return OpenClaim(
            session=session,
            number=number,
            last=self._last(number),
            top=max(int(early), int(cell or 0)),
            live=state in LIVE,
        )

    # entries

    def write(self, claim: Claim, *changes: Change) -> int:
        return self._written(claim, changes)

    def try_write(self, claim: Claim, *changes: Change) -> int | None:
        """See `PromptStore`. A subclass with a `write` of its own is written by that."""
        if self._flushes or type(self).write is not SqliteWriter.write or not self._lock.acquire(blocking=False):
            return None
        self._prompt, writes = True, self._writes
        try:
            return self._written(claim, changes, most=PROMPT)
        except WouldWait:
            self._writes = writes  # nothing was written
            return None
        finally:
            self._prompt = False
            self._lock.release()

    def _written(self, claim: Claim, changes: Sequence[Change], most: int | None = None) -> int:
        large: Large = {}
        if len(changes) == 1 and type(row := changes[0]) is Row and row.door != "model":
            body = row_body(row, large)
            if not large and self._add_row(claim, row, body):
                return len(body)
        return self._write(claim, changes, most)

    def ask(self, claim: Claim, question: Question) -> Question:
        self._write(claim, [question])
        return self.question(question.id)

    def _add_row(self, claim: Claim, row: Row, body: Body) -> bool:
        """Write one small row, as nearly all are, by one statement. False where more is to be written with it."""
        with self._lock:
            try:
                held = self._claimed(claim)
                if row.cell > held.top or not held.live:
                    return False
                if self._file is not None:
                    self._file.glance()
                if self.on_write is not None:
                    self._announce("before")
                number = held.last + 1
                place = (held.number << NUMBER_BITS) + number, number, held.last
                values = (*place, row.cell, row.path, self.clock(), body, held.number, claim.epoch)
                try:
                    changed = self._execute(ADD_ROW, values)
                except (UnicodeEncodeError, OverflowError):
                    changed = self._execute(ADD_ROW, [storable(value) for value in values])
                if changed.rowcount != 1:
                    raise self._fenced(claim)
                held.last = number
                if self._file is not None:
                    self._file.wrote(1)
                if self.on_write is not None:
                    self._announce("after")
            except sqlite3.IntegrityError:
                return False  # another store object wrote under the same claim: `_write` reads the last number anew
            except sqlite3.Error as error:
                raise self._failure(error) from error
        return True

    def _write(self, claim: Claim, changes: Sequence[Change], most: int | None = None) -> int:
        """Write any changes, all or none. `WouldWait` for more than `most` bytes."""
        large: Large = {}
        parts = [parts_of(change, large) for change in changes]
        if most is not None and sum(map(len, large.values())) > most:
            raise WouldWait
        files: list[str] = []
        with self._transaction():
            number = self._claimed(claim).number
            state = known = self._state(number, claim)
            held = self._open_claim(claim.session, number)  # read anew: another store object may have written
            last = held.last
            added = self._store(number, large) + sum(len(part[-1]) for part in parts)
            for change, part in zip(changes, parts, strict=True):
                if isinstance(change, Checkpoint):
                    sql = "insert or replace into checkpoints (session, cell, body) values (?, ?, ?)"
                    self._run(sql, number, change.cell, part[-1])
                elif isinstance(change, DroppedCheckpoint):
                    files += self._drop(number, change.cell)
                elif isinstance(change, Question):
                    if self._ask(claim, number, change):
                        state = replace(state, state=asked(state.state))
                else:
                    state = after(state, change, lambda kind, n: self._is_known(number, kind, n))
                    if isinstance(change, Row) and change.cell > held.top:
                        held.top, state = change.cell, replace(state, early=change.cell)
                    self._add(held, change, part)
            if any(map(counts, changes)) or (not held.live and held.last > last):
                self._save_state(held, state)
            elif state != known:
                self._run("update sessions set state = ?, early = ? where n = ?", state.state, state.early, number)
        self._claims[claim.epoch] = held
        if files:
            self._remove_files(files)
        return added

    def _state(self, number: int, claim: Claim) -> SessionState:
        found = self._fetch(STATE, number, storable(claim.epoch))
        if not found:
            raise self._fenced(claim)
        ((title, name, state, turns, cells, early),) = found
        return SessionState(
            title=restored(title), name=restored(name), state=state, turns=turns, cells=cells, early=int(early)
        )

    def _save_state(self, held: OpenClaim, now: SessionState) -> None:
        held.live = now.state in LIVE
        self._run(
            "update sessions set title = ?, name = ?, state = ?, turns = ?, cells = ?, early = ?, entries = ?, "
            "updated = ?, stale = 1 where n = ?",
            *(now.title, now.name, now.state, now.turns, now.cells, now.early, held.last, self.clock(), held.number),
        )

    def _add(self, held: OpenClaim, change: EntryChange, part: tuple[Any, ...]) -> None:
        number = held.last + 1
        parent = self._before(held, change) if isinstance(change, Note) else held.last
        place = (held.number << NUMBER_BITS) + number, held.number, number, parent
        self._run(ADD_ANY, *place, *part[:3], self.clock(), part[3])
        held.last = number
        if isinstance(change, CellRow):
            held.top = max(held.top, change.number)
        elif isinstance(change, Note) and change.kind == "message":
            self._run("delete from inbox where session = ? and n = ?", held.number, whole(change.about))

    def _drop(self, number: int, cell: int) -> list[str]:
        """Remove a checkpoint with its blob. Gives the blobs that are files and that nobody uses any more."""
        files: list[str] = []
        found = self._fetch("select body from checkpoints where cell = ? and session = ?", storable(cell), number)
        for (body,) in found:
            digest = CHECKPOINTS.of_body(body, cell).digest
            self._run("delete from checkpoints where cell = ? and session = ?", cell, number)
            self._run("delete from uses where session = ? and digest = ?", number, digest)
            unused = "from blobs where digest = ? and not exists (select 1 from uses where digest = ?)"
            key = storable(digest)
            files += [name for (name,) in self._fetch(f"select digest {unused} and {IS_FILE}", key, key)]
            self._run(f"delete {unused}", key, key)
        return files

    def drop(self, claim: Claim, digests: Collection[str]) -> None:
        """See `BoundedFiles`."""
        with self._transaction():
            number = self._claimed(claim).number
            self._state(number, claim)
            files = self._let_go(number, digests, IS_FILE)
        if files:
            self._remove_files(files)

    def forget(self, session: str) -> Forgotten:
        with self._transaction():
            number = self._known(session)
            self._check_alone(session, number)
            ((blobs, content),) = self._fetch(f"select count(*), ifnull(sum({SIZE}), 0) {OWN}", number)
            files = [name for (name,) in self._fetch(f"select digest {OWN} and {IS_FILE}", number)]
            sql = "select count(*), ifnull(sum(length(cast(body as blob))), 0) from entries where n between ? and ?"
            ((count, size),) = self._fetch(sql, *span(number))
            self._run(f"delete {OWN}", number)
            self._run("delete from entries where n between ? and ?", *span(number))
            indexed = TextIndex(self._connection).forget(number)
            self._run("delete from decisions where question in (select n from questions where session = ?)", number)
            self._run("delete from uses where session = ?", -number)
            for table in ("uses", "checkpoints", "facts", "questions", "grants", "inbox"):
                self._run(f"delete from {table} where session = ?", number)
            self._run("delete from sessions where n = ?", number)
        if files:
            self._remove_files(files)
        return Forgotten(entries=count, blobs=blobs, bytes=size + content, indexed=indexed)


OWN = (  # the blobs that only this session uses
    "from blobs where digest in (select digest from uses where session in (?1, -?1)) "
    "and not exists (select 1 from uses where uses.digest = blobs.digest and session not in (?1, -?1))"
)
