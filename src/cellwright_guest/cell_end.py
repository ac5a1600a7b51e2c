"""The end of a cell that the host ends: it answers a call with a `SystemExit` of its own, as the agent's `done` does.

From then on nothing that the cell began calls the host: not its code, not its tasks, not its threads. What the code has
open is closed. It knows tasks and threads; not what a call is for.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from asyncio import events
from concurrent.futures import thread as pools
from contextlib import suppress
from typing import Any

CLOSING = frozenset({"__exit__", "__aexit__"})
TURNS = 8  # of the loop, for tasks to take up that they are cancelled

_threads: dict[int, Any] = vars(threading)["_active"]  # `threading.enumerate` would take a lock for each cell
_pooled: Any = vars(pools)["_threads_queues"]


class CellEnd:
    """Whether the cell under way was ended, and what it began."""

    def __init__(self) -> None:
        self._runs = False
        self._error: SystemExit | None = None  # that ended the cell under way
        self._others: set[Any] = set()  # tasks and threads of earlier cells
        self._stopped: weakref.WeakSet[threading.Thread] = weakref.WeakSet()  # threads of ended cells
        self._idle: weakref.WeakSet[threading.Thread] = weakref.WeakSet()  # of pools, until the next cell uses them

    def begin(self, loop: Any) -> None:
        """A cell begins."""
        self._runs, self._error = True, None
        self._idle.clear()
        self._others = {*asyncio.all_tasks(loop), *_threads.values()}

    def hear(self, error: BaseException) -> None:
        """The host has answered with this error."""
        if self._runs and isinstance(error, SystemExit) and type(error) is not SystemExit:
            self._error = error

    def check(self, target: int, name: str) -> None:
        """Before a call: end the code that makes it, if its cell was ended. Target 0 is no object, but the session."""
        if self._error is None and not self._stopped and not self._idle:
            return
        if target == 0 or name in CLOSING:
            return
        thread = threading.current_thread()
        if thread in self._stopped or thread in self._idle or (self._error is not None and self._is_new(thread)):
            raise self._error or SystemExit("its cell was ended")

    def _is_new(self, thread: threading.Thread) -> bool:
        """Whether the cell under way began what makes a call. The main thread runs the tasks of all cells."""
        if thread is not threading.main_thread():
            return thread not in self._others
        loop = events._get_running_loop()
        return loop is None or asyncio.current_task(loop) not in self._others

    def settle(self, loop: Any) -> None:
        """The cell is over: if it was ended, so are its tasks and its threads."""
        if self._error is not None:
            self._cancel(asyncio.all_tasks(loop) - self._others, loop)
            for thread in set(_threads.values()) - self._others:
                (self._idle if thread in _pooled else self._stopped).add(thread)
        self._runs, self._error = False, None

    def _cancel(self, tasks: set[asyncio.Task[Any]], loop: Any) -> None:
        for task in tasks:
            task.cancel()
        for _ in range(TURNS):
            if all(task.done() for task in tasks):
                return
            stop = loop.call_soon(loop.stop)
            with suppress(SystemExit):  # of a task that awaited the one that ended the cell, or made a call once more
                loop.run_forever()
            stop.cancel()
