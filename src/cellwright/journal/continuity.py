"""`Continuity`: keeps one journaled session going. Runs its cells, settles what they left open, and rolls them back.

It knows when the guest must be brought back, and what to do where that fails; not how it is done.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

from cellwright.doors import Host
from cellwright.errors import Cancelled, Diverged, Fenced, GuestError, JournalFailed, PlatformError, UsageError
from cellwright.journal.life import Divergence
from cellwright.journal.outcomes import outcome_in, outcome_of
from cellwright.journal.questions import Asker
from cellwright.journal.restored import Restored
from cellwright.journal.restoring import Paused, Restoring, WentAnotherWay
from cellwright.journal.reversible import Reversible
from cellwright.journal.rewinding import Rewinding, Rewound
from cellwright.journal.rollback import Rollback, RolledBack, unfinished
from cellwright.journal.session import SessionJournal
from cellwright.journal.story import Story
from cellwright.journal.trees import FileChange
from cellwright.journal.versions import FileDiff, kept_after, told_files
from cellwright.journal.waiting import Waits
from cellwright.sandboxes import GONE, Interpreter, Limits, OnEvent, Outcome, Sandbox, Workspace
from cellwright.store import CellRow

GRACE_S = 2.0  # for what is on its way when a cell that was cut off is over
QUIET_TRIES = 10  # to take the workspace while no call of host code changes it
KEPT = "The names are as they were before the cell; what it did outside is done."


class Continuity:
    """One session's course. `say` is told what a person should know, a line each."""

    def __init__(
        self,
        session: SessionJournal,
        host: Host,
        sandbox: Sandbox,
        workspace: Workspace,
        limits: Limits,
        say: Callable[[str], None],
        *,
        asker: Asker | None = None,
    ) -> None:
        self.session = session
        self.restored: Restored | None = None
        self._host = host
        self._sandbox = sandbox
        self._limits = limits
        self._say = say
        self._restoring = Restoring(session, host, sandbox, workspace, limits)
        self._snapshots = self._restoring.snapshots
        self._unsettled = 0  # a cell that was ended, whose transactions may be open
        self._cut_off: CellRow | None = None
        self._waits = Waits(session, asker)
        self._ran: list[str] | None = None  # the code that makes up the state, where somebody asked for it

    # beginning

    async def begin(self) -> None:
        """A new session."""
        await self._restoring.begin()

    async def resume(self, *, take_over: bool = False) -> None:
        """A session that is there: its guest is brought back; a cell that was cut off waits to be carried on."""
        story = self.session.resume(take_over=take_over)
        self._cut_off = story.cut_off
        last = story.cells[-1] if story.cells else None
        if last is not None and last.status == "ended" and not last.undone and last.number > story.facts.parent_cell:
            self._unsettled = last.number  # its process may have died before all was undone
        self._waits.tidy()
        await self._restore(story)
        if words := unfinished(story):
            self._say(f"cellwright: session {self.session.id}: {words}")

    async def fork(self, parent: Story) -> None:
        """A new session that begins where `parent`, read up to there, ends."""
        self.session.fork(parent)
        await self._restore(self.session.story())

    # cells

    async def run(self, code: str, on_event: OnEvent | None) -> Outcome:
        """Run a new cell, after the one that was cut off, if there is one."""
        await self._restoring.saved()
        async with self._written():
            if self._cut_off is not None and (await self.outcome()).waiting:
                raise self._waits.refuse(self._cut_off, await self._waits.open(self._cut_off))
            if self._interpreter is None or not self._interpreter.alive:
                await self._restore(self.session.story())
            row = self.session.begin(code, await self._take_quiet_tree())
            return await self._run(row, on_event)

    async def outcome(self, on_event: OnEvent | None = None, *, wait: bool = False) -> Outcome:
        """What came of the last cell. One that was cut off is carried on to its end first.

        But not while it waits for a person: then it is told that it does; with `wait`, all that is waited for.
        """
        await self._restoring.saved()
        while (row := self._cut_off) is not None:
            if left := await self._waits.left(row, on_event, wait=wait):
                await self._end_guest()
                return self._waits.told(row, left, self._sandbox.rung)
            outcome = await self._carry_on(on_event)
            if outcome is not None and not (wait and outcome.waiting):
                return outcome
        last = self.session.latest()
        if last is None:
            raise UsageError(f"session {self.session.id!r} has run no cell yet")
        return outcome_of(last, self._host)

    async def _carry_on(self, on_event: OnEvent | None) -> Outcome | None:
        """Run the cell that was cut off to its end, or to its next pause. None where that cannot be done any more."""
        if self._interpreter is None or not self._interpreter.alive:
            await self._restore(self.session.story())
        row = self._cut_off
        if row is None:
            return None
        async with self._written():
            await self._snapshots.restore(row.tree)
            return await self._run(row, on_event)

    async def require_decided(self) -> None:
        """`UsageError` while a cell waits for a person: it says what to do."""
        row = self._cut_off
        if row is not None and (left := await self._waits.open(row)):
            raise self._waits.refuse(row, left)

    async def decided(self, path: str, questions: Sequence[str]) -> None:
        """See `Waits.decided`."""
        await self._waits.decided(path, questions)

    async def give_up(self) -> Outcome:
        """End the cell that was cut off, or waits for a person, where it is. Its code is never run again."""
        row = self._cut_off
        if row is None:
            raise UsageError(f"session {self.session.id!r} has no cell that was cut off, or that waits for a person")
        if self.session.life is None:
            await self._restore(self.session.story())
        await self._end_guest()
        async with self._written():
            error = Cancelled(f"the cell was given up. {KEPT}")
            self._cut(row, error)
            await self._settle(row.number)
        return Outcome(cell=row.number, error=error, rung=self._sandbox.rung)

    def _cut(self, row: CellRow, error: GuestError) -> None:
        self.session.cut(row, error)
        self._waits.tidy("its cell was ended")
        self._cut_off = None

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

    async def _run(self, row: CellRow, on_event: OnEvent | None) -> Outcome:
        assert self._interpreter is not None
        interpreter = self._interpreter
        assert self.session.pausing is not None
        self._restoring.life.begin(row)
        self.session.pausing.begin(self._limits.wall_s)
        try:
            outcome = await self._restoring.watched(outcome_in(interpreter, row, self.session.seed, on_event))
            if not self._restoring.life.live:
                await self._all_told()
        except WentAnotherWay as other:
            error = Diverged(f"the cell was cut off, and went another way when it was run again: {other.divergence}")
            self._cut(row, error)
            await self._settle(row.number)
            return Outcome(cell=row.number, error=error, rung=self._sandbox.rung)
        except Paused as paused:
            self._cut_off = row
            return await self._pause(row, paused)
        except asyncio.CancelledError:
            if self.session.writer is not None and self.session.writer.failed is None:
                self._cut(row, Cancelled(f"the cell was cancelled. {KEPT}"))
                await self._settle(row.number)
            raise
        finally:
            self.session.pausing.end()
        alive = interpreter.alive
        if outcome.error is not None and GONE in str(outcome.error):
            kind: Any = type(outcome.error)
            outcome = replace(outcome, error=kind(str(outcome.error).replace(GONE, KEPT)))
        tree, files = await self._tree_now(row)
        row = self.session.end(row, outcome, alive=alive, tree=tree, files=files)
        self._cut_off = None
        if self._ran is not None and row.status != "ended":
            self._ran.append(row.code)
        if self._restoring.saving is not None and row.status != "ended" and interpreter.alive:
            self._restoring.saving.ran(row)
        if row.status == "ended":
            self._waits.tidy("its cell was ended")
        if row.status == "ended" and (told := await self._settle(row.number)) and outcome.error is not None:
            kind = type(outcome.error)
            outcome = replace(outcome, error=kind(f"{outcome.error} {told}"))
            self.session.amend(row, outcome)
        return outcome

    async def _pause(self, row: CellRow, paused: Paused) -> Outcome:
        """The guest is ended, and the cell stays the one that was cut off."""
        await self._end_guest()
        if self.session.writer is not None:
            self.session.writer.now()
        self._waits.paused(paused.questions)
        return await self._waits.outcome(row, self._sandbox.rung)

    async def _all_told(self) -> None:
        """A cell that was cut off is over: it must have asked again for all that it had been told."""
        await self._restoring.life.told(GRACE_S)
        other = self._restoring.life.untold()
        if other is not None:
            await self._end_guest()
            raise WentAnotherWay(other)

    async def _settle(self, cell: int) -> str:
        """Undo the transactions that were open when a cell was ended: they did not come to their end. What to tell."""
        self._unsettled = cell
        found = await self._reversible.settle(cell)
        self._unsettled = 0
        if found is None:
            return ""
        how = "Its transaction was undone" if not found.failed else "The undo of its transaction failed"
        told = ".\n".join(filter(None, (how, found.text())))
        self._say(f"cellwright: session {self.session.id}: cell {cell} was ended. {told}")
        return told

    @property
    def _reversible(self) -> Reversible:
        assert self.session.reversible is not None
        return self.session.reversible

    async def rollback(self, to: int, *, yes: bool) -> RolledBack:
        """Undo what the cells after `to` did, and go on as if they had not been."""
        await self._restoring.saved()
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
            done = await rollback.run(yes=yes, end_guest=end_guest, reached=self._restoring.life.delivered)
        finally:
            reversible.release()
        self._waits.tidy()
        self._cut_off = None
        await self._restore(self.session.story())
        return done

    async def rewind(self, *, to: int | None = None, entry: int | None = None) -> Rewound:
        """Go on from an earlier moment. What was done outside since then stays done."""
        await self._restoring.saved()
        self.session.checkpoints.begin_anew()
        if self._unsettled:
            await self._settle(self._unsettled)
        writer, reversible = self.session.writer, self._reversible
        assert writer is not None
        writer.now()
        rewinding = Rewinding(self.session.journal, self.session.id, to=to, entry=entry)
        if not rewinding.is_needed:
            return Rewound(to=rewinding.to)
        reversible.hold()
        try:
            async with reversible.undoer.alone:
                reversible.retire()
                reached = self._restoring.life.delivered
                writer.now(rewinding.begun())
                await self._end_guest()
                now, then = await self._snapshots.take(), rewinding.tree
                await self._snapshots.restore(then)
                writer.now(*rewinding.changes(reached))
        finally:
            reversible.release()
        self._waits.tidy()
        self._cut_off = None
        await self._restore(self.session.story())
        return rewinding.told(await self._snapshots.difference(now, then) if then else ())

    async def tree_after(self, cell: int) -> str:
        """The workspace as it was after a cell: before the next one, or as it is now; before one that was cut off."""
        if self._cut_off is not None and cell >= self._cut_off.number:
            return self._cut_off.tree
        cells = self.session.story().cells
        later = next((c for c in cells if c.number > cell), None)
        taken = next((c.tree_after for c in cells if c.number == cell), "")
        return await self._take_tree() if later is None else taken or later.tree

    async def _take_quiet_tree(self) -> str:
        """The workspace before a cell: with what callbacks between cells wrote, whole."""
        tree, told = "", -1
        for _ in range(QUIET_TRIES):
            await self._restoring.life.quiet(self._limits.wall_s)
            if told == self._restoring.life.delivered:
                break
            told = self._restoring.life.delivered
            tree = await self._take_tree()
        return tree

    async def _take_tree(self) -> str:
        return await self._snapshots.take()

    async def _tree_now(self, row: CellRow) -> tuple[str, tuple[str, ...]]:
        """The workspace after a cell, and the paths that it changed. A disk that fails is for the next cell to tell."""
        try:
            tree = await self._take_tree()
            return tree, told_files(await self._snapshots.difference(row.tree, tree)) if row.tree else ()
        except (Fenced, JournalFailed):
            raise
        except PlatformError:
            return "", ()

    # files

    async def diff(self, since: int | None) -> tuple[FileDiff, ...]:
        """What is otherwise in the workspace than after cell `since`, or before the last one."""
        return await self._snapshots.diff(self.session.journal, self.session.story(), since)

    async def put_back(self, at: int | None) -> tuple[FileChange, ...]:
        """The files as they were after cell `at`, or before the last one. The names stay as they are."""
        if self._cut_off is not None:
            raise UsageError(f"cell {self._cut_off.number} was cut off, or waits for a person; carry it on first")
        async with self._written():
            changes, tree = await self._snapshots.put_back(self.session.journal, self.session.story(), at)
            self._keep_tree(tree)
        return changes

    async def _keep_last_tree(self) -> None:
        """At the end, where it costs little or the workspace goes with this process."""
        if self._cut_off is None and self.session.last and self._snapshots.is_due:
            with suppress(PlatformError):  # what the journal has of it is from before
                self._keep_tree(await self._take_tree())

    def _keep_tree(self, tree: str) -> None:
        """What came into the workspace after the last cell is found again by who resumes the session elsewhere."""
        writer, rows = self.session.writer, self.session.journal.cells(self.session.id, self.session.last)
        if writer is not None and rows and (row := kept_after(rows[-1], tree)) is not None:
            writer.now(row)

    # its guest

    @property
    def _interpreter(self) -> Interpreter | None:
        return self._restoring.interpreter

    async def _end_guest(self) -> None:
        await self._restoring.end_guest()

    async def _restore(self, story: Story) -> None:
        self._ran = None
        try:
            self.restored = await self._restoring.restore(story, self._cut_off)
        except WentAnotherWay as other:
            await self._give_up(other.divergence)
        if self._unsettled:
            await self._settle(self._unsettled)

    async def _give_up(self, found: Divergence) -> None:
        """Go on as before the cell that cannot be repeated; say which names are gone with it and those after it."""
        assert self.session.writer is not None
        if self._cut_off is not None:
            cut, self._cut_off = self._cut_off, None
            self._unsettled = cut.number
            self.session.cut(cut, Diverged(f"the cell was cut off, and cannot be carried on: {found}"))
            self._waits.tidy("its cell cannot be carried on")
        story = self.session.story()
        self.restored = await self._restoring.rescue(story, found) or await self._restoring.shorten(story, found)
        self._say(f"cellwright: session {self.session.id}: {self.restored}")

    async def close(self) -> None:
        try:
            await self._restoring.close()
            if self.session.reversible is not None:
                await self.session.reversible.idle()
            if self.session.writer is not None and self.session.writer.failed is None:
                self.session.writer.now()
                await self._keep_last_tree()
        finally:
            self.session.release()
