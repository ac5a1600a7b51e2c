"""The official SDK's client, and two gateways that it starts over stdio: ours, and FastMCP's CodeMode."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, TextIO

from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from benchmarks.jobs import ROOT
from benchmarks.specs import Spec

ANSWER_S = 120


@asynccontextmanager
async def ours(specs: Sequence[Spec], cache: Path) -> AsyncGenerator[Client]:
    """`cellwright gateway` as it comes."""
    sources = [part for spec in specs for part in ("--openapi", f"{spec.name}={spec.path}")]
    arguments = ["-m", "cellwright", "gateway", *sources]
    async with _client(sys.executable, arguments, {"CELLWRIGHT_CACHE": str(cache)}) as client:
        yield client


@asynccontextmanager
async def code_mode(python: str, spec: Spec) -> AsyncGenerator[Client]:
    async with _client(python, ["-m", "benchmarks.peers.code_mode_server", str(spec.path)], {}) as client:
        yield client


@asynccontextmanager
async def _client(python: str, arguments: list[str], variables: dict[str, str]) -> AsyncGenerator[Client]:
    given = StdioServerParameters(command=python, args=arguments, env=os.environ | variables, cwd=ROOT)
    with _nowhere() as nowhere:
        async with Client(stdio_client(given, errlog=nowhere), read_timeout_seconds=ANSWER_S) as client:
            yield client


@contextmanager
def _nowhere() -> Generator[TextIO]:
    """For progress, and for what a peer logs."""
    with open(os.devnull, "w", encoding="utf-8") as file:
        yield file


async def definitions(client: Client) -> list[dict[str, Any]]:
    """The tools as the client is told them, with all that is said."""
    told = await client.list_tools()
    return [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in told.tools]
