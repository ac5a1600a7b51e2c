"""Who may write to a session of `SqliteStore`: claims, each of a higher epoch than those before it, and leases."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from cellwright.errors import Fenced, UsageError
from cellwright.store import encoding, leases
from cellwright.store.contract import LEASE_S
from cellwright.store.encoding import Large, storable
from cellwright.store.rows import Claim, Facts, Holder
from cellwright.store.sqlite_file import SqliteFile
from cellwright.store.sqlite_reading import holder_of
from cellwright.store.standing import LIVE

LEASE = "update sessions set epoch = ?, machine = ?, process = ?, started = ?, holder = ?, until = ? where n = ?"


@dataclass(kw_only=True, slots=True)
class Held:
    """A claim as this object knows it: the session's number in the file, and the number of its last entry.

    While it is `live`, rows of cells up to `top` are found and counted by whoever looks for them, without a word more.
    """

    session: str
    number: int
    last: int
    top: int
    live: bool


class SqliteClaims(SqliteFile):
    """See `Writing`: the half of it that is about claims."""

    def __init__(self, path: str | os.PathLike[str], *, power_safe: bool = False) -> None:
        self._held: dict[int, Held] = {}  # by epoch
        super().__init__(path, power_safe=power_safe)

    def close(self) -> None:
        super().close()
        self._held.clear()

    def create(self, facts: Facts, holder: Holder | None = None) -> Claim:
        large: Large = {}
        body = encoding.facts_body(facts, large)
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
        self._held[epoch] = Held(session=facts.id, number=number, last=0, top=max(facts.parent_cell, 0), live=True)
        return Claim(session=facts.id, epoch=epoch)

    def claim(self, session: str, holder: Holder | None = None, *, take_over: bool = True) -> Claim:
        with self._transaction():
            number = self._known(session)
            if not take_over:
                self._check_free(session, number, holder)
            epoch = self._next_epoch()
            self._lease(number, epoch, holder)
            held = self._hold(session, number)
        self._held[epoch] = held
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
        self._held.pop(claim.epoch, None)  # a process may have thousands of sessions, one after the other

    def _check_free(self, session: str, number: int, holder: Holder | None) -> None:
        ((until, *other),) = self._fetch(
            "select until, machine, process, started, holder from sessions where n = ?", number
        )
        if until <= self.clock() or other[0] is None:
            return
        leases.check_free(session, holder_of(*other), holder)

    def _lease(self, number: int, epoch: int, holder: Holder | None) -> None:
        if holder is None:
            self._run(LEASE, epoch, None, None, None, None, 0, number)
        else:
            until = self.clock() + LEASE_S
            self._run(LEASE, epoch, holder.machine, holder.process, holder.started, holder.name, until, number)

    def _next_epoch(self) -> int:
        self._connection.execute("update epochs set last = last + 1")
        return self._fetch("select last from epochs")[0][0]

    def _hold(self, session: str, number: int) -> Held:
        ((state, early, cell),) = self._fetch(
            "select state, early, (select max(cell) from entries where session = sessions.n and kind = 'cell') "
            "from sessions where n = ?",
            number,
        )
        return Held(
            session=session,
            number=number,
            last=self._last(number),
            top=max(int(early), int(cell or 0)),
            live=state in LIVE,
        )

    def _holder(self, claim: Claim) -> Held:
        """What is known of a claim. Whether it still holds is for the write itself to find."""
        held = self._held.get(claim.epoch)
        if held is None or held.session != claim.session:
            sql = "select n from sessions where id = ? and epoch = ?"
            found = self._fetch(sql, storable(claim.session), storable(claim.epoch))
            if not found:
                raise self._fenced(claim)
            held = self._held[claim.epoch] = self._hold(claim.session, found[0][0])
        return held

    def _fenced(self, claim: Claim) -> Fenced:
        self._held.pop(claim.epoch, None)
        return leases.fenced(claim, gone=self._number(claim.session) is None)
