"""A trivial cell through MCP over stdio, from the client's call to its result, beside FastMCP's CodeMode."""

from __future__ import annotations

import time
from contextlib import AsyncExitStack
from pathlib import Path

from mcp import Client

from benchmarks import wired
from benchmarks.results import Check, shown
from benchmarks.run import Run, median
from benchmarks.specs import Spec

CELL = "1 + 1"
BLOCK = 10
TARGET = 1.0


async def measure(run: Run, spec: Spec, python: str, cache: Path) -> Check:
    """Both servers run, with the same API behind them, and take turns in blocks."""
    times: dict[str, list[float]] = {"ours": [], "theirs": []}
    async with AsyncExitStack() as stack:
        clients = {
            "ours": await stack.enter_async_context(wired.ours([spec], cache)),
            "theirs": await stack.enter_async_context(wired.code_mode(python, spec)),
        }
        for client in clients.values():
            await _execute(client)  # a session is opened, a worker is started
        for _ in run.rounds(f"execute over stdio, {spec.title}", 24, 2):
            for name, client in clients.items():
                times[name] += [await _execute(client) for _ in range(BLOCK)]
    best = {name: shown(min(took), "s") for name, took in times.items()}
    ours, theirs = median(times["ours"]), median(times["theirs"])
    return Check(
        subject="gateway",
        what=f"`execute`, {spec.title}",
        against="FastMCP CodeMode",
        ours=ours,
        theirs=theirs,
        value=ours / theirs,
        target=TARGET,
        samples=len(times["ours"]),
        note=f"best {best['ours']}, {best['theirs']}",
    )


async def _execute(client: Client) -> float:
    began = time.perf_counter()
    done = await client.call_tool("execute", {"code": CELL})
    took = time.perf_counter() - began
    if done.is_error or "2" not in str(done.content):
        raise RuntimeError(f"`{CELL}` came to {str(done.content)[:300]}")
    return took
