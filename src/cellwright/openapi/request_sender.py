"""From a request to its reply: the server, the keys, the attempts. All calls of one API share it.

A request is sent again where the server asks for it, or where twice has the same effect as once; else never. It knows
plans and answers, and neither arguments nor results.
"""

from __future__ import annotations

import asyncio
import random
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from cellwright.connectors import Redactor
from cellwright.errors import UpstreamError, UpstreamGone, UpstreamRefused, UsageError
from cellwright.openapi.api_client import (
    ApiClient,
    HttpReply,
    HttpRequest,
    NoReply,
    ReplyRefused,
    RequestCredentials,
    is_loopback,
)
from cellwright.openapi.api_request import IDEMPOTENCY_KEY, IDEMPOTENT, ApiRequest
from cellwright.openapi.operation_plan import Api, OperationPlan
from cellwright.openapi.security import ApiSecurity
from cellwright.openapi.spec_content import origin
from cellwright.redaction import is_secret_setting
from cellwright.scope import current_call

READS = frozenset(("GET", "HEAD", "OPTIONS", "TRACE"))


class RequestSender:
    """Sends the requests of one API."""

    def __init__(
        self,
        api: Api,
        client: ApiClient,
        security: ApiSecurity,
        *,
        base_url: str = "",
        retries: RequestRetries | None = None,
    ) -> None:
        self._api = api
        self._client = client
        self._security = security
        self._base_url = base_url.rstrip("/")
        self._retries = retries or RequestRetries()
        self._headers: tuple[tuple[str, str], ...] = ()
        self._ready = False

    def add_headers(self, headers: Mapping[str, str], redactor: Redactor) -> None:
        """The developer's own, for every request to the API's servers."""
        self._headers = tuple(headers.items())
        redactor.add(*(value for name, value in headers.items() if is_secret_setting(name)))

    async def send(self, title: str, plan: OperationPlan, request: ApiRequest) -> HttpReply:
        """The reply to a call of an operation, whatever its status."""
        server = self._server(title, plan)
        url = f"{server}{request.target}" if request.target else server
        return await self._sent(title, plan, request, url)

    async def follow(self, title: str, plan: OperationPlan, request: ApiRequest, url: str) -> HttpReply:
        """The reply for a further page, at the URL that the API gave."""
        there = origin(url)
        if there != origin(self._server(title, plan)):  # the page before came by a redirect, and so did its link
            raise UpstreamError(f"{title}: its next page is on another server ({there}); not followed")
        return await self._sent(title, plan, request, url)

    async def _sent(self, title: str, plan: OperationPlan, request: ApiRequest, url: str) -> HttpReply:
        needs = self._security.chosen(plan)
        await self._prepare(title, plan)
        if needs:
            self._require_private(title, url)
        keys = await self._security.keys(needs)
        reply = await self._tried(title, plan, request, url, keys)
        # refused, so nothing was done: one more attempt with new keys
        if reply.status == 401 and needs and self._security.renewable(needs):
            other = await self._security.keys(needs, anew=True)
            if other != keys:
                return await self._tried(title, plan, request, url, other)
        return reply

    async def _prepare(self, title: str, plan: OperationPlan) -> None:
        if not self._ready:
            self._security.bind(self._client.send, self._server(title, plan) + "/")
            self._client.certificate = await self._security.certificate()
            self._ready = True

    async def _tried(
        self, title: str, plan: OperationPlan, request: ApiRequest, url: str, keys: RequestCredentials
    ) -> HttpReply:
        own = {name.lower() for name, _ in request.headers}
        http_request = HttpRequest(
            method=request.method,
            url=url,
            headers=(*((n, v) for n, v in self._headers if n.lower() not in own), *request.headers),
            cookies=request.cookies,
            body=request.content.body,
            keys=keys,
            origins=frozenset({origin(url)}),
        )
        refused: ReplyRefused
        try:
            attempt, reads = lambda: self._client.send(http_request), plan.method in READS
            return await self._retries.run(attempt, title, repeatable=request.repeatable, reads=reads)
        except ReplyRefused as error:
            refused = error
        raise UpstreamError(f"{title}: {refused}", status=refused.status)

    def _server(self, title: str, plan: OperationPlan) -> str:
        """The server of a call: the developer's `base_url`, else the operation's own server, else the API's."""
        server = self._base_url or next(iter((*plan.servers, *self._api.servers)), "")
        if not server.startswith(("http://", "https://")) or "{" in server or not urlsplit(server).hostname:
            named = f"its server {server!r} is no whole URL" if server.strip("/") else "the description names no server"
            raise UpstreamGone(f'{title}: {named}; give base_url="https://…"')
        return server.partition("#")[0].partition("?")[0].rstrip("/")

    def _require_private(self, title: str, url: str) -> None:
        """Refuses to send keys without encryption, unless the developer gave that server as `base_url`."""
        if url.startswith("https://") or is_loopback(url) or (self._base_url and origin(url) == origin(self._base_url)):
            return
        host = urlsplit(url).netloc.rpartition("@")[2]
        told = f"{title}: credentials are not sent to http://{host}, which is not encrypted"
        raise UpstreamRefused(f'{told}; give base_url="https://{host}", or base_url="http://{host}" to allow it')


