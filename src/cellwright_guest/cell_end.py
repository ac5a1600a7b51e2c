"""The end of a cell that the host ends: it answers a call with a `SystemExit` of its own, as the agent's `done` does.

From then on nothing that the cell began calls the host: not its code, not its tasks, not its threads. What the code has
open is closed. It knows tasks and threads; not what a call is for.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from contextlib import suppress
from typing import Any

CLOSING = frozenset({"__exit__", "__aexit__"})
TURNS = 8  # of the loop, for tasks to take up that they are cancelled

_threads: dict[int, Any] = vars(threading)["_active"]  # `threading.enumerate` would take a lock for each cell


class CellEnd:
    """Whether the cell under way was ended, and what it began."""

    def __init__(self) -> None:
        self._error: SystemExit | None = None  # that ended the cell
        self._others: set[Any] = set()  # tasks and threads of earlier cells
        self._stopped: weakref.WeakSet[threading.Thread] = weakref.WeakSet()  # threads of ended cells

    def begin(self, loop: Any) -> None:
        """A cell begins."""
        self._error = None
        self._others = {*asyncio.all_tasks(loop), *_threads.values()}

    def hear(self, error: BaseException) -> None:
        """The host has answered with this error."""
        if isinstance(error, SystemExit) and type(error) is not SystemExit:
            self._error = error
            self._stopped.update(thread for thread in list(_threads.values()) if thread not in self._others)

    def check(self, target: int, name: str) -> None:
        """Before a call: end the code that makes it, if its cell was ended. Target 0 is no object, but the session."""
        if self._error is None and not self._stopped:
            return
        if target == 0 or name in CLOSING:
            return
        thread = threading.current_thread()
        now = self._error is not None and (thread is threading.main_thread() or thread not in self._others)
        if now or thread in self._stopped:
            raise self._error or SystemExit("its cell was ended")

    def settle(self, loop: Any) -> None:
        """The cell is over: if it was ended, so are its tasks."""
        if self._error is None:
            return
        tasks = asyncio.all_tasks(loop) - self._others
        for task in tasks:
            task.cancel()
        for _ in range(TURNS):
            if all(task.done() for task in tasks):
                return
            stop = loop.call_soon(loop.stop)
            with suppress(SystemExit):  # of a task that awaited the one that ended the cell, or made a call once more
                loop.run_forever()
            stop.cancel()
