"""`Continuity`: keeps one journaled session going. Runs its cells, settles what they left open, and rolls them back.

It knows when the guest must be brought back, and what to do where that fails; not how it is done.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from toolwright.doors import Host
from toolwright.errors import Cancelled, Diverged, Fenced, JournalFailed, UsageError
from toolwright.journal.life import Divergence
from toolwright.journal.outcomes import outcome_in, outcome_of
from toolwright.journal.restored import Restored
from toolwright.journal.restoring import Restoring, WentAnotherWay
from toolwright.journal.reversible import Reversible
from toolwright.journal.rollback import Rollback, RolledBack, unfinished
from toolwright.journal.rows import CellRow
from toolwright.journal.session import SessionJournal
from toolwright.journal.story import Story
from toolwright.sandboxes import GONE, Interpreter, Limits, OnEvent, Outcome, Sandbox, Workspace

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
        self._ran: list[str] | None = None  # the code that makes up the state, where somebody asked for it

    # beginning

    async def begin(self) -> None:
        """A new session."""
        await self._restoring.begin()

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

    # cells

    async def run(self, code: str, on_event: OnEvent | None) -> Outcome:
        """Run a new cell, after the one that was cut off, if there is one."""
        await self._restoring.saved()
        async with self._written():
            if self._cut_off is not None:
                await self.outcome()
            if self._interpreter is None or not self._interpreter.alive:
                await self._restore(self.session.story())
            row = self.session.begin(code, await self._take_quiet_tree())
            return await self._run(row, on_event)

    async def outcome(self, on_event: OnEvent | None = None) -> Outcome:
        """What came of the last cell. One that was cut off is carried on to its end first."""
        await self._restoring.saved()
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

    async def _run(self, row: CellRow, on_event: OnEvent | None) -> Outcome:
        assert self._interpreter is not None
        interpreter = self._interpreter
        self._restoring.life.begin(row)
        try:
            outcome = await self._restoring.watched(outcome_in(interpreter, row, self.session.seed, on_event))
            if not self._restoring.life.live:
                await self._all_told()
        except WentAnotherWay as other:
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
        if self._restoring.saving is not None and row.status != "ended" and interpreter.alive:
            self._restoring.saving.ran(row)
        if row.status == "ended" and (told := await self._settle(row.number)) and outcome.error is not None:
            kind = type(outcome.error)
            outcome = replace(outcome, error=kind(f"{outcome.error} {told}"))
            self.session.amend(row, outcome)
        return outcome

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
        self._say(f"toolwright: session {self.session.id}: cell {cell} was ended. {told}")
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
        self._cut_off = None
        await self._restore(self.session.story())
        return done

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
            await self._restoring.life.quiet(self._limits.wall_s)
            if told == self._restoring.life.delivered:
                break
            told = self._restoring.life.delivered
            tree = await self._take_tree()
        return tree

    async def _take_tree(self) -> str:
        return await self._snapshots.take()

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
        story = self.session.story()
        self.restored = await self._restoring.rescue(story, found) or await self._restoring.shorten(story, found)
        self._say(f"toolwright: session {self.session.id}: {self.restored}")

    async def close(self) -> None:
        await self._restoring.close()
        if self.session.reversible is not None:
            await self.session.reversible.idle()
        if self.session.writer is not None and self.session.writer.failed is None:
            self.session.writer.now()
