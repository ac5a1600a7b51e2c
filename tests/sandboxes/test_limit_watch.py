"""What it costs to watch cells that wait: a crowd's cells are long because of the others."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest

from cellwright import Limits, Runtime
from cellwright.sandboxes import Workspace, limit_watch
from cellwright.sandboxes.directory_tree import ENOUGH, DiskUsage

CROWD, LOOKS, PATIENCE_S = 5, 4, 30


async def test_cells_that_wait_are_watched_without_counts_and_without_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[Workspace] = []
    looks: list[Workspace] = []
    tasks: list[int] = []
    seen, let_go = asyncio.Event(), asyncio.Event()
    size, free_bytes = Workspace.size, Workspace.free_bytes

    def counted(self: Workspace, enough: DiskUsage = ENOUGH) -> DiskUsage:
        counts.append(self)
        return size(self, enough)

    def looked(self: Workspace) -> int:
        looks.append(self)
        if len(looks) >= CROWD * LOOKS:
            seen.set()
        return free_bytes(self)

    async def hold() -> None:
        await asyncio.wait_for(let_go.wait(), PATIENCE_S)

    async def all_wait(crowd: list[Runtime]) -> int:
        """How many counts are made while the cells of all wait."""
        for each in (counts, looks, seen, let_go):
            each.clear()
        cells = [asyncio.ensure_future(rt.execute("await hold()")) for rt in crowd]
        await asyncio.wait_for(seen.wait(), PATIENCE_S)
        tasks.append(len(asyncio.all_tasks()))
        made = len(counts)
        let_go.set()
        for cell in cells:
            (await cell).unwrap()
        return made

    monkeypatch.setattr(Workspace, "size", counted)
    monkeypatch.setattr(Workspace, "free_bytes", looked)
    monkeypatch.setattr(limit_watch, "LONGEST_S", PATIENCE_S)  # the machine may be busy
    limits = Limits(workspace_mb=1 << 20)  # and others may fill the disk
    async with AsyncExitStack() as stack:
        crowd = [await stack.enter_async_context(Runtime({"hold": hold}, limits=limits)) for _ in range(CROWD)]
        assert await all_wait(crowd) >= CROWD  # the first cell that lasts learns how full the workspace is
        assert await all_wait(crowd) == 0
    assert tasks[1] <= tasks[0] - CROWD
