"""One thread for the sync host calls of a session, so that objects bound to their thread stay usable.

While a call on the thread waits for a guest function, the thread serves the calls of that function: last in, first out.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import Context
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from cellwright.errors import CallLimit, GuestGone

GRACE_S = 1.0  # that work may take to end after its caller has gone
LEFT = 8  # threads of a session that do not end

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

    def refuse(self, error: Exception) -> None:
        if not self.future.done():
            self.future.set_exception(error)

    def _settle(self, settle: Callable[[Any], None], value: Any) -> None:
        def set_if_waiting() -> None:
            if not self.future.done():
                settle(value)

        try:
            self.loop.call_soon_threadsafe(set_if_waiting)
        except RuntimeError:  # the loop closed meanwhile, and no caller waits
            return


class _Lane:
    """One thread with its jobs. `running` are the jobs on it, each but the last waiting for a guest function."""

    def __init__(self, name: str) -> None:
        self.jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self.running: list[_Job] = []
        self.closed = False
        self.thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self.thread.start()

    def close(self) -> None:
        self.closed = True
        self.jobs.put(None)

    def left(self) -> list[_Job]:
        """End with what is running. The jobs that have not begun."""
        self.closed = True
        waiting: list[_Job] = []
        with contextlib.suppress(Empty):
            while True:
                job = self.jobs.get_nowait()
                if job is not None:
                    waiting.append(job)
        self.jobs.put(None)
        return waiting

    def wait(self, future: Future[T]) -> T:
        """The future's result; other jobs are served meanwhile."""
        job = self.running[-1]
        future.add_done_callback(lambda _: self.jobs.put(None))
        while not future.done():
            if job.future.cancelled():
                raise GuestGone("the call that waits for this guest function was given up")
            waiting = self.jobs.get()
            if waiting is not None:
                self._do(waiting)
            elif self.closed and not future.done():
                self.jobs.put(None)
                raise GuestGone("the session was closed, or went on, while its guest function was running")
        return future.result()

    def _do(self, job: _Job) -> None:
        self.running.append(job)
        try:
            job.do()
        finally:
            self.running.pop()

    def _serve(self) -> None:
        _HERE.lane = self
        while True:
            job = self.jobs.get()
            if job is not None:
                self._do(job)
            elif self.closed:
                return


_HERE = threading.local()


class Worker:
    """Starts with the first job, ends with `close`. A job that nobody waits for and that does not end is left behind
    with its thread: the next jobs run on another one.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._lane: _Lane | None = None
        self._left: list[_Lane] = []  # with a job that has not ended

    async def run(self, work: Callable[[], T]) -> T:
        """The result of `work`, done on the thread. If this is cancelled, the work never begins, or runs to its end."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        lane = self._lane
        if lane is None:
            lane = self._lane = self._new_lane()
        job = _Job(work, loop, future)
        lane.jobs.put(job)
        try:
            return await future
        except asyncio.CancelledError:
            if job in lane.running:
                lane.jobs.put(None)  # wakes it, if it waits for the guest
                loop.call_later(GRACE_S, self._leave, lane, job, context=Context())
            raise
        finally:
            job.work = lambda: None  # lets go of the arguments, which may be large

    def wait(self, future: Future[T]) -> T:
        """The future's result. On the worker's own thread other jobs are served meanwhile."""
        lane: _Lane | None = getattr(_HERE, "lane", None)
        if lane is None or (lane is not self._lane and lane not in self._left):
            return future.result()
        return lane.wait(future)

    def renew(self) -> None:
        """Whoever waited for the running work is gone: what comes next does not wait for it."""
        if self._lane is not None and self._lane.running:
            self._leave(self._lane, self._lane.running[0])

    def close(self) -> None:
        for lane in (self._lane, *self._left):
            if lane is not None:
                lane.close()

    def _new_lane(self) -> _Lane:
        self._left = [lane for lane in self._left if lane.running]
        if len(self._left) >= LEFT:
            words = f"{LEFT} host calls of this session were given up and have not returned"
            raise CallLimit(f"{words}; no other sync host call is made until one of them does")
        return _Lane(self._name)

    def _leave(self, lane: _Lane, job: _Job) -> None:
        if lane is not self._lane or lane.closed or job not in lane.running:
            return
        self._left.append(lane)
        self._lane = None
        job.loop.call_later(GRACE_S, self._tell, lane, job, context=Context())
        waiting = lane.left()
        try:
            self._lane = self._new_lane() if waiting else None
        except CallLimit as refused:
            for queued in waiting:
                queued.refuse(refused)
        if self._lane is not None:
            for queued in waiting:
                self._lane.jobs.put(queued)

    def _tell(self, lane: _Lane, job: _Job) -> None:
        if lane.running:
            words = "a sync host call was given up and has not returned; its thread is left behind"
            job.loop.call_exception_handler({"message": f"cellwright: {words} ({len(self._left)} of this session)"})
