"""Several servers at once, and what a server is called that nobody named. One that fails costs no other anything."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from cellwright.errors import CellwrightError
from cellwright.mcp.keylike import MASK, masked
from cellwright.mcp.names import identifier
from cellwright.mcp.servers import Server, servers_from
from cellwright.settings import Settings

if TYPE_CHECKING:
    from cellwright.mcp.connector import MCP

_NOISE = re.compile(r"^(mcp[-_]server[-_]|server[-_]|mcp[-_])|([-_]mcp[-_]server|[-_]mcp|[-_]server)$", re.IGNORECASE)
_HOST_NOISE = frozenset(("mcp", "www", "api", "com", "org", "net", "io", "dev", "app", "ai", "co"))


@dataclass(frozen=True, kw_only=True, slots=True)
class Failed:
    """A server that is not there, and why, in one line."""

    name: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Opened:
    """`servers` by the names that code uses for them; `failed` are those that are not among them."""

    servers: dict[str, MCP]
    failed: tuple[Failed, ...]

    async def close(self) -> None:
        await asyncio.gather(*(server.close() for server in self.servers.values()))


async def open_all(servers: Mapping[str, Server] | Mapping[str, Any] | Path | str, **options: Any) -> Opened:
    """Open all servers of an `mcpServers` file, or of what `servers_from` gave, at once.

    `options` are those of `MCP.open`, for all of them.
    """
    from cellwright.mcp.connector import MCP

    listed = _listed(servers)
    opened: dict[str, MCP] = {}
    failed: list[Failed] = []

    async def one(name: str, server: Server) -> None:
        called = identifier(name)
        if server.problem:
            failed.append(Failed(name=name, reason=server.problem))
            return
        try:
            opened[called] = await MCP.open(server, name=called, **options)
        except (CellwrightError, OSError) as error:
            failed.append(Failed(name=name, reason=str(error)))

    try:
        async with asyncio.TaskGroup() as group:
            for name, server in listed.items():
                group.create_task(one(name, server))
    except BaseException:
        await Opened(servers=opened, failed=()).close()
        raise
    order = {identifier(name): at for at, name in enumerate(listed)}
    return Opened(
        servers={name: opened[name] for name in sorted(opened, key=lambda name: order[name])}, failed=tuple(failed)
    )


def _listed(given: Mapping[str, Any] | Path | str) -> Mapping[str, Server]:
    if isinstance(given, Mapping) and all(isinstance(one, Server) for one in given.values()):
        return given
    return servers_from(given)


def default_name(server: Server) -> str:
    """`npx -y @modelcontextprotocol/server-everything` → everything; `https://mcp.linear.app/mcp` → linear."""
    if server.kind == "object":
        return identifier(str(getattr(server.inside, "name", "") or "server")).lower()
    if server.kind != "program":
        host = urlsplit(server.url).hostname or "server"
        parts = [part for part in host.split(".") if part not in _HOST_NOISE]
        return identifier(parts[0] if parts and not host.replace(".", "").isdigit() else "server").lower()
    shown = masked(server.command)
    words = [word for word in shown[1:] if not word.startswith("-") and "=" not in word and MASK not in word]
    telling = next((word for word in words if re.search(r"mcp|server", word, re.IGNORECASE)), "")
    word = telling or (words[0] if words else server.command[0])
    stem = Path(word.rpartition("/")[2] or word).name.partition("@")[0]
    stem = re.sub(r"\.(py|js|mjs|ts|sh)$", "", stem)
    return identifier(_NOISE.sub("", stem) or stem).lower()


def lessons_path(name: str) -> Path:
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return Settings.from_environment().cache_dir / "mcp" / f"{identifier(name)[:40]}-{digest}.json"
