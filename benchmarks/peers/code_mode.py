"""FastMCP's CodeMode: a tool of an MCP server that runs a cell in Monty, with a pool made anew for each cell.

The tool is called on the server object itself: no transport, no client. It has its own limits.
"""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import Any

from benchmarks.peers import cells
from benchmarks.peers.contestant import repeated_on, serve

fastmcp: Any = import_module("fastmcp")
code_mode: Any = import_module("fastmcp.experimental.transforms.code_mode")
runner = asyncio.Runner()
server = fastmcp.FastMCP("benchmark", transforms=[code_mode.CodeMode(max_tool_calls=None)])
server.tool(cells.add)


async def execute(code: str) -> float:
    told = await server.call_tool("execute", {"code": code})
    return float(told.content[0].text)


def number(code: str) -> list[float]:
    return [runner.run(execute(code))]


serve(
    "fastmcp",
    {
        "start": repeated_on(runner, lambda: execute(cells.FIRST)),
        "call_async": lambda times: number(cells.calls("await call_tool('add', {'a': 1, 'b': 2})", times)),
        "fib": lambda n: number(cells.fib(n)),
    },
)
