"""From a request to its answer: which server, whose keys, how often. What all calls of one API share.

It knows plans and answers, and neither arguments nor results.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from urllib.parse import urlsplit

from cellwright.connectors import Redactor
from cellwright.errors import UpstreamError, UpstreamGone, UpstreamRefused, UsageError
from cellwright.openapi.client import Arrived, Client, Keys, NotTaken, Wired, is_loopback, origin
from cellwright.openapi.plans import Api, Plan
from cellwright.openapi.requests import IDEMPOTENCY_KEY, IDEMPOTENT, Outgoing
from cellwright.openapi.retries import Retrying
from cellwright.openapi.security import Security
from cellwright.scope import current_call

READS = frozenset(("GET", "HEAD", "OPTIONS", "TRACE"))
_SECRET = re.compile(r"auth|key|token|secret|password|cookie|session", re.IGNORECASE)


class Exchange:
    """Sends the requests of one API."""

    def __init__(
        self, api: Api, client: Client, security: Security, *, base_url: str = "", retrying: Retrying | None = None
    ) -> None:
        self._api = api
        self._client = client
        self._security = security
        self._base_url = base_url.rstrip("/")
        self._retrying = retrying or Retrying()
        self._headers: tuple[tuple[str, str], ...] = ()
        self._ready = False

    def add_headers(self, headers: Mapping[str, str], redactor: Redactor) -> None:
        """The developer's own, for every request to the API's servers."""
        self._headers = tuple(headers.items())
        redactor.add(*(value for name, value in headers.items() if _SECRET.search(name)))

    async def send(self, title: str, plan: Plan, outgoing: Outgoing) -> Arrived:
        """The answer to a call of an operation, whatever its status."""
        server = self._server(title, plan)
        url = f"{server}{outgoing.target}" if outgoing.target else server
        return await self._sent(title, plan, outgoing, url)

    async def follow(self, title: str, plan: Plan, outgoing: Outgoing, url: str) -> Arrived:
        """The same for a further page, which the API named by its URL."""
        there = origin(url)
        if there != origin(self._server(title, plan)):  # the page before came by a redirect, and so did its link
            raise UpstreamError(f"{title}: its next page is on another server ({there}); not followed")
        return await self._sent(title, plan, outgoing, url)

    async def _sent(self, title: str, plan: Plan, outgoing: Outgoing, url: str) -> Arrived:
        needs = self._security.chosen(plan)
        await self._prepare(title, plan)
        if needs:
            self._require_private(title, url)
        keys = await self._security.keys(needs)
        arrived = await self._tried(title, plan, outgoing, url, keys)
        if arrived.status == 401 and needs and self._security.renewable(needs):  # refused, so not done: once anew
            other = await self._security.keys(needs, anew=True)
            if other != keys:
                return await self._tried(title, plan, outgoing, url, other)
        return arrived

    async def _prepare(self, title: str, plan: Plan) -> None:
        if not self._ready:
            self._security.bind(self._client.send, self._server(title, plan) + "/")
            self._client.certificate = await self._security.certificate()
            self._ready = True

    async def _tried(self, title: str, plan: Plan, outgoing: Outgoing, url: str, keys: Keys) -> Arrived:
        own = {name.lower() for name, _ in outgoing.headers}
        wired = Wired(
            method=outgoing.method,
            url=url,
            headers=(*((n, v) for n, v in self._headers if n.lower() not in own), *outgoing.headers),
            cookies=outgoing.cookies,
            body=outgoing.content.body,
            keys=keys,
            origins=frozenset({origin(url)}),
        )
        refused: NotTaken
        try:
            return await self._retrying.run(
                lambda: self._client.send(wired),
                title,
                repeatable=outgoing.repeatable,
                reads=plan.method in READS,
            )
        except NotTaken as error:
            refused = error
        raise UpstreamError(f"{title}: {refused}", status=refused.status)

    def _server(self, title: str, plan: Plan) -> str:
        """Where the call goes: what the developer said, else the operation's own server, else the API's."""
        server = self._base_url or next(iter((*plan.servers, *self._api.servers)), "")
        if not server.startswith(("http://", "https://")) or "{" in server or not urlsplit(server).hostname:
            named = f"its server {server!r} is no whole URL" if server.strip("/") else "the description names no server"
            raise UpstreamGone(f'{title}: {named}; give base_url="https://…"')
        return server.partition("#")[0].partition("?")[0].rstrip("/")

    def _require_private(self, title: str, url: str) -> None:
        """Keys are not sent in the open, unless the developer named that server himself."""
        if url.startswith("https://") or is_loopback(url) or (self._base_url and origin(url) == origin(self._base_url)):
            return
        host = urlsplit(url).netloc.rpartition("@")[2]
        told = f"{title}: credentials are not sent to http://{host}, which is not encrypted"
        raise UpstreamRefused(f'{told}; give base_url="https://{host}", or base_url="http://{host}" if so meant')


def checked_base(base_url: str | None) -> str:
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
        raise UsageError(f'base_url={base_url!r:.100}: give a URL, as in "https://api.example.com/v1"')
    if parts.username or parts.password:
        raise UsageError("base_url has a user or a password in it; give them as credentials=")
    return base_url


def idempotency_key(plan: Plan, given: Mapping[str, object]) -> str:
    """The key of the call that is being served; one of its own where the operation takes one; "" else."""
    if plan.method in IDEMPOTENT:
        return ""
    named = [p for p in plan.parameters if p.place == "header" and p.key.lower() == IDEMPOTENCY_KEY]
    if any(given.get(p.name) is not None for p in named):
        return ""
    try:
        return current_call().idempotency_key
    except UsageError:
        return uuid.uuid4().hex if named else ""
