"""The limits that the host itself holds: wall time, CPU time, the workspace's size; in a cell, and between two."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Iterable
from contextvars import Context
from typing import Any

from cellwright.errors import CpuLimit, GuestError, ProcessLimit, TimeLimit, WorkspaceLimit
from cellwright.sandboxes.base import Limits
from cellwright.sandboxes.cgroup import Cgroup
from cellwright.sandboxes.directory_tree import DiskUsage
from cellwright.sandboxes.exit_errors import GONE
from cellwright.sandboxes.workspace import LONGEST_S, SHORTEST_S, MeasuredWorkspace, watch
from cellwright.sandboxes.zygotes import Child

QUIET_S = 0.05  # a cell shorter than this is measured at its end only
NOTICED = 1 << 20  # after a short cell the workspace is measured only if the disk lost this many bytes
OFTEN = 100  # cells after which the workspace is measured whatever the disk says
FIRST_LOOK_S, LAST_LOOK_S = 0.5, 4.0  # in between a disk takes some gigabytes, in the worst case
THREADS_S = 0.1
FILES = 100_000
TOO_FULL = "Delete what is not needed."  # after a cell that came to its end
TICKS = os.sysconf("SC_CLK_TCK")
CORES = os.cpu_count() or 1


def _later(seconds: float, call: Callable[..., None], *args: Any) -> asyncio.TimerHandle:
    """A timer without a context: one that was cancelled stays with the loop, and would keep a closed session alive."""
    return asyncio.get_running_loop().call_later(seconds, call, *args, context=Context())


class CellWatch:
    """Started with a cell, stopped with it. `end` is called with the limit that was passed.

    Wall and processor time count when `repeats` is done. `threads`: the kernel does not count them for this guest.
    `seen_s` is the guest's processor time at the end of its last cell.
    Cells of a crowd are long because they wait. So watching costs timers, and no count without a cause.
    """

    def __init__(
        self,
        limits: Limits,
        gauge: DiskGauge,
        child: Child,
        group: Cgroup | None,
        end: Callable[[GuestError], None],
        repeats: asyncio.Future[None] | None = None,
        *,
        seen_s: float = 0.0,
        threads: bool = False,
    ) -> None:
        self._limits = limits
        self._threads = threads
        self._gauge = gauge
        self._child = child
        self._repeats = None if repeats is None or repeats.done() else repeats
        self._group = group
        self._end = end
        self._loop = asyncio.get_running_loop()
        self._tasks: list[asyncio.Task[None]] = []
        self._stopped = False
        self._waiting = 0  # calls under way whose time is not the cell's; what is repeated counts as one
        self._seen_s = seen_s
        self._left_s, self._since = limits.wall_s, self._loop.time()
        self._wall = _later(limits.wall_s, self._timeout)
        if self._repeats is not None:
            self.waits(1)
            self._repeats.add_done_callback(self._repeated)
        self._disk = self._cpu = _later(QUIET_S, self._watch)

    def _repeated(self, _: asyncio.Future[None]) -> None:
        self._left_s = self._limits.wall_s
        self.waits(-1)

    def stop(self) -> None:
        self._stopped = True
        if self._repeats is not None:
            self._repeats.remove_done_callback(self._repeated)
        for timer in (self._wall, self._disk, self._cpu):
            timer.cancel()
        for task in self._tasks:
            task.cancel()

    def waits(self, change: int) -> None:
        """The cell's clock stands still while such calls are open. Processor time is still counted."""
        before, self._waiting = self._waiting, self._waiting + change
        if self._stopped or bool(before) == bool(self._waiting):
            return
        self._wall.cancel()
        if self._waiting:
            self._left_s -= self._loop.time() - self._since
        else:
            self._since = self._loop.time()
            self._wall = _later(self._left_s, self._timeout)

    def _timeout(self) -> None:
        self._end(TimeLimit(f"the cell ran longer than wall_s={self._limits.wall_s:g}. {GONE}"))

    def _watch(self) -> None:
        pids = self._child.running()
        if pids and self._repeats is None:
            self._watch_cpu(pids[0], QUIET_S * CORES)
        else:
            self._tasks.append(self._loop.create_task(self._watch_cpu_later()))
        if self._threads:
            self._tasks.append(self._loop.create_task(self._watch_threads()))
        self._count_at = self._loop.time() + LONGEST_S
        self._watch_disk()

    def _watch_disk(self) -> None:
        """Count the workspace where it may be too full, and after a while in which the guest did something."""
        is_late = self._loop.time() >= self._count_at
        if self._gauge.may_be_full() or (is_late and self._has_worked()):
            self._tasks.append(self._loop.create_task(self._gauge.watch(self._end)))
            return
        if is_late:
            self._count_at += LONGEST_S
        self._disk = _later(SHORTEST_S, self._watch_disk)

    def _has_worked(self) -> bool:
        """Whether the guest has used processor time since the last look."""
        before, self._seen_s = self._seen_s, sum(spent_s(pid, self._group) for pid in self._child.running())
        return self._seen_s > before

    async def _watch_cpu_later(self) -> None:
        pid, before = await self._child.pid(), QUIET_S * CORES
        if self._repeats is not None:
            await asyncio.wait((self._repeats,))
            before = 0.0
        self._watch_cpu(pid, before)

    def _watch_cpu(self, pid: int, before: float) -> None:
        """`before` has been used since the cell began."""
        self._look_at_cpu(pid, spent_s(pid, self._group) - before + self._limits.cpu_s)

    def _look_at_cpu(self, pid: int, most: float) -> None:
        """Look again at the earliest moment at which the limit can be passed: with every core busy."""
        spent = spent_s(pid, self._group)
        if spent < most:
            pause_s = max((most - spent) / CORES, 0.02)
            self._cpu = _later(pause_s, self._look_at_cpu, pid, most)
        else:
            self._end(CpuLimit(f"the cell used more than cpu_s={self._limits.cpu_s:g} of processor time. {GONE}"))

    async def _watch_threads(self) -> None:
        pid = await self._child.pid()
        while (error := too_many_threads(pid, self._limits)) is None:  # noqa: ASYNC110  no event tells
            await asyncio.sleep(THREADS_S)
        self._end(error)


