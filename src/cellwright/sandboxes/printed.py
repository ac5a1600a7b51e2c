"""What a guest prints: read from its pipe as it comes, decoded, counted."""

from __future__ import annotations

import asyncio
import codecs
import os
from collections.abc import Callable

PIECE = 1 << 16


class Printing:
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
        """Read a piece; says whether there was one."""
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
        """Read what is in the pipe now: all that the guest wrote before it sent its last message."""
        for _ in range(1 + self._limit // PIECE + 1):
            if not self._open or not self._readable():
                break

    def take(self) -> str:
        """All that has been printed."""
        self.drain()
        parts, self._parts = self._parts, []
        return "".join(parts)

    def close(self) -> None:
        if self._open:
            self._open = False
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
