"""Keys of servers that are reached by HTTP: a bearer token from its source, or OAuth by the SDK's own client.

OAuth tokens are kept on the host, in a file for each server that only its user can read.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import json
import re
import time
import warnings
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl, ValidationError

from cellwright.atomic import write_atomic
from cellwright.connectors import Credential, Redactor, Secret
from cellwright.errors import UpstreamRefused, UsageError
from cellwright.mcp.http import BearerAuth
from cellwright.schemas import parsed_object
from cellwright.settings import Settings

OpenBrowser = Callable[[str], Awaitable[None] | None]
BROWSER_S = 300.0
_PAGE = b"<!doctype html><title>Cellwright</title><p>You can close this page and go back to Cellwright.</p>"
_LONGEST_LINE = 16_384


@dataclass(frozen=True, kw_only=True, slots=True)
class OAuth:
    """How access tokens are requested.

    grant         "authorization_code": a person says yes in a browser, once; "client_credentials": no person
    client_id     of a registered client; without it a client is registered, or `metadata_url` is its id
    open_browser  gets the URL for the person; without it the URL is a line of `on_log`
    issuer        the authorization server that `client_secret` belongs to: the secret is sent to no other
    port          of this machine, where the browser comes back to; the default follows from the server's URL
    """

    grant: Literal["authorization_code", "client_credentials"] = "authorization_code"
    client_id: str | None = None
    client_secret: str | Secret | None = field(default=None, repr=False)
    scopes: str | None = None
    issuer: str | None = None
    open_browser: OpenBrowser | None = None
    metadata_url: str | None = None
    port: int | None = None
    keep: bool = True  # in a file of the state directory


Auth = str | Secret | Credential | OAuth | httpx2.Auth | None


def auth_of(auth: Auth, url: str, redactor: Redactor) -> httpx2.Auth | None:
    """The object that puts the key on requests."""
    if auth is None or isinstance(auth, httpx2.Auth):
        return auth
    if not url:
        raise UsageError("auth= is for servers that are reached by a URL; a program gets its key by env=")
    target = httpx2.URL(url)
    if target.scheme == "http" and target.host not in ("127.0.0.1", "::1", "localhost"):
        raise UsageError(f"a key is not sent over plain http to {target.host}, where others can read it; use https")
    if isinstance(auth, OAuth):
        return _provider(auth, url, redactor)
    return BearerAuth(auth if isinstance(auth, Credential) else Credential(auth), redactor)


def _provider(auth: OAuth, url: str, redactor: Redactor) -> httpx2.Auth:
    storage = OAuthTokenStorage(_token_file(url) if auth.keep else None, redactor)
    secret = auth.client_secret.reveal() if isinstance(auth.client_secret, Secret) else auth.client_secret
    if secret:
        redactor.add(secret)
    if auth.grant == "client_credentials":
        if not auth.client_id or not secret:
            raise UsageError("OAuth by client credentials needs client_id= and client_secret=")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the SDK warns if no issuer is given; our docs ask for one
            return _CredentialsProvider(
                url, storage, auth.client_id, secret, "client_secret_basic", scope=auth.scopes, issuer=auth.issuer
            )
    port = auth.port or 21_000 + int(hashlib.sha256(url.encode()).hexdigest(), 16) % 8000
    redirects = Redirects(port, auth.open_browser)
    if auth.client_id:
        storage.registered = OAuthClientInformationFull(
            client_id=auth.client_id,
            client_secret=secret,
            redirect_uris=[AnyUrl(redirects.url)],
            token_endpoint_auth_method="client_secret_basic" if secret else "none",
        )
    metadata = OAuthClientMetadata(
        client_name="Cellwright",
        redirect_uris=[AnyUrl(redirects.url)],
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
        scope=auth.scopes,
    )
    return _CodeProvider(url, metadata, storage, redirects.go, redirects.back, auth.metadata_url)


class Redirects:
    """Where the browser comes back to: a port of this machine that listens only during an authorization."""

    def __init__(self, port: int, open_browser: Callable[[str], Awaitable[None] | None] | None) -> None:
        self.url = f"http://127.0.0.1:{port}/callback"
        self._port = port
        self._open_browser = open_browser
        self._server: asyncio.Server | None = None
        self._result: asyncio.Future[AuthorizationCodeResult] | None = None

    async def go(self, url: str) -> None:
        """Listen, then send the person to the authorization server."""
        if self._open_browser is None:
            raise UpstreamRefused(
                "this server wants a person's yes in a browser, and nobody opens one; give OAuth(open_browser=…)"
            )
        self._result = asyncio.get_running_loop().create_future()
        try:
            self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port)
        except OSError as error:
            text = f"port {self._port} for the browser's way back is taken: {error.strerror}; give OAuth(port=…)"
            raise UpstreamRefused(text) from None
        done = self._open_browser(url)
        if inspect.isawaitable(done):
            await done

    async def back(self) -> AuthorizationCodeResult:
        """The code or the error that the browser brought."""
        assert self._result is not None
        assert self._server is not None
        try:
            async with asyncio.timeout(BROWSER_S):
                return await self._result
        except TimeoutError:
            raise UpstreamRefused(f"nobody came back from the browser within {BROWSER_S:g} s") from None
        finally:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            line = (await reader.readline())[:_LONGEST_LINE].decode("latin-1").split(" ")
            target = urlsplit(line[1]) if len(line) > 1 else urlsplit("")
            query = {key: values[0] for key, values in parse_qs(target.query).items()}
            fits = target.path == "/callback" and ("code" in query or "error" in query)
            body = _PAGE if fits else b""
            status = "200 OK" if fits else "404 Not Found"
            fields = f"content-type: text/html\r\ncontent-length: {len(body)}\r\nconnection: close"
            writer.write(f"HTTP/1.1 {status}\r\n{fields}\r\n\r\n".encode() + body)
            await writer.drain()
            if fits and self._result is not None and not self._result.done():
                self._settle(self._result, query)
        except (OSError, ValueError):
            pass
        finally:
            writer.close()

    def _settle(self, result: asyncio.Future[AuthorizationCodeResult], query: dict[str, str]) -> None:
        if "code" in query:
            state, issuer = query.get("state"), query.get("iss")
            result.set_result(AuthorizationCodeResult(code=query["code"], state=state, iss=issuer))
        else:
            said = query.get("error_description") or query["error"]
            result.set_exception(UpstreamRefused(f"the authorization server refused: {said[:300]}"))


class _CodeProvider(OAuthClientProvider):
    """The SDK's provider forgets when a stored token expires, and would then ask the person again."""

    async def _initialize(self) -> None:
        await super()._initialize()
        cast("OAuthTokenStorage", self.context.storage).remember(self.context)