class DiskGauge:
    """How full a workspace is. After short cells it is measured only when the disk has lost space since last time.

    A workspace that is too full already may be cleaned up: then only growing further is refused.
    """

    def __init__(self, workspace: MeasuredWorkspace, limits: Limits) -> None:
        self._workspace = workspace
        self._limit_mb = limits.workspace_mb
        self._most = DiskUsage(bytes=limits.workspace_mb << 20, files=FILES)
        self._free = workspace.free_bytes()
        self._counted: tuple[int, int] | None = None  # what the disk had left at the last count, and what was counted
        self._cells = 0

    def free_bytes(self) -> int:
        return self._workspace.free_bytes()

    def size(self, enough: DiskUsage) -> DiskUsage:
        free = self.free_bytes()
        usage = self._workspace.size(enough)
        self._counted = None if usage.partial else (free, usage.bytes)
        return usage

    def may_be_full(self) -> bool:
        """Whether the disk has lost as much as the workspace had left when it was counted."""
        if self._counted is None:
            return True
        free, counted = self._counted
        return self.free_bytes() < free - (self._most.bytes - counted)

    async def watch(self, end: Callable[[GuestError], None]) -> None:
        await watch(self, self._most.bytes, self._most.files, lambda usage: end(self._error(usage, GONE)))

    def begin_anew(self) -> None:
        """Another directory is measured now: the next cell is followed by a count, whatever the disk says."""
        self._free, self._cells, self._counted = self.free_bytes(), OFTEN, None

    async def after_cell(self) -> WorkspaceLimit | None:
        """The error of a cell that left more in the workspace than it may hold."""
        self._cells += 1
        free = self.free_bytes()
        if self._free - free < NOTICED and self._cells < OFTEN:
            return None
        self._free, self._cells = free, 0
        return await self.measure()

    async def measure(self) -> WorkspaceLimit | None:
        usage = await asyncio.to_thread(self.size, self._most)
        if usage.bytes <= self._limit_mb << 20 and usage.files <= FILES:
            self._most = DiskUsage(bytes=self._limit_mb << 20, files=FILES)
            return None
        self._most = DiskUsage(bytes=max(usage.bytes, self._most.bytes), files=max(usage.files, self._most.files))
        return self._error(usage, TOO_FULL)

    def _error(self, usage: DiskUsage, then: str) -> WorkspaceLimit:
        words = f"the workspace grew to {usage.bytes >> 20} MB in {usage.files} files"
        return WorkspaceLimit(f"{words}, beyond workspace_mb={self._limit_mb} or {FILES} files. {then}")


