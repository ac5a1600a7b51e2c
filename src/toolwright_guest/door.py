"""The guest's side of the door: sends calls, waits for answers, serves the host's calls into the guest.

Any thread may call. One of those that wait reads the socket for all (the leader); a message goes to the mailbox of the
thread or loop that waits for it. It knows frames and mailboxes; what a value means is the world's business.
"""

from __future__ import annotations

import itertools
import os
import socket
import threading
from collections import deque
from typing import Any

from toolwright_guest.framing import FrameReader, frame, parse
from toolwright_guest.wire import Bounds, WireError

# The host is trusted by the guest; these bounds only keep a broken host from looking like a memory leak.
FROM_HOST = Bounds(header_bytes=1 << 30, blob_bytes=1 << 32 - 1, nodes=1 << 30, keys=1 << 30, depth=400, blobs=1 << 30)
TO_HOST = Bounds()


class Mailbox:
    """Messages for one waiter: a thread blocked in a call, or an event loop."""

    __slots__ = ("queue",)

    def __init__(self) -> None:
        self.queue: deque[tuple[list[Any], list[Any]]] = deque()


class Door:
    """The socket to the host, shared by the threads of the guest."""

    conn: socket.socket  # set when the guest's life begins; the door itself is made ahead, in the zygote

    def __init__(self) -> None:
        self.cell = 0
        self.main = Mailbox()
        self.drops: deque[tuple[int, int]] = deque()
        self._main_thread = threading.get_ident()
        self._reader = FrameReader(FROM_HOST)
        self._turn = threading.Condition(threading.Lock())
        self._reading = False
        self._sending = threading.Lock()
        self._waiting: dict[int, Mailbox] = {}
        self._main_stack: list[Mailbox] = [self.main]
        self._ids = itertools.count(1)

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

    def start(self, mailbox: Mailbox, verb: str, target: int, name: str, tree: Any, blobs: list[Any]) -> int:
        """Send a call whose answer goes to `mailbox`; gives its number."""
        number = next(self._ids)
        self._waiting[number] = mailbox
        drops = self.take_drops()
        try:
            self.send(["c", number, self.cell, verb, target, name, drops, tree], blobs)
        except WireError:  # too much for one message: nothing was sent
            self._waiting.pop(number, None)
            self.drops.extend(drops)
            raise
        return number

    def cancel(self, number: int) -> None:
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
        if threading.get_ident() != self._main_thread:
            return
        with self._turn:
            outer = self._main_stack[-1].queue
            self._main_stack.append(mailbox)
            # what came before this one waited is its to serve: the outer ones do not look before it is done
            mailbox.queue.extend(message for message in outer if message[0][0] == "i")
            for message in mailbox.queue:
                outer.remove(message)

    def leave(self, mailbox: Mailbox) -> None:
        if threading.get_ident() != self._main_thread:
            return
        with self._turn:
            self._main_stack.remove(mailbox)
            if mailbox.queue:  # what came too late for it belongs to the next in line
                self._main_stack[-1].queue.extend(mailbox.queue)
                mailbox.queue.clear()

    def receive(self, mailbox: Mailbox, poll: Any = None, timeout_s: float | None = None) -> Any:
        """The next message of `mailbox`; None when `timeout_s` passed or `poll` saw something else.

        `poll(timeout_s)` says whether the socket can be read; without it the read just blocks.
        """
        while True:
            with self._turn:
                if self._reading and not mailbox.queue and not self._turn.wait(timeout_s):
                    return None
                if mailbox.queue:
                    return mailbox.queue.popleft()
                if self._reading:
                    if poll is not None:
                        return None  # woken by `wake`, or by mail for another: the loop looks again
                    continue
                self._reading = True
            messages: list[tuple[list[Any], list[Any]]] = []
            try:
                if poll is None or poll(timeout_s):
                    messages = self._read()
                    idle = False
                else:
                    idle = True
            finally:
                with self._turn:
                    self._reading = False
                    for message in messages:
                        self._route(message)
                    self._turn.notify_all()
            if idle:
                return None

    def wake(self) -> None:
        """Let a loop that waits behind another reader look at its own callbacks."""
        with self._turn:
            self._turn.notify_all()

    def _read(self) -> list[tuple[list[Any], list[Any]]]:
        piece = self.conn.recv(self._reader.piece)
        if not piece:
            os._exit(0)  # the host is gone, and nobody is left to tell
        return [parse(header, blobs, FROM_HOST) for header, blobs in self._reader.feed(piece)]

    def _route(self, message: tuple[list[Any], list[Any]]) -> None:
        kind = message[0][0]
        if kind == "a":
            mailbox = self._waiting.pop(message[0][1], None)
            if mailbox is None:
                return  # answered after we cancelled it
        elif kind == "i":
            mailbox = self._waiting.get(message[0][2]) or self._main_stack[-1]
        else:
            mailbox = self.main
        mailbox.queue.append(message)
