"""`Restoration`: opens the guests of a session. A guest that is gone is brought back by running its cells again.

The cells run on a scratch copy of the workspace, with the recorded answers. It knows nothing of what stands behind the
door.
"""

from __future__ import annotations

import ast
import asyncio
import math
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from cellwright.doors import Host
from cellwright.errors import RestoreFailed, SandboxDied
from cellwright.journal.checkpoint_start import CheckpointStart
from cellwright.journal.divergence import Divergence
from cellwright.journal.history import History
from cellwright.journal.live_guest import (
    CheckpointUnreadable,
    Guard,
    GuestDoors,
    LiveGuest,
    ReplayDiverged,
    guest_doors,
)
from cellwright.journal.old_files import not_repeated
from cellwright.journal.pause import PauseWatch
from cellwright.journal.replay_deaths import GUESTS, GuestDied
from cellwright.journal.session_journal import SessionJournal, with_cells, with_rows
from cellwright.journal.snapshots import Snapshots
from cellwright.journal.trees import NotKept
from cellwright.sandboxes import GUEST_UID, Limits, Opening, Sandbox, Workspace, remove_leftovers
from cellwright.scope import parse
from cellwright.short_texts import counted
from cellwright.store import CellRow


@dataclass(frozen=True, kw_only=True, slots=True)
class Restored:
    """How a guest was brought back: which cells were run again, and what is not as it was."""

    cells: tuple[int, ...] = ()
    diverged: Divergence | None = None
    lost: tuple[str, ...] = ()  # names that are gone, because the cells that made them could not be repeated
    notes: tuple[str, ...] = ()
    checkpoint: int = 0  # the cell that its state was kept after, and taken up from; 0: all cells were run again

    def __str__(self) -> str:
        if self.diverged is None:
            after = f", after the checkpoint of cell {self.checkpoint}" if self.checkpoint else ""
            return f"ran {counted(len(self.cells), 'cell')} again{after}"
        names = ", ".join(self.lost) or "none"
        return f"a cell that was run again went another way ({self.diverged}). Names lost: {names}"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Repeated:
    """A guest that has run the cells of `history` again; `notes` tell what they printed otherwise."""

    guest: LiveGuest
    history: History
    notes: tuple[str, ...]


