"""Keys of servers that are reached by HTTP: a bearer token from its source, or OAuth by the SDK's own client.

Tokens are kept on the host in a file of their own for each server, readable by its user alone.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import time
import warnings
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast
from urllib.parse import urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl, ValidationError

from cellwright.connectors import Credential, Redactor, Secret
from cellwright.errors import UsageError
from cellwright.mcp.http import Bearer
from cellwright.mcp.redirects import Redirects
from cellwright.settings import Settings

OpenBrowser = Callable[[str], Awaitable[None] | None]


@dataclass(frozen=True, kw_only=True, slots=True)
class OAuth:
    """How tokens are got.

    grant         "authorization_code": a person says yes in a browser, once; "client_credentials": no person
    client_id     of a client that is registered already; without it one is registered, or `metadata_url` is its id
    open_browser  gets the URL for the person; without it the URL is a line of `on_log`
    issuer        the authorization server that `client_secret` belongs to: it is sent to no other
    port          where the browser comes back to on this machine; by default one that follows from the server's URL
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
    """What puts the key on requests."""
    if auth is None or isinstance(auth, httpx2.Auth):
        return auth
    if not url:
        raise UsageError("auth= is for servers that are reached by an URL; a program gets its key by env=")
    there = httpx2.URL(url)
    if there.scheme == "http" and there.host not in ("127.0.0.1", "::1", "localhost"):
        raise UsageError(f"a key is not sent over plain http to {there.host}, where others can read it; use https")
    if isinstance(auth, OAuth):
        return _provider(auth, url, redactor)
    return Bearer(auth if isinstance(auth, Credential) else Credential(auth), redactor)


def _provider(auth: OAuth, url: str, redactor: Redactor) -> httpx2.Auth:
    storage = Tokens(_token_file(url) if auth.keep else None, redactor)
    secret = auth.client_secret.reveal() if isinstance(auth.client_secret, Secret) else auth.client_secret
    if secret:
        redactor.add(secret)
    if auth.grant == "client_credentials":
        if not auth.client_id or not secret:
            raise UsageError("OAuth by client credentials needs client_id= and client_secret=")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an issuer is asked for by its own docs; the SDK warns of None once more
            return _Remembering.credentials(url, storage, auth, auth.client_id, secret)
    port = auth.port or 21_000 + int(hashlib.sha256(url.encode()).hexdigest(), 16) % 8000
    redirects = Redirects(port, auth.open_browser)
    if auth.client_id:
        storage.registered = _registered(auth.client_id, secret, redirects.url)
    return _Remembering.code(url, storage, auth, redirects)


def _registered(client_id: str, secret: str | None, redirect: str) -> OAuthClientInformationFull:
    return OAuthClientInformationFull(
        client_id=client_id,
        client_secret=secret,
        redirect_uris=[AnyUrl(redirect)],
        token_endpoint_auth_method="client_secret_basic" if secret else "none",
    )


class _Remembering:
    """The SDK's providers. They forget when a token that they read expires, and would then ask the person again."""

    @staticmethod
    def credentials(url: str, storage: Tokens, auth: OAuth, client_id: str, secret: str) -> httpx2.Auth:
        class Provider(ClientCredentialsOAuthProvider):
            async def _initialize(self) -> None:
                await super()._initialize()
                storage.remember(self.context)

        return Provider(url, storage, client_id, secret, "client_secret_basic", scope=auth.scopes, issuer=auth.issuer)

    @staticmethod
    def code(url: str, storage: Tokens, auth: OAuth, redirects: Redirects) -> httpx2.Auth:
        class Provider(OAuthClientProvider):
            async def _initialize(self) -> None:
                await super()._initialize()
                storage.remember(self.context)

        metadata = OAuthClientMetadata(
            client_name="Cellwright",
            redirect_uris=[AnyUrl(redirects.url)],
            grant_types=["authorization_code", "refresh_token"],
            response_types=["code"],
            scope=auth.scopes,
        )
        return Provider(url, metadata, storage, redirects.go, redirects.back, auth.metadata_url)


class Tokens:
    """Tokens and the client's registration for one server, in a file, or only in memory."""

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
            await asyncio.to_thread(_save, self._path, self._kept)


def _token_file(url: str) -> Path:
    parts = urlsplit(url)
    plain = f"{parts.scheme}://{parts.hostname}:{parts.port}{parts.path}"
    host = re.sub(r"[^A-Za-z0-9.-]", "_", parts.hostname or "server")[:60]
    name = f"{host}-{hashlib.sha256(plain.encode()).hexdigest()[:16]}.json"
    return Settings.from_environment().state_dir / "mcp" / name


def _load(path: Path) -> dict[str, Any]:
    try:
        found: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _save(path: Path, kept: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_suffix(f".{os.getpid()}")
    draft.unlink(missing_ok=True)
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        json.dump(kept, file)
    draft.replace(path)
