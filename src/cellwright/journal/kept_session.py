"""`KeptSession`: keeps one journaled session going. Runs its cells, settles what they left open, and rolls them back.

It knows when the guest must be brought back, and what to do where that fails; not how it is done.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

from cellwright.doors import Host
from cellwright.errors import Cancelled, Diverged, Fenced, GuestError, JournalFailed, PlatformError, UsageError
from cellwright.journal.history import History
from cellwright.journal.kept_files import KeptFiles
from cellwright.journal.live_guest import CellPaused, Guard, LiveGuest, ReplayDiverged
from cellwright.journal.outcomes import outcome_of, told_error, with_error
from cellwright.journal.pause import PausedCell
from cellwright.journal.questions import Asker
from cellwright.journal.replay_deaths import GUESTS, GuestDied
from cellwright.journal.restoration import Restoration, Restored
from cellwright.journal.rollback import Rewind, Rewound, Rollback, RolledBack, unfinished
from cellwright.journal.session_journal import SessionJournal, with_cells
from cellwright.journal.snapshots import FileDiff, Snapshots
from cellwright.journal.trees import FileChange, Trees
from cellwright.sandboxes import GONE, Limits, OnEvent, Outcome, Sandbox, Workspace
from cellwright.store import CellRow

KEPT = "The names are as they were before the cell; what it did outside is done."


class KeptSession:
    """One session and its guest. `say` tells a person, `asker` asks one, `recall` reads before a guest is restored."""

    def __init__(
        self,
        session: SessionJournal,
        host: Host,
        sandbox: Sandbox,
        workspace: Workspace,
        limits: Limits,
        say: Callable[[str], None],
        *,
        asker: Asker,
        guard: Guard | None = None,
        recall: Callable[[History], None] = lambda history: None,
    ) -> None:
        self.session = session
        self._recall = recall
        session.asker = asker
        self.restored: Restored | None = None
        self._host = host
        self._sandbox = sandbox
        self._limits = limits
        self._say = say
        trees = Trees(session.store, session.id, limits)
        self._snapshots = Snapshots(trees, workspace)
        self._files = KeptFiles(session, self._snapshots, trees)
        self._restoration = Restoration(session, host, sandbox, workspace, limits, self._snapshots, guard)
        self._guest: LiveGuest | None = None  # before the session is open
        self._stale = False  # what is known here is from before a write that failed
        self._unsettled = 0  # a cell that was ended, whose transactions may be open
        self.cut_off: CellRow | None = None  # the last cell, where it has not come to its end
        self._paused = PausedCell(session.store, session.id, asker)
        self._ran: list[str] | None = None  # the code that makes up the state, where somebody asked for it

    @property
    def guest(self) -> LiveGuest:
        """The guest that was opened last. It may have ended."""
        if self._guest is None:
            raise UsageError(f"session {self.session.id!r} is not open")
        return self._guest

    # beginning

    async def begin(self) -> None:
        """A new session."""
        self._guest = await self._restoration.first()

    async def resume(self, *, take_over: bool = False) -> None:
        """A session that is there: its guest is brought back; a cell that was cut off waits to be carried on."""
        history = await self.session.resume(take_over=take_over)
        self.cut_off, self._unsettled = history.cut_off, 0
        last = history.cells[-1] if history.cells else None
        if last is not None and last.status == "ended" and not last.undone and last.number > history.facts.parent_cell:
            self._unsettled = last.number  # its process may have died before all was undone
        await self._restore(history)
        await self._paused.tidy()
        if words := unfinished(history):
            self._say(f"cellwright: session {self.session.id}: {words}")

    async def usable(self) -> None:
        """After a write that failed: claim the session again, and bring its guest back from what is written."""
        writer = self.session.writer
        self._stale = self._stale or isinstance(writer.failed, JournalFailed)
        if not self._stale:
            return
        if self._guest is not None:
            await self._guest.end()
        if writer.can_write:  # an attempt had the claim, and did not come to its end
            await writer.release()
        await self.resume()
        self._stale = False

    async def fork(self, parent: History) -> None:
        """A new session that begins where `parent`, read up to there, ends."""
        await self.session.fork(parent)
        await self._restore(await self.session.history())

    # cells

    async def run(self, code: str, on_event: OnEvent | None) -> Outcome:
        """Run a new cell, after the one that was cut off, if there is one."""
        await self.guest.saved()
        async with self._written():
            if self.cut_off is not None and (await self.outcome()).waiting:
                raise self._paused.refuse(self.cut_off, await self._paused.open(self.cut_off))
            if not self.guest.alive:
                await self._restore(await self.session.history())
            tree = await self._files.before(self.guest.replay, self._limits.wall_s)
            row = await self.session.begin(code, self.guest.replay.delivered, tree)
            while row.before != self.guest.replay.delivered:  # host code called the guest while that was written
                try:
                    tree = await self._files.before(self.guest.replay, self._limits.wall_s)
                except asyncio.CancelledError:
                    self.session.never_ran(row)
                    raise
                row = await self.session.amend(replace(row, before=self.guest.replay.delivered, tree=tree))
            return await self._run(row, on_event)

    async def outcome(self, on_event: OnEvent | None = None, *, wait: bool = False) -> Outcome:
        """What came of the last cell. One that was cut off is carried on to its end first.

        But not while it waits for a person: then the outcome says so. With `wait`, it goes on when that is decided.
        """
        await self.guest.saved()
        while (row := self.cut_off) is not None:
            if left := await self._paused.left(row, on_event, wait=wait):
                await self.guest.end()
                return self._paused.outcome(row, left, self._sandbox.rung)
            outcome = await self._carry_on(on_event)
            if outcome is not None and not (wait and outcome.waiting):
                return outcome
        last = await self.session.latest()
        if last is None:
            raise UsageError(f"session {self.session.id!r} has run no cell yet")
        return outcome_of(last, self._host)

    async def _carry_on(self, on_event: OnEvent | None) -> Outcome | None:
        """Run the cell that was cut off to its end, or to its next pause. None where it cannot be carried on."""
        for left in reversed(range(GUESTS)):
            if not self.guest.alive:
                await self._restore(await self.session.history())
            row = self.cut_off
            if row is None:
                return None
            try:
                async with self._written():
                    await self._snapshots.restore(row.tree)
                    return await self._run(row, on_event)
            except GuestDied as death:
                await self.guest.end()
                if not left:
                    raise death.failed(self.session.id) from None
        return None

    async def require_decided(self) -> None:
        """`UsageError` while a cell waits for a person: it says what to do."""
        row = self.cut_off
        if row is not None and (left := await self._paused.open(row)):
            raise self._paused.refuse(row, left)

    async def decided(self, path: str, questions: Sequence[str]) -> None:
        """For a call under way: until these questions, of another session, are decided. Its cell may be paused then."""
        pause = self._restoration.pause  # the call may be made again by a guest that is being brought back
        if pause is None:
            raise UsageError(f"session {self.session.id!r} is not open")
        await self._paused.decided(pause, path, questions)
        await self.session.writer.now()  # a process that lost the session must not take the child from its new owner

    async def give_up(self) -> Outcome:
        """End the cell that was cut off, or waits for a person, where it is. Its code is never run again."""
        row = self.cut_off
        if row is None:
            raise UsageError(f"session {self.session.id!r} has no cell that was cut off, or that waits for a person")
        await self.guest.end()
        async with self._written():
            error = Cancelled(f"the cell was given up. {KEPT}")
            await self._cut(row, error)
            await self._settle(row.number)
        return Outcome(cell=row.number, error=error, rung=self._sandbox.rung)

    async def _cut(self, row: CellRow, error: GuestError) -> None:
        self.cut_off, self._unsettled = None, row.number  # also where nobody waits until it is written
        await self.session.cut(row, error, self.guest.replay.delivered)
        await self._paused.tidy("its cell was ended")

    @property
    def last(self) -> int:
        """The number of the last cell."""
        return self.session.last

    async def ran(self) -> list[str]:
        """The code of the cells that make up the state."""
        if self._ran is None:
            self._ran = [row.code for row in (await self.session.history(read=with_cells)).state]
        return self._ran

    @asynccontextmanager
    async def _written(self) -> AsyncGenerator[None]:
        """Where something cannot be written down, end the guest: it may do what the journal does not have."""
        try:
            yield
        except (Fenced, JournalFailed):
            await self.guest.end()
            raise

    async def _run(self, row: CellRow, on_event: OnEvent | None) -> Outcome:
        guest = self.guest
        try:
            outcome = await guest.run(row, self.session.seed, on_event, self._limits.wall_s)
        except ReplayDiverged as other:
            error = Diverged(f"the cell was cut off, and went another way when it was run again: {other.divergence}")
            await self._cut(row, error)
            await self._settle(row.number)
            return Outcome(cell=row.number, error=error, rung=self._sandbox.rung)
        except CellPaused as paused:
            self.cut_off = row
            return await self._pause(row, paused)
        except asyncio.CancelledError:
            if self.session.writer.can_write:
                await self._cut(row, Cancelled(f"the cell was cancelled. {KEPT}"))
                await self._settle(row.number)
            raise
        alive = guest.alive
        if outcome.error is not None and GONE in str(outcome.error):
            outcome = with_error(outcome, str(outcome.error).replace(GONE, KEPT))
        ending = asyncio.ensure_future(self._end(row, outcome, guest, alive=alive))
        try:
            row = await asyncio.shield(ending)
        except asyncio.CancelledError:  # its code has run: that is written down, also where nobody waits for it
            await asyncio.wait((ending,))
            self._ran = None
            raise
        if row.status != "ended":
            if self._ran is not None:
                self._ran.append(row.code)
            if guest.alive:
                guest.schedule.ran(row)
            return outcome
        await self._paused.tidy("its cell was ended")
        if (settled := await self._settle(row.number)) and outcome.error is not None:
            outcome = with_error(outcome, f"{outcome.error} {settled}")
            await self.session.amend(replace(row, error=told_error(outcome.error)))
        return outcome

    async def _end(self, row: CellRow, outcome: Outcome, guest: LiveGuest, *, alive: bool) -> CellRow:
        tree, files = await self._files.after(row)
        row = await self.session.end(row, outcome, guest.replay, alive=alive, tree=tree, files=files)
        self.cut_off = None
        if row.status == "ended":
            self._unsettled = row.number
        return row

    async def _pause(self, row: CellRow, paused: CellPaused) -> Outcome:
        """The guest is ended, and the cell stays the one that was cut off."""
        await self.guest.end()
        await self.session.writer.now()
        self._paused.paused(paused.questions)
        return self._paused.outcome(row, await self._paused.open(row), self._sandbox.rung)

    async def _settle(self, cell: int) -> str:
        """Undo the transactions that were open when a cell was ended. Gives what to say of it."""
        self._unsettled = cell
        undone = await self.guest.reversible.settle(cell)
        self._unsettled = 0
        if undone is None:
            return ""
        how = "Its transaction was undone" if not undone.failed else "The undo of its transaction failed"
        text = ".\n".join(filter(None, (how, undone.text())))
        self._say(f"cellwright: session {self.session.id}: cell {cell} was ended. {text}")
        return text

    async def rollback(self, to: int, *, yes: bool) -> RolledBack:
        """Undo what the cells after `to` did, and go on as if they had not been."""
        await self._before_going_back()
        reversible, writer = self.guest.reversible, self.session.writer
        history = await self.session.history(read=with_cells)
        rows = await reversible.undoer.read(to + 1)
        rollback = Rollback(history, to, rows, reversible.undoer, self._snapshots, writer)
        if not rollback.cells:
            return RolledBack()
        await self._files.require(rollback.cells[0].tree, to)

        async def end_guest() -> None:
            reversible.retire()
            await self.guest.end()

        reversible.hold()
        try:
            done = await rollback.run(yes=yes, end_guest=end_guest, reached=self.guest.replay.delivered)
        finally:
            reversible.release()
        await self._went_back()
        return done

    async def rewind(self, *, to: int | None = None, entry: int | None = None) -> Rewound:
        """Go on from an earlier moment. What was done outside since then stays done."""
        await self._before_going_back()
        writer, reversible = self.session.writer, self.guest.reversible
        rewind = await self.session.read(lambda: Rewind(self.session.store, self.session.id, to=to, entry=entry))
        if not rewind.is_needed:
            return Rewound(to=rewind.to)
        await self._files.require(rewind.tree, rewind.to)
        reversible.hold()
        try:
            async with reversible.undoer.alone:
                reversible.retire()
                reached = self.guest.replay.delivered
                await writer.now(rewind.begun())
                await self.guest.end()
                now, then = await self._snapshots.take(), rewind.tree
                await self._snapshots.restore(then)
                await writer.now(*await self.session.read(lambda: rewind.changes(reached)))
        finally:
            reversible.release()
        await self._went_back()
        return rewind.told(await self._snapshots.difference(now, then) if then else ())

    async def _before_going_back(self) -> None:
        await self.guest.saved()
        self.session.checkpoints.begin_anew()
        if self._unsettled:
            await self._settle(self._unsettled)

    async def _went_back(self) -> None:
        await self._paused.tidy()
        self.cut_off = None
        await self._restore(await self.session.history())

    async def branch(self, at: int | None, entry: int | None) -> tuple[History, str]:
        """What a fork begins with: see `KeptFiles`."""
        return await self._files.branch(at, entry, self.cut_off)

    # files

    async def diff(self, since: int | None) -> tuple[FileDiff, ...]:
        """What is otherwise in the workspace than after cell `since`, or before the last one."""
        return await self._files.diff(since)

    async def put_back(self, at: int | None) -> tuple[FileChange, ...]:
        """The files as they were after cell `at`, or before the last one. The names stay as they are."""
        if self.cut_off is not None:
            raise UsageError(f"cell {self.cut_off.number} was cut off, or waits for a person; carry it on first")
        async with self._written():
            return await self._files.put_back(at)

    async def _restore(self, history: History) -> None:
        await self.session.read(lambda: self._recall(history))
        self._ran = None
        if self._guest is not None:
            await self._guest.end()
        try:
            self._guest, self.restored = await self._restoration.restore(history, self.cut_off)
        except ReplayDiverged as other:
            await self._give_up(other)
        if self._unsettled:
            await self._settle(self._unsettled)

    async def _give_up(self, other: ReplayDiverged) -> None:
        """Go on as before the cell that cannot be repeated; say which names are gone with it and those after it."""
        found = other.divergence
        if self.cut_off is not None:
            cut, self.cut_off = self.cut_off, None
            self._unsettled = cut.number
            error = Diverged(f"the cell was cut off, and cannot be carried on: {found}")
            await self.session.cut(cut, error, other.delivered)
            await self._paused.tidy("its cell cannot be carried on")
        history, restoration = await self.session.history(read=with_cells), self._restoration
        restored = await restoration.rescue(history, found) or await restoration.shorten(history, found)
        self._guest, self.restored = restored
        self._say(f"cellwright: session {self.session.id}: {self.restored}")

    async def close(self) -> None:
        writer = self.session.writer
        try:
            if self._guest is not None:
                await self._guest.close()
            if writer.can_write:
                await writer.now()
                if self._guest is not None and self.cut_off is None:
                    with suppress(PlatformError):  # what the journal has of the files is from before
                        await self._files.keep_last()
        finally:
            self._snapshots.close()
            await writer.release()
