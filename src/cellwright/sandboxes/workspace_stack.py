"""What is mounted at a guest's `/workspace`: the live workspace, and over it a scratch until the host takes it away.

Until then the guest sees and writes only the scratch. Does not know what the guest runs meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from cellwright.errors import Crashed, GuestError, PlatformError, SandboxDied, TimeLimit, UsageError, WorkspaceLimit
from cellwright.sandboxes.base import Opening
from cellwright.sandboxes.directory_tree import ENOUGH, DiskUsage
from cellwright.sandboxes.exit_errors import GONE
from cellwright.sandboxes.workspace import Workspace, held_bytes
from cellwright.sandboxes.zygotes import Child

REMOVE_S = 10.0
MOVE_S = 30.0  # at least, for the guest's step to its live workspace: the machine may be busy


class WorkspaceStack:
    """The directories that a guest can reach, measured as one; and the step from the scratch to the live one.

    `guests` tells the guest's processes, `send` reaches the guest, `kill` ends it. Not `covered`: the guest could reach
    the live workspace before its time, if it wanted to.
    """

    def __init__(
        self,
        opening: Opening,
        child: Child,
        guests: Callable[[], Iterable[int]],
        send: Callable[[list[Any], list[Any]], None],
        kill: Callable[[GuestError], None],
        *,
        covered: bool = True,
    ) -> None:
        self._live, self._scratch = opening.workspace, opening.scratch
        self._live.guests = guests
        if self._scratch is not None:
            self._scratch.guests = guests
        self._reached = (self._scratch or self._live,)
        if self._scratch is not None and not covered:
            self._reached = (self._scratch, self._live)
        self._left: int | None = None  # the device of a scratch that is gone: deleted files may still be open there
        self._child = child
        self._move_s = max(opening.limits.wall_s, MOVE_S)
        self._send = send
        self._kill = kill
        self._loop = asyncio.get_running_loop()
        self._confined: asyncio.Future[None] = self._loop.create_future()
        self._moved: asyncio.Future[None] | None = None
        self._task: asyncio.Task[None] | None = None

    # measuring

    def size(self, enough: DiskUsage = ENOUGH) -> DiskUsage:
        """The larger one while both are mounted: each may be as full as one may be."""
        usages: list[DiskUsage] = []
        for workspace in self._reached:
            try:
                usages.append(workspace.size(enough))
            except UsageError:  # closed meanwhile: a scratch that is being removed
                continue
        held = held_bytes(self._live.guests(), self._left) if self._left is not None else 0
        return DiskUsage(
            bytes=max((usage.bytes for usage in usages), default=0) + held,
            files=max((usage.files for usage in usages), default=0),
            partial=any(usage.partial for usage in usages),
        )

    def free_bytes(self) -> int:
        return self._reached[-1].free_bytes()

    # the step

    def confined(self) -> None:
        """The guest is in its jail: its mounts are made."""
        if not self._confined.done():
            self._confined.set_result(None)

    def moved(self) -> bool:
        """The guest says that it is in the live workspace; False where nobody asked it to move."""
        if self._moved is None or self._moved.done():
            return False
        self._moved.set_result(None)
        return True

    async def reveal(self) -> None:
        """Take the scratch away. A second call waits for the first."""
        if self._scratch is None:
            return
        if self._task is None:
            self._task = self._loop.create_task(self._reveal(self._scratch))
        await asyncio.shield(self._task)  # a caller that stops waiting does not leave the guest half way

    async def stopped(self) -> None:
        """After the guest's end."""
        if self._task is not None:
            await asyncio.wait((self._task,))

    async def _reveal(self, scratch: Workspace) -> None:
        await self._until(self._confined)
        try:
            await self._child.reveal()
        except SandboxDied:
            self._kill(Crashed(f"the guest could not be moved to its live workspace. {GONE}"))
            raise
        self._reached = (scratch, self._live)
        self._moved = self._loop.create_future()
        self._send(["w"], [])
        await self._until(self._moved)
        if not self._child.exited.done() and scratch.fresh:
            await self._remove(scratch)

    async def _until(self, event: asyncio.Future[None]) -> None:
        """Wait for the event, or until the guest has ended."""
        either = (event, self._child.exited)
        done, _ = await asyncio.wait(either, timeout=self._move_s, return_when=asyncio.FIRST_COMPLETED)
        if not done:
            self._kill(TimeLimit(f"the guest did not move to its live workspace within {self._move_s:g} s. {GONE}"))
            await asyncio.wait((self._child.exited,))

    async def _remove(self, scratch: Workspace) -> None:
        """Nothing can be created there any more, whatever the guest holds open."""
        device = scratch.device
        try:
            await asyncio.to_thread(scratch.remove, REMOVE_S)
        except PlatformError:
            self._kill(WorkspaceLimit(f"the guest went on writing to a workspace that was taken away. {GONE}"))
            return
        self._reached = (self._live,)
        if device != self._live.device:
            self._left = device
