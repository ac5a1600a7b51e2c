"""Opens the sources of a gateway, all at once. A failure is reported in one line, and costs no other source."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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


@dataclass(frozen=True, kw_only=True, slots=True)
class _OpenerOptions:
    """What the openers need beside the source."""

    find: Find
    say: Say
    elicit: Elicit | None


async def open_sources(
    sources: Sequence[GatewaySource], *, find: Find, say: Say, elicit: Elicit | None = None
) -> tuple[list[OpenedSource], list[FailedSource]]:
    """Open all at once; `say` hears how each went. `elicit` answers the questions of MCP servers."""
    options = _OpenerOptions(find=find, say=say, elicit=elicit)
    results = await asyncio.gather(*(_open(one, options) for one in sources))
    good: list[OpenedSource] = []
    bad: list[FailedSource] = []
    for source, result in zip(sources, results, strict=True):
        if isinstance(result, FailedSource):
            bad.append(result)
        elif result.name in {one.name for one in good} or result.name in RESERVED:
            bad.append(
                FailedSource(title=source.title, reason=f"the name {result.name} is taken; write NAME=… before it")
            )
            say(f"{result.name}: {bad[-1].reason}")
            await _close(result)
        else:
            good.append(result)
    return good, bad


async def close_sources(opened: Sequence[OpenedSource]) -> None:
    await asyncio.gather(*(_close(one) for one in opened))


async def _close(one: OpenedSource) -> None:
    if one.connector is not None:
        await one.connector.close()


async def _open(source: GatewaySource, options: _OpenerOptions) -> OpenedSource | FailedSource:
    began = time.monotonic()
    try:
        opened = await _OPENERS[source.kind](source, options)
    except (CellwrightError, OSError, TimeoutError) as error:
        reason = error_line(error)
        options.say(f"{source.title}: {reason}")
        return FailedSource(title=source.title, reason=reason)
    took = time.monotonic() - began
    options.say(f"{opened.name}: {source.kind}" + (f", after {took:.1f} s" if took >= 1 else ""))
    return opened


async def _openapi(source: GatewaySource, options: _OpenerOptions) -> OpenedSource:
    from cellwright.openapi import OpenAPI

    alone = source.credentials.get("")
    made: Any = await OpenAPI.open(
        source.target,
        name=source.name or None,
        base_url=source.base_url or None,
        credentials=alone if alone is not None else (dict(source.credentials) or None),
        headers=dict(source.headers) or None,
        progress=options.say,
    )
    return OpenedSource(name=str(made.name), kind="openapi", value=made.root, connector=made)


async def _mcp(source: GatewaySource, options: _OpenerOptions) -> OpenedSource:
    from cellwright.mcp import MCP

    made: Any = await MCP.open(
        source.target,
        name=source.name or None,
        headers=dict(source.headers) or None,
        auth=source.credentials.get("") or next(iter(source.credentials.values()), None),
        on_change=options.say,
        on_elicit=options.elicit,
    )
    return OpenedSource(name=str(made.name), kind="mcp", value=made.root, connector=made)


async def _python(source: GatewaySource, options: _OpenerOptions) -> OpenedSource:
    target = str(source.target)
    value = options.find(f"--python {target}", target)
    name = source.name or target.rpartition(":")[2].rpartition(".")[2]
    connector: Any = value if surface_of(getattr(value, "root", None)) is not None else None
    return OpenedSource(name=name, kind="python", value=value, connector=connector)


async def _command(source: GatewaySource, options: _OpenerOptions) -> OpenedSource:
    from cellwright.connectors import Command

    made = await Command.open(source.target, name=source.name or None)
    return OpenedSource(name=made.name, kind="command", value=made.root, connector=made)


_OPENERS: dict[SourceKind, Callable[[GatewaySource, _OpenerOptions], Awaitable[OpenedSource]]] = {
    "openapi": _openapi,
    "mcp": _mcp,
    "python": _python,
    "command": _command,
}
