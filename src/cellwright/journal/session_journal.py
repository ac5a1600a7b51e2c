"""`SessionJournal`: one session in its store, for whoever runs its cells. It knows cells, rows and deliveries.

It does not know how a guest is opened, nor what stands behind the door.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from cellwright.doors import Beginning, Made
from cellwright.errors import Cancelled, CodeError, GuestError, NoSession, UsageError
from cellwright.journal.checkpoints import SessionCheckpoints
from cellwright.journal.guest_clock import GuestClock
from cellwright.journal.heartbeat import claim_session
from cellwright.journal.history import NAMES, History, checked_entry, names_of
from cellwright.journal.outcomes import packed_value, told_error
from cellwright.journal.questions import Asker
from cellwright.journal.replay import Replay
from cellwright.journal.writer import JournalWriter
from cellwright.sandboxes import Outcome
from cellwright.store import CellRow, Facts, Row, Store, off_loop, this_process
from cellwright_guest.wire import Packed

T = TypeVar("T")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")


@dataclass(frozen=True, kw_only=True, slots=True)
class ForkPoint:
    """Where a session that is a fork begins."""

    parent: str
    cell: int
    entry: int = 0  # the last of the parent's that it knows


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionOwner:
    """For whom a session is: the agent of that name, and the session whose code spawned it.

    `family` is the first of those above it, which is not kept.
    """

    agent: str = ""
    child_of: str = ""
    family: str = ""


class SessionJournal:
    """A new session is created when its first guest is open; an existing one is claimed by `resume`.

    The writer keeps the claim alive until it is released, or until another process takes the session over.
    """

    def __init__(
        self,
        store: Store,
        session: str,
        *,
        pins: dict[str, str],
        fork: ForkPoint | None = None,
        key: bytes | None = None,
        owner: SessionOwner | None = None,
    ) -> None:
        self.store = store
        self.id = check_id(session)
        self.checkpoints = SessionCheckpoints(store, session, pins, key)
        self.writer = JournalWriter(store)
        self.asker: Asker | None = None  # who is asked about what an import says
        self.clock = GuestClock()
        self.last = 0  # the number of the last cell
        self.changed: tuple[str, ...] = ()  # what the session was recorded with and does not find here
        self.seed = b""  # of new cells: see `History.seed_of`
        self._pins = pins
        self._fork = fork
        self._owner = owner or SessionOwner()
        self._first_seed = os.urandom(32)
        self._new_names: Row | None = None  # of the guest that is being opened
        self.facts: Facts | None = None  # of a new one
        self._secret: str | None = None

    async def secret(self) -> str:
        """A text that no other session has: not one with the same id in another store, nor an imported copy."""
        if self._secret is None:
            try:
                facts = await off_loop(self.store, self.store.facts, self.id)
                text = facts.seed.hex() + facts.import_key  # a file tells its seed
            except NoSession:
                text = self._first_seed.hex()
            self._secret = f"{self.id} {text}"
        return self._secret

    async def resume(self, *, take_over: bool = False) -> History:
        """Claim this session; gives what there is of it.

        `NoSession` where there is none, `SessionBusy` where a live process has it; `take_over` takes it from that one.
        """
        await self.writer.take(lambda: claim_session(self.store, self.id, take_over=take_over))
        history = await self.history(read=lambda whole: with_rows(self.checkpoints.tail(whole)))
        self.last = history.last
        self.changed = changed_pins(history.facts.pins, self._pins)
        self.clock = GuestClock(history.clock)
        return history

    async def fork(self, parent: History) -> None:
        """Create this session as a fork; `parent` is read up to where it begins."""
        self.facts = self._begun_with(parent.first.names, parent.first.made)
        await self.create()
        self.last = parent.last
        self.clock = GuestClock(parent.clock)

    def begin_first(self, beginning: Beginning) -> Beginning:
        """What the first guest of a new session begins with. `create` writes it down."""
        facts = self.facts = self._begun_with(beginning.names, beginning.made)
        return replace(beginning, at=facts.created, seed=facts.seed)

    async def create(self) -> None:
        """Create a new session, and claim it. `UsageError` where there is one of that id."""
        facts = self.facts
        assert facts is not None  # somebody said what it begins with
        await self.writer.take(lambda: self.store.create(facts, this_process()))

    def begin_again(self, now: Beginning, history: History) -> Beginning:
        """What the next guest of a session begins with: what the first had, and the names that were bound since."""
        self._new_names = None
        more = history.later_names()
        known = frozenset(history.bound)
        new = tuple(name for name in names_of(now.names) if name not in known)
        if new:
            row = Row(
                cell=self.last,
                path=f"{NAMES}#{history.times_bound + 1}",
                verb=NAMES,
                name=",".join(new),
                status="done",
                value=now.names,
                made=now.made,
            )
            self._new_names = row
            more.append((now.names, new, self.last))
        first = history.first
        return Beginning(names=first.names, at=first.created, seed=first.seed, more=tuple(more))

    async def bind_names(self) -> None:
        """The guest that has names which the session did not have before is there: write them down."""
        row, self._new_names = self._new_names, None
        if row is not None:
            await self.writer.now(row)

    def _begun_with(self, names: Packed, made: tuple[Made, ...]) -> Facts:
        fork = self._fork or ForkPoint(parent="", cell=0)
        return Facts(
            id=self.id,
            created=self.clock.now(),
            seed=self._first_seed,
            pins=self._pins,
            names=names,
            made=made,
            parent=fork.parent,
            parent_cell=fork.cell,
            parent_entry=fork.entry,
            agent=self._owner.agent,
            child_of=self._owner.child_of,
        )

    # what is written

    async def read(self, work: Callable[[], T]) -> T:
        """What `work` reads of the store, in a thread, when all is written that waits."""
        await self.writer.now()
        return await off_loop(self.store, work)

    async def history(
        self, upto: int | None = None, *, read: Callable[[History], History] = lambda history: history
    ) -> History:
        """All that is written, or up to a cell. `read` reads of it what the caller needs, in the same thread."""
        if upto is not None and not 0 <= upto <= self.last:
            raise UsageError(f"session {self.id!r} has no cell {upto}; its last one is {self.last}")
        return await self.read(lambda: read(History(self.store, self.id, upto)))

    async def history_at(self, entry: int) -> History:
        """As it was when that entry was the last."""
        return await self.read(
            lambda: with_rows(History(self.store, self.id, entry=checked_entry(self.store, self.id, entry)))
        )

    async def latest(self) -> CellRow | None:
        """The last cell, also where it is one of those that a fork began with."""

        def last() -> CellRow | None:
            cells = self.store.cells(self.id, self.last) or History(self.store, self.id).cells
            return cells[-1] if cells else None

        return await self.read(last)

    # cells

    async def begin(self, code: str, delivered: int, tree: str = "") -> CellRow:
        """A new cell, written down before it runs. `delivered` is the last delivery before it."""
        self.last += 1
        row = CellRow(number=self.last, code=code, at=self.clock.now(), before=delivered, tree=tree)
        return await self.amend(row)

    async def end(
        self,
        row: CellRow,
        outcome: Outcome,
        replay: Replay,
        *,
        alive: bool,
        tree: str = "",
        files: tuple[str, ...] = (),
    ) -> CellRow:
        """What came of it. A cell that was ended from outside, and its guest with it, is never run again.

        `tree` is the workspace after it, `files` are the paths that it changed.
        """
        failed = isinstance(outcome.error, CodeError) or alive
        value = packed_value(outcome.value, replay.value) if outcome.error is None else None
        replay.value = None
        row = replace(
            row,
            status="done" if outcome.error is None else "failed" if failed else "ended",
            after=replay.delivered,
            pending=tuple(call.path for call in replay.under_way.values()),
            value=value,
            stdout=outcome.stdout,
            error=told_error(outcome.error),
            calls=tuple((c.name, c.duration_s, c.error) for c in outcome.calls),
            rung=outcome.rung,
            duration_s=outcome.duration_s,
            tree_after=tree,
            files=files,
        )
        replay.end()
        await self.writer.now(row)
        return row

    async def amend(self, row: CellRow) -> CellRow:
        """Tell more of a cell. One that is cancelled meanwhile never ran, and never will: its row is on its way."""
        try:
            await self.writer.now(row)
        except asyncio.CancelledError:
            if row.status == "running":
                self.never_ran(row)
            raise
        return row

    def never_ran(self, row: CellRow) -> None:
        """A cell that was cancelled before its code was run."""
        error = told_error(Cancelled("the cell was cancelled before it ran"))
        self.writer.soon(replace(row, status="ended", after=row.before, error=error))

    async def cut(self, row: CellRow, error: GuestError, delivered: int) -> None:
        """A cell that nobody waits for any more, or that cannot be carried on."""
        await self.writer.now(replace(row, status="ended", after=delivered, error=told_error(error)))


def with_cells(history: History) -> History:
    """The same, with its cells read: for whoever must not wait for the store later."""
    assert history.cells is not None
    return history


def with_rows(history: History) -> History:
    """The same, with its rows read too."""
    assert history.delivered is not None
    return history


def changed_pins(then: dict[str, str], now: dict[str, str]) -> tuple[str, ...]:
    """What a run depends on besides its code and is not as it was: it may go another way."""
    return tuple(f"{name} was {was} and is {now[name]}" for name, was in then.items() if now.get(name, was) != was)


def check_id(session: str) -> str:
    if not _ID.match(session):
        raise UsageError(f"session={session!r}: give letters, digits, dots, dashes and underscores, at most 64")
    return session
