"""The limits that the host itself holds while a cell runs: wall time, CPU time, the workspace's size."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

from toolwright.errors import CpuLimit, GuestError, TimeLimit, WorkspaceLimit
from toolwright.sandboxes.base import Limits
from toolwright.sandboxes.cgroup import Cgroup
from toolwright.sandboxes.exits import GONE
from toolwright.sandboxes.tree import Usage
from toolwright.sandboxes.workspace import Workspace, watch
from toolwright.sandboxes.zygotes import Child

QUIET_S = 0.05  # a cell shorter than this is measured at its end only
NOTICED = 1 << 20  # bytes by which the disk must have shrunk for a short cell to be measured at all
FILES = 100_000
TICKS = os.sysconf("SC_CLK_TCK")


class Watchers:
    """Started with a cell, stopped with it. `end` is called with the limit that was passed."""

    def __init__(
        self,
        limits: Limits,
        workspace: Workspace,
        child: Child,
        group: Cgroup | None,
        end: Callable[[GuestError], None],
    ) -> None:
        self._limits = limits
        self._workspace = workspace
        self._child = child
        self._group = group
        self._end = end
        self._loop = asyncio.get_running_loop()
        self._tasks: list[asyncio.Task[None]] = []
        self._wall = self._loop.call_later(limits.wall_s, self._timeout)
        self._late = self._loop.call_later(QUIET_S, self._watch)

    def stop(self) -> None:
        self._wall.cancel()
        self._late.cancel()
        for task in self._tasks:
            task.cancel()

    def _timeout(self) -> None:
        self._end(TimeLimit(f"the cell ran longer than wall_s={self._limits.wall_s:g}. {GONE}"))

    def _watch(self) -> None:
        limit = self._limits.workspace_mb << 20
        self._tasks = [
            self._loop.create_task(watch(self._workspace, limit, FILES, self._too_large)),
            self._loop.create_task(self._watch_cpu()),
        ]

    def _too_large(self, usage: Usage) -> None:
        words = f"the workspace grew to {usage.bytes >> 20} MB in {usage.files} files, beyond workspace_mb"
        self._end(WorkspaceLimit(f"{words}={self._limits.workspace_mb}. {GONE}"))

    async def _watch_cpu(self) -> None:
        """Look again when the limit could be passed at the earliest: with every core busy."""
        pid = await self._child.pid()
        spent = self._spent(pid)
        cores = os.cpu_count() or 1
        most = spent - QUIET_S * cores + self._limits.cpu_s
        while spent < most:
            await asyncio.sleep(max((most - spent) / cores, 0.02))
            spent = self._spent(pid)
        self._end(CpuLimit(f"the cell used more than cpu_s={self._limits.cpu_s:g} of processor time. {GONE}"))

    def _spent(self, pid: int) -> float:
        if self._group is not None and (seconds := self._group.cpu_s()) is not None:
            return seconds
        return cpu_s(pid)


def cpu_s(pid: int) -> float:
    """Processor time of a process and of its children that ended; 0 when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return 0.0
    return sum(int(fields[i]) for i in (11, 12, 13, 14)) / TICKS
