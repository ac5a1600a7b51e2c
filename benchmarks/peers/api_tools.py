"""FastMCP's tools of OpenAPI descriptions: how long they take to load, and what its BM25 search finds among them.

One job a process, as JSON on standard input; the answer is the last line of standard output. Names of tools are told as
the method and URL that they stand for, so that they compare with anybody's.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

fastmcp: Any = import_module("fastmcp")
httpx: Any = import_module("httpx2")
bm25: Any = import_module("fastmcp.server.transforms.search.bm25")


def loaded(name: str, path: str) -> Any:
    client = httpx.AsyncClient(base_url="http://127.0.0.1:9")  # nobody is called
    return fastmcp.FastMCP.from_openapi(json.loads(Path(path).read_bytes()), client=client, name=name)


async def load(job: dict[str, Any]) -> dict[str, Any]:
    """From the file to a server, and on to what its search tool answers first."""
    began = time.perf_counter()
    server = loaded("api", job["spec"])
    load_s = time.perf_counter() - began
    server.add_transform(bm25.BM25SearchTransform())
    took: list[float] = []
    for query in job["queries"]:
        began = time.perf_counter()
        await server.call_tool("search_tools", {"query": query})
        took.append(time.perf_counter() - began)
    return {"load_s": load_s, "search_s": took}


async def find(job: dict[str, Any]) -> dict[str, Any]:
    """The first five tools for each query, among those of all descriptions, each name with its description's before it.

    The tools are listed once: its search tool does that anew for each query, which takes seconds. `plain` has the tools
    of the first description as a client would be told them.
    """
    tools: list[Any] = []
    stands_for: dict[str, str] = {}
    plain: list[dict[str, Any]] = []
    for name in job["among"]:
        for tool in await loaded(name, job["specs"][name]).list_tools():
            named = tool.model_copy(update={"name": f"{name}_{tool.name}"})
            stands_for[named.name] = f"{tool._route.method} {tool._route.path}"
            tools.append(named)
            if name == job["among"][0]:
                told = tool.to_mcp_tool().model_dump(mode="json", by_alias=True, exclude_none=True)
                plain.append({key: told[key] for key in ("name", "description", "inputSchema") if key in told})
    search = bm25.BM25SearchTransform(max_results=5)
    await search._search(tools, "make the index")
    found: list[list[str]] = []
    took: list[float] = []
    for query in job["queries"]:
        began = time.perf_counter()
        hits = await search._search(tools, query)
        took.append(time.perf_counter() - began)
        found.append([stands_for[hit.name] for hit in hits])
    return {"found": found, "search_s": took, "tools": len(tools), "plain": plain}


def main() -> None:
    job = json.load(sys.stdin)
    told = asyncio.run({"load": load, "find": find}[job["job"]](job))
    print("\n" + json.dumps(told | {"version": version("fastmcp")}))


if __name__ == "__main__":
    main()
