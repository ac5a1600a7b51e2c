"""`Continuity`: keeps one journaled session going. Runs its cells, and brings its guest back when it is gone.

A guest is brought back by running the session's cells again, on a scratch copy of the workspace, with the recorded
answers. It knows how to open a guest, and nothing of what stands behind the door.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, TypeVar

from toolwright.doors import Host
from toolwright.errors import Cancelled, Diverged, Fenced, GuestError, JournalFailed, UsageError
from toolwright.journal.comparing import divergence, printed_otherwise
from toolwright.journal.life import Divergence, Life
from toolwright.journal.outcomes import outcome_in, outcome_of
from toolwright.journal.restored import Restored, names_in
from toolwright.journal.reversible import Reversible
from toolwright.journal.rollback import Rollback, RolledBack, unfinished
from toolwright.journal.rows import CellRow
from toolwright.journal.saving import Saving
from toolwright.journal.session import SessionJournal
from toolwright.journal.snapshots import Snapshots
from toolwright.journal.starts import Start
from toolwright.journal.story import Story
from toolwright.journal.trees import Trees
from toolwright.sandboxes import GONE, GUEST_UID, Interpreter, Limits, OnEvent, Opening, Outcome, Sandbox, Workspace

T = TypeVar("T")
GRACE_S = 2.0  # for what is on its way when a cell that was cut off is over
QUIET_TRIES = 10  # to take the workspace while no call of host code changes it
KEPT = "The names are as they were before the cell; what it did outside is done."


class _WentAnotherWay(Exception):
    def __init__(self, divergence: Divergence) -> None:
        self.divergence = divergence


class _Unreadable(Exception):
    """The guest could not take up a checkpoint."""


class Continuity:
    """One session's guest. `say` is told what a person should know, a line each."""

    def __init__(
        self,
        session: SessionJournal,
        host: Host,
        sandbox: Sandbox,
        workspace: Workspace,
        limits: Limits,
        say: Callable[[str], None],
    ) -> None:
        self.session = session
        self.restored: Restored | None = None
        self._host = host
        self._sandbox = sandbox
        self._workspace = workspace
        self._limits = limits
        self._say = say
        self._trees = Trees(session.journal, session.id, limits)
        self._snapshots = session.snapshots = Snapshots(self._trees, workspace)
        self._unsettled = 0  # a cell that was ended, whose transactions may be open
        self._interpreter: Interpreter | None = None
        self._saving: Saving | None = None
        self._scratch: Workspace | None = None
        self._cut_off: CellRow | None = None
        self._ran: list[str] | None = None  # the code that makes up the state, where somebody asked for it

    # beginning

    async def begin(self) -> None:
        """A new session."""
        self._interpreter = await self._open(self.session.first_life(self._host))
        self._saving = Saving(self.session, self._interpreter, 0)

    async def resume(self) -> None:
        """A session that is there: its guest is brought back; a cell that was cut off waits to be carried on."""
        story = self.session.resume()
        self._cut_off = story.cut_off
        last = story.cells[-1] if story.cells else None
        if last is not None and last.status == "ended" and not last.undone and last.number > story.facts.parent_cell:
            self._unsettled = last.number  # its process may have died before all was undone
        await self._restore(story)
        if words := unfinished(story):
            self._say(f"toolwright: session {self.session.id}: {words}")

    async def fork(self, parent: Story) -> None:
        """A new session that begins where `parent`, read up to there, ends."""
        self.session.fork(parent)
        await self._restore(self.session.story())

    async def _open(self, host: Host, scratch: Workspace | None = None) -> Interpreter:
        opening = Opening(host=host, limits=self._limits, workspace=self._workspace, scratch=scratch)
        return await self._sandbox.open(opening)

    # cells

    async def run(self, code: str, on_event: OnEvent | None) -> Outcome:
        """Run a new cell, after the one that was cut off, if there is one."""
        await self._saved()
        async with self._written():
            if self._cut_off is not None:
                await self.outcome()
            if self._interpreter is None or not self._interpreter.alive:
                await self._restore(self.session.story())
            row = self.session.begin(code, await self._take_quiet_tree())
            return await self._run(row, on_event)

    async def outcome(self, on_event: OnEvent | None = None) -> Outcome:
        """What came of the last cell. One that was cut off is carried on to its end first."""
        await self._saved()
        if self._cut_off is not None and (self._interpreter is None or not self._interpreter.alive):
            await self._restore(self.session.story())
        row = self._cut_off
        if row is not None:
            async with self._written():
                await self._snapshots.restore(row.tree)
                return await self._run(row, on_event)
        last = self.session.latest()
        if last is None:
            raise UsageError(f"session {self.session.id!r} has run no cell yet")
        return outcome_of(last, self._host)

    @property
    def last(self) -> int:
        """The number of the last cell."""
        return self.session.last

    def ran(self) -> list[str]:
        """The code of the cells that make up the state."""
        if self._ran is None:
            self._ran = [row.code for row in self.session.story().state]
        return self._ran

    @asynccontextmanager
    async def _written(self) -> AsyncGenerator[None]:
        """What cannot be written down ends the guest: it has learned, or may do, what the journal does not know."""
        try:
            yield
        except (Fenced, JournalFailed):
            await self._end_guest()
            raise

    async def _saved(self) -> None:
        """Until no checkpoint is being made."""
        if self._saving is not None:
            await self._saving.wait()

    async def _run(self, row: CellRow, on_event: OnEvent | None) -> Outcome:
        assert self._interpreter is not None
        interpreter = self._interpreter
        self._life.begin(row)
        try:
            outcome = await self._watched(outcome_in(interpreter, row, self.session.seed, on_event))
            if not self._life.live:
                await self._all_told()
        except _WentAnotherWay as other:
            error = Diverged(f"the cell was cut off, and went another way when it was run again: {other.divergence}")
            self.session.cut(row, error)
            self._cut_off = None
            await self._settle(row.number)
            return Outcome(cell=row.number, error=error, rung=self._sandbox.rung)
        except asyncio.CancelledError:
            if self.session.writer is not None and self.session.writer.failed is None:
                self.session.cut(row, Cancelled(f"the cell was cancelled. {KEPT}"))
                self._cut_off = None
                await self._settle(row.number)
            raise
        alive = interpreter.alive
        if outcome.error is not None and GONE in str(outcome.error):
            kind: Any = type(outcome.error)
            outcome = replace(outcome, error=kind(str(outcome.error).replace(GONE, KEPT)))
        row = self.session.end(row, outcome, alive=alive)
        self._cut_off = None
        if self._ran is not None and row.status != "ended":
            self._ran.append(row.code)
        if self._saving is not None and row.status != "ended" and interpreter.alive:
            self._saving.ran(row)
        if row.status == "ended" and (told := await self._settle(row.number)) and outcome.error is not None:
            kind = type(outcome.error)
            outcome = replace(outcome, error=kind(f"{outcome.error} {told}"))
            self.session.amend(row, outcome)
        return outcome

    async def _all_told(self) -> None:
        """A cell that was cut off is over: it must have asked again for all that it had been told."""
        await self._life.told(GRACE_S)
        other = self._life.untold()
        if other is not None:
            await self._end_guest()
            raise _WentAnotherWay(other)

    async def _settle(self, cell: int) -> str:
        """Undo the transactions that were open when a cell was ended: they did not come to their end. What to tell."""
        self._unsettled = cell
        found = await self._reversible.settle(cell)
        self._unsettled = 0
        if found is None:
            return ""
        how = "Its transaction was undone" if not found.failed else "The undo of its transaction failed"
        told = ".\n".join(filter(None, (how, found.text())))
        self._say(f"toolwright: session {self.session.id}: cell {cell} was ended. {told}")
        return told

    @property
    def _reversible(self) -> Reversible:
        assert self.session.reversible is not None
        return self.session.reversible

    async def rollback(self, to: int, *, yes: bool) -> RolledBack:
        """Undo what the cells after `to` did, and go on as if they had not been."""
        await self._saved()
        self.session.checkpoints.begin_anew()
        if self._unsettled:
            await self._settle(self._unsettled)
        reversible, writer = self._reversible, self.session.writer
        assert writer is not None
        rollback = Rollback(self.session.story(), to, reversible.undoer, self._snapshots, writer)
        if not rollback.cells:
            return RolledBack()

        async def end_guest() -> None:
            reversible.retire()
            await self._end_guest()

        reversible.hold()
        try:
            done = await rollback.run(yes=yes, end_guest=end_guest, reached=self._life.delivered)
        finally:
            reversible.release()
        self._cut_off = None
        await self._restore(self.session.story())
        return done

    async def _watched(self, run: Coroutine[Any, Any, T]) -> T:
        """What comes of it; or what is wrong with the journal, or with a run that is repeated, as soon as it shows."""
        life, writer = self.session.life, self.session.writer
        assert life is not None
        assert writer is not None
        task = asyncio.ensure_future(run)
        try:
            await asyncio.wait({task, life.diverged, writer.broken}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        if writer.failed is not None:
            raise writer.failed
        if life.diverged.done():
            raise _WentAnotherWay(life.diverged.result())
        return task.result()

    async def tree_after(self, cell: int) -> str:
        """The workspace as it was after a cell: before the next one, or as it is now; before one that was cut off."""
        if self._cut_off is not None and cell >= self._cut_off.number:
            return self._cut_off.tree
        later = next((c for c in self.session.story().cells if c.number > cell), None)
        return later.tree if later is not None else await self._take_tree()

    async def _take_quiet_tree(self) -> str:
        """The workspace before a cell: with what callbacks between cells wrote, whole."""
        tree, told = "", -1
        for _ in range(QUIET_TRIES):
            await self._life.quiet(self._limits.wall_s)
            if told == self._life.delivered:
                break
            told = self._life.delivered
            tree = await self._take_tree()
        return tree

    async def _take_tree(self) -> str:
        return await self._snapshots.take()

    # bringing a guest back

    async def _restore(self, story: Story) -> None:
        self._ran = None
        try:
            self.restored = self._told(await self._bring_back(story))
        except _WentAnotherWay as other:
            await self._give_up(other.divergence)
        if self._unsettled:
            await self._settle(self._unsettled)

    async def _bring_back(self, story: Story) -> Story:
        """A guest with the state of this story, from a checkpoint where one can be used. Gives what was repeated."""
        checkpoints = self.session.checkpoints
        tail = story if story.start is not None else checkpoints.tail(story)
        while True:
            try:
                await self._repeat(tail, tail.state)
                return tail
            except _Unreadable as error:
                assert tail.start is not None
                checkpoints.refuse(tail.start, str(error))
                tail = checkpoints.tail(story.since(None))

    def _told(self, story: Story, diverged: Divergence | None = None, lost: Sequence[str] = ()) -> Restored:
        notes, self.session.checkpoints.notes = self.session.checkpoints.notes, []
        return Restored(
            cells=tuple(c.number for c in story.state),
            diverged=diverged,
            lost=tuple(lost),
            notes=(*self.session.changed, *notes, *self.restored_notes),
            checkpoint=0 if story.start is None else story.start.cell,
        )

    async def _repeat(self, story: Story, cells: Sequence[CellRow]) -> None:
        """A guest that has run these cells again, each to the same end."""
        await self._end_guest()
        self.restored_notes: tuple[str, ...] = ()
        pending = [*cells, self._cut_off] if self._cut_off is not None else list(cells)
        doors = self.session.next_life(self._host, story, pending)
        begins: float = pending[0].before if pending else math.inf
        if cells or story.between:
            tree = pending[0].tree if pending else await self._take_tree()
            self._scratch = await asyncio.to_thread(self._populated, tree)
            self._snapshots.workspace = self._scratch
        self._interpreter = await self._open(doors, self._scratch)
        try:
            if story.start is not None:
                await self._take_up(self._interpreter, story.start, begins)
            ends = [float(row.before) for row in pending[1:]] + [math.inf]
            for row, upto in zip(cells, ends, strict=False):
                await self._again(self._interpreter, row, story, upto)
            if not cells:
                self._life.end(begins)
            self._require_alive(self._interpreter, story, cells)
            await self._interpreter.reveal()
            self._require_alive(self._interpreter, story, cells)
            last = cells[-1].number if cells else story.start.cell if story.start is not None else 0
            self._saving = Saving(self.session, self._interpreter, last)
        except BaseException:
            await self._end_guest()
            raise
        finally:
            await self._drop_scratch()

    def _require_alive(self, interpreter: Interpreter, story: Story, cells: Sequence[CellRow]) -> None:
        """A guest that came to the same and then ended is of no use: its last cell would end it each time."""
        if interpreter.alive:
            return
        if cells:
            found = Divergence(cell=cells[-1].number, line=0, recorded="a guest that lives on", asked="one that ended")
            raise _WentAnotherWay(found)
        if story.start is not None:
            raise _Unreadable("the guest ended when it had taken it up")

    async def _take_up(self, interpreter: Interpreter, start: Start, upto: float) -> None:
        """Begin with a checkpoint, and what was told between it and the next cell: up to delivery `upto`."""
        try:
            await interpreter.load(start.content)
        except GuestError as error:
            raise _Unreadable(str(error)) from None
        self._life.cell = start.cell
        self._life.end(upto)
        await self._watched(self._life.told(self._limits.wall_s))

    async def _again(self, interpreter: Interpreter, row: CellRow, story: Story, upto: float) -> None:
        """Run a cell again, and tell what was told between it and the next, which begins after delivery `upto`."""
        if self._scratch is not None:  # what else changed the files since the last cell is not run again
            await self._snapshots.restore(row.tree)
        life = self._life
        life.value = None
        life.begin(row)
        outcome = await self._watched(outcome_in(interpreter, row, story.seed_of(row)))
        life.end(upto)
        await self._watched(life.told(self._limits.wall_s))
        found = divergence(row, outcome, life, story.rows_of([row]), upto) or life.untold()
        if found is not None:
            raise _WentAnotherWay(found)
        otherwise = printed_otherwise(row, outcome)
        if otherwise is not None:
            self.restored_notes += (str(otherwise),)

    @property
    def _life(self) -> Life:
        assert self.session.life is not None
        return self.session.life

    async def _give_up(self, found: Divergence) -> None:
        """Go on as before the cell that cannot be repeated; say which names are gone with it and those after it."""
        assert self.session.writer is not None
        if self._cut_off is not None:
            cut, self._cut_off = self._cut_off, None
            self._unsettled = cut.number
            self.session.cut(cut, Diverged(f"the cell was cut off, and cannot be carried on: {found}"))
        story = self.session.story()
        if not await self._rescue(story, found):
            await self._shorten(story, found)
        self._say(f"toolwright: session {self.session.id}: {self.restored}")

    async def _rescue(self, story: Story, found: Divergence) -> bool:
        """Go on from a later checkpoint, which need not be whole: it has what the cell made that cannot be repeated."""
        for tail in self.session.checkpoints.rescue(story, found.cell):
            assert tail.start is not None
            try:
                await self._repeat(tail, tail.state)
            except (_Unreadable, _WentAnotherWay):
                continue
            self.restored = self._told(tail, found, tail.start.lost)
            return True
        return False

    async def _shorten(self, story: Story, found: Divergence) -> None:
        """Go on without the cell, and those after it."""
        assert self.session.writer is not None
        other, lost = found, list[CellRow]()
        while True:
            gone = [c for c in story.state if c.number >= other.cell] or story.state
            lost = [*gone, *lost]
            self.session.writer.now(*(replace(c, undone=True) for c in gone))
            story = self.session.story()
            try:
                tail = await self._bring_back(story)
                break
            except _WentAnotherWay as again:
                other = again.divergence
        self.restored = self._told(tail, found, names_in(lost))

    def _populated(self, tree: str) -> Workspace:
        scratch = Workspace.create(None, GUEST_UID)
        self._trees.restore(tree, scratch)
        return scratch

    async def _drop_scratch(self) -> None:
        self._snapshots.workspace = self._workspace
        scratch, self._scratch = self._scratch, None
        if scratch is not None:
            await asyncio.to_thread(scratch.remove)

    async def _end_guest(self) -> None:
        interpreter, self._interpreter, self._saving = self._interpreter, None, None
        if interpreter is not None:
            await interpreter.close()

    async def close(self) -> None:
        if self._saving is not None and self._interpreter is not None and self._interpreter.alive:
            await self._saving.finish()
        await self._end_guest()
        if self.session.reversible is not None:
            await self.session.reversible.idle()
        if self.session.writer is not None and self.session.writer.failed is None:
            self.session.writer.now()
