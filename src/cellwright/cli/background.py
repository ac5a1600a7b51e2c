"""An event loop on a thread of its own. The main thread is left for the keyboard, and Ctrl-C reaches it there."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, TypeVar

T = TypeVar("T")


class Interrupted(Exception):
    """Ctrl-C ended what was under way."""


class Background:
    """A context manager. `do` runs a coroutine there and waits for it; between two of them the loop goes on."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="cellwright-loop")

    def __enter__(self) -> Background:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """What the coroutine gives or raises. Ctrl-C cancels it, waits for its end, and raises `Interrupted`."""
        begun: list[asyncio.Task[T]] = []
        ended = threading.Event()

        def begin() -> None:
            begun.append(self._loop.create_task(work))
            begun[0].add_done_callback(lambda _: ended.set())

        self._loop.call_soon_threadsafe(begin)
        try:
            ended.wait()
        except KeyboardInterrupt:
            self._loop.call_soon_threadsafe(lambda: begun[0].cancel())
            ended.wait()  # a second Ctrl-C does not wait, and is raised as it is
        try:
            return begun[0].result()
        except asyncio.CancelledError:
            raise Interrupted from None

    def cancel_all(self) -> None:
        """End what is under way, from any thread."""
        self._loop.call_soon_threadsafe(lambda: [task.cancel() for task in asyncio.all_tasks(self._loop)])

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.get_loop().run_forever()
