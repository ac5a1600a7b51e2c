"""`Snapshots`: the directory that a session's guest works in, taken and put back while it works.

Knows trees and one directory; not what a transaction is, nor when something is undone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from cellwright.errors import PlatformError
from cellwright.journal.story import Story
from cellwright.journal.trees import FileChange, Trees
from cellwright.journal.versions import FileDiff, Versions
from cellwright.sandboxes import Workspace
from cellwright.store import Reading

T = TypeVar("T")
CELL_BYTES = 1 << 30  # of files that the transactions of one cell may have kept


class Snapshots:
    """`workspace` is where the guest works now: the live one, or a scratch while cells are run again."""

    def __init__(self, trees: Trees, workspace: Workspace) -> None:
        self.workspace = workspace
        self._trees = trees
        self._cell = self._kept = 0  # the last one that guest code took some in, and what was kept before that
        # One at a time, and in no thread that others wait for: guest code decides how often.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="cellwright-snapshots")

    async def take(self, cell: int = 0) -> str:
        """The workspace as it is. For guest code of `cell` only so often: `PlatformError` when it has kept too much."""
        workspace = self.workspace

        def work() -> str:
            if cell and cell != self._cell:
                self._cell, self._kept = cell, self._trees.kept
            if cell and self._trees.kept - self._kept > CELL_BYTES:
                raise PlatformError(f"its cell has had {CELL_BYTES >> 20} MB of files kept already")
            return self._trees.take(workspace)

        return await self._alone(work)

    @property
    def is_due(self) -> bool:
        """Whether a last one is worth its cost when the session closes."""
        return self.workspace.fresh or self._trees.knows(self.workspace)

    async def restore(self, tree: str) -> None:
        workspace = self.workspace
        await self._alone(lambda: self._trees.restore(tree, workspace))

    async def difference(self, before: str, after: str) -> tuple[FileChange, ...]:
        return await self._alone(lambda: self._trees.difference(before, after))

    async def diff(self, store: Reading, story: Story, since: int | None) -> tuple[FileDiff, ...]:
        """What the files of this session are otherwise than after a cell."""
        workspace = self.workspace
        return await self._alone(lambda: Versions(store, story, self._trees, workspace).diff(since))

    async def put_back(self, store: Reading, story: Story, at: int | None) -> tuple[tuple[FileChange, ...], str]:
        """The files as they were after a cell, or before the last one. What changed, and the tree that it is now."""
        versions = Versions(store, story, self._trees, self.workspace)

        def work() -> tuple[tuple[FileChange, ...], str]:
            changes = versions.restore(versions.before_last() if at is None else versions.at(at))
            return changes, self._trees.take(self.workspace)

        return await self._alone(work)

    async def _alone(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)
