"""The official inspector on the command line, as a client of the gateway: over stdio and HTTP, in both eras."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.interop.programs import Program, finished
from tests.interop.software import node, npm

pytestmark = [pytest.mark.interop, pytest.mark.quick]

TOKEN = "an-interop-token-of-decent-length"
GATEWAY = [sys.executable, "-m", "cellwright", "gateway", "--python", "shelf=shelf:shelf", "--dir"]
SHELF = '''
class Shelf:
    """Books."""

    def titles(self, author: str) -> list[str]:
        """The titles by an author."""
        return {"Lem": ["Solaris", "Eden"]}.get(author, [])

shelf = Shelf()
'''


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("shelf")
    (made / "shelf.py").write_text(SHELF, encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    command = [*GATEWAY, str(folder), "--http", "127.0.0.1:0", "--token", "inspector=env:INTEROP_TOKEN"]
    with Program(command, env={**os.environ, "INTEROP_TOKEN": TOKEN}) as gateway:
        yield gateway.until(r"(http://127\.0\.0\.1:\d+/mcp)")[1]


def inspected(folder: Path, *arguments: str) -> tuple[int, str, str]:
    program = npm("inspector") / "@modelcontextprotocol" / "inspector" / "clients" / "launcher" / "build" / "index.js"
    environment = {**os.environ, "PATH": f"{node().parent}:{os.environ['PATH']}", "HOME": str(folder)}
    return finished([node(), program, "--cli", *arguments], env=environment, cwd=folder, timeout_s=60)


def answer(folder: Path, *arguments: str) -> Any:
    code, out, err = inspected(folder, *arguments, "--format", "json")
    assert code == 0, out + err
    told = json.loads(out)
    return told.get("result", told)


def targets(folder: Path, url: str) -> dict[str, list[str]]:
    return {
        "stdio": [*GATEWAY, str(folder)],
        "http": ["--server-url", url, "--transport", "http", "--header", f"Authorization: Bearer {TOKEN}"],
    }


@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize("way", ["stdio", "http"])
def test_the_inspector_lists_both_tools_and_finds_no_fault_in_them(folder: Path, url: str, way: str, era: str) -> None:
    target = targets(folder, url)[way]
    told = answer(folder, *target, "--method", "tools/list", "--protocol-era", era, "--strict")
    assert [tool["name"] for tool in told["tools"]] == ["search", "execute"]


@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize("way", ["stdio", "http"])
def test_the_inspector_runs_code_through_the_gateway(folder: Path, url: str, way: str, era: str) -> None:
    code = json.dumps({"code": "sorted(shelf.titles('Lem'))"})
    call = ["--method", "tools/call", "--tool-name", "execute", "--tool-args-json", code, "--protocol-era", era]
    told = answer(folder, *targets(folder, url)[way], *call)
    assert told["structuredContent"]["value"] == ["Eden", "Solaris"]
    assert [call["name"] for call in told["structuredContent"]["calls"]] == ["shelf.titles"]
    assert "Solaris" in told["content"][0]["text"]


@pytest.mark.parametrize("way", ["stdio", "http"])
def test_the_inspector_searches_the_gateway(folder: Path, url: str, way: str) -> None:
    call = ["--method", "tools/call", "--tool-name", "search", "--tool-arg", "query=titles of an author"]
    told = answer(folder, *targets(folder, url)[way], *call)
    assert "shelf.titles" in told["content"][0]["text"]


def test_the_inspector_is_refused_without_the_token(folder: Path, url: str) -> None:
    code, out, err = inspected(
        folder, "--server-url", url, "--transport", "http", "--stored-auth-only", "--method", "tools/list"
    )
    assert code != 0
    assert "tools" not in out
    assert "auth" in (out + err).lower()
