"""Who may write to a session in PostgreSQL: claims, each with a higher epoch than those before it, and their leases.

Leases run by the server's clock, so it does not matter whose clock is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cellwright.errors import Fenced, UsageError
from cellwright.store import encoding, leases
from cellwright.store.contract import LEASE_S
from cellwright.store.encoding import Large
from cellwright.store.postgres_blobs import PostgresBlobs
from cellwright.store.postgres_database import no_session, text_of
from cellwright.store.postgres_failures import told
from cellwright.store.postgres_link import Link
from cellwright.store.postgres_schema import plain, safe
from cellwright.store.rows import Claim, Facts, Holder

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


@dataclass(kw_only=True, slots=True)
class Held:
    """A claim as this object knows it: the session's number in the database, and the number of its last entry."""

    session: str
    number: int
    last: int


class PostgresClaims(PostgresBlobs):
    """See `Writing`: the half of it that is about claims."""

    def __init__(self, link: Link) -> None:
        super().__init__(link)
        self._held: dict[int, Held] = {}  # by epoch

    @told
    def create(self, facts: Facts, holder: Holder | None = None) -> Claim:
        large: Large = {}
        body = text_of(encoding.facts_body(facts, large))
        above = [safe(id) or None for id in (facts.parent, facts.child_of)]
        values = safe(facts.id), *above, facts.parent_cell, facts.parent_entry, safe(facts.agent)

        def work() -> tuple[int, int]:
            # These cannot be forgotten until this is there to be seen.
            self._link.run("select 1 from sessions where id = any(%s) for share", [id for id in above if id])
            found = self._link.fetch(CREATE, *values, facts.created, facts.created, *_lease(holder))
            if not found:
                raise UsageError(f"there is a session {facts.id!r} already; name another, or resume it")
            ((number, epoch),) = found
            self._link.run("insert into facts values (%s, %s)", number, body)
            self._store(number, large)
            return number, epoch

        number, epoch = self._link.transact(work, first=self._keeping(large))
        self._held[epoch] = Held(session=facts.id, number=number, last=0)
        return Claim(session=facts.id, epoch=epoch)

    @told
    def claim(self, session: str, holder: Holder | None = None, *, take_over: bool = True) -> Claim:
        columns = "n, until > clock_timestamp(), machine, process, started, holder"

        def work() -> tuple[int, Held]:
            found = self._link.fetch(f"select {columns} from sessions where id = %s for no key update", safe(session))
            if not found:
                raise no_session(session)
            ((number, holds, *other),) = found
            if holds and not take_over:
                leases.check_free(session, holder_of(*other), holder)
            ((epoch,),) = self._link.fetch(CLAIM, *_lease(holder), number)
            return epoch, self._hold(session, number)

        # Where it is not known whether a claim was made, it is made again: the later one counts.
        epoch, held = self._link.transact(work, made=lambda: None)
        self._held[epoch] = held
        return Claim(session=session, epoch=epoch)

    @told
    def renew(self, *claims: Claim) -> Sequence[Claim]:
        ids, epochs = [safe(claim.session) for claim in claims], [claim.epoch for claim in claims]
        held = {epoch for (epoch,) in self._link.transact(lambda: self._link.fetch(RENEW, ids, epochs), quiet=True)}
        return [claim for claim in claims if claim.epoch in held]

    @told
    def release(self, claim: Claim) -> None:
        sql = "update sessions set until = null, machine = null where id = %s and epoch = %s"
        self._link.transact(lambda: self._link.run(sql, safe(claim.session), claim.epoch).rowcount, made=lambda: None)
        self._held.pop(claim.epoch, None)  # a process may have thousands of sessions, one after the other

    def _hold(self, session: str, number: int) -> Held:
        ((last,),) = self._link.fetch("select coalesce(max(number), 0) from entries where session = %s", number)
        return Held(session=session, number=number, last=last)

    def _holder(self, claim: Claim) -> Held:
        """What is known of a claim. Whether it still holds is for the write itself to find."""
        held = self._held.get(claim.epoch)
        if held is None or held.session != claim.session:
            sql = "select n from sessions where id = %s and epoch = %s"
            found = self._link.fetch(sql, safe(claim.session), claim.epoch)
            if not found:
                raise self._fenced(claim)
            held = self._held[claim.epoch] = self._hold(claim.session, found[0][0])
        return held

    def _fenced(self, claim: Claim) -> Fenced:
        self._held.pop(claim.epoch, None)
        return leases.fenced(claim, gone=self._number(claim.session) is None)


def _lease(holder: Holder | None) -> tuple[Any, ...]:
    """The holder's columns, and whether there is a lease."""
    if holder is None:
        return None, None, None, None, False
    return safe(holder.machine), holder.process, safe(holder.started), safe(holder.name), True


def holder_of(machine: Any, process: Any, started: Any, name: Any) -> Holder | None:
    if machine is None:
        return None
    return Holder(machine=plain(machine), process=process, started=plain(started), name=plain(name))
