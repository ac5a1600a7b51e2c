"""Random operations of an API, called through our connector with generated arguments, and what became of each."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import httpx2
from tests.interop.arguments import arguments

from cellwright.errors import UpstreamError
from cellwright.openapi import OpenAPI
from cellwright.openapi.compiled_api import CompiledApi
from cellwright.openapi.operation_plan import OperationPlan


@dataclass(frozen=True, kw_only=True)
class Seen:
    """One exchange as it went over the wire."""

    method: str
    url: str
    status: int
    headers: dict[str, str]


class Watching(httpx2.AsyncBaseTransport):
    """The loopback, and a list of what went over it. Where a mock redirects to elsewhere, there is nothing."""

    def __init__(self) -> None:
        self._inner = httpx2.AsyncHTTPTransport()
        self.seen: list[Seen] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.url.host != "127.0.0.1":
            return httpx2.Response(404, request=request)
        response = await self._inner.handle_async_request(request)
        headers = {name.lower(): value for name, value in response.headers.items()}
        self.seen.append(
            Seen(method=request.method, url=str(request.url), status=response.status_code, headers=headers)
        )  # fmt: skip
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


@dataclass(frozen=True, kw_only=True)
class Tried:
    """One call: what was given, what went over the wire, and what it raised."""

    plan: OperationPlan
    given: dict[str, Any]
    seen: tuple[Seen, ...]
    error: str = ""

    def __str__(self) -> str:
        return f"{self.plan.method} {self.plan.url} {self.given}: {self.error or [one.status for one in self.seen]}"


@dataclass(kw_only=True)
class Calls:
    """`sample` chooses operations, the same for the same seed; `tried` calls them one after the other."""

    api: OpenAPI
    plans: CompiledApi
    wire: Watching
    seed: int = 5
    done: list[Tried] = field(default_factory=list[Tried])

    def sample(self, count: int) -> list[str]:
        every = sorted(offered.path for offered in self.api.surface.listed())
        return Random(self.seed).sample(every, min(count, len(every)))

    def given(self, path: str) -> tuple[OperationPlan, dict[str, Any]]:
        plan = self.plans.plan(path)
        assert plan is not None
        return plan, arguments(plan, self.plans.resolve, Random(f"{self.seed} {path}"))

    async def tried(self, paths: Iterable[str]) -> list[Tried]:
        for path in paths:
            plan, given = self.given(path)
            before, error = len(self.wire.seen), ""
            try:
                result = await self.api.call(path, given)
                if plan.pages is not None:  # nothing is sent before the first item is asked for
                    await asyncio.to_thread(next, iter(result), None)
            except UpstreamError as told:  # the mock's own answer may be one of the errors that are described
                error = f"{type(told).__name__}: {told}"
            self.done.append(Tried(plan=plan, given=given, seen=tuple(self.wire.seen[before:]), error=error))
        return self.done
