"""`SessionJournal`: the journal of one session, for whoever runs its cells. It makes the doors of each guest's life.

It knows cells, rows and deliveries; not how a guest is opened, nor what stands behind the door.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from cellwright.doors import Beginning, Host, Made, Undo
from cellwright.errors import CodeError, Fenced, GuestError, JournalFailed, NoSession, UsageError
from cellwright.journal.asking import Asking
from cellwright.journal.checkpoints import Checkpoints
from cellwright.journal.effects import Undoer
from cellwright.journal.heartbeat import HEART, claimed
from cellwright.journal.life import Clock, Life
from cellwright.journal.moments import checked_entry
from cellwright.journal.outcomes import packed_value, told_error
from cellwright.journal.pausing import Pausing
from cellwright.journal.recorded import Recorded
from cellwright.journal.replayed import Replayed
from cellwright.journal.reversible import Reversible
from cellwright.journal.snapshots import Snapshots
from cellwright.journal.story import NAMES, Story, names_of
from cellwright.journal.writer import Writer
from cellwright.sandboxes import Outcome
from cellwright.store import CellRow, Claim, Facts, Row, Store, here
from cellwright_guest.wire import Packed

Guard = Callable[[Host, Asking], Host]
"""What stands between the record and the effects: it asks people, and the journal keeps what."""

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")


@dataclass(frozen=True, kw_only=True, slots=True)
class Fork:
    """Where a session that is a fork begins."""

    parent: str
    cell: int
    entry: int = 0  # the last of the parent's that it knows


@dataclass(frozen=True, kw_only=True, slots=True)
class Whose:
    """For whom a session is: the agent of that name, and the session whose code spawned it."""

    agent: str = ""
    child_of: str = ""


class SessionJournal:
    """One session. A new one is made when its first guest begins; one that is there is claimed at once.

    The claim is kept alive until `release`, or until somebody takes it over.
    """

    def __init__(
        self,
        journal: Store,
        session: str,
        *,
        pins: dict[str, str],
        fork: Fork | None = None,
        key: bytes | None = None,
        guard: Guard | None = None,
        whose: Whose | None = None,
    ) -> None:
        self.journal = journal
        self.id = check_id(session)
        self.checkpoints = Checkpoints(journal, session, pins, key)
        self.life: Life | None = None
        self.pausing: Pausing | None = None  # in that life
        self.writer: Writer | None = None
        self.snapshots: Snapshots | None = None  # of the guest's files: without them there are no transactions
        self.reversible: Reversible | None = None
        self.last = 0  # the number of the last cell
        self.changed: tuple[str, ...] = ()  # what the session was recorded with and does not find here
        self._pins = pins
        self._fork = fork
        self._guard = guard
        self._whose = whose or Whose()
        self._clock = Clock()
        self._first_seed = os.urandom(32)
        self.seed = b""  # of new cells: see `Story.seed_of`

    @property
    def secret(self) -> str:
        """Of no other session: not of one that has or had the same id elsewhere, nor of its copy that was imported."""
        try:
            seed = self.journal.facts(self.id).seed
        except NoSession:
            seed = self._first_seed
        return f"{self.id} {seed.hex()}"

    def resume(self, *, take_over: bool = False) -> Story:
        """Become the one who writes to this session; gives what there is of it.

        `NoSession` where there is none, `SessionBusy` where another one has it who lives; with `take_over` it is taken.
        """
        self.writer = self._held(claimed(self.journal, self.id, take_over=take_over))
        story = self.checkpoints.tail(self.story())
        self.last = story.last
        self.changed = changed(story.facts.pins, self._pins)
        self._clock = Clock(story.clock)
        return story

    def fork(self, parent: Story) -> None:
        """Make this session as a fork of another; `parent` is read up to where it begins."""
        assert self._fork is not None
        facts = self._facts(parent.first.names, parent.first.made)
        self.writer = self._held(self.journal.create(facts, here()))
        self.last = self._fork.cell
        self._clock = Clock(parent.clock)

    def _held(self, claim: Claim) -> Writer:
        writer = Writer(self.journal, claim)
        HEART.add(self.journal, claim, writer.lose)
        return writer

    def release(self) -> None:
        """This one writes no more; another may at once."""
        if self.writer is not None:
            HEART.remove(self.journal, self.writer.claim)
            with suppress(Fenced, JournalFailed):  # the lease runs out by itself
                self.journal.release(self.writer.claim)

    def now(self) -> float:
        """The session's clock."""
        return self._clock.now()

    def story(self, upto: int | None = None) -> Story:
        if self.writer is not None:
            self.writer.now()
        if upto is not None and not 0 <= upto <= self.last:
            raise UsageError(f"session {self.id!r} has no cell {upto}; its last one is {self.last}")
        return Story(self.journal, self.id, upto)

    def story_at(self, entry: int) -> Story:
        """As it was when that entry was the last."""
        if self.writer is not None:
            self.writer.now()
        return Story(self.journal, self.id, entry=checked_entry(self.journal, self.id, entry))

    def latest(self) -> CellRow | None:
        """The last cell, also where it is one of those that a fork began with."""
        story = self.story()
        cells = self.journal.cells(self.id, self.last) or story.cells
        return cells[-1] if cells else None

    def _facts(self, names: Packed, made: tuple[Made, ...]) -> Facts:
        return Facts(
            id=self.id,
            created=self._clock.now(),
            seed=self._first_seed,
            pins=self._pins,
            names=names,
            made=made,
            parent=self._fork.parent if self._fork is not None else "",
            parent_cell=self._fork.cell if self._fork is not None else 0,
            parent_entry=self._fork.entry if self._fork is not None else 0,
            agent=self._whose.agent,
            child_of=self._whose.child_of,
        )

    # the doors of a guest's life

    def first_life(self, inner: Host) -> Host:
        """The doors of the first guest of a new session."""
        self.life = life = Life(self.writer, self._clock)

        def begin(beginning: Beginning) -> Beginning:
            facts = self._facts(beginning.names, beginning.made)
            self.writer = life.writer = self._held(self.journal.create(facts, here()))
            return replace(beginning, at=facts.created, seed=facts.seed)

        return Replayed(self.guarded(inner, life), life, begin)

    def next_life(self, inner: Host, story: Story, cells: Sequence[CellRow]) -> Host:
        """The doors of a guest that runs these cells again and then goes on."""
        self.seed = story.seed_after
        recorded = story.recorded(cells)
        self.life = life = Life(
            self.writer,
            self._clock,
            recorded=recorded,
            delivered=story.delivered,
            left=story.left_of(cells),
            taken=story.taken(recorded),
            strict={c.number: frozenset(c.pending) for c in cells if c.status != "running"},
        )
        return Replayed(self.guarded(inner, life), life, lambda now: self._begin_again(now, story), story)

    def guarded(self, inner: Host, life: Life) -> Host:
        host, self.pausing = self._reversed(inner, life), Pausing(life)
        if self._guard is None:
            return host
        return self._guard(host, Asking(self.journal, self.id, lambda: self.secret, life, self.pausing))

    def _reversed(self, inner: Host, life: Life) -> Host:
        if self.snapshots is None:
            return Recorded(inner, life)
        life.restore = self.snapshots.restore
        undoer = Undoer(self.journal, self.id, life, inner if isinstance(inner, Undo) else None, inner.about)
        self.reversible = Reversible(Recorded(inner, life), life, undoer, self.snapshots)
        return self.reversible

    def _begin_again(self, now: Beginning, story: Story) -> Beginning:
        more = story.later_names()
        known = frozenset(story.bound)
        new = tuple(name for name in names_of(now.names) if name not in known)
        if new and self.writer is not None:
            row = Row(
                cell=self.last,
                path=f"{NAMES}#{story.times_bound + 1}",
                verb=NAMES,
                name=",".join(new),
                status="done",
                value=now.names,
                made=now.made,
            )
            self.writer.now(row)
            more.append((now.names, new, self.last))
        return Beginning(names=story.first.names, at=story.first.created, seed=story.first.seed, more=tuple(more))

    # cells

    def begin(self, code: str, tree: str = "") -> CellRow:
        """A new cell, written down before it runs."""
        assert self.writer is not None
        assert self.life is not None
        self.last += 1
        row = CellRow(number=self.last, code=code, at=self._clock.now(), before=self.life.delivered, tree=tree)
        self.writer.now(row)
        return row

    def end(
        self, row: CellRow, outcome: Outcome, *, alive: bool, tree: str = "", files: tuple[str, ...] = ()
    ) -> CellRow:
        """What came of it. A cell that was ended from outside, and its guest with it, is never run again.

        `tree` is the workspace after it, `files` are the paths that it changed.
        """
        assert self.writer is not None
        assert self.life is not None
        failed = isinstance(outcome.error, CodeError) or alive
        value = packed_value(outcome.value, self.life.value) if outcome.error is None else None
        self.life.value = None
        row = replace(
            row,
            status="done" if outcome.error is None else "failed" if failed else "ended",
            after=self.life.delivered,
            pending=tuple(call.path for call in self.life.under_way.values()),
            value=value,
            stdout=outcome.stdout,
            error=told_error(outcome.error),
            calls=tuple((c.name, c.duration_s, c.error) for c in outcome.calls),
            rung=outcome.rung,
            duration_s=outcome.duration_s,
            tree_after=tree,
            files=files,
        )
        self.life.end()
        self.writer.now(row)
        return row

    def amend(self, row: CellRow, outcome: Outcome) -> None:
        """Tell more of how a cell ended."""
        assert self.writer is not None
        self.writer.now(replace(row, error=told_error(outcome.error)))

    def cut(self, row: CellRow, error: GuestError) -> None:
        """A cell that nobody waits for any more, or that cannot be carried on."""
        assert self.writer is not None
        assert self.life is not None
        self.writer.now(replace(row, status="ended", after=self.life.delivered, error=told_error(error)))


def changed(then: dict[str, str], now: dict[str, str]) -> tuple[str, ...]:
    """What a run depends on besides its code and is not as it was: it may go another way."""
    return tuple(f"{name} was {was} and is {now[name]}" for name, was in then.items() if now.get(name, was) != was)


def check_id(session: str) -> str:
    if not _ID.match(session):
        raise UsageError(f"session={session!r}: give letters, digits, dots, dashes and underscores, at most 64")
    return session