def checked_base(base_url: str | None, name: str = "base_url") -> str:
    """A base URL as a developer gives it."""
    if not base_url:
        return ""
    try:
        parts = urlsplit(base_url)
        known = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        known = False
        parts = urlsplit("")
    if not known:
        raise UsageError(f'{name}={base_url!r:.100}: give a URL, as in "https://api.example.com/v1"')
    if parts.username or parts.password:
        raise UsageError(f"{name} has a user or a password in it; give them as credentials=")
    return base_url


def idempotency_key(plan: OperationPlan, given: Mapping[str, object]) -> str:
    """The idempotency key of the current call; a new one where the operation takes one; else ""."""
    if plan.method in IDEMPOTENT:
        return ""
    named = [p for p in plan.parameters if p.place == "header" and p.key.lower() == IDEMPOTENCY_KEY]
    if any(given.get(p.name) is not None for p in named):
        return ""
    try:
        return current_call().idempotency_key
    except UsageError:
        return uuid.uuid4().hex if named else ""


_BUSY = frozenset((429, 503))  # the server did nothing; with Retry-After it asks for another attempt
_BETWEEN = frozenset((502, 504))  # a proxy failed: whether the server did anything is not known


@dataclass(frozen=True, kw_only=True, slots=True)
class HttpRetryPolicy:
    """How often and how long. A server that asks for a longer wait than `total_s` is not asked again."""

    attempts: int = 4
    base_s: float = 0.5
    total_s: float = 60.0


class RequestRetries:
    """Makes attempts at one request until a reply comes, or the request must not be sent again."""

    def __init__(
        self,
        patience: HttpRetryPolicy | None = None,
        *,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._patience = patience or HttpRetryPolicy()
        self._sleep = sleep
        self._jitter = jitter
        self._now = now

    async def run(
        self, attempt: Callable[[], Awaitable[HttpReply]], title: str, *, repeatable: bool, reads: bool
    ) -> HttpReply:
        """The reply. Raises `UpstreamGone`, which says whether the call may have happened."""
        waited, count = 0.0, 0
        while True:
            count += 1
            reply, failure = None, None
            try:
                reply = await attempt()
            except NoReply as broken:
                failure = broken
            wait = self._wait(reply, failure, repeatable, count)
            if wait is None or count >= self._patience.attempts or waited + wait > self._patience.total_s:
                break
            await self._sleep(wait)
            waited += wait
        if reply is not None:
            return reply
        raise UpstreamGone(_told(title, failure, count, reads))

    def _wait(self, reply: HttpReply | None, failure: NoReply | None, repeatable: bool, count: int) -> float | None:
        """Seconds until the next attempt; None where there is none."""
        grown = self._jitter() * self._patience.base_s * 2.0 ** min(count - 1, 10)
        if reply is not None and reply.acted and not repeatable:
            return None
        if reply is not None:
            wish = self._wish(reply) if reply.status in _BUSY else None
            if wish is not None:
                return wish + grown
            return grown if repeatable and reply.status in _BUSY | _BETWEEN else None
        if failure is None or failure.late:  # a timeout is not tried again
            return None
        return grown if repeatable or not failure.sent else None

    def _wish(self, reply: HttpReply) -> float | None:
        """What Retry-After says, in seconds from now."""
        text = reply.headers.get("retry-after", "").strip()
        if not text:
            return None
        try:
            if text.isascii() and text.isdigit():
                return float(text)
            return max(0.0, parsedate_to_datetime(text).timestamp() - self._now())
        except (ValueError, TypeError, OverflowError):
            return None


def _told(title: str, failure: NoReply | None, count: int, reads: bool) -> str:
    times = f" (after {count} attempts)" if count > 1 else ""
    if failure is None or not failure.sent:
        rest = "; nothing was sent"
    else:
        rest = "" if reads else "; it may have happened, so look before you call it again"
    return f"{title}: {failure}{times}{rest}"
