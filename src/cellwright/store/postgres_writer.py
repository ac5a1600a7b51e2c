"""Claims sessions in PostgreSQL, adds entries under a claim, and forgets sessions.

The statement that writes checks the claim, and keeps others from taking it until it is done. The writer chooses the
number of an entry: after a lost connection it can look for the entry, and writes it again where it is not there.
Leases run by the server's clock, so the clocks of the machines do not matter.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import psycopg

from cellwright.errors import UsageError
from cellwright.store import leases
from cellwright.store.codec import CHECKPOINTS, FACTS, Large
from cellwright.store.contract import LEASE_S
from cellwright.store.entry_codec import holder_of, parts_of
from cellwright.store.postgres_database import CLOCK, text_of
from cellwright.store.postgres_failures import reports_failures
from cellwright.store.postgres_questions import PostgresQuestions
from cellwright.store.postgres_schema import BLOBS, INDEXING, plain, safe
from cellwright.store.rows import (
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
)
from cellwright.store.session_state import SessionState, after, asked, counts, whole
from cellwright.store.sql_database import OpenClaim, no_session

Columns = tuple[str, int, str, bool, str]  # kind, cell, path, packed, body

ADD = "insert into entries (session, number, parent, epoch, at, kind, cell, path, packed, body)"
# `for share`: a new claim waits until this is committed, or this waits for the claim and finds that it was taken.
ADD_ROW = (
    f"{ADD} select n, %s, %s, epoch, {CLOCK}, %s, %s, %s, %s, %s from sessions where n = %s and epoch = %s for share"
)
ADD_ANY = f"{ADD} values (%s, %s, %s, %s, {CLOCK}, %s, %s, %s, %s, %s)"
STATE = "select title, name, state, turns, cells from sessions where n = %s and epoch = %s for no key update"
SAVE_STATE = (
    f"update sessions set title = %s, name = %s, state = %s, turns = %s, cells = %s, updated = {CLOCK}, stale = true "
    "where n = %s"
)
CHECKPOINT = (
    "insert into checkpoints values (%s, %s, %s) on conflict (session, cell) do update set body = excluded.body"
)
SIZE = "select count(distinct b.digest), coalesce(sum(length(b.content)), 0)"
OWN = (  # the blobs that only this session uses
    "from blobs b where b.digest in (select digest from uses where session = any(%s)) "
    "and not exists (select 1 from uses u where u.digest = b.digest and u.session <> all(%s))"
)
LEASE = f"clock_timestamp() + interval '{LEASE_S:g} seconds'"
CREATE = (
    "insert into sessions (id, parent, child_of, parent_cell, parent_entry, agent, created, updated, epoch, machine, "
    "process, started, holder, until) values (%s, %s, %s, %s, %s, %s, %s, %s, nextval('epochs'), %s, %s, %s, %s, "
    f"case when %s then {LEASE} end) on conflict (id) do nothing returning n, epoch"
)
CLAIM = (
    "update sessions set epoch = nextval('epochs'), machine = %s, process = %s, started = %s, holder = %s, "
    f"until = case when %s then {LEASE} end where n = %s returning epoch"
)
RENEW = (
    f"update sessions s set until = case when s.machine is null then null else {LEASE} end "
    "from unnest(%s::text[], %s::bigint[]) as c (id, epoch) where s.id = c.id and s.epoch = c.epoch returning s.epoch"
)


class PostgresWriter(PostgresQuestions):
    """See `StoreWriter`."""

    # claims

    @reports_failures
    def create(self, facts: Facts, holder: LeaseHolder | None = None) -> Claim:
        large: Large = {}
        body = text_of(FACTS.body(facts, large))
        above = [safe(id) or None for id in (facts.parent, facts.child_of)]
        values = safe(facts.id), *above, facts.parent_cell, facts.parent_entry, safe(facts.agent)

        def work() -> tuple[int, int]:
            # Parents cannot be forgotten until this session is committed.
            self._link.run("select 1 from sessions where id = any(%s) for share", [id for id in above if id])
            found = self._link.fetch(CREATE, *values, facts.created, facts.created, *_lease(holder))
            if not found:
                raise UsageError(f"there is a session {facts.id!r} already; name another, or resume it")
            ((number, epoch),) = found
            self._link.run("insert into facts values (%s, %s)", number, body)
            self._store(number, large)
            return number, epoch

        number, epoch = self._link.transact(work, first=self._blob_lock(large))
        self._claims[epoch] = OpenClaim(session=facts.id, number=number, last=0)
        return Claim(session=facts.id, epoch=epoch)

    @reports_failures
    def claim(self, session: str, holder: LeaseHolder | None = None, *, take_over: bool = True) -> Claim:
        columns = "n, until > clock_timestamp(), machine, process, started, holder"

        def work() -> tuple[int, OpenClaim]:
            found = self._link.fetch(f"select {columns} from sessions where id = %s for no key update", safe(session))
            if not found:
                raise no_session(session)
            ((number, holds, *other),) = found
            if holds and not take_over and other[0] is not None:
                leases.check_free(session, holder_of(plain, *other), holder)
            ((epoch,),) = self._link.fetch(CLAIM, *_lease(holder), number)
            return epoch, self._open_claim(session, number)

        # Where the outcome of a claim is not known, it is made again: the later one counts.
        epoch, held = self._link.transact(work, made=lambda: None)
        self._claims[epoch] = held
        return Claim(session=session, epoch=epoch)

    @reports_failures
    def renew(self, *claims: Claim) -> Sequence[Claim]:
        ids, epochs = [safe(claim.session) for claim in claims], [claim.epoch for claim in claims]
        held = {epoch for (epoch,) in self._link.transact(lambda: self._link.fetch(RENEW, ids, epochs), quiet=True)}
        return [claim for claim in claims if claim.epoch in held]

    @reports_failures
    def release(self, claim: Claim) -> None:
        sql = "update sessions set until = null, machine = null where id = %s and epoch = %s"
        self._link.transact(lambda: self._link.run(sql, safe(claim.session), claim.epoch).rowcount, made=lambda: None)
        self._claims.pop(claim.epoch, None)  # a process may have thousands of sessions, one after the other

    def _open_claim(self, session: str, number: int) -> OpenClaim:
        ((last,),) = self._link.fetch("select coalesce(max(number), 0) from entries where session = %s", number)
        return OpenClaim(session=session, number=number, last=last)

    # entries

    @reports_failures
    def write(self, claim: Claim, *changes: Change) -> int:
        large: Large = {}
        columns = [_columns(change, large) for change in changes]
        small = len(changes) == 1 and columns[0][0] == "row" and not large and not counts(changes[0])
        try:
            if small:
                return self._add_row(claim, columns[0])
        except psycopg.errors.UniqueViolation:
            pass  # another store object wrote under the same claim: `_add_all` reads the last number anew
        return self._add_all(claim, changes, columns, large)

    @reports_failures
    def ask(self, claim: Claim, question: Question) -> Question:
        self._add_all(claim, [question], [_columns(question, {})], {})
        return self.question(question.id)

    def _add_row(self, claim: Claim, columns: Columns) -> int:
        """Write one small row, as nearly all are, by one statement."""
        size = len(columns[-1])

        def work() -> int:
            held = self._claimed(claim)
            number = held.last + 1
            added = self._link.run(ADD_ROW, number, held.last, *columns, held.number, claim.epoch)
            if added.rowcount != 1:
                raise self._fenced(claim)
            held.last = number
            return size

        def made() -> int | None:
            held = self._claimed(claim)
            if not self._is_there(held, held.last + 1, claim, columns):
                return None
            held.last += 1
            return size

        return self._link.once(work, made)

    def _add_all(self, claim: Claim, changes: Sequence[Change], columns: Sequence[Columns], large: Large) -> int:
        """Write any changes, all or none."""
        size = sum(len(row[-1]) for row in columns)
        held: OpenClaim | None = None

        def work() -> int:
            nonlocal held
            number = self._claimed(claim).number
            state = known = self._state(number, claim)
            held = self._open_claim(claim.session, number)  # read anew: another store object may have written
            added = size + self._store(number, large)
            for change, row in zip(changes, columns, strict=True):
                if isinstance(change, Checkpoint):
                    self._link.run(CHECKPOINT, number, change.cell, row[-1])
                elif isinstance(change, DroppedCheckpoint):
                    self._drop(number, change.cell)
                elif isinstance(change, Question):
                    if self._ask(claim, number, change):
                        state = replace(state, state=asked(state.state))
                else:
                    state = after(state, change, lambda kind, n: self._is_known(number, kind, n))
                    self._add(held, claim, change, row)
            if any(map(counts, changes)):
                texts = safe(state.title), safe(state.name)
                self._link.run(SAVE_STATE, *texts, state.state, state.turns, state.cells, number)
            elif state != known:
                self._link.run("update sessions set state = %s where n = %s", state.state, number)
            return added

        def made() -> int | None:
            entries = [row for row in columns if row[0]]
            return size if held and entries and self._is_there(held, held.last, claim, entries[-1]) else None

        # Dropping a blob excludes other sessions, which may begin to use it.
        drops = any(isinstance(change, DroppedCheckpoint) for change in changes)
        first = self._locked(BLOBS) if drops else self._blob_lock(large)
        added = self._link.transact(work, first=first, made=made)
        if held is not None:
            self._claims[claim.epoch] = held
        return added

    def _is_there(self, held: OpenClaim, number: int, claim: Claim, columns: Columns) -> bool:
        """Whether an entry was written before the connection was lost."""
        sql = "select 1 from entries where session = %s and number = %s and epoch = %s and body = %s"
        return bool(self._link.fetch(sql, held.number, number, claim.epoch, columns[-1]))

    def _state(self, number: int, claim: Claim) -> SessionState:
        found = self._link.fetch(STATE, number, claim.epoch)
        if not found:
            raise self._fenced(claim)
        ((title, name, state, turns, cells),) = found
        return SessionState(title=plain(title), name=plain(name), state=state, turns=turns, cells=cells)

    def _add(self, held: OpenClaim, claim: Claim, change: EntryChange, columns: Columns) -> None:
        number = held.last + 1
        parent = self._before(held, change) if isinstance(change, Note) else held.last
        self._link.run(ADD_ANY, held.number, number, parent, claim.epoch, *columns)
        held.last = number
        if isinstance(change, Note) and change.kind == "message":
            self._link.run("delete from inbox where session = %s and n = %s", held.number, whole(change.about))

    def _drop(self, number: int, cell: int) -> None:
        """Remove a checkpoint with its blob."""
        sql = "delete from checkpoints where session = %s and cell = %s returning body"
        for (body,) in self._link.fetch(sql, number, cell):
            digest = safe(CHECKPOINTS.of_body(body, cell).digest)
            self._link.run("delete from uses where session = %s and digest = %s", number, digest)
            unused = "delete from blobs where digest = %s and not exists (select 1 from uses where digest = %s)"
            self._link.run(unused, digest, digest)

    @reports_failures
    def drop(self, claim: Claim, digests: Collection[str]) -> None:
        """See `BoundedFiles`."""

        def work() -> None:
            number = self._claimed(claim).number
            self._state(number, claim)
            self._let_go(number, digests)

        # To drop a content twice changes nothing, so this may be tried again.
        self._link.transact(work, first=self._locked(BLOBS), made=lambda: None)

    @reports_failures
    def forget(self, session: str) -> Forgotten:
        def work() -> Forgotten:
            found = self._link.fetch("select n from sessions where id = %s for update", safe(session))
            number: int = found[0][0] if found else self._known(session)
            self._check_alone(session, number)
            run, fetch = self._link.run, self._link.fetch
            users = [number, -number]
            ((blobs, content),) = fetch(f"{SIZE} {OWN}", users, users)
            sql = "select count(*), coalesce(sum(length(body)), 0) from entries where session = %s"
            ((count, size),) = fetch(sql, number)
            run(f"delete {OWN}", users, users)
            run("delete from uses where session = %s", -number)
            run("delete from decisions where question in (select n from questions where session = %s)", number)
            for table in ("entries", "uses", "checkpoints", "facts", "questions", "grants", "inbox"):
                run(f"delete from {table} where session = %s", number)
            indexed = run("delete from texts where session = %s", number).rowcount
            run("delete from sessions where n = %s", number)
            return Forgotten(entries=count, blobs=blobs, bytes=int(size + content), indexed=indexed)

        return self._link.transact(work, first=f"{self._locked(BLOBS)}; {self._locked(INDEXING)}")


def _columns(change: Change, large: Large) -> Columns:
    kind, cell, path, body = parts_of(change, large)
    return kind, cell, safe(path), isinstance(body, bytes), text_of(body)


def _lease(holder: LeaseHolder | None) -> tuple[Any, ...]:
    """The holder's columns, and whether there is a lease."""
    if holder is None:
        return None, None, None, None, False
    return safe(holder.machine), holder.process, safe(holder.started), safe(holder.name), True
