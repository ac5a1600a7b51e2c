"""A gateway over streamable HTTP: one path for clients, and one for health checks.

Every request is checked, in this order: its host and origin, its token, its rate. It knows no tools.
"""

from __future__ import annotations

import ipaddress
import json
import math
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from cellwright.errors import PlatformError, UsageError
from cellwright.gateway.access import AnyVerifier, BearerTokens, RequestRate, TokenIssuer

if TYPE_CHECKING:
    from mcp.server import Server
    from starlette.applications import Starlette
    from starlette.types import ASGIApp, Receive, Scope, Send

PATH = "/mcp"
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
BODY = 4 * 1024 * 1024
Drop = Callable[[Hashable], Awaitable[None]]


@dataclass(frozen=True, kw_only=True)
class WebOptions:
    """How a gateway is served. `public_url` is its address for clients, if that is not where it listens."""

    host: str = "127.0.0.1"
    port: int = 8765
    tokens: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    issuer: str = ""
    audience: str = ""
    no_auth: bool = False
    rate: tuple[int, float] | None = None
    origins: tuple[str, ...] = ()
    public_url: str = ""
    idle_s: float = 1_800.0
    sessions: int = 100
    body_bytes: int = BODY

    def __post_init__(self) -> None:
        if self.issuer and not self.audience:
            raise UsageError("--oauth-issuer needs --oauth-audience: what tokens for this gateway are made out to")
        if self.issuer and not self.issuer.startswith("https://") and _host(self.issuer) not in LOOPBACK:
            raise UsageError(f"--oauth-issuer {self.issuer:.100}: give an https address: its keys say who gets in")
        if not self.has_auth and not self.is_loopback and not self.no_auth:
            raise UsageError(
                f"--http {self.host}: everybody who reaches this machine could run code here; give --token-file, "
                "--token or --oauth-issuer, or say --no-auth"
            )

    @property
    def has_auth(self) -> bool:
        return bool(self.tokens or self.issuer)

    @property
    def is_loopback(self) -> bool:
        try:
            return ipaddress.ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host and not self.host.startswith("[") else self.host
        return self.public_url or f"http://{host}:{self.port}{PATH}"


def place_of(text: str) -> tuple[str, int]:
    """`HOST:PORT`, `:PORT` or `PORT`; without a host it is the loopback's."""
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise UsageError(f"--http {text}: give HOST:PORT, such as 127.0.0.1:8765")
    return host.strip("[]") or "127.0.0.1", int(port)


def bound_socket(web: WebOptions) -> socket.socket:
    """A socket that listens there; PlatformError in one line if the port cannot be had."""
    family = socket.AF_INET6 if ":" in web.host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((web.host, web.port))
    except OSError as error:
        made.close()
        raise PlatformError(f"--http {web.host}:{web.port}: {error.strerror or error}; choose another port") from None
    made.listen(128)
    return made


def web_app(server: Server[Any], web: WebOptions, drop: Drop, ready: Callable[[], bool] = lambda: True) -> Starlette:
    """The application. `drop` is called for a session that its client ended; until it is `ready`, health is 503."""
    from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
    from starlette.applications import Starlette
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    manager = StreamableHTTPSessionManager(
        app=server,
        session_idle_timeout=web.idle_s,
        max_sessions=max(web.sessions * 10, 100),
        max_request_body_size=web.body_bytes,
    )
    inner: ASGIApp = _Leaving(StreamableHTTPASGIApp(manager), drop)
    if web.rate is not None:
        inner = _Limited(inner, RequestRate(*web.rate))
    routes: list[Any] = []
    middleware: list[Any] = []
    if web.has_auth:
        inner = _guarded(inner, web, routes, middleware)
    if web.origins:
        inner = _for_pages(inner, web.origins)

    async def healthz(request: Any) -> JSONResponse:
        ok = ready()
        return JSONResponse({"ok": ok}, 200 if ok else 503)

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncGenerator[None]:
        async with manager.run():
            yield

    routes += [Route(PATH, endpoint=_Origins(inner, web)), Route("/healthz", endpoint=healthz)]
    return Starlette(routes=routes, middleware=middleware, lifespan=lifespan)


