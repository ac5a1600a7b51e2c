"""`Restoring`: one session's live guest. Opens it, brings it back when it is gone, and ends it.

A guest is brought back by running the session's cells again, on a scratch copy of the workspace, with the recorded
answers. It knows how to open a guest, and nothing of what stands behind the door; nor which cell is to run next.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from cellwright.doors import Host
from cellwright.errors import GuestError
from cellwright.journal.comparing import divergence, printed_otherwise
from cellwright.journal.life import Divergence, Life
from cellwright.journal.outcomes import outcome_in
from cellwright.journal.restored import Restored, names_in
from cellwright.journal.saving import Saving
from cellwright.journal.session import SessionJournal
from cellwright.journal.snapshots import Snapshots
from cellwright.journal.starts import Start
from cellwright.journal.story import Story
from cellwright.journal.trees import Trees
from cellwright.sandboxes import GUEST_UID, Interpreter, Limits, Opening, Sandbox, Workspace
from cellwright.store import CellRow

T = TypeVar("T")


class WentAnotherWay(Exception):
    """A cell that was run again came to something else."""

    def __init__(self, divergence: Divergence) -> None:
        self.divergence = divergence


class Paused(Exception):
    """Nothing of the cell goes on but what waits for a person: `questions` are the ids."""

    def __init__(self, questions: tuple[str, ...]) -> None:
        self.questions = questions


class _Unreadable(Exception):
    """The guest could not take up a checkpoint."""


class Restoring:
    """The guest of one session: `interpreter`, and `saving` for its checkpoints; both None while there is none."""

    def __init__(
        self, session: SessionJournal, host: Host, sandbox: Sandbox, workspace: Workspace, limits: Limits
    ) -> None:
        self.session = session
        self.interpreter: Interpreter | None = None
        self.saving: Saving | None = None
        self._host = host
        self._sandbox = sandbox
        self._workspace = workspace
        self._limits = limits
        self._trees = Trees(session.journal, session.id, limits)
        self.snapshots = session.snapshots = Snapshots(self._trees, workspace)
        self._scratch: Workspace | None = None

    @property
    def life(self) -> Life:
        """That of the guest."""
        assert self.session.life is not None
        return self.session.life

    async def begin(self) -> None:
        """The guest of a new session."""
        self.interpreter = await self._open(self.session.first_life(self._host))
        self.saving = Saving(self.session, self.interpreter, 0)

    async def _open(self, host: Host, scratch: Workspace | None = None) -> Interpreter:
        opening = Opening(host=host, limits=self._limits, workspace=self._workspace, scratch=scratch)
        return await self._sandbox.open(opening)

    async def saved(self) -> None:
        """Until no checkpoint is being made."""
        if self.saving is not None:
            await self.saving.wait()

    async def watched(self, run: Coroutine[Any, Any, T]) -> T:
        """What comes of it; or what is wrong with the journal, or with a run that is repeated, as soon as it shows.

        `Paused` where it only waits for a person.
        """
        life, writer, pausing = self.session.life, self.session.writer, self.session.pausing
        assert life is not None
        assert writer is not None
        assert pausing is not None
        task = asyncio.ensure_future(run)
        try:
            ends = {task, life.diverged, writer.broken, pausing.paused}
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        if writer.failed is not None:
            raise writer.failed
        if life.diverged.done():
            raise WentAnotherWay(life.diverged.result())
        if pausing.paused.done():
            raise Paused(pausing.paused.result())
        return task.result()

    async def restore(self, story: Story, cut_off: CellRow | None) -> Restored:
        """A guest with the state of this story, in which the cell that was cut off can be carried on."""
        return self._told(await self._bring_back(story, cut_off))

    async def _bring_back(self, story: Story, cut_off: CellRow | None = None) -> Story:
        """A guest with the state of this story, from a checkpoint where one can be used. Gives what was repeated."""
        checkpoints = self.session.checkpoints
        tail = story if story.start is not None else checkpoints.tail(story)
        while True:
            try:
                await self._repeat(tail, tail.state, cut_off)
                return tail
            except _Unreadable as error:
                assert tail.start is not None
                checkpoints.refuse(tail.start, str(error))
                tail = checkpoints.tail(story.since(None))

    async def rescue(self, story: Story, found: Divergence) -> Restored | None:
        """Go on from a later checkpoint, which need not be whole: it has what the cell made that cannot be repeated."""
        for tail in self.session.checkpoints.rescue(story, found.cell):
            assert tail.start is not None
            try:
                await self._repeat(tail, tail.state)
            except (_Unreadable, WentAnotherWay):
                continue
            return self._told(tail, found, tail.start.lost)
        return None

    async def shorten(self, story: Story, found: Divergence) -> Restored:
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
            except WentAnotherWay as again:
                other = again.divergence
        return self._told(tail, found, names_in(lost))

    def _told(self, story: Story, diverged: Divergence | None = None, lost: Sequence[str] = ()) -> Restored:
        notes, self.session.checkpoints.notes = self.session.checkpoints.notes, []
        return Restored(
            cells=tuple(c.number for c in story.state),
            diverged=diverged,
            lost=tuple(lost),
            notes=(*self.session.changed, *notes, *self.restored_notes),
            checkpoint=0 if story.start is None else story.start.cell,
        )

    async def _repeat(self, story: Story, cells: Sequence[CellRow], cut_off: CellRow | None = None) -> None:
        """A guest that has run these cells again, each to the same end."""
        await self.end_guest()
        self.restored_notes: tuple[str, ...] = ()
        pending = [*cells, cut_off] if cut_off is not None else list(cells)
        doors = self.session.next_life(self._host, story, pending)
        begins: float = pending[0].before if pending else math.inf
        if cells or story.between:
            tree = pending[0].tree if pending else await self.snapshots.take()
            self._scratch = await asyncio.to_thread(self._populated, tree)
            self.snapshots.workspace = self._scratch
        self.interpreter = await self._open(doors, self._scratch)
        try:
            if story.start is not None:
                await self._take_up(self.interpreter, story.start, begins)
            ends = [float(row.before) for row in pending[1:]] + [math.inf]
            for row, upto in zip(cells, ends, strict=False):
                await self._again(self.interpreter, row, story, upto)
            if not cells:
                self.life.end(begins)
            self._require_alive(self.interpreter, story, cells)
            await self.interpreter.reveal()
            self._require_alive(self.interpreter, story, cells)
            last = cells[-1].number if cells else story.start.cell if story.start is not None else 0
            self.saving = Saving(self.session, self.interpreter, last)
        except BaseException:
            await self.end_guest()
            raise
        finally:
            await self._drop_scratch()

    def _require_alive(self, interpreter: Interpreter, story: Story, cells: Sequence[CellRow]) -> None:
        """A guest that came to the same and then ended is of no use: its last cell would end it each time."""
        if interpreter.alive:
            return
        if cells:
            found = Divergence(cell=cells[-1].number, line=0, recorded="a guest that lives on", asked="one that ended")
            raise WentAnotherWay(found)
        if story.start is not None:
            raise _Unreadable("the guest ended when it had taken it up")

    async def _take_up(self, interpreter: Interpreter, start: Start, upto: float) -> None:
        """Begin with a checkpoint, and what was told between it and the next cell: up to delivery `upto`."""
        try:
            await interpreter.load(start.content)
        except GuestError as error:
            raise _Unreadable(str(error)) from None
        self.life.cell = start.cell
        self.life.end(upto)
        await self.watched(self.life.told(self._limits.wall_s))

    async def _again(self, interpreter: Interpreter, row: CellRow, story: Story, upto: float) -> None:
        """Run a cell again, and tell what was told between it and the next, which begins after delivery `upto`."""
        if self._scratch is not None:  # what else changed the files since the last cell is not run again
            await self.snapshots.restore(row.tree)
        life = self.life
        life.value = None
        life.begin(row)
        outcome = await self.watched(outcome_in(interpreter, row, story.seed_of(row)))
        life.end(upto)
        await self.watched(life.told(self._limits.wall_s))
        found = divergence(row, outcome, life, story.rows_of([row]), upto) or life.untold()
        if found is not None:
            raise WentAnotherWay(found)
        otherwise = printed_otherwise(row, outcome)
        if otherwise is not None:
            self.restored_notes += (str(otherwise),)

    def _populated(self, tree: str) -> Workspace:
        scratch = Workspace.create(None, GUEST_UID)
        self._trees.restore(tree, scratch)
        return scratch

    async def _drop_scratch(self) -> None:
        self.snapshots.workspace = self._workspace
        scratch, self._scratch = self._scratch, None
        if scratch is not None:
            await asyncio.to_thread(scratch.remove)

    async def end_guest(self) -> None:
        interpreter, self.interpreter, self.saving = self.interpreter, None, None
        if interpreter is not None:
            await interpreter.close()

    async def close(self) -> None:
        """End the guest, after a last checkpoint."""
        if self.saving is not None and self.interpreter is not None and self.interpreter.alive:
            await self.saving.finish()
        await self.end_guest()
