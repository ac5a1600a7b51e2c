"""Opens the sources of a gateway, all at once. One that fails is told in one line, and the others work."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cellwright.errors import CellwrightError
from cellwright.gateway.sources import RESERVED, Failed, Source, SourceKind
from cellwright.scope import Connector, surface_of

Say = Callable[[str], None]
Find = Callable[[str, str], Any]
"""The object that MODULE:OBJECT stands for; first what the operator gave, for errors."""

Elicit = Callable[[str, str, Mapping[str, Any]], Awaitable[Mapping[str, Any] | None]]
"""(server, message, schema) -> what a person filled in, None for a no."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Opened:
    """A source that is there. `connector` is None for a bare Python object."""

    name: str
    kind: SourceKind
    value: Any
    connector: Connector | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Around:
    """Whom sources meet when they are opened."""

    find: Find
    say: Say
    elicit: Elicit | None


async def open_sources(
    sources: Sequence[Source], *, find: Find, say: Say, elicit: Elicit | None = None
) -> tuple[list[Opened], list[Failed]]:
    """All at once. What each came to is said as it comes. `elicit` answers what MCP servers ask."""
    around = _Around(find=find, say=say, elicit=elicit)
    results = await asyncio.gather(*(_open(one, around) for one in sources))
    good: list[Opened] = []
    bad: list[Failed] = []
    for source, result in zip(sources, results, strict=True):
        if isinstance(result, Failed):
            bad.append(result)
        elif result.name in {one.name for one in good} or result.name in RESERVED:
            bad.append(Failed(title=source.title, reason=f"the name {result.name} is taken; write NAME=… before it"))
            say(f"{result.name}: {bad[-1].reason}")
            await _close(result)
        else:
            good.append(result)
    return good, bad


async def close_sources(opened: Sequence[Opened]) -> None:
    await asyncio.gather(*(_close(one) for one in opened))


async def _close(one: Opened) -> None:
    if one.connector is not None:
        await one.connector.close()


async def _open(source: Source, around: _Around) -> Opened | Failed:
    began = time.monotonic()
    try:
        opened = await _OPENERS[source.kind](source, around)
    except (CellwrightError, OSError, TimeoutError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        around.say(f"{source.title}: {reason}")
        return Failed(title=source.title, reason=reason)
    took = time.monotonic() - began
    around.say(f"{opened.name}: {source.kind}" + (f", after {took:.1f} s" if took >= 1 else ""))
    return opened


async def _openapi(source: Source, around: _Around) -> Opened:
    from cellwright.openapi import OpenAPI

    alone = source.credentials.get("")
    made: Any = await OpenAPI.open(
        source.target,
        name=source.name or None,
        base_url=source.base_url or None,
        credentials=alone if alone is not None else (dict(source.credentials) or None),
        headers=dict(source.headers) or None,
        progress=around.say,
    )
    return Opened(name=str(made.name), kind="openapi", value=made.root, connector=made)


async def _mcp(source: Source, around: _Around) -> Opened:
    from cellwright.mcp import MCP

    made: Any = await MCP.open(
        source.target,
        name=source.name or None,
        headers=dict(source.headers) or None,
        auth=source.credentials.get("") or next(iter(source.credentials.values()), None),
        on_change=around.say,
        on_elicit=around.elicit,
    )
    return Opened(name=str(made.name), kind="mcp", value=made.root, connector=made)


async def _python(source: Source, around: _Around) -> Opened:
    target = str(source.target)
    value = around.find(f"--python {target}", target)
    name = source.name or target.rpartition(":")[2].rpartition(".")[2]
    connector: Any = value if surface_of(getattr(value, "root", None)) is not None else None
    return Opened(name=name, kind="python", value=value, connector=connector)


async def _command(source: Source, around: _Around) -> Opened:
    from cellwright.connectors import Command

    made = await Command.open(source.target, name=source.name or None)
    return Opened(name=made.name, kind="command", value=made.root, connector=made)


_OPENERS: dict[SourceKind, Callable[[Source, _Around], Awaitable[Opened]]] = {
    "openapi": _openapi,
    "mcp": _mcp,
    "python": _python,
    "command": _command,
}
