"""One thread for the sync host calls of a session, so that objects bound to their thread stay usable.

While a call on the thread waits for a guest function, the thread serves the calls of that function: last in, first out.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeVar

from cellwright.errors import GuestGone

T = TypeVar("T")


class _Job:
    __slots__ = ("context", "future", "loop", "work")

    def __init__(self, work: Callable[[], Any], loop: asyncio.AbstractEventLoop, future: asyncio.Future[Any]) -> None:
        self.work = work
        self.loop = loop
        self.future = future
        self.context = contextvars.copy_context()

    def do(self) -> None:
        if self.future.cancelled():
            return
        try:
            result = self.context.run(self.work)
        except StopIteration as error:  # no future takes it, and the caller would wait for ever
            stopped = RuntimeError("host code raised StopIteration")
            stopped.__cause__ = error
            self._settle(self.future.set_exception, stopped)
        except BaseException as error:  # raised to the caller, whatever it is
            self._settle(self.future.set_exception, error)
        else:
            self._settle(self.future.set_result, result)

    def _settle(self, settle: Callable[[Any], None], value: Any) -> None:
        def set_if_waiting() -> None:
            if not self.future.done():
                settle(value)

        try:
            self.loop.call_soon_threadsafe(set_if_waiting)
        except RuntimeError:  # the loop closed meanwhile, and no caller waits
            return


class Worker:
    """Starts with the first job, ends with `close`."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._doing = False

    async def run(self, work: Callable[[], T]) -> T:
        """The result of `work`, done on the thread. If this is cancelled, the work never begins, or runs to its end."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name=self._name, daemon=True)
            self._thread.start()
        job = _Job(work, loop, future)
        self._jobs.put(job)
        try:
            return await future
        finally:
            job.work = lambda: None  # lets go of the arguments, which may be large

    def wait(self, future: Future[T]) -> T:
        """The future's result. On the worker's own thread other jobs are served meanwhile."""
        if threading.current_thread() is not self._thread:
            return future.result()
        future.add_done_callback(lambda _: self._jobs.put(None))
        while not future.done():
            job = self._jobs.get()
            if job is not None:
                job.do()
            elif self._closed and not future.done():
                self._jobs.put(None)
                raise GuestGone("the session was closed while its guest function was running")
        return future.result()

    @property
    def busy(self) -> bool:
        """Whether work is running, which nobody can stop."""
        return self._doing

    def close(self) -> None:
        self._closed = True
        self._jobs.put(None)

    def _serve(self) -> None:
        while True:
            job = self._jobs.get()
            if job is not None:
                self._doing = True
                job.do()
                self._doing = False
            elif self._closed:
                return
