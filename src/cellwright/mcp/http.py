"""Servers that are reached by HTTP: one HTTP client for a connection, with keys, status codes and bounded answers.

The SDK reports a failed request without its HTTP status. The status is noted here in a context variable of the call:
the SDK sends each request in the context of its caller. The SDK also bounds only the events of a stream and reads any
other answer whole: answers are bounded here after they are unpacked, however small they were when packed.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from cellwright.connectors import Credential, Redactor
from cellwright.mcp.servers import McpServer
from cellwright.redaction import bare_url

LARGEST = 64 << 20  # bytes of an answer, unpacked, and of one event of a stream
_WAIT_S = 30.0  # for connecting and sending; an answer may take as long as its call
_IDLE_S = 2.0  # many servers close a connection that is idle for 5 s, and a request sent at that moment is lost
_PIECE = 1 << 16
_PACKED = ("gzip", "x-gzip", "deflate")


@dataclass(slots=True)
class RequestStatus:
    """The last HTTP status of a call, 0 for none. `unsent`: it is certain that the server did not get the request."""

    status: int = 0
    unsent: bool = False


REQUEST_STATUS: ContextVar[RequestStatus | None] = ContextVar("cellwright_mcp_status", default=None)


class _UrlFilter(logging.Filter):
    """Removes the parts that may hold a key from our servers' URLs in log records of the HTTP client and the SDK."""

    def __init__(self) -> None:
        super().__init__()
        self._bare_urls: dict[str, str] = {}

    def hide(self, url: str) -> None:
        bare = bare_url(str(httpx2.URL(url)))
        if bare != str(httpx2.URL(url)):
            self._bare_urls |= {url: bare, str(httpx2.URL(url)): bare}
            for name in ("httpx2", "mcp.client.streamable_http", "mcp.client.sse"):
                logging.getLogger(name).addFilter(self)  # once, however often

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        for url, bare in self._bare_urls.items():
            if url in text:
                text = text.replace(url, bare)
                record.msg, record.args = text, ()
        return True


_URL_FILTER = _UrlFilter()


class BearerAuth(httpx2.Auth):
    """A bearer token, read from its source when it is needed, and once more when the server refuses it."""

    def __init__(self, credential: Credential, redactor: Redactor) -> None:
        self._credential = credential
        self._redactor = redactor

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        await self._put_on(request, fresh=False)
        response = yield request
        if response.status_code == 401 and self._credential.renewable:
            before = request.headers["authorization"]
            await self._put_on(request, fresh=True)
            if request.headers["authorization"] != before:
                yield request

    async def _put_on(self, request: httpx2.Request, *, fresh: bool) -> None:
        value = await self._credential.value(fresh=fresh)
        self._redactor.add(value)
        request.headers["authorization"] = f"Bearer {value}"


class _NotingClient(httpx2.AsyncClient):
    """Notes a request that never left this machine: it may be sent again."""

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        try:
            return await super().send(request, **options)
        except (httpx2.ConnectError, httpx2.ConnectTimeout):
            status = REQUEST_STATUS.get()
            if status is not None:
                status.unsent = True
            raise


@asynccontextmanager
async def http_client(
    server: McpServer, auth: httpx2.Auth | None, refused: Callable[[int], None]
) -> AsyncGenerator[httpx2.AsyncClient, None]:
    """The HTTP client of one connection. `refused` gets the status of each message that the server did not take."""
    oauth = isinstance(auth, OAuthClientProvider)  # it sends requests of its own through this client
    path = httpx2.URL(server.url).path.rstrip("/")

    async def note(response: httpx2.Response) -> None:
        if oauth and response.request.url.path.rstrip("/") != path:
            return
        status = REQUEST_STATUS.get()
        if status is not None:
            status.status = response.status_code
        if response.status_code >= 400 and response.request.method == "POST":
            refused(response.status_code)
        bound(response)

    _URL_FILTER.hide(server.url)
    async with _NotingClient(
        headers={"user-agent": f"cellwright/{version('cellwright')}", "accept-encoding": "gzip", **server.headers},
        timeout=httpx2.Timeout(_WAIT_S, read=None),
        limits=httpx2.Limits(max_connections=100, max_keepalive_connections=20, keepalive_expiry=_IDLE_S),
        auth=auth,
        trust_env=False,  # proxies and logins in the host's environment are not meant for this server
        event_hooks={"response": [note]},
    ) as client:
        yield client


def streamable(server: McpServer, client: httpx2.AsyncClient) -> AbstractAsyncContextManager[Any]:
    return streamable_http_client(server.url, http_client=client, max_sse_event_size=LARGEST)


def sse(server: McpServer, client: httpx2.AsyncClient) -> AbstractAsyncContextManager[Any]:
    """The older transport, server-sent events. The SDK would close the client; its owner does that."""

    def shared(headers: Any = None, timeout: Any = None, auth: Any = None) -> Any:
        return nullcontext(client)

    return sse_client(server.url, httpx_client_factory=shared)


def bound(response: httpx2.Response, largest: int = LARGEST) -> None:
    """Unpack the answer here, and end it where it grows too large. A stream of events may go on for ever."""
    streams = response.headers.get("content-type", "").lower().startswith("text/event-stream")
    encoding = response.headers.pop("content-encoding", "").strip().lower()
    response.stream = _BoundedStream(response.stream, encoding, 0 if streams else largest)


class _BoundedStream(httpx2.AsyncByteStream):
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
