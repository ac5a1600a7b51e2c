"""Answers over HTTP within bounds: however small what a server sends is packed, no more of it is kept than allowed.

The SDK bounds events of a stream and reads a whole answer at once. It knows no protocol but HTTP's encodings.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator
from typing import Any

import httpx2

LARGEST = 64 << 20
_PIECE = 1 << 16
_PACKED = ("gzip", "x-gzip", "deflate")


def bound(response: httpx2.Response, largest: int = LARGEST) -> None:
    """Unpack the answer here, and end it where it grows too large. A stream of events may go on for ever."""
    streams = response.headers.get("content-type", "").lower().startswith("text/event-stream")
    encoding = response.headers.pop("content-encoding", "").strip().lower()
    response.stream = _Bounded(response.stream, encoding, 0 if streams else largest)


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, inner: Any, encoding: str, largest: int) -> None:
        self._inner = inner
        self._encoding = encoding
        self._largest = largest

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for piece in self._pieces():
            size += len(piece)
            if self._largest and size > self._largest:
                raise httpx2.StreamError(f"an answer of more than {self._largest >> 20} MB")
            yield piece

    async def _pieces(self) -> AsyncIterator[bytes]:
        if self._encoding not in ("", "identity", *_PACKED):
            raise httpx2.StreamError(f"an answer that is packed by {self._encoding[:40]!r}, which was not asked for")
        unpack = zlib.decompressobj(47) if self._encoding in _PACKED else None  # 47: gzip and zlib alike
        async for raw in self._inner:
            if unpack is None:
                yield raw
                continue
            try:
                while piece := unpack.decompress(raw, _PIECE):
                    yield piece
                    raw = unpack.unconsumed_tail
            except zlib.error:
                raise httpx2.StreamError("an answer that cannot be unpacked") from None

    async def aclose(self) -> None:
        await self._inner.aclose()
