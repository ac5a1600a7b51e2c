"""One jailed process as the host sees it: asked for, started, ended.

Knows nothing of what it runs, nor of how it is reached: its zygote tells it what came of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from cellwright.errors import SandboxDied

_KILLED = 9  # the wait status of a process that SIGKILL ended


class Child:
    """One jailed process, from the moment it is asked for."""

    def __init__(self, number: int, kill: Callable[[int], None], reveal: Callable[[int], None]) -> None:
        self._number = number
        self._kill = kill
        self._reveal = reveal
        self._loop = asyncio.get_running_loop()
        self._pid: asyncio.Future[int] = self._loop.create_future()
        self.exited: asyncio.Future[int] = self._loop.create_future()  # its wait status; never an exception
        self._revealed: asyncio.Future[str] | None = None

    async def pid(self) -> int:
        """Its process id where the host lives. Raises `SandboxDied` when it could not be started."""
        return await asyncio.shield(self._pid)

    def running(self) -> list[int]:
        """Its process id, from the moment it is known until it has ended. From any thread."""
        known = self._pid.done() and not self._pid.cancelled() and self._pid.exception() is None
        return [self._pid.result()] if known and not self.exited.done() else []

    def kill(self) -> None:
        """SIGKILL, once or many times, before or after it started."""
        if not self.exited.done():
            self._kill(self._number)

    async def reveal(self) -> None:
        """Take its scratch workspace away, so that it sees the live one below. Only once, and when it is confined.

        Raises `SandboxDied` where the kernel refused. Returns when that is done, or when the child has ended.
        """
        self._revealed = self._loop.create_future()
        self._reveal(self._number)
        await asyncio.wait((self._revealed, self.exited), return_when=asyncio.FIRST_COMPLETED)
        if self._revealed.done() and self._revealed.result():
            raise SandboxDied(f"a guest cannot be moved to its live workspace: {self._revealed.result()}")

    def tell(self, answer: dict[str, Any]) -> None:
        """From the reader's thread."""
        try:
            self._loop.call_soon_threadsafe(self._hear, answer)
        except RuntimeError:
            return  # its loop is closed: nobody waits

    def _hear(self, answer: dict[str, Any]) -> None:
        if "pid" in answer and not self._pid.done():
            self._pid.set_result(answer["pid"])
        if "revealed" in answer and self._revealed is not None and not self._revealed.done():
            self._revealed.set_result(answer["revealed"])
        if "error" in answer and not self._pid.done():
            self._pid.set_exception(SandboxDied(answer["error"]))
            self._pid.exception()  # read here, so that nobody is warned of an error nobody asked for
        if ("exit" in answer or "error" in answer) and not self.exited.done():
            self.exited.set_result(answer.get("exit", _KILLED))
