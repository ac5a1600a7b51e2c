"""The MCP gateway: `search` and `execute` over everything that is in scope.

Importing this loads neither the MCP SDK nor a web server; they are imported by the functions that need them.
"""

from cellwright.gateway.access import read_rate, read_tokens
from cellwright.gateway.client_configs import CLIENTS, absolute, client_of, config_change, write_change
from cellwright.gateway.gateway import Gateway, GatewaySettings
from cellwright.gateway.gateway_server import GatewayServer
from cellwright.gateway.inspection import GatewayReport, as_plain, inspect_gateway
from cellwright.gateway.lifecycle import NothingOpen, close_gateway, open_gateway, serve_http, serve_stdio
from cellwright.gateway.source_openers import OpenedSource, open_sources
from cellwright.gateway.sources import (
    FailedSource,
    GatewayConfig,
    GatewaySource,
    mcp_sources,
    read_config,
    source_of,
    with_settings,
)
from cellwright.gateway.tool_definitions import definitions
from cellwright.gateway.web import WebOptions, place_of, web_app

__all__ = [
    "CLIENTS",
    "FailedSource",
    "Gateway",
    "GatewayConfig",
    "GatewayReport",
    "GatewayServer",
    "GatewaySettings",
    "GatewaySource",
    "NothingOpen",
    "OpenedSource",
    "WebOptions",
    "absolute",
    "as_plain",
    "client_of",
    "close_gateway",
    "config_change",
    "definitions",
    "inspect_gateway",
    "mcp_sources",
    "open_gateway",
    "open_sources",
    "place_of",
    "read_config",
    "read_rate",
    "read_tokens",
    "serve_http",
    "serve_stdio",
    "source_of",
    "web_app",
    "with_settings",
    "write_change",
]
