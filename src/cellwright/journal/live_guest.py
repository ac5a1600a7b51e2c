"""`LiveGuest`: one guest of a kept session with all that belongs to it, complete when the guest is open.

`guest_doors` makes what a guest is opened with: its replay, and the wrappers round the host. It knows neither what
stands behind the door nor which cell is to run next.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from cellwright.doors import Beginning, Host
from cellwright.errors import GuestError, JournalFailed, RestoreFailed
from cellwright.journal.blocks import TransactionBlocks
from cellwright.journal.checkpoint_schedule import CheckpointSchedule
from cellwright.journal.checkpoint_start import CheckpointStart
from cellwright.journal.divergence import Divergence, divergence_of, printed_otherwise
from cellwright.journal.effects import Undoer
from cellwright.journal.history import History
from cellwright.journal.lineage import ImportConsent, JournalLineage
from cellwright.journal.outcomes import cell_in_memory, outcome_in
from cellwright.journal.pause import PauseWatch
from cellwright.journal.questions import CallQuestions
from cellwright.journal.replay import Replay
from cellwright.journal.replay_deaths import GuestDied, replay_s, require_no_death, require_survived, until_told
from cellwright.journal.replayed import Recorded, Replayed
from cellwright.journal.reversible import Reversible
from cellwright.journal.session_journal import SessionJournal
from cellwright.journal.snapshots import Snapshots
from cellwright.sandboxes import Interpreter, OnEvent, Outcome
from cellwright.store import CellRow, Row

T = TypeVar("T")
Guard = Callable[[Host, CallQuestions, PauseWatch], Host]
"""What stands between the record and the effects: it asks people, and the journal keeps what it asks."""


class ReplayDiverged(Exception):
    """A cell that was run again came to something else. `delivered` is the last delivery to its guest."""

    def __init__(self, divergence: Divergence, delivered: int) -> None:
        self.divergence = divergence
        self.delivered = delivered


class CellPaused(Exception):
    """Nothing of the cell goes on but what waits for a person: `questions` are the ids."""

    def __init__(self, questions: tuple[str, ...]) -> None:
        self.questions = questions


class CheckpointUnreadable(Exception):
    """The guest could not take up a checkpoint. With `died`, it ended each time that one was to."""

    def __init__(self, why: str, died: RestoreFailed | None = None) -> None:
        super().__init__(why)
        self.died = died


@dataclass(frozen=True, kw_only=True, slots=True)
class GuestDoors:
    """What a guest is opened with: `host` is the outermost of the wrappers."""

    host: Host
    replay: Replay
    pause: PauseWatch
    reversible: Reversible


def guest_doors(
    session: SessionJournal,
    inner: Host,
    snapshots: Snapshots,
    guard: Guard | None = None,
    history: History | None = None,
    cells: Sequence[CellRow] = (),
) -> GuestDoors:
    """For the first guest of a new session; with a `history`, for one that runs these cells again and then goes on."""
    recorded = None if history is None else history.recorded(cells)
    blocks = TransactionBlocks.told_by(row for row in recorded or () if row.door == "host")

    def invoke_again(row: Row) -> None:
        outer.invoke_again(row)

    replay = Replay(
        session.writer,
        session.clock,
        restore=snapshots.restore,
        adopted=blocks.hear,
        invoke_again=invoke_again,
        recorded=recorded,
        delivered=0 if history is None else history.delivered,
        left=() if history is None else history.left_of(cells),
        taken=() if history is None else history.taken(recorded or ()),
        strict={cell.number: frozenset(cell.pending) for cell in cells if cell.status != "running"},
    )
    pause = PauseWatch(replay)
    consent = ImportConsent(session)
    undoer = Undoer(session.id, session.writer, inner, consent)
    reversible = Reversible(Recorded(inner, replay), replay, blocks, undoer, snapshots)
    guarded: Host = reversible
    if guard is not None:
        questions = CallQuestions(session.store, session.id, session.secret, replay)
        guarded = guard(reversible, questions, pause)

    def begin(beginning: Beginning) -> Beginning:
        return session.begin_first(beginning) if history is None else session.begin_again(beginning, history)

    lineage = None if history is None else JournalLineage(history, consent, inner)
    outer = Replayed(guarded, replay, begin, lineage)
    return GuestDoors(host=outer, replay=replay, pause=pause, reversible=reversible)


class LiveGuest:
    """A guest that was opened with `doors`. It may have ended: then its replay and its transactions are still asked.

    `cell` is the last one that it has run, or is about to run again.
    """

    def __init__(self, session: SessionJournal, doors: GuestDoors, interpreter: Interpreter, cell: int = 0) -> None:
        self.replay = doors.replay
        self.pause = doors.pause
        self.reversible = doors.reversible
        self.interpreter = interpreter
        self._ended = False
        self.schedule = CheckpointSchedule(session, interpreter, self.replay, self.reversible, cell)

    @property
    def alive(self) -> bool:
        return not self._ended and self.interpreter.alive

    async def watched(self, run: Coroutine[Any, Any, T], cell: int = 0, patience_s: float = math.inf) -> T:
        """What comes of it; or what is wrong with the journal, or with a run that is repeated, as soon as it shows.

        `CellPaused` where it only waits for a person, `GuestDied` where the guest still repeats the cell after so long.
        """
        replay, writer, paused = self.replay, self.replay.writer, self.pause.paused
        loop = asyncio.get_running_loop()
        late: asyncio.Future[None] = loop.create_future()
        timed = patience_s < math.inf and not replay.repeats.done()
        timer = loop.call_later(patience_s, self._overdue, late) if timed else None
        task = asyncio.ensure_future(run)
        try:
            waits = {task, replay.diverged, writer.broken, paused, late}
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if timer is not None:
                timer.cancel()
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        if writer.failed is not None:
            raise writer.failed
        if replay.diverged.done():
            raise self._diverged(replay.diverged.result())
        if paused.done():
            raise CellPaused(paused.result())
        if late.done():
            raise GuestDied(cell, f"the cell took longer than {patience_s:g} s")
        return task.result()

    def _overdue(self, late: asyncio.Future[None]) -> None:
        if not self.replay.repeats.done():
            late.set_result(None)

    def _diverged(self, divergence: Divergence) -> ReplayDiverged:
        return ReplayDiverged(divergence, self.replay.delivered)

    async def run(self, row: CellRow, seed: bytes, on_event: OnEvent | None, patience_s: float) -> Outcome:
        """Run a new cell, or carry one on that was cut off: then it must ask again for all that it had been told."""
        repeat_s = replay_s(patience_s)
        self.replay.begin(row)
        self.pause.begin(patience_s)
        try:
            outcome = await self.watched(outcome_in(self.interpreter, row, seed, on_event), row.number, repeat_s)
            if not self.replay.repeats.done():
                require_survived(row, outcome, alive=self.alive)
            if not self.replay.live:
                await self._all_told(row.number, repeat_s)
            return outcome
        finally:
            self.pause.end()

    async def _all_told(self, cell: int, patience_s: float) -> None:
        self.replay.over()
        await until_told(self.replay, self.interpreter, cell, patience_s)
        untold = self.replay.untold()
        if untold is not None:
            await self.end()
            raise self._diverged(untold)

    # running cells again

    async def take_up(self, start: CheckpointStart, upto: float, patience_s: float) -> None:
        """Begin with a checkpoint, and what was told between it and the next cell: up to delivery `upto`."""
        try:
            await self.interpreter.load(await asyncio.to_thread(start.read))
        except KeyError:
            raise CheckpointUnreadable("its content is gone") from None
        except (GuestError, JournalFailed) as error:
            if not self.alive:
                raise GuestDied(start.cell, str(error), loading=True) from None
            raise CheckpointUnreadable(str(error)) from None
        self.replay.cell = start.cell
        self.replay.end(upto)
        await self.watched(until_told(self.replay, self.interpreter, start.cell, replay_s(patience_s)))

    async def again(self, row: CellRow, history: History, upto: float, patience_s: float) -> Divergence | None:
        """Run a cell again, and tell what was told between it and the next, which begins after delivery `upto`.

        Gives how its prints differ: that alone does no harm.
        """
        replay, repeat_s = self.replay, replay_s(patience_s, row.duration_s)
        replay.value = None
        replay.begin(row)
        outcome = await self.watched(outcome_in(self.interpreter, row, history.seed_of(row)), row.number, repeat_s)
        require_survived(row, outcome, alive=self.alive)
        replay.end(upto)
        await self.watched(until_told(self.replay, self.interpreter, row.number, repeat_s))
        row, rows = await cell_in_memory(row), history.rows_of([row])
        difference = divergence_of(row, outcome, replay.value, replay.asked, rows, upto) or replay.untold()
        if difference is not None:
            raise self._diverged(difference)
        return printed_otherwise(row, outcome)

    def require_alive(self, start: CheckpointStart | None, cells: Sequence[CellRow]) -> None:
        """`GuestDied` where the guest came to the same and then ended."""
        if not self.alive:
            last = cells[-1].number if cells else start.cell if start is not None else 0
            require_no_death(self.interpreter, last, loading=not cells and start is not None)
            if not cells:
                raise CheckpointUnreadable("the guest ended when it had taken it up")
            ended = Divergence(cell=last, line=0, recorded="a guest that lives on", asked=str(self.interpreter.reason))
            raise self._diverged(ended)

    async def saved(self) -> None:
        """Until no checkpoint is being made."""
        if not self._ended:
            await self.schedule.wait()

    async def end(self) -> None:
        if not self._ended:
            self._ended = True
            await self.interpreter.close()
            await self.schedule.stop()
            await self.reversible.finish()

    async def close(self) -> None:
        """End the guest, after a last checkpoint, when what it asked to be undone is undone."""
        if self.alive:
            await self.schedule.finish()
        await self.end()
        await self.reversible.idle()
