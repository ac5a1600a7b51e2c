"""MCP servers as scope. Importing this loads nothing of the SDK; `MCP` is loaded when it is first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cellwright.errors import PlatformError
from cellwright.mcp.servers import (
    FailedServer,
    open_all,
    server_of,
    servers_from,
    without_comments,
)
from cellwright.settings import install_command

if TYPE_CHECKING:
    from cellwright.mcp.mcp_connector import MCP
    from cellwright.mcp.mcp_oauth import OAuth

__all__ = [
    "MCP",
    "FailedServer",
    "OAuth",
    "open_all",
    "server_of",
    "servers_from",
    "without_comments",
]

_HOME = {"MCP": "mcp_connector", "OAuth": "mcp_oauth"}


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'cellwright.mcp' has no attribute {name!r}")
    try:
        return getattr(import_module(f"cellwright.mcp.{home}"), name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("cellwright"):
            raise
        raise PlatformError(
            f"MCP servers need the package {error.name!r}, which is not installed; run: {install_command('connect')}"
        ) from None
