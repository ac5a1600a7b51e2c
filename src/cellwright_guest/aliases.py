"""`mcp__server__tool`: the name that MCP clients give a tool, as another name of `server.tool`."""

from __future__ import annotations

import re
from typing import Any

_ALIAS = re.compile(r"\bmcp__([A-Za-z]\w*?)__([A-Za-z]\w*)")


def bind(code: str, names: dict[str, Any], bound: dict[str, Any]) -> None:
    """Bind those that a cell mentions. Only what the scope told of its own accord: nothing is asked of the host."""
    if "mcp__" not in code:
        return
    for match in _ALIAS.finditer(code):
        server, tool = bound.get(match[1]), match[2]
        if match[0] not in names and server is not None and tool in type(server).__dict__:
            names[match[0]] = getattr(server, tool)
