"""The MCP gateway: `search` and `execute` over everything that is in scope.

Importing this loads nothing of the MCP SDK nor of a web server; what needs them loads them when it runs.
"""

from cellwright.gateway.access import read_rate, read_tokens
from cellwright.gateway.clients import CLIENTS, absolute, change, client_of
from cellwright.gateway.clients import write as write_change
from cellwright.gateway.gateway import Gateway, Options
from cellwright.gateway.inspecting import Report, as_plain, inspected
from cellwright.gateway.opening import Opened, open_sources
from cellwright.gateway.policy import Policy, policy_from, read_policy
from cellwright.gateway.running import NothingOpen, close_gateway, open_gateway, serve_http, serve_stdio
from cellwright.gateway.serving import Served
from cellwright.gateway.sources import (
    Config,
    Failed,
    Source,
    mcp_sources,
    read_config,
    source_of,
    with_settings,
)
from cellwright.gateway.tools import definitions
from cellwright.gateway.web import Web, place_of, web_app

__all__ = [
    "CLIENTS",
    "Config",
    "Failed",
    "Gateway",
    "NothingOpen",
    "Opened",
    "Options",
    "Policy",
    "Report",
    "Served",
    "Source",
    "Web",
    "absolute",
    "as_plain",
    "change",
    "client_of",
    "close_gateway",
    "definitions",
    "inspected",
    "mcp_sources",
    "open_gateway",
    "open_sources",
    "place_of",
    "policy_from",
    "read_config",
    "read_policy",
    "read_rate",
    "read_tokens",
    "serve_http",
    "serve_stdio",
    "source_of",
    "web_app",
    "with_settings",
    "write_change",
]
