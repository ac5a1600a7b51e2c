"""FastMCP's CodeMode as an MCP server over stdio, with the operations of an OpenAPI description behind it."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

fastmcp: Any = import_module("fastmcp")
httpx: Any = import_module("httpx2")
code_mode: Any = import_module("fastmcp.experimental.transforms.code_mode")


def main() -> None:
    spec = json.loads(Path(sys.argv[1]).read_bytes())
    client = httpx.AsyncClient(base_url="http://127.0.0.1:9")  # nobody is called
    server = fastmcp.FastMCP.from_openapi(spec, client=client, name="api")
    server.add_transform(code_mode.CodeMode(max_tool_calls=None))
    server.run(transport="stdio", show_banner=False)


if __name__ == "__main__":
    main()
