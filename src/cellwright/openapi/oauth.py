"""Access tokens of OAuth 2.0: fetched with a client's own credentials or a refresh token, kept until they run out.

One is fetched at a time, however many calls wait for it. It knows no API: whoever has a token endpoint is asked.
"""

from __future__ import annotations

import asyncio
import base64
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn, cast
from urllib.parse import quote, urljoin

from cellwright.connectors import Credential, Redactor
from cellwright.errors import UpstreamGone, UpstreamRefused
from cellwright.openapi.client import Arrived, Broken, Wired, is_loopback
from cellwright.openapi.plans import Scheme
from cellwright.openapi.styles import escaped

MARGIN_S = 60.0
UNTOLD_S = 3600.0  # where the endpoint does not say how long a token is good
LONGEST = 16 * 1024
_GRANTS = ("clientCredentials", "application", "authorizationCode", "accessCode", "password", "implicit")

Send = Callable[[Wired], Awaitable[Arrived]]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Token:
    value: str = field(repr=False)
    until: float


class Tokens:
    """The tokens of one scheme. `fields` are client_id, client_secret, refresh_token, token_url and scope, as given."""

    def __init__(
        self,
        title: str,
        scheme: Scheme,
        fields: Mapping[str, Credential | str],
        send: Send,
        redactor: Redactor,
        *,
        base: str = "",
    ) -> None:
        self._title = f"{title}: {scheme.name}"
        self._scheme = scheme
        self._fields = fields
        self._send = send
        self._redactor = redactor
        self._base = base
        self._lock = asyncio.Lock()
        self._kept: dict[str, _Token] = {}
        self._refresh = ""  # the newest refresh token, where the endpoint hands out a new one each time
        self._endpoint = ""

    async def token(self, scopes: list[str], *, instead_of: str = "") -> str:
        """A token for the scopes. `instead_of` is one that the API refused: it is not given again."""
        wanted = await self._scope(scopes)
        async with self._lock:
            kept = self._kept.get(wanted)
            if kept is not None and kept.until > time.monotonic() and kept.value != instead_of:
                return kept.value
            made = self._kept[wanted] = await self._fetched(wanted)
            return made.value

    async def _scope(self, scopes: list[str]) -> str:
        told = await self._field("scope")
        return told or " ".join(dict.fromkeys(scopes))

    async def _fetched(self, scope: str) -> _Token:
        refresh = self._refresh or await self._field("refresh_token")
        form = {"grant_type": "refresh_token", "refresh_token": refresh} if refresh else {}
        if not refresh:
            form = {"grant_type": "client_credentials"} | ({"scope": scope} if scope else {})
        client, secret = await self._field("client_id"), await self._field("client_secret")
        endpoint = await self._found_endpoint()
        arrived = await self._asked(endpoint, form, client, secret, in_body=not secret)
        if arrived.status in (400, 401) and secret:  # some endpoints read them in the body alone
            arrived = await self._asked(endpoint, form, client, secret, in_body=True)
        return self._read(arrived, endpoint)

    async def _asked(self, endpoint: str, form: dict[str, str], client: str, secret: str, *, in_body: bool) -> Arrived:
        headers = [("accept", "application/json"), ("content-type", "application/x-www-form-urlencoded")]
        if in_body:
            form = form | ({"client_id": client} if client else {}) | ({"client_secret": secret} if secret else {})
        else:
            both = base64.b64encode(f"{quote(client, safe='')}:{quote(secret, safe='')}".encode()).decode()
            self._redactor.add(both)
            headers.append(("authorization", f"Basic {both}"))
        body = "&".join(f"{escaped(key)}={escaped(value)}" for key, value in form.items()).encode()
        wired = Wired(
            method="POST", url=endpoint, headers=tuple(headers), body=body, follow=False, asks_for_keys=True
        )  # fmt: skip
        return await self._sent(wired)

    async def _sent(self, wired: Wired) -> Arrived:
        told = ""
        try:
            return await self._send(wired)
        except Broken as broken:
            told = str(broken)
        raise UpstreamGone(f"{self._title}: no token: {told}")

    def _read(self, arrived: Arrived, endpoint: str) -> _Token:
        found = _object(arrived)
        token, lasts = found.get("access_token"), found.get("expires_in")
        if not 200 <= arrived.status < 300 or not isinstance(token, str) or not 0 < len(token) <= LONGEST:
            said = " ".join(str(found[key]) for key in ("error", "error_description") if found.get(key))
            words = self._redactor.text(" ".join(said.split()))[:200] or "no token in its answer"
            host = endpoint.partition("?")[0]
            self._refuse(f"{host} gave no token: {arrived.status}: {words}; check the client's credentials")
        renewed = found.get("refresh_token")
        if isinstance(renewed, str) and renewed:
            self._refresh = renewed
            self._redactor.add(renewed)
        self._redactor.add(token)
        seconds = _seconds(lasts)
        return _Token(value=token, until=time.monotonic() + max(seconds - MARGIN_S, seconds * 0.5))

    async def _found_endpoint(self) -> str:
        if not self._endpoint:
            self._endpoint = self._safe(await self._field("token_url") or self._described() or await self._discovered())
        return self._endpoint

    def _described(self) -> str:
        for grant in _GRANTS:
            flow: Any = self._scheme.flows.get(grant)
            if not isinstance(flow, dict):
                continue
            known = cast(dict[str, Any], flow)
            refreshes = known.get("refreshUrl") if self._fields.get("refresh_token") else ""
            if isinstance(url := refreshes or known.get("tokenUrl"), str) and url:
                return urljoin(self._base, url)
        return ""

    async def _discovered(self) -> str:
        if not self._scheme.discovery:
            name = self._scheme.name
            self._refuse(f'the description names no token URL; give it as credentials["{name}.token_url"]')
        url = self._safe(urljoin(self._base, self._scheme.discovery))
        arrived = await self._sent(Wired(method="GET", url=url, headers=(("accept", "application/json"),)))
        found = _object(arrived).get("token_endpoint")
        if not isinstance(found, str):
            self._refuse(f"{url.partition('?')[0]} names no token_endpoint ({arrived.status})")
        return found

    def _safe(self, url: str) -> str:
        if not url.startswith("https://") and not (url.startswith("http://") and is_loopback(url)):
            self._refuse(f"{url[:100]} is not https://, and keys are not sent there")
        return url

    async def _field(self, name: str) -> str:
        found = self._fields.get(name, "")
        if isinstance(found, str):
            return found
        value = await found.value()
        if name != "client_id":
            self._redactor.add(value)
        return value

    def _refuse(self, text: str) -> NoReturn:
        raise UpstreamRefused(f"{self._title}: {text}")


def _seconds(lasts: Any) -> float:
    try:
        return min(max(float(lasts), 0.0), 10 * 366 * 86_400.0)
    except (TypeError, ValueError):
        return UNTOLD_S


def _object(arrived: Arrived) -> dict[str, Any]:
    try:
        found = json.loads(arrived.body)
    except (ValueError, RecursionError):
        return {}
    return cast(dict[str, Any], found) if isinstance(found, dict) else {}
