"""Opens the sources of a gateway, all at once. A failure is reported in one line, and costs no other source."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from cellwright.errors import CellwrightError
from cellwright.gateway.sources import RESERVED, FailedSource, GatewaySource, SourceKind
from cellwright.scope import Connector, surface_of
from cellwright.short_texts import error_line

Say = Callable[[str], None]
Find = Callable[[str, str], Any]
"""(option, for errors; MODULE:OBJECT) -> the object."""

Elicit = Callable[[str, str, Mapping[str, Any]], Awaitable[Mapping[str, Any] | None]]
"""(server, message, schema) -> the fields that a person filled in, None for a no."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenedSource:
    """An open source. `connector` is None for a bare Python object."""

    name: str
    kind: SourceKind
    value: Any
    connector: Connector | None = None


async def open_sources(
    sources: Sequence[GatewaySource], *, find: Find, say: Say, elicit: Elicit | None = None
) -> tuple[list[OpenedSource], list[FailedSource]]:
    """Open all at once; `say` hears how each went. `elicit` answers the questions of MCP servers."""
    results = await asyncio.gather(*(_tried(source, find, say, elicit) for source in sources))
    good: list[OpenedSource] = []
    bad: list[FailedSource] = []
    for source, result in zip(sources, results, strict=True):
        if isinstance(result, FailedSource):
            bad.append(result)
        elif result.name in {one.name for one in good} or result.name in RESERVED:
            reason = f"the name {result.name} is taken; write NAME=… before it"
            bad.append(FailedSource(title=source.title, reason=reason))
            say(f"{result.name}: {reason}")
            await _close(result)
        else:
            good.append(result)
    return good, bad


async def close_sources(opened: Sequence[OpenedSource]) -> None:
    await asyncio.gather(*(_close(one) for one in opened))


async def _close(one: OpenedSource) -> None:
    if one.connector is not None:
        await one.connector.close()


async def _tried(source: GatewaySource, find: Find, say: Say, elicit: Elicit | None) -> OpenedSource | FailedSource:
    began = time.monotonic()
    try:
        opened = await _opened(source, find, say, elicit)
    except (CellwrightError, OSError, TimeoutError) as error:
        reason = error_line(error)
        say(f"{source.title}: {reason}")
        return FailedSource(title=source.title, reason=reason)
    took = time.monotonic() - began
    say(f"{opened.name}: {source.kind}" + (f", after {took:.1f} s" if took >= 1 else ""))
    return opened


async def _opened(source: GatewaySource, find: Find, say: Say, elicit: Elicit | None) -> OpenedSource:
    keys, connector = source.credentials, cast("Any", None)
    named: dict[str, Any] = {"name": source.name or None}
    sent: dict[str, Any] = named | {"headers": dict(source.headers) or None}
    match source.kind:
        case "openapi":
            from cellwright.openapi import OpenAPI

            given, base = keys.get("", dict(keys) or None), source.base_url or None
            connector = await OpenAPI.open(source.target, **sent, base_url=base, credentials=given, progress=say)
        case "mcp":
            from cellwright.mcp import MCP

            auth = keys.get("") or next(iter(keys.values()), None)
            connector = await MCP.open(source.target, **sent, auth=auth, on_change=say, on_elicit=elicit)
        case "command":
            from cellwright.connectors import Command

            connector = await Command.open(source.target, **named)
        case "python":
            target = str(source.target)
            value = find(f"--python {target}", target)
            name = source.name or target.rpartition(":")[2].rpartition(".")[2]
            connector = value if surface_of(getattr(value, "root", None)) is not None else None
            return OpenedSource(name=name, kind="python", value=value, connector=connector)
    return OpenedSource(name=str(connector.name), kind=source.kind, value=connector.root, connector=connector)
