"""`Snapshots`: the directory that a session's guest works in, taken and put back while it works.

Knows trees and one directory; not what a transaction is, nor when something is undone.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

from toolwright.journal.trees import FileChange, Trees
from toolwright.sandboxes import Workspace

T = TypeVar("T")


class Snapshots:
    """`workspace` is where the guest works now: the live one, or a scratch while cells are run again."""

    def __init__(self, trees: Trees, workspace: Workspace) -> None:
        self.workspace = workspace
        self._trees = trees
        self._lock = threading.Lock()  # not asyncio's: who stops waiting does not stop the thread

    async def take(self) -> str:
        workspace = self.workspace
        return await self._alone(lambda: self._trees.take(workspace))

    async def restore(self, tree: str) -> None:
        workspace = self.workspace
        await self._alone(lambda: self._trees.restore(tree, workspace))

    async def difference(self, before: str, after: str) -> tuple[FileChange, ...]:
        return await self._alone(lambda: self._trees.difference(before, after))

    async def _alone(self, work: Callable[[], T]) -> T:
        def locked() -> T:
            with self._lock:
                return work()

        return await asyncio.to_thread(locked)
