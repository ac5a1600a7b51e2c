"""The guest's side of the door: sends calls, waits for answers, serves the host's calls into the guest.

Any thread may call. One of those that wait reads the socket for all (the leader); a message goes to the mailbox of the
thread or loop that waits for it. It knows frames and mailboxes; what a value means is the world's business.

Who takes which message next is decided when it is taken, by the order in which the host sent them and by what the guest
did up to then: how many of them had been read already makes no difference.
"""

from __future__ import annotations

import itertools
import os
import socket
import threading
from collections import deque
from typing import Any

from cellwright_guest import paths, workspace_name
from cellwright_guest.framing import FrameReader, frame, parse
from cellwright_guest.wire import Bounds, WireError

# The host is trusted by the guest; these bounds only keep a broken host from looking like a memory leak.
FROM_HOST = Bounds(header_bytes=1 << 30, blob_bytes=1 << 32 - 1, nodes=1 << 30, keys=1 << 30, depth=400, blobs=1 << 30)
TO_HOST = Bounds()

Message = tuple[list[Any], list[Any]]


class Mailbox:
    """Messages for one waiter: a thread blocked in a call, or an event loop."""

    __slots__ = ("queue",)

    def __init__(self) -> None:
        self.queue: deque[tuple[int, Message]] = deque()  # each with its place among all


