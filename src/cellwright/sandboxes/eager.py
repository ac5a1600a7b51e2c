"""Tasks that begin at once: the first step of a call runs where the call was read, not a turn of the loop later.

Most host calls end in their first step, and a turn costs as much as the call. Python 3.12 has it; for 3.11 it is made
here from the task that asyncio keeps in plain Python.
"""

from __future__ import annotations

import asyncio
import contextvars
import sys
from asyncio import futures, tasks
from collections.abc import Coroutine
from typing import Any

if sys.version_info >= (3, 12):

    def start(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """A task whose first step has run when this returns."""
        return asyncio.Task(work, loop=loop, eager_start=True)

else:
    _PyTask: Any = getattr(tasks, "_PyTask")  # noqa: B009  no public name
    _PyFuture: Any = getattr(futures, "_PyFuture")  # noqa: B009
    _register: Any = getattr(tasks, "_register_task")  # noqa: B009
    _enter: Any = getattr(tasks, "_enter_task")  # noqa: B009
    _leave: Any = getattr(tasks, "_leave_task")  # noqa: B009

    class _EagerTask(_PyTask):
        def __init__(self, work: Coroutine[Any, Any, None], loop: asyncio.AbstractEventLoop) -> None:
            # What the parent's own __init__ does, but for the last line, which would put the step off.
            _PyFuture.__init__(self, loop=loop)
            self._num_cancels_requested = 0
            self._must_cancel = False
            self._fut_waiter = None
            self._name = "cellwright-call"
            self._coro = work
            self._context = contextvars.copy_context()
            self._context.run(self._Task__step)
            if not self.done():  # one that is done is nobody's concern
                _register(self)

    def start(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """A task whose first step has run when this returns."""
        outer = asyncio.current_task(loop)
        if outer is None:
            return _EagerTask(work, loop)
        _leave(loop, outer)  # a step within a step: the outer one stands aside, as in 3.12
        try:
            return _EagerTask(work, loop)
        finally:
            _enter(loop, outer)