class _CredentialsProvider(_CodeProvider, ClientCredentialsOAuthProvider):
    """The same for a client that needs no person."""


class OAuthTokenStorage:
    """The tokens and the registration of the client for one server, in a file or only in memory."""

    def __init__(self, path: Path | None, redactor: Redactor) -> None:
        self._path = path
        self._redactor = redactor
        self._kept: dict[str, Any] = {}
        self._read = False
        self.registered: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        kept = (await self._all()).get("tokens")
        try:
            tokens = OAuthToken.model_validate(kept) if kept else None
        except ValidationError:
            return None
        self._hide(tokens)
        return tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self._hide(tokens)
        until = time.time() + tokens.expires_in if tokens.expires_in else None
        await self._put(tokens=tokens.model_dump(mode="json", exclude_none=True), until=until)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        if self.registered is not None:
            return self.registered
        kept = (await self._all()).get("client")
        try:
            client = OAuthClientInformationFull.model_validate(kept) if kept else None
        except ValidationError:
            return None
        if client is not None and client.client_secret:
            self._redactor.add(client.client_secret)
        return client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        if client_info.client_secret:
            self._redactor.add(client_info.client_secret)
        await self._put(client=client_info.model_dump(mode="json", exclude_none=True))

    def remember(self, context: Any) -> None:
        until = self._kept.get("until")
        if isinstance(until, int | float) and context.current_tokens is not None:
            context.token_expiry_time = float(until)

    def _hide(self, tokens: OAuthToken | None) -> None:
        if tokens is not None:
            self._redactor.add(tokens.access_token, *([tokens.refresh_token] if tokens.refresh_token else []))

    async def _all(self) -> dict[str, Any]:
        if not self._read and self._path is not None:
            self._kept = await asyncio.to_thread(_load, self._path)
        self._read = True
        return self._kept

    async def _put(self, **parts: Any) -> None:
        self._kept = {**await self._all(), **parts}
        if self._path is not None:
            await asyncio.to_thread(self._save, self._path, json.dumps(self._kept))

    @staticmethod
    def _save(path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomic(path, text)


def _token_file(url: str) -> Path:
    parts = urlsplit(url)
    plain = f"{parts.scheme}://{parts.hostname}:{parts.port}{parts.path}"
    host = re.sub(r"[^A-Za-z0-9.-]", "_", parts.hostname or "server")[:60]
    name = f"{host}-{hashlib.sha256(plain.encode()).hexdigest()[:16]}.json"
    return Settings.from_environment().state_dir / "mcp" / name


def _load(path: Path) -> dict[str, Any]:
    try:
        return parsed_object(path.read_bytes())
    except OSError:
        return {}