def _guarded(inner: ASGIApp, web: WebOptions, routes: list[Any], middleware: list[Any]) -> ASGIApp:
    """`inner` behind the SDK's check of bearer tokens, with the metadata that OAuth clients need to get one."""
    from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
    from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend, RequireAuthMiddleware
    from mcp.server.auth.routes import build_resource_metadata_url, create_protected_resource_routes
    from pydantic import AnyHttpUrl
    from starlette.middleware import Middleware
    from starlette.middleware.authentication import AuthenticationMiddleware

    verifiers: list[Any] = [BearerTokens(web.tokens)] if web.tokens else []
    metadata: AnyHttpUrl | None = None
    if web.issuer:
        verifiers.append(TokenIssuer(web.issuer, web.audience))
        resource = AnyHttpUrl(web.url)
        metadata = build_resource_metadata_url(resource)
        routes += create_protected_resource_routes(
            resource_url=resource, authorization_servers=[AnyHttpUrl(web.issuer)], scopes_supported=None
        )
    middleware += [
        Middleware(AuthenticationMiddleware, backend=BearerAuthBackend(AnyVerifier(*verifiers))),
        Middleware(AuthContextMiddleware),
    ]
    return RequireAuthMiddleware(inner, [], metadata)


def _for_pages(inner: ASGIApp, origins: Collection[str]) -> ASGIApp:
    """`inner` with CORS: browsers ask first whether a page may call, and show it only the headers named here."""
    from starlette.middleware.cors import CORSMiddleware

    told = ("Mcp-Session-Id", "Mcp-Protocol-Version", "WWW-Authenticate", "Retry-After")
    methods = ("GET", "POST", "DELETE")
    return CORSMiddleware(inner, allow_origins=origins, allow_methods=methods, allow_headers=["*"], expose_headers=told)


class _Origins:
    """Refuses requests from pages of other origins, and host names that somebody pointed at this machine."""

    def __init__(self, app: ASGIApp, web: WebOptions) -> None:
        self._app = app
        self._hosts = None if not web.is_loopback else {*LOOPBACK, web.host, _host(web.public_url)} - {""}
        self._origins = set(web.origins)
        self._loopback = web.is_loopback

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        hosts, origins = _values(scope, b"host"), _values(scope, b"origin")
        if self._hosts is not None and not (hosts and all(_bare(host.lower()) in self._hosts for host in hosts)):
            await _refuse(send, 421, f"the host {', '.join(hosts)[:100]} is not this gateway")
        elif not all(map(self._knows, origins)):
            named = ", ".join(origins)[:100]
            await _refuse(send, 403, f"the origin {named} may not use this gateway; allow it with --origin")
        else:
            await self._app(scope, receive, send)

    def _knows(self, origin: str) -> bool:
        return origin in self._origins or (self._loopback and _host(origin) in LOOPBACK)


class _Limited:
    """Limits the rate of a client: 429 with the time to wait."""

    def __init__(self, app: ASGIApp, rate: RequestRate) -> None:
        self._app = app
        self._rate = rate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        wait = self._rate.wait_s(_client(scope))
        if wait:
            seconds = str(math.ceil(wait)).encode()
            await _refuse(send, 429, "too many requests; wait and try again", [(b"retry-after", seconds)])
            return
        await self._app(scope, receive, send)


def _client(scope: Scope) -> Hashable:
    """The client of a request by its token, each user of an application alone; else by its address."""
    user = scope.get("user")
    if user is None or not user.is_authenticated:
        return ("address", (scope.get("client") or ("", 0))[0])
    from mcp.server.auth.provider import principal_components

    return ("client", *principal_components(user.access_token))


class _Leaving:
    """Calls `drop` for a session that its client has ended."""

    def __init__(self, app: ASGIApp, drop: Drop) -> None:
        self._app = app
        self._drop = drop

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        status = 0

        async def seen(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        await self._app(scope, receive, seen)
        if scope["method"] == "DELETE" and 200 <= status < 300:
            session = _values(scope, b"mcp-session-id")[:1]  # the transport reads the first one
            await self._drop(("session", *session))


async def _refuse(send: Send, status: int, text: str, headers: list[tuple[bytes, bytes]] | None = None) -> None:
    body = json.dumps({"error": text}).encode()
    plain = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *(headers or [])]
    await send({"type": "http.response.start", "status": status, "headers": plain})
    await send({"type": "http.response.body", "body": body})


def _values(scope: Scope, name: bytes) -> list[str]:
    """All headers of that name: of several, a proxy may have read one and the server another."""
    return [value.decode("latin-1") for key, value in scope["headers"] if key.lower() == name]


def _host(url: str) -> str:
    try:
        found = urlsplit(url).hostname or ""
    except ValueError:  # brackets that do not close
        return ""
    return f"[{found}]" if ":" in found else found


def _bare(host: str) -> str:
    """Without the port."""
    return host[: host.index("]") + 1] if host.startswith("[") and "]" in host else host.partition(":")[0]
