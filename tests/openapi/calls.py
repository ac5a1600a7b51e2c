"""One operation of an API, called through everything between its plan and the wire."""

from __future__ import annotations

from typing import Any

from tests.openapi.upstream import Upstream

from cellwright.connectors import Redactor
from cellwright.openapi.api_client import ApiClient
from cellwright.openapi.api_request import build_request
from cellwright.openapi.operation_plan import Api, OperationPlan, ResponsePlan
from cellwright.openapi.replies import result_of
from cellwright.openapi.request_sender import HttpRetryPolicy, RequestRetries, RequestSender, idempotency_key
from cellwright.openapi.security import ApiSecurity, GivenCredentials
from cellwright.schemas import local_resolve


class Calls:
    """Calls of one API. `waited` are the seconds between attempts, which nobody waits."""

    def __init__(
        self,
        api: Upstream,
        described: Api | None = None,
        credentials: GivenCredentials = None,
        *,
        base: bool = True,
        **more: Any,
    ) -> None:
        self.redactor = Redactor()
        self.waited: list[float] = []
        known = described or Api(title="T", servers=(api.url,))
        self.client = ApiClient(self.redactor, timeout_s=more.pop("timeout_s", 5.0), **more)
        self.security = ApiSecurity("api", known, credentials, self.redactor)
        retrying = RequestRetries(HttpRetryPolicy(), sleep=self._sleep, jitter=lambda: 1.0, now=lambda: 1_000_000_000.0)
        self.exchange = RequestSender(
            known, self.client, self.security, base_url=api.url if base else "", retries=retrying
        )  # fmt: skip

    async def _sleep(self, seconds: float) -> None:
        self.waited.append(seconds)

    async def __call__(self, method: str = "GET", url: str = "/x", **more: Any) -> Any:
        arguments = more.pop("arguments", {})
        more.setdefault("responses", {"200": ResponsePlan(media="application/json")})
        plan = OperationPlan(path="do", id="do", method=method, url=url, **more)
        key = idempotency_key(plan, arguments)
        asked = build_request("api.do", plan, arguments, local_resolve({}), key=key)
        return result_of("api.do", plan, await self.exchange.send("api.do", plan, asked), self.redactor)
