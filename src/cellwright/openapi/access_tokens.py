"""Access tokens of OAuth 2.0: fetched with a client's own credentials or a refresh token, kept until they run out.

It fetches one token at a time, however many calls wait for it. It knows token endpoints, and no API.
"""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn
from urllib.parse import quote, urljoin

from cellwright.connectors import Credential, Redactor
from cellwright.errors import UpstreamGone, UpstreamRefused
from cellwright.openapi.api_client import HttpReply, HttpRequest, NoReply, is_loopback
from cellwright.openapi.operation_plan import SecurityScheme
from cellwright.openapi.parameter_styles import escaped
from cellwright.schemas import as_object, as_text, parsed_object
from cellwright.short_texts import one_line

MARGIN_S = 60.0
UNTOLD_S = 3600.0  # lifetime of a token where the endpoint states none
LONGEST = 16 * 1024
_GRANTS = ("clientCredentials", "application", "authorizationCode", "accessCode", "password", "implicit")

Send = Callable[[HttpRequest], Awaitable[HttpReply]]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Token:
    value: str = field(repr=False)
    until: float


class AccessTokens:
    """The tokens of one scheme. `fields` are client_id, client_secret, refresh_token, token_url and scope, as given."""

    def __init__(
        self,
        title: str,
        scheme: SecurityScheme,
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
        self._refresh = ""  # the newest refresh token: some endpoints give a new one each time
        self._endpoint = ""

    async def token(self, scopes: list[str], *, instead_of: str = "") -> str:
        """A token for the scopes. `instead_of` is a token that the API refused: it is not given again."""
        wanted = await self._field("scope") or " ".join(dict.fromkeys(scopes))
        async with self._lock:
            kept = self._kept.get(wanted)
            if kept is not None and kept.until > time.monotonic() and kept.value != instead_of:
                return kept.value
            made = self._kept[wanted] = await self._fetched(wanted)
            return made.value

    async def _fetched(self, scope: str) -> _Token:
        refresh = self._refresh or await self._field("refresh_token")
        form = {"grant_type": "refresh_token", "refresh_token": refresh} if refresh else {}
        if not refresh:
            form = {"grant_type": "client_credentials"} | ({"scope": scope} if scope else {})
        client, secret = await self._field("client_id"), await self._field("client_secret")
        endpoint = await self._found_endpoint()
        reply = await self._asked(endpoint, form, client, secret, in_body=not secret)
        if reply.status in (400, 401) and secret:  # some endpoints read them in the body alone
            reply = await self._asked(endpoint, form, client, secret, in_body=True)
        return self._read(reply, endpoint)

    async def _asked(
        self, endpoint: str, form: dict[str, str], client: str, secret: str, *, in_body: bool
    ) -> HttpReply:
        headers = [("accept", "application/json"), ("content-type", "application/x-www-form-urlencoded")]
        if in_body:
            form = form | ({"client_id": client} if client else {}) | ({"client_secret": secret} if secret else {})
        else:
            both = base64.b64encode(f"{quote(client, safe='')}:{quote(secret, safe='')}".encode()).decode()
            self._redactor.add(both)
            headers.append(("authorization", f"Basic {both}"))
        body = "&".join(f"{escaped(key)}={escaped(value)}" for key, value in form.items()).encode()
        request = HttpRequest(
            method="POST", url=endpoint, headers=tuple(headers), body=body, follow=False, asks_for_keys=True
        )  # fmt: skip
        return await self._sent(request)

    async def _sent(self, request: HttpRequest) -> HttpReply:
        told = ""
        try:
            return await self._send(request)
        except NoReply as broken:
            told = str(broken)
        raise UpstreamGone(f"{self._title}: no token: {told}")

    def _read(self, reply: HttpReply, endpoint: str) -> _Token:
        found = parsed_object(reply.body)
        token, lasts = found.get("access_token"), found.get("expires_in")
        if not 200 <= reply.status < 300 or not isinstance(token, str) or not 0 < len(token) <= LONGEST:
            said = " ".join(str(found[key]) for key in ("error", "error_description") if found.get(key))
            words = self._redactor.text(one_line(said))[:200] or "no token in its answer"
            host = endpoint.partition("?")[0]
            self._refuse(f"{host} gave no token: {reply.status}: {words}; check the client's credentials")
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
            flow = as_object(self._scheme.flows.get(grant))
            refreshes = flow.get("refreshUrl") if self._fields.get("refresh_token") else ""
            if url := as_text(refreshes or flow.get("tokenUrl")):
                return urljoin(self._base, url)
        return ""

    async def _discovered(self) -> str:
        if not self._scheme.discovery:
            name = self._scheme.name
            self._refuse(f'the description names no token URL; give it as credentials["{name}.token_url"]')
        url = self._safe(urljoin(self._base, self._scheme.discovery))
        reply = await self._sent(HttpRequest(method="GET", url=url, headers=(("accept", "application/json"),)))
        found = parsed_object(reply.body).get("token_endpoint")
        if not isinstance(found, str):
            self._refuse(f"{url.partition('?')[0]} names no token_endpoint ({reply.status})")
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
