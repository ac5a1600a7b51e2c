"""What stands behind the gateways of these tests, and clients that talk to them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import mcp_types as types
from mcp import Client
from tests.cells import PATIENCE_S, PATIENT

from cellwright import operation
from cellwright.connectors import ListedSurface, make_root
from cellwright.gateway import Gateway, GatewayServer, GatewaySettings, OpenedSource
from cellwright.gateway.sources import SourceKind
from cellwright.scope import Declaration, Shape, Signature, UpstreamOperation

ERAS = ("legacy", "auto")  # the handshake, and 2026-07-28


@dataclass
class Order:
    """One order."""

    number: int = 1

    def cancel(self) -> str:
        """Cancel it."""
        return "cancelled"


class Shop:
    """Orders of a shop."""

    def __init__(self) -> None:
        self.deleted: list[int] = []
        self._begun = asyncio.Event()
        self._ended = asyncio.Event()

    async def under_way(self, *, ended: bool = False) -> None:
        """For tests: until `wait` has begun, or ended."""
        async with asyncio.timeout(PATIENCE_S):
            await (self._ended if ended else self._begun).wait()

    @operation(reads=True)
    def orders(self, city: str | None = None) -> list[str]:
        """Orders, of one city or all."""
        return ["tea", "milk"]

    @operation(reads=True)
    def order(self, number: int) -> Order:
        """One order."""
        return Order()

    def delete(self, number: int) -> str:
        """Delete an order."""
        self.deleted.append(number)
        return f"deleted {number}"

    def create(self, what: str) -> str:
        """Make an order."""
        return f"made {what}"

    async def wait(self) -> None:
        """Never comes back."""
        self._begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self._ended.set()


class Changing:
    """A surface that is another one later, as that of a server whose list has changed."""

    now: ListedSurface

    @property
    def key(self) -> str:
        return self.now.key

    def listed(self) -> Iterator[UpstreamOperation]:
        return self.now.listed()

    def find(self, path: str) -> UpstreamOperation | None:
        return self.now.find(path)

    def below(self, path: str) -> tuple[str, ...]:
        return self.now.below(path)

    def about(self, path: str) -> str:
        return self.now.about(path)

    def shape(self, name: str) -> Shape | None:
        return self.now.shape(name)

    def shapes(self) -> Iterator[str]:
        return self.now.shapes()


class Upstream:
    """An API in memory, as a connector has it: what was called is kept."""

    def __init__(self, *paths: str) -> None:
        self.called: list[str] = []
        self.surface = Changing()
        self.offer(*paths)
        self.root = make_root("api", self.surface, self._invoke)

    def offer(self, *paths: str) -> None:
        """From now on these."""
        self.surface.now = ListedSurface([_offered(path) for path in paths])

    async def _invoke(self, path: str, arguments: dict[str, Any]) -> str:
        self.called.append(path)
        return path

    async def close(self) -> None:
        pass


def _offered(path: str) -> UpstreamOperation:
    name = path.rpartition(".")[2]
    line = Declaration(name=name, signatures=(Signature(returns="str"),), first="self", doc=f"Does {name}.")
    return UpstreamOperation(path=path, line=line, reads=name.startswith(("get", "list")))


def opened(kind: SourceKind = "python", **values: Any) -> list[OpenedSource]:
    """Sources by name: connectors, and plain objects."""
    return [
        OpenedSource(name=name, kind=kind, value=value, connector=value if isinstance(value, Upstream) else None)
        for name, value in values.items()
    ]


Answer = Callable[[str], types.ElicitResult]


def yes(message: str) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"allow": True})


def no(message: str) -> types.ElicitResult:
    return types.ElicitResult(action="decline")


@asynccontextmanager
async def connected(
    sources: list[OpenedSource],
    *,
    era: str = "legacy",
    answer: Answer | None = None,
    made: list[Gateway] | None = None,
    **options: Any,
) -> AsyncGenerator[Client]:
    """A client of a gateway in this process. `answer` is its user; `made` gets the gateway."""

    async def elicit(context: Any, params: Any) -> types.ElicitResult:
        assert answer is not None
        return answer(params.message)

    wanted: dict[str, Any] = {"limits": PATIENT, "check": "off", **options}
    async with Gateway(sources, GatewaySettings(**wanted)) as gateway:
        if made is not None:
            made.append(gateway)

        async def ready() -> Gateway:
            return gateway

        served = GatewayServer(ready)
        asks = elicit if answer is not None else None
        try:
            async with Client(served.server(), mode=era, elicitation_callback=asks) as client:
                yield client
        finally:
            await served.close()


async def run(client: Client, code: str, **more: Any) -> dict[str, Any]:
    """The data that `execute` gives."""
    result = await client.call_tool("execute", {"code": code}, **more)
    assert result.structured_content is not None, result.content
    return result.structured_content


async def search(client: Client, query: str) -> str:
    return text_of(await client.call_tool("search", {"query": query}))


def text_of(result: types.CallToolResult) -> str:
    (part,) = result.content
    assert isinstance(part, types.TextContent)
    return part.text
