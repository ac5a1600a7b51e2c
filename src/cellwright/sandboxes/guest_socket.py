"""The host's ends of a guest's socket and of its output pipe, read on the event loop, without ever blocking it.

A large frame is parsed in a thread, and of many small ones a few are handed on at a time; reading pauses meanwhile, so
order is kept. A guest that makes calls and does not read the answers is ended.
"""

from __future__ import annotations

import asyncio
import codecs
import os
import socket
from collections import deque
from collections.abc import Callable
from typing import Any

from cellwright.sandboxes import large_headers
from cellwright_guest.framing import FrameReader, frame, large_frame, parse
from cellwright_guest.wire import Bounds, Packed, WireError, is_large, type_of

LARGE, LARGE_BLOBS = 1 << 18, 1 << 22
_NO_BLOBS: list[Any] = []
PIECE = 1 << 16  # of output, read at once
BATCH = 64  # messages handed on before the loop serves others
UNREAD = 256 << 20
LATER = 1 << 20  # what a frame counts that is not encoded yet
OVERHEAD = 256  # what a waiting buffer takes beside its bytes
SPREAD = 24  # bytes of memory for a byte of a tree, where it is all small containers

OnMessage = Callable[[list[Any], list[Any], int], None]


class GuestSocket:
    """One connection.

    `on_message` gets each message in order, with its blobs and about how many bytes it takes in memory. `on_end` is
    called once, with the reason.
    """

    def __init__(
        self, conn: socket.socket, bounds: Bounds, on_message: OnMessage, on_end: Callable[[str], None]
    ) -> None:
        conn.setblocking(False)
        self._conn = conn
        self._fd = conn.fileno()
        self._bounds = bounds
        self._on_message = on_message
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._reader = FrameReader(bounds)
        self._out: deque[memoryview] = deque()
        self._unread = 0
        self._later: deque[tuple[list[Any], list[Any]]] = deque()
        self._encoding: asyncio.Task[None] | None = None
        self._ended = False
        self._parsing: asyncio.Task[None] | None = None
        self._loop.add_reader(self._fd, self._readable)

    def send(self, message: list[Any], blobs: list[Any]) -> None:
        """Send a frame, at once if the guest reads, otherwise when it does."""
        if self._ended:
            return
        if self._unread > UNREAD:
            return self._end(f"protocol: it left {self._unread >> 20} MB of answers unread")
        if self._encoding is None and not _takes_long(message):
            return self._put(frame(message, blobs))
        self._later.append((message, blobs))
        self._unread += LATER
        if self._encoding is None:
            self._encoding = self._loop.create_task(self._encode())

    async def _encode(self) -> None:
        """Encode large frames in a thread, and what came after them in its order."""
        while self._later and not self._ended:
            message, blobs = self._later.popleft()
            self._unread -= LATER
            try:
                self._put(await asyncio.to_thread(large_frame, message, blobs))
            except (MemoryError, RuntimeError, TypeError, ValueError) as error:
                self._end(f"the host could not encode an answer ({type(error).__name__})")
        self._encoding = None

    def _put(self, buffers: list[Any]) -> None:
        if self._ended:
            return
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
        waiting = [memoryview(buffer) for buffer in buffers if len(buffer)]
        self._unread += sum(len(buffer) + OVERHEAD for buffer in waiting)
        self._out.extend(waiting)

    def _writable(self) -> None:
        while self._out:
            first = self._out[0]
            try:
                sent = self._conn.send(first)
            except BlockingIOError:
                return
            except OSError:
                return self._end("the guest closed its connection")
            self._unread -= sent
            if sent == len(first):
                self._out.popleft()
                self._unread -= OVERHEAD
            else:
                self._out[0] = first[sent:]
                return
        self._loop.remove_writer(self._fd)

    def _readable(self) -> None:
        try:
            piece = self._conn.recv(self._reader.piece)
        except BlockingIOError:
            return
        except OSError:
            piece = b""
        if not piece:
            return self._end("the guest closed its connection")
        try:
            raw = self._reader.feed(piece)
            for i, (header, blobs) in enumerate(raw):
                if i == BATCH or _is_large(header, blobs):
                    self._pause(raw[i:])
                    return
                self._on_message(*parse(header, blobs, self._bounds), SPREAD * len(header) + len(blobs))
                if self._ended:
                    return
        except WireError as error:
            self._end(f"protocol: {error}")

    def drain(self) -> None:
        """Read once more, unless a large frame is being parsed."""
        if not self._ended and (self._parsing is None or self._parsing.done()):
            self._readable()

    def _pause(self, raw: list[Any]) -> None:
        self._loop.remove_reader(self._fd)
        self._parsing = self._loop.create_task(self._hand_on(raw))

    async def _hand_on(self, raw: list[Any]) -> None:
        try:
            for i, (header, blobs) in enumerate(raw):
                if _is_large(header, blobs):
                    message = await asyncio.to_thread(parse, header, blobs, self._bounds, large_headers.read)
                else:
                    if i % BATCH == 0:
                        await asyncio.sleep(0)
                    message = parse(header, blobs, self._bounds)
                if self._ended:
                    return
                self._on_message(*message, SPREAD * len(header) + len(blobs))
        except WireError as error:
            self._end(f"protocol: {error}")
        if not self._ended:
            self._loop.add_reader(self._fd, self._readable)

    def _end(self, reason: str) -> None:
        if not self._ended:
            self.close()
            self._on_end(reason)

    def close(self) -> None:
        """Stop, without calling `on_end`."""
        if self._ended:
            return
        self._ended = True
        self._loop.remove_reader(self._fd)
        self._loop.remove_writer(self._fd)
        self._out.clear()
        self._later.clear()
        self._conn.close()


def _takes_long(message: list[Any]) -> bool:
    for part in message:
        kind = type_of(part)
        if (kind is list or kind is dict) and part and is_large(Packed(part, _NO_BLOBS)):
            return True
    return False


def _is_large(header: bytes, blobs: Any) -> bool:
    return len(header) > LARGE or len(blobs) > LARGE_BLOBS


class GuestOutput:
    """The output of one guest. `take` gives what was printed since the last `take`."""

    def __init__(self, fd: int, on_text: Callable[[str], None], on_excess: Callable[[], None]) -> None:
        os.set_blocking(fd, False)
        self._fd = fd
        self._on_text = on_text
        self._on_excess = on_excess
        self._loop = asyncio.get_running_loop()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._parts: list[str] = []
        self._bytes = 0
        self._limit = 1 << 20
        self._open = True
        self._loop.add_reader(fd, self._readable)

    def begin(self, limit: int) -> None:
        """A new cell: at most `limit` bytes from here on."""
        self._bytes = 0
        self._limit = limit

    def _readable(self) -> bool:
        """Read a piece. False where there was none."""
        try:
            piece = os.read(self._fd, PIECE)
        except BlockingIOError:
            return False
        if not piece:
            self._loop.remove_reader(self._fd)
            return False
        room = self._limit - self._bytes
        self._bytes += len(piece)
        text = self._decoder.decode(piece[: max(room, 0)])
        if text:
            self._parts.append(text)
            self._on_text(text)
        if self._bytes > self._limit:
            self._on_excess()
        return True

    def drain(self) -> None:
        """Read what is in the pipe: everything that the guest wrote before its last message."""
        for _ in range(1 + self._limit // PIECE + 1):
            if not self._open or not self._readable():
                break

    def take(self) -> str:
        """All output since the last `take`."""
        self.drain()
        parts, self._parts = self._parts, []
        return "".join(parts)

    def close(self) -> None:
        if self._open:
            self._open = False
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
