"""The official conformance suite of the Model Context Protocol, run against one server or one client."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.interop.programs import finished
from tests.interop.software import node, npm

SUMMARY = re.compile(r"^[✓✗⚠~] (?P<name>\S+): (?P<passed>\d+) passed, (?P<failed>\d+) failed", re.M)
RELEASED, NEXT = "conformance", "conformance-next"
SUITE_S = 240


def run(version: str, *arguments: str | Path) -> dict[str, tuple[int, int]]:
    """How many checks of each scenario passed and failed. What the suite writes is shown where nothing ran."""
    _, out, err = _ran(version, *arguments)
    told = {found["name"]: (int(found["passed"]), int(found["failed"])) for found in SUMMARY.finditer(out + err)}
    if not told:
        pytest.fail(f"the conformance suite ran nothing: {(out + err)[-1500:]}")
    return told


def _ran(version: str, *arguments: str | Path) -> tuple[int, str, str]:
    program = npm(version) / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    environment = os.environ | {"PATH": f"{node().parent}:{os.environ['PATH']}"}
    return finished([node(), program, *arguments], env=environment, timeout_s=SUITE_S)


def reasons(folder: Path) -> dict[str, list[str]]:
    """Why checks failed, by scenario: from what a run with `--output-dir` has written."""
    told: dict[str, list[str]] = {}
    for written in sorted(folder.glob("*/checks.json")):
        name = re.sub(r"^server-|-\d{4}-\d\d-\d\dT[\d-]+Z$", "", written.parent.name)
        checks = json.loads(written.read_text(encoding="utf-8"))
        told[name] = [str(check.get("errorMessage")) for check in checks if check["status"] == "FAILURE"]
    return told


def failing(told: dict[str, tuple[int, int]]) -> set[str]:
    return {name for name, (_, failed) in told.items() if failed}


def client_scenarios(version: str, revision: str = "") -> list[str]:
    """The names of all that the suite asks of a client; of those that a revision of the protocol has."""
    _, out, _ = _ran(version, "list", "--client")
    return [name for name, at in re.findall(r"^\s+- (\S+) \[(.+)\]", out, re.M) if revision in at]


def run_client(version: str, command: str, names: Sequence[str], *arguments: str) -> dict[str, tuple[int, int]]:
    """How many checks of each scenario passed and failed. Two at a time: the suite itself would start all at once."""

    def one(name: str) -> tuple[int, int]:
        given = ["client", "--command", command, "--scenario", name, "--timeout", "60000", *arguments]
        _, out, err = _ran(version, *given)
        found = re.search(r"Passed: (\d+)/\d+, (\d+) failed", out + err)
        if found is None:
            pytest.fail(f"the conformance suite did not run {name}: {(out + err)[-1500:]}")
        return int(found[1]), int(found[2])

    with ThreadPoolExecutor(2) as pool:
        return dict(zip(names, pool.map(one, names), strict=True))