class Door:
    """The socket to the host, shared by the threads of the guest."""

    conn: socket.socket  # set when the guest's life begins; the door itself is made ahead, in the zygote

    def __init__(self) -> None:
        self.cell = 0
        self.journaled = False
        self.main = Mailbox()
        self.drops: deque[tuple[int, int]] = deque()
        self._main_thread = threading.get_ident()
        self._reader = FrameReader(FROM_HOST)
        self._turn = threading.Condition(threading.Lock())
        self._reading = False
        self._moved = False
        self._sending = threading.Lock()
        self._waiting: dict[int, Mailbox] = {}
        self._main_stack: list[Mailbox] = [self.main]
        self._invokes: deque[tuple[int, Message]] = deque()  # calls of the host that nobody has taken yet
        self._ids = itertools.count(1)
        self._order = itertools.count(1)

    # sending

    def send(self, message: list[Any], blobs: list[Any]) -> None:
        buffers = frame(message, blobs, TO_HOST)
        with self._sending:
            if len(buffers) == 1:
                self.conn.sendall(buffers[0])
            else:
                self._send_many(buffers)

    def _send_many(self, buffers: list[Any]) -> None:
        for buffer in buffers:
            self.conn.sendall(buffer)

    def start(
        self, mailbox: Mailbox, verb: str, target: int, name: str, tree: Any, blobs: list[Any], path: str = ""
    ) -> int:
        """Send a call whose answer goes to `mailbox`; gives its number."""
        number = next(self._ids)
        self._waiting[number] = mailbox
        drops = self.take_drops()
        message = ["c", number, self.cell, verb, target, name, drops, tree]
        if self.journaled:
            message += (path, 0) if path else (paths.current().call(), paths.line())
        try:
            self.send(message, blobs)
        except WireError:  # too much for one message: nothing was sent
            self._waiting.pop(number, None)
            self.drops.extend(drops)
            raise
        return number

    def cancel(self, number: int) -> None:
        """The caller no longer waits. The host is told, unless the answer was taken; a later answer is dropped."""
        if self._waiting.pop(number, None) is not None:
            self.send(["k", number], [])

    @property
    def asking(self) -> bool:
        """Whether an answer of the host is waited for."""
        return bool(self._waiting)

    def take_drops(self) -> list[Any]:
        drops: list[Any] = []
        while self.drops:
            drops.append(self.drops.popleft())
        return drops

    # receiving

    def enter(self, mailbox: Mailbox) -> None:
        """From here on calls of the host that belong to no call of ours go to `mailbox` (main thread only)."""
        if threading.get_ident() == self._main_thread:
            with self._turn:
                self._main_stack.append(mailbox)

    def leave(self, mailbox: Mailbox) -> None:
        if threading.get_ident() == self._main_thread:
            with self._turn:
                self._main_stack.remove(mailbox)

    def receive(
        self,
        mailbox: Mailbox,
        poll: Any = None,
        timeout_s: float | None = None,
        only: int = 0,
        ready: Any = (),
        beside_s: float | None = None,
    ) -> Any:
        """The next message of `mailbox`; None when `timeout_s` passed, `poll` saw something else or `ready` has any.

        `poll(timeout_s)` says whether the socket can be read; without it the read just blocks. With `only` it is None
        as well when the next message is not the answer to that call; it stays the next. Where another thread reads, it
        is None after `beside_s` too.
        """
        while True:
            with self._turn:
                entry = self._next(mailbox)
                if entry is None and ready:  # put there by a thread after the loop looked: nothing else wakes the loop
                    return None
                if entry is None and self._reading:
                    if not self._turn.wait(_shorter(timeout_s, beside_s)):
                        return None
                    entry = self._next(mailbox)
                    if entry is None and self._reading:
                        if poll is not None:
                            return None  # woken by `wake`, or by mail for another: the loop looks again
                        continue
                if entry is not None:
                    return self._take(mailbox, entry, only)
                self._reading = True
            entries: list[tuple[int, Message]] = []
            try:
                if poll is None or poll(timeout_s):
                    entries = self._read()
                    idle = False
                else:
                    idle = True
            finally:
                with self._turn:
                    self._reading = False
                    for entry in entries:
                        self._route(entry)
                    self._turn.notify_all()
            if self._moved:
                self._moved = False
                self.send(["w"], [])
            if idle:
                return None

    def wake(self) -> None:
        """Let a loop that waits behind another reader look at its own callbacks."""
        with self._turn:
            self._turn.notify_all()

    def _read(self) -> list[tuple[int, Message]]:
        piece = self.conn.recv(self._reader.piece)
        if not piece:
            os._exit(0)  # the host is gone, and nobody is left to tell
        frames = self._reader.feed(piece)
        return [(next(self._order), parse(header, blobs, FROM_HOST)) for header, blobs in frames]

    def _route(self, entry: tuple[int, Message]) -> None:
        kind = entry[1][0][0]
        if kind == "a":
            mailbox = self._waiting.get(entry[1][0][1])
            if mailbox is not None:  # else answered after we cancelled it
                mailbox.queue.append(entry)
        elif kind == "i":
            self._invokes.append(entry)
        elif kind == "n":  # a loop of the main thread waits for it; other code reads its socket at its own pace
            if len(self._main_stack) > 1:
                self._main_stack[-1].queue.append(entry)
        elif kind == "w":  # done by whichever thread reads: later messages of the host rely on it
            workspace_name.move_to_live()
            self._moved = True
        else:
            self.main.queue.append(entry)

    def _next(self, mailbox: Mailbox) -> tuple[int, Message] | None:
        """What `mailbox` would take now."""
        queue = mailbox.queue
        while queue and queue[0][1][0][0] == "a" and queue[0][1][0][1] not in self._waiting:
            queue.popleft()  # cancelled after it was read
        first = queue[0] if queue else None
        if not self._invokes:
            return first
        for entry in self._invokes:
            # the waiter of the call during which the host calls back, else the innermost of the main thread
            server = self._waiting.get(entry[1][0][2]) or self._main_stack[-1]
            if server is mailbox:
                return entry if first is None or entry[0] < first[0] else first
        return first

    def _take(self, mailbox: Mailbox, entry: tuple[int, Message], only: int) -> Message | None:
        body = entry[1][0]
        if only and (body[0] != "a" or body[1] != only):
            return None
        if body[0] == "i":
            self._invokes.remove(entry)
        else:
            mailbox.queue.popleft()
            if body[0] == "a":
                del self._waiting[body[1]]
        return entry[1]


def _shorter(first: float | None, second: float | None) -> float | None:
    return first if second is None else second if first is None else min(first, second)