class Restoration:
    """For one session. The caller has ended the guest before."""

    def __init__(
        self,
        session: SessionJournal,
        host: Host,
        sandbox: Sandbox,
        workspace: Workspace,
        limits: Limits,
        snapshots: Snapshots,
        guard: Guard | None,
    ) -> None:
        self._session = session
        self._host = host
        self._sandbox = sandbox
        self._workspace = workspace
        self._limits = limits
        self._snapshots = snapshots
        self._guard = guard
        self.pause: PauseWatch | None = None  # of the guest that was opened last; it may still be running cells again

    async def first(self) -> LiveGuest:
        """The guest of a new session."""
        doors = guest_doors(self._session, self._host, self._snapshots, self._guard)
        guest = await self._open(doors, 0)
        try:
            await self._session.create()
        except BaseException:
            await guest.end()
            raise
        return guest

    async def _open(self, doors: GuestDoors, cell: int, scratch: Workspace | None = None) -> LiveGuest:
        self.pause = doors.pause
        opening = Opening(
            host=doors.host,
            limits=self._limits,
            workspace=self._workspace,
            scratch=scratch,
            repeats=doors.replay.repeats,
        )
        return LiveGuest(self._session, doors, await self._sandbox.open(opening), cell)

    async def restore(self, history: History, cut_off: CellRow | None) -> tuple[LiveGuest, Restored]:
        """A guest with the state of this history, in which the cell that was cut off can be carried on."""
        repeated = await self._bring_back(history, cut_off)
        return repeated.guest, self._report(repeated)

    async def _bring_back(self, history: History, cut_off: CellRow | None = None) -> _Repeated:
        """From a checkpoint where one can be used."""
        checkpoints, died = self._session.checkpoints, list[RestoreFailed]()
        tail = history if history.start is not None else await self._tail(lambda: history)
        while True:
            try:
                return await self._repeat_in_some(tail, cut_off)
            except CheckpointUnreadable as error:
                if tail.start is not None:
                    checkpoints.refuse(tail.start, str(error))
                died += [error.died] if error.died is not None else []
                tail = await self._tail(lambda: history.since(None))
            except ReplayDiverged:
                if died:  # another time the checkpoint may be read, and has what cannot be repeated
                    raise died[0] from None
                raise

    async def _tail(self, whole: Callable[[], History]) -> History:
        """A history from its newest checkpoint on, read."""
        return await self._session.read(lambda: with_rows(self._session.checkpoints.tail(whole())))

    async def _since(self, start: CheckpointStart | None) -> History:
        return await self._session.history(read=lambda whole: with_rows(whole.since(start)))

    async def _repeat_in_some(self, history: History, cut_off: CellRow | None = None) -> _Repeated:
        """A guest that has run the cells again; the next one where one dies. `RestoreFailed` after a few."""
        for left in reversed(range(GUESTS)):
            try:
                return await self._repeat(history, cut_off)
            except SandboxDied:
                if not left:
                    raise
            except GuestDied as death:
                if not left:
                    failed = death.failed(self._session.id)
                    if death.loading:
                        raise CheckpointUnreadable(death.why, failed) from None
                    raise failed from None
            history = await self._since(history.start)  # a call may have begun since it was read
        raise AssertionError("unreachable")

    async def rescue(self, history: History, found: Divergence) -> tuple[LiveGuest, Restored] | None:
        """Go on from a later checkpoint, which need not be whole: it has what the cell made that cannot be repeated."""
        tails = self._session.checkpoints.rescue(history, found.cell)
        while (tail := await self._session.read(lambda: next(map(with_rows, tails), None))) is not None:
            try:
                repeated = await self._repeat_in_some(tail)
            except CheckpointUnreadable as error:
                if error.died is not None:
                    raise error.died from None
                continue
            except ReplayDiverged:
                continue
            return repeated.guest, self._report(repeated, found, tail.start.lost if tail.start is not None else ())
        return None

    async def shorten(self, history: History, found: Divergence) -> tuple[LiveGuest, Restored]:
        """Go on without the cell that cannot be repeated, and those after it."""
        other, lost = found, list[CellRow]()
        while True:
            gone = [c for c in history.state if c.number >= other.cell] or history.state
            lost = [*gone, *lost]
            await self._session.writer.now(*(replace(c, undone=True) for c in gone))
            history = await self._session.history(read=with_cells)
            try:
                repeated = await self._bring_back(history)
                return repeated.guest, self._report(repeated, found, names_in(lost))
            except ReplayDiverged as again:
                other = again.divergence

    def _report(self, repeated: _Repeated, diverged: Divergence | None = None, lost: Sequence[str] = ()) -> Restored:
        checkpoints, start = self._session.checkpoints, repeated.history.start
        notes, checkpoints.notes = checkpoints.notes, []
        return Restored(
            cells=tuple(c.number for c in repeated.history.state),
            diverged=diverged,
            lost=tuple(lost),
            notes=(*self._session.changed, *notes, *repeated.notes),
            checkpoint=0 if start is None else start.cell,
        )

    async def _repeat(self, history: History, cut_off: CellRow | None = None) -> _Repeated:
        """A guest that has run the cells of this history again, each to the same end."""
        cells, start, patience_s = history.state, history.start, self._limits.wall_s
        pending = [*cells, cut_off] if cut_off is not None else cells
        self._session.seed = history.seed_after
        doors = guest_doors(self._session, self._host, self._snapshots, self._guard, history, pending)
        begins: float = pending[0].before if pending else math.inf
        ends = [float(row.before) for row in pending[1:]] + [math.inf]
        last = cells[-1].number if cells else start.cell if start is not None else 0
        scratch = await self._scratch(history, pending) if cells or history.between else None
        notes: list[str] = []
        try:
            guest = await self._open(doors, last, scratch)
            try:
                if start is not None:
                    await guest.take_up(start, begins, patience_s)
                for row, upto in zip(cells, ends, strict=False):
                    await self._put_back(row.tree, row.number)  # what else changed the files is not run again
                    if printed := await guest.again(row, history, upto, patience_s):
                        notes.append(str(printed))
                if not cells:
                    guest.replay.end(begins)
                guest.require_alive(start, cells)
                await guest.interpreter.reveal()
                guest.require_alive(start, cells)
                await self._session.bind_names()
            except BaseException:
                await guest.end()
                raise
        finally:
            self._snapshots.workspace = self._workspace
            if scratch is not None:
                await asyncio.to_thread(scratch.remove)
        return _Repeated(guest=guest, history=history, notes=tuple(notes))

    async def _scratch(self, history: History, pending: Sequence[CellRow]) -> Workspace:
        """A copy of the workspace as it was before these cells. The guest works there until it has caught up."""
        tree = pending[0].tree if pending else await self._snapshots.take()
        asyncio.get_running_loop().run_in_executor(None, remove_leftovers)
        scratch = await asyncio.to_thread(Workspace.create, None, GUEST_UID)
        self._snapshots.workspace = scratch
        try:
            await self._put_back(tree, pending[0].number if pending else 0)
        except BaseException:
            self._snapshots.workspace = self._workspace
            await asyncio.to_thread(scratch.remove)
            raise
        return scratch

    async def _put_back(self, tree: str, cell: int) -> None:
        try:
            await self._snapshots.restore(tree)
        except NotKept:
            raise not_repeated(self._session.id, cell) from None


def names_in(cells: Sequence[CellRow]) -> tuple[str, ...]:
    """The names that these cells gave to something, in order."""
    names: dict[str, None] = {}
    for cell in cells:
        try:
            names |= dict.fromkeys(_stored(parse(textwrap.dedent(cell.code))))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue  # it gave nothing a name, or is too deep to tell
    return tuple(names)


def _stored(tree: ast.Module) -> Iterator[str]:
    """Names that stand for something after a module ran: not those of its functions, classes and comprehensions."""
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                yield from (alias.asname or alias.name.partition(".")[0] for alias in names)
            case ast.Name(id=name, ctx=ast.Store()) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name
            case ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                pass
            case _:
                pending += reversed(list(ast.iter_child_nodes(node)))
