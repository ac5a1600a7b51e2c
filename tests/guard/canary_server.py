"""A server of MCP that tells its keys as a careless one does: in a tool's text, an error and a line of its stderr."""

from __future__ import annotations

import os
import sys

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

KEYS = [os.environ.get("NOTES_KEY", ""), os.environ.get("DATABASE_URL", ""), *sys.argv[1:]]
server = MCPServer("notes", instructions="Notes.")


@server.tool()
def whoami() -> str:
    """Its keys."""
    return f"it has {KEYS}"


@server.tool()
def stumble() -> str:
    """Fail with its keys."""
    print(f"it had {KEYS}", file=sys.stderr, flush=True)
    raise ToolError(f"it had {KEYS}")


@server.tool()
def die() -> str:
    """End with its keys as the last words."""
    print(f"it had {KEYS}", file=sys.stderr, flush=True)
    os._exit(3)


if __name__ == "__main__":
    if "--fail" in sys.argv:
        sys.exit(f"it cannot start with {KEYS}")
    server.run()
