"""One operation of an API, called through everything between its plan and the wire."""

from __future__ import annotations

from typing import Any

from tests.openapi.upstream import Upstream

from cellwright.connectors import Redactor
from cellwright.openapi.client import Client
from cellwright.openapi.exchange import Exchange, idempotency_key
from cellwright.openapi.plans import Api, Plan, Response
from cellwright.openapi.replies import found
from cellwright.openapi.requests import outgoing
from cellwright.openapi.retries import Patience, Retrying
from cellwright.openapi.security import Given, Security
from cellwright.schemas import local_resolve


class Calls:
    """Calls of one API. `waited` are the seconds between attempts, which nobody waits."""

    def __init__(
        self, api: Upstream, described: Api | None = None, credentials: Given = None, *, base: bool = True, **more: Any
    ) -> None:
        self.redactor = Redactor()
        self.waited: list[float] = []
        known = described or Api(title="T", servers=(api.url,))
        self.client = Client(self.redactor, timeout_s=more.pop("timeout_s", 5.0), **more)
        self.security = Security("api", known, credentials, self.redactor)
        retrying = Retrying(Patience(), sleep=self._sleep, jitter=lambda: 1.0, now=lambda: 1_000_000_000.0)
        self.exchange = Exchange(
            known, self.client, self.security, base_url=api.url if base else "", retrying=retrying
        )  # fmt: skip

    async def _sleep(self, seconds: float) -> None:
        self.waited.append(seconds)

    async def __call__(self, method: str = "GET", url: str = "/x", **more: Any) -> Any:
        arguments = more.pop("arguments", {})
        more.setdefault("responses", {"200": Response(media="application/json")})
        plan = Plan(path="do", id="do", method=method, url=url, **more)
        key = idempotency_key(plan, arguments)
        asked = outgoing("api.do", plan, arguments, local_resolve({}), key=key)
        return found("api.do", plan, await self.exchange.send("api.do", plan, asked), self.redactor)