class IdleWatch:
    """Between two cells: a guest that goes on, in a thread or after a false report, is ended at the same limits."""

    def __init__(
        self,
        pid: int,
        group: Cgroup | None,
        limits: Limits,
        gauge: DiskGauge,
        end: Callable[[GuestError], None],
        *,
        threads: bool = False,
    ) -> None:
        self._threads = threads
        self._pid = pid
        self._group = group
        self._limits = limits
        self._gauge = gauge
        self._end = end
        self._measuring: asyncio.Task[None] | None = None
        self._loop = asyncio.get_running_loop()
        self.start_s = self._last = spent_s(pid, group)
        self._pause_s = FIRST_LOOK_S
        self._timer = _later(self._pause_s, self._look)

    def stop(self) -> None:
        self._timer.cancel()
        if self._measuring is not None:
            self._measuring.cancel()

    def _look(self) -> None:
        spent = spent_s(self._pid, self._group)
        if spent - self.start_s > self._limits.cpu_s:
            words = f"the session used more than cpu_s={self._limits.cpu_s:g} of processor time between two cells"
            self._end(CpuLimit(f"{words}. {GONE}"))
            return
        if self._threads and (error := too_many_threads(self._pid, self._limits)) is not None:
            self._end(error)
            return
        busy = spent > self._last
        self._last = spent
        if busy and (self._measuring is None or self._measuring.done()):
            self._measuring = self._loop.create_task(self._measure())
        self._pause_s = FIRST_LOOK_S if busy else min(2 * self._pause_s, LAST_LOOK_S)
        self._timer = _later(self._pause_s, self._look)

    async def _measure(self) -> None:
        error = await self._gauge.measure()
        if error is not None:
            self._end(error)


def at_work(pids: Iterable[int]) -> bool:
    """Whether a thread of these processes runs, is ready to run, or waits for a disk."""
    for pid in pids:
        with contextlib.suppress(OSError):  # it has ended
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/stat", "rb") as file:
                    if file.read().rpartition(b")")[2][1:2] in b"RD":
                        return True
    return False


def too_many_threads(pid: int, limits: Limits) -> ProcessLimit | None:
    fields = _stat(pid)
    if not fields or int(fields[17]) <= 1 + limits.threads:
        return None
    return ProcessLimit(f"the guest had more than threads={limits.threads} at once. {GONE}")


def spent_s(pid: int, group: Cgroup | None) -> float:
    """Processor time of a guest: of all its processes where a cgroup counts them."""
    if group is not None and (seconds := group.cpu_s()) is not None:
        return seconds
    return cpu_s(pid)


def cpu_s(pid: int) -> float:
    """Processor time of a process and of its children that ended; 0 when it is gone."""
    return sum(map(int, _stat(pid)[11:15])) / TICKS


def _stat(pid: int) -> list[bytes]:
    """The fields after a process's name; none when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()
    except OSError:
        return []
