"""The reference servers of the Model Context Protocol as an `mcpServers` file, over one folder that they work in."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.interop.conformance_content import IMAGE
from tests.interop.software import node, npm, venv

NAMES = ("everything", "filesystem", "memory", "thinking", "git", "time", "fetch", "sqlite")
CELLS = Path(__file__).parent / "cells"


def config(folder: Path) -> dict[str, Any]:
    """What people have in their `mcp.json`."""
    js = npm("servers") / "@modelcontextprotocol"
    py = venv("servers")

    def script(package: str, *arguments: str) -> dict[str, Any]:
        return {"command": str(node()), "args": [str(js / package / "dist" / "index.js"), *arguments]}

    memory = script("server-memory") | {"env": {"MEMORY_FILE_PATH": str(folder / "memory.json")}}
    # With Node in its path, fetch would install packages of its own from the network.
    fetch = {"command": str(py / "mcp-server-fetch"), "args": ["--ignore-robots-txt", "--allow-private-ips"]}
    return {
        "mcpServers": {
            "everything": script("server-everything"),
            "filesystem": script("server-filesystem", str(folder)),
            "memory": memory,
            "thinking": script("server-sequential-thinking"),
            "git": {"command": str(py / "mcp-server-git"), "args": []},
            "time": {"command": str(py / "mcp-server-time"), "args": []},
            "fetch": fetch | {"env": {"PATH": str(py)}},
            "sqlite": {"command": str(py / "mcp-server-sqlite"), "args": ["--db-path", str(folder / "cities.db")]},
        }
    }


def prepare(folder: Path) -> Path:
    """The folder with what the cells expect in it, and the `mcp.json` beside it."""
    (folder / "files").mkdir(parents=True)
    (folder / "files" / "pixel.png").write_bytes(base64.b64decode(IMAGE))
    repository = folder / "repository"
    repository.mkdir()
    (repository / "poem.txt").write_text("one\n", encoding="utf-8")
    git = shutil.which("git")
    if git is None:
        pytest.fail("git is not installed; the git server is a layer over it")
    for arguments in (
        ["init", "-q", "-b", "main"],
        ["config", "user.name", "Ada"],
        ["config", "user.email", "ada@example.com"],
        ["add", "."],
        ["commit", "-q", "-m", "first"],
    ):
        subprocess.run([git, *arguments], cwd=repository, check=True, timeout=30)
    written = folder / "mcp.json"
    written.write_text(json.dumps(config(folder)), encoding="utf-8")
    return written


def cell(name: str, folder: Path, page: str) -> str:
    """Guest code that calls every tool of one server, and asserts what came."""
    given = f"FOLDER = {str(folder)!r}\nPAGE = {page!r}\n"
    return given + (CELLS / f"{name}.py").read_text(encoding="utf-8")
