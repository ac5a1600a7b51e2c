"""The host's end of a guest's socket: frames out, frames in, on the event loop, without ever blocking it.

A frame too large to be parsed in passing is parsed in a thread; reading pauses meanwhile, so order is kept.
"""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import Callable
from typing import Any

from toolwright_guest.wire import Bounds, FrameReader, WireError, frame, parse

PIECE = 1 << 18
LARGE = 1 << 18

OnMessage = Callable[[list[Any], list[Any]], None]


class Line:
    """One connection. `on_message` gets each message in order; `on_end` is called once, with the reason."""

    def __init__(self, conn: socket.socket, bounds: Bounds, on_message: OnMessage, on_end: Callable[[str], None]) -> None:
        conn.setblocking(False)
        self._conn = conn
        self._fd = conn.fileno()
        self._bounds = bounds
        self._on_message = on_message
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._reader = FrameReader(bounds)
        self._out: deque[memoryview] = deque()
        self._ended = False
        self._parsing: asyncio.Task[None] | None = None
        self._loop.add_reader(self._fd, self._readable)

    def send(self, message: list[Any], blobs: list[Any]) -> None:
        """Send a frame, at once if the guest reads, otherwise when it does."""
        if self._ended:
            return
        buffers = frame(message, blobs)
        if not self._out and len(buffers) == 1:
            try:
                sent = self._conn.send(buffers[0])
            except BlockingIOError:
                sent = 0
            except OSError:
                return self._end("the guest closed its connection")
            if sent == len(buffers[0]):
                return
            buffers[0] = memoryview(buffers[0])[sent:]
        if not self._out:
            self._loop.add_writer(self._fd, self._writable)
        self._out.extend(memoryview(buffer) for buffer in buffers if len(buffer))

    def _writable(self) -> None:
        while self._out:
            first = self._out[0]
            try:
                sent = self._conn.send(first)
            except BlockingIOError:
                return
            except OSError:
                return self._end("the guest closed its connection")
            if sent == len(first):
                self._out.popleft()
            else:
                self._out[0] = first[sent:]
                return
        self._loop.remove_writer(self._fd)

    def _readable(self) -> None:
        try:
            piece = self._conn.recv(PIECE)
        except BlockingIOError:
            return
        except OSError:
            piece = b""
        if not piece:
            return self._end("the guest closed its connection")
        try:
            raw = self._reader.feed(piece)
            for i, (header, blobs) in enumerate(raw):
                if len(header) > LARGE:
                    self._pause(raw[i:])
                    return
                self._on_message(*parse(header, blobs, self._bounds))
                if self._ended:
                    return
        except WireError as error:
            self._end(f"protocol: {error}")

    def _pause(self, raw: list[Any]) -> None:
        self._loop.remove_reader(self._fd)
        self._parsing = self._loop.create_task(self._parse_large(raw))

    async def _parse_large(self, raw: list[Any]) -> None:
        try:
            for header, blobs in raw:
                message = await asyncio.to_thread(parse, header, blobs, self._bounds)
                if self._ended:
                    return
                self._on_message(*message)
        except WireError as error:
            self._end(f"protocol: {error}")
        if not self._ended:
            self._loop.add_reader(self._fd, self._readable)

    def _end(self, reason: str) -> None:
        if not self._ended:
            self.close()
            self._on_end(reason)

    def close(self) -> None:
        """Stop, without a word to `on_end`."""
        if self._ended:
            return
        self._ended = True
        self._loop.remove_reader(self._fd)
        self._loop.remove_writer(self._fd)
        self._out.clear()
        self._conn.close()
