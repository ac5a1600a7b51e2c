"""`KeptFiles`: the files of a kept session beside its rows: what a cell changed, what was, what is put back.

It knows no guest: the caller sees to it that none works.
"""

from __future__ import annotations

from contextlib import suppress

from cellwright.errors import Fenced, JournalFailed, PlatformError
from cellwright.journal.history import History
from cellwright.journal.old_files import OldFiles, require_files
from cellwright.journal.replay import Replay
from cellwright.journal.session_journal import SessionJournal, with_cells, with_rows
from cellwright.journal.snapshots import FileDiff, Snapshots, kept_after, told_files
from cellwright.journal.trees import FileChange, Trees
from cellwright.store import CellRow

QUIET_TRIES = 10  # to take the workspace while no call of host code changes it


class KeptFiles:
    """Of one session."""

    def __init__(self, session: SessionJournal, snapshots: Snapshots, trees: Trees) -> None:
        self._session = session
        self._snapshots = snapshots
        self._trees = trees
        self._old = OldFiles(session.store, session.id, trees, self._start)

    def _start(self) -> int:
        """The cell of the newest checkpoint that a resume can begin with."""
        start = self._session.checkpoints.tail(History(self._session.store, self._session.id)).start
        return start.cell if start is not None else 0

    async def before(self, replay: Replay, wall_s: float) -> str:
        """The workspace before a cell: with what callbacks between cells wrote, whole."""
        tree, delivered = "", -1
        if self._old.is_due:
            await self._drop_old()
        for _ in range(QUIET_TRIES):
            await replay.quiet(wall_s)
            if delivered == replay.delivered:
                break
            delivered = replay.delivered
            tree = await self._snapshots.take()
        return tree

    async def after(self, row: CellRow) -> tuple[str, tuple[str, ...]]:
        """The workspace after a cell, and the paths that it changed. The next cell tells of a disk that fails."""
        try:
            tree = await self._snapshots.take()
            return tree, told_files(await self._snapshots.difference(row.tree, tree)) if row.tree else ()
        except (Fenced, JournalFailed):
            raise
        except PlatformError:
            return "", ()

    async def branch(self, at: int | None, entry: int | None, cut_off: CellRow | None) -> tuple[History, str]:
        """What a fork begins with: the session as it was after cell `at`, at `entry`, or as it is; and its files."""
        if entry is not None:
            parent = await self._session.history_at(entry)
            tree = await self._session.read(lambda: parent.tree)
            await self.require(tree, parent.standing)
            return parent, tree
        parent = await self._session.history(at, read=with_rows)
        cell = parent.last if at is None else at
        if cut_off is not None and cell >= cut_off.number:
            return parent, cut_off.tree  # as before one that was cut off
        cells = (await self._session.history(read=with_cells)).cells
        later = next((c for c in cells if c.number > cell), None)
        taken = next((c.tree_after for c in cells if c.number == cell), "")
        if later is None:
            return parent, await self._snapshots.take()
        await self.require(taken or later.tree, cell)
        return parent, taken or later.tree

    async def require(self, tree: str, cell: int) -> None:
        """`UsageError` where the files after a cell, which are this tree, are no longer kept."""
        store, session = self._session.store, self._session.id
        await self._snapshots.alone(lambda: require_files(store, session, self._trees, tree, cell))

    async def diff(self, since: int | None) -> tuple[FileDiff, ...]:
        """What is otherwise in the workspace than after cell `since`, or before the last one."""
        return await self._snapshots.diff(self._session.store, await self._session.history(), since)

    async def put_back(self, at: int | None) -> tuple[FileChange, ...]:
        """The files as they were after cell `at`, or before the last one."""
        history = await self._session.history()
        changes, tree = await self._snapshots.put_back(self._session.store, history, at)
        await self._keep(tree)
        return changes

    async def keep_last(self) -> None:
        """At the end, where it costs little or the workspace goes with this process."""
        if self._session.last and self._snapshots.is_due:
            await self._keep(await self._snapshots.take())
            if self._old.is_unknown:
                await self._drop_old()

    async def _drop_old(self) -> None:
        """Keep the bound of what is kept. Where that needs a later checkpoint, one is made after the next cell."""
        writer = self._session.writer
        await writer.now()
        with suppress(JournalFailed):  # a write that fails likewise is told; what cannot be read is left alone
            enough = await self._snapshots.alone(lambda: self._old.drop(writer.claim))
            self._session.checkpoints.wanted = not enough

    async def _keep(self, tree: str) -> None:
        """So that whoever resumes the session elsewhere finds what came into the workspace after the last cell."""
        session = self._session
        rows = await session.read(lambda: session.store.cells(session.id, session.last))
        if rows and (row := kept_after(rows[-1], tree)) is not None:
            await session.writer.now(row)
