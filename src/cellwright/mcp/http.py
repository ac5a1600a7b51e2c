"""Servers that are reached by HTTP: one client for a connection, its keys, and what the server's status codes were.

The SDK tells of a failed request only that it failed. The status is noted here, in the context of the call that it
belongs to: the SDK sends each request in the context of whoever asked.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from cellwright.connectors import Credential, Redactor
from cellwright.mcp.bounding import bound
from cellwright.mcp.keylike import bare_url
from cellwright.mcp.servers import Server

_WAIT_S = 30.0  # for connecting and sending; answers take as long as the call may
_IDLE_S = 2.0  # many servers close what is idle for 5 s, and a request that meets that is lost
_EVENT_BYTES = 64 << 20


@dataclass(slots=True)
class Seen:
    """The last status that a call was answered with, 0 for none; whether it is certain that it was not sent."""

    status: int = 0
    unsent: bool = False


SEEN: ContextVar[Seen | None] = ContextVar("cellwright_mcp_seen", default=None)


class _Bare(logging.Filter):
    """Takes what may hold a key out of URLs of ours that the HTTP client and the SDK log."""

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[str, str] = {}

    def hide(self, url: str) -> None:
        bare = bare_url(str(httpx2.URL(url)))
        if bare != str(httpx2.URL(url)):
            self._known |= {url: bare, str(httpx2.URL(url)): bare}
            for name in ("httpx2", "mcp.client.streamable_http", "mcp.client.sse"):
                logging.getLogger(name).addFilter(self)  # once, however often

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        for url, bare in self._known.items():
            if url in text:
                text = text.replace(url, bare)
                record.msg, record.args = text, ()
        return True


_BARE = _Bare()


class Bearer(httpx2.Auth):
    """A key that is read from its source when it is needed, and once more when the server refuses it."""

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


class _Client(httpx2.AsyncClient):
    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        try:
            return await super().send(request, **options)
        except (httpx2.ConnectError, httpx2.ConnectTimeout):
            seen = SEEN.get()
            if seen is not None:
                seen.unsent = True
            raise


@asynccontextmanager
async def http_client(
    server: Server, auth: httpx2.Auth | None, refused: Callable[[int], None]
) -> AsyncGenerator[httpx2.AsyncClient, None]:
    """The client of one connection. `refused` is told the status of a message that was not taken."""
    tokens = isinstance(auth, OAuthClientProvider)  # which makes requests of its own by this client
    place = httpx2.URL(server.url)

    async def note(response: httpx2.Response) -> None:
        if tokens and response.request.url.path.rstrip("/") != place.path.rstrip("/"):
            return
        seen = SEEN.get()
        if seen is not None:
            seen.status = response.status_code
        if response.status_code >= 400 and response.request.method == "POST":
            refused(response.status_code)
        bound(response)

    _BARE.hide(server.url)
    async with _Client(
        headers={"user-agent": f"cellwright/{version('cellwright')}", "accept-encoding": "gzip", **server.headers},
        timeout=httpx2.Timeout(_WAIT_S, read=None),
        limits=httpx2.Limits(max_connections=100, max_keepalive_connections=20, keepalive_expiry=_IDLE_S),
        auth=auth,
        trust_env=False,  # what is in the environment of the host is not meant for this server
        event_hooks={"response": [note]},
    ) as client:
        yield client


def streamable(server: Server, client: httpx2.AsyncClient) -> AbstractAsyncContextManager[Any]:
    return streamable_http_client(server.url, http_client=client, max_sse_event_size=_EVENT_BYTES)


def events(server: Server, client: httpx2.AsyncClient) -> AbstractAsyncContextManager[Any]:
    """The older transport, server-sent events. The client outlives it: whoever opened that closes it."""

    class Lent:
        async def __aenter__(self) -> httpx2.AsyncClient:
            return client

        async def __aexit__(self, *_: object) -> None: ...

    def made(headers: Any = None, timeout: Any = None, auth: Any = None) -> Any:
        return Lent()

    return sse_client(server.url, httpx_client_factory=made)
