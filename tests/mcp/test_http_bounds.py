"""Answers of a server over HTTP: unpacked within bounds."""

from __future__ import annotations

import gzip
import zlib

import httpx2
import pytest
from tests.openapi.upstream import reply, upstream

from cellwright.mcp.http import bound

MB = 1 << 20


async def read(content: bytes, media: str = "application/json", content_encoding: str = "") -> bytes:
    async def hook(response: httpx2.Response) -> None:
        bound(response, MB)

    async with upstream() as server, httpx2.AsyncClient(event_hooks={"response": [hook]}, trust_env=False) as client:
        server.on("/x", reply(content, media=media, content_encoding=content_encoding))
        return (await client.get(f"{server.url}/x")).content


@pytest.mark.parametrize(
    ("encoding", "content"),
    [("", b"x" * 9), ("gzip", gzip.compress(b"x" * 9)), ("deflate", zlib.compress(b"x" * 9))],
    ids=["plain", "gzip", "deflate"],
)
async def test_an_answer_is_unpacked(encoding: str, content: bytes) -> None:
    assert await read(content, content_encoding=encoding) == b"x" * 9


@pytest.mark.parametrize("packed", [False, True])
async def test_an_answer_that_grows_too_large_is_left(packed: bool) -> None:
    whole = b" " * (3 * MB)
    with pytest.raises(httpx2.StreamError, match="more than 1 MB"):
        await read(gzip.compress(whole) if packed else whole, content_encoding="gzip" if packed else "")


async def test_a_stream_of_events_may_go_on() -> None:
    assert len(await read(b":\n" * MB, media="text/event-stream")) == 2 * MB


@pytest.mark.parametrize(("encoding", "content"), [("gzip", b"none"), ("gzip, gzip", b"x"), ("br", b"x")])
async def test_an_answer_that_cannot_be_unpacked_is_said(encoding: str, content: bytes) -> None:
    with pytest.raises(httpx2.StreamError):
        await read(content, content_encoding=encoding)
