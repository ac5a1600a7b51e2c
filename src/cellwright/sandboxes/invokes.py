"""The calls of host code into one guest that are under way. It knows their numbers; what they carry is packed."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from typing import Any

from cellwright.doors import Answer, Made
from cellwright.errors import GuestGone, TimeLimit
from cellwright.sandboxes import exits
from cellwright.sandboxes.calls import Kill, Send
from cellwright_guest.wire import Packed, WireError


class Invokes:
    """The guest as host code may call it: see `Guest`. What it asks of the guest goes to `send`."""

    def __init__(self, wall_s: float, send: Send, kill: Kill) -> None:
        self.in_cell = False  # a cell runs, whose deadline holds for calls as well
        self._wall_s = wall_s
        self._send = send
        self._kill = kill
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._waiting: dict[int, Future[Answer]] = {}
        self._numbers = 0
        self._gone = False

    def invoke(
        self,
        lent: int,
        parent: int,
        arguments: Packed,
        path: str = "",
        at: float = 0.0,
        made: tuple[Made, ...] = (),  # the journal's: the guest has it in the arguments
    ) -> Future[Answer]:
        message = ["i", 0, parent, lent, arguments.tree]
        if path:
            message += [path, at, []]
        future: Future[Answer] = Future()
        future.set_running_or_notify_cancel()  # who stops waiting for it does not undo the guest's answer
        if threading.get_ident() == self._thread:
            self._invoke(message, arguments.blobs, future)
        elif not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._invoke, message, arguments.blobs, future)
        return future

    def _invoke(self, message: list[Any], blobs: list[Any], future: Future[Answer]) -> None:
        if self._gone:
            future.set_exception(GuestGone("the guest of this function has ended"))
            return
        self._numbers += 1
        message[1] = self._numbers
        self._waiting[self._numbers] = future
        if not self.in_cell:
            timer = self._loop.call_later(self._wall_s, self._overdue, future)
            future.add_done_callback(lambda _: timer.cancel())
        self._send(message, blobs)

    def _overdue(self, future: Future[Answer]) -> None:
        if not future.done():
            words = f"a guest function, called between cells, ran longer than wall_s={self._wall_s:g}"
            self._kill(TimeLimit(f"{words}. {exits.GONE}"))

    def give_back(self, lent: int, count: int) -> None:
        if not self._gone and not self._loop.is_closed():
            nothing: list[Any] = []
            # never at once: the collector may run in the middle of a send
            self._loop.call_soon_threadsafe(self._send, ["u", lent, count], nothing)

    def answer(self, number: int, answer: Answer) -> None:
        """The guest's answer to one of them."""
        future = self._waiting.pop(number, None)
        if future is None:
            raise WireError("an answer to no call")
        future.set_result(answer)

    def stop(self) -> None:
        """The guest is gone or about to go: nobody waits any longer."""
        self._gone = True
        waiting, self._waiting = self._waiting, {}
        for future in waiting.values():
            if not future.done():
                future.set_exception(GuestGone("the guest of this function has ended"))
