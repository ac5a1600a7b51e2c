"""Eight reference servers behind one gateway: every tool of each is called from code, through `execute`."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TextIO

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import ElicitResult
from tests.interop.reference_servers import NAMES, cell, prepare

pytestmark = [pytest.mark.interop, pytest.mark.quick]

PAGE = b"<html><body><article><h1>A heading</h1><p>Some <b>bold</b> words that go on.</p></article></body></html>"


class Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, format: str, *args: object) -> None: ...


@dataclass(kw_only=True)
class Behind:
    """One gateway, a client of it, and what it serves."""

    client: Client
    folder: Path
    page: str
    called: set[str] = field(default_factory=set[str])

    async def execute(self, code: str) -> None:
        result = await self.client.call_tool("execute", {"code": code})
        told = result.structured_content
        assert told is not None
        self.called |= {call["name"] for call in told["calls"]}
        assert told["ok"], told["error"]


@pytest.fixture(scope="module")
def page() -> Iterator[str]:
    """A page of the loopback, for the server that fetches."""
    serving = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=serving.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{serving.server_port}/"
    serving.shutdown()
    serving.server_close()
    thread.join(10)


async def declined(context: Any, params: Any) -> ElicitResult:
    """A client that can be asked is shown more tools."""
    return ElicitResult(action="decline")


@pytest.fixture
def quiet() -> Iterator[TextIO]:
    """Where servers may write what nobody reads."""
    with open(os.devnull, "w") as nowhere:
        yield nowhere


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where types are kept that were learned from results."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module", params=["for the first time", "with types learned before"])
async def behind(
    anyio_backend: str, tmp_path_factory: pytest.TempPathFactory, page: str, cache: Path
) -> AsyncIterator[Behind]:
    folder = tmp_path_factory.mktemp("servers")
    written = prepare(folder)
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "cellwright", "gateway", "--mcp-config", str(written)],
        env={**os.environ, "INTEROP_CANARY": "not for servers", "CELLWRIGHT_CACHE": str(cache)},
    )
    async with Client(command, read_timeout_seconds=120) as client:
        yield Behind(client=client, folder=folder, page=page)


async def test_the_gateway_has_two_tools_for_all_servers(behind: Behind) -> None:
    listed = (await behind.client.list_tools()).tools
    assert [tool.name for tool in listed] == ["search", "execute"]
    assert all(name in (listed[0].description or "") for name in NAMES)


@pytest.mark.parametrize("name", NAMES)
async def test_each_tool_of_a_reference_server_does_its_work_from_code(behind: Behind, name: str) -> None:
    await behind.execute(cell(name, behind.folder, behind.page))


async def test_no_tool_of_any_server_was_left_out(behind: Behind, quiet: TextIO) -> None:
    """Runs last: what the cells above called, beside what the servers themselves list."""
    listed: set[str] = set()
    for name, entry in json.loads((behind.folder / "mcp.json").read_text())["mcpServers"].items():
        own = StdioServerParameters(command=entry["command"], args=entry["args"], env=entry.get("env"))
        wired = stdio_client(own, errlog=quiet)
        async with Client(wired, read_timeout_seconds=60, elicitation_callback=declined) as server:
            listed |= {f"{name}.{tool.name.replace('-', '_')}" for tool in (await server.list_tools()).tools}
    assert len(listed) >= 60
    assert listed - behind.called == set()


async def test_one_cell_carries_values_from_server_to_server(behind: Behind) -> None:
    await behind.execute(
        """
rows = sqlite.read_query(query="SELECT name FROM city ORDER BY people")
path = FOLDER + "/files/cities.txt"
filesystem.write_file(path=path, content=str(rows))
assert "Bergen" in filesystem.read_text_file(path=path).content
"""
    )
