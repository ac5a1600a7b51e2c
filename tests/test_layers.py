"""Tests whose layers this machine lacks are skipped, and only those: tried in a pytest of its own, under a filter."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.layers import lacking
from tests.sandboxes.refusing import refusing

ROOT = Path(__file__).parents[1]
EXECUTE = "import os, sys; os.execv(sys.argv[1], sys.argv[1:])"
TESTS = """
import cellwright
import pytest
from cellwright.errors import IsolationMissing

def test_passes():
    pass

def test_fails():
    assert 1 == 2

def test_opens():
    async def main():
        async with cellwright.Runtime():
            pass
    cellwright.run(main())

def test_tells_another_error():
    try:
        raise IsolationMissing("this machine does not give: mount")
    except IsolationMissing as error:
        raise ExceptionGroup("several", [LookupError("no session")]) from error

@pytest.mark.needs_layers
def test_needs_the_minimum():
    pass

@pytest.mark.needs_layers("landlock")
def test_needs_another_layer():
    pass
"""


def outcomes(directory: Path, *under: str | Path) -> tuple[dict[str, set[str]], str]:
    (directory / "conftest.py").write_text("from tests.layers import *\n")
    (directory / "test_some.py").write_text(TESTS)
    (directory / "pytest.ini").write_text(f"[pytest]\nmarkers = needs_layers\npythonpath = {ROOT}\naddopts = -vrs\n")
    plain = (f"-pno:{name}" for name in ("cacheprovider", "xdist", "hypothesispytest", "anyio"))
    command = [*under, sys.executable, "-m", "pytest", *plain, str(directory)]
    environ = {name: value for name, value in os.environ.items() if name != "SKIPS"}
    done = subprocess.run(command, cwd=directory, env=environ, capture_output=True, text=True, timeout=120, check=False)
    found: dict[str, set[str]] = {}
    for line in done.stdout.splitlines():
        name, _, rest = line.partition(" ")
        if "::test_" in name:
            found.setdefault(rest.split()[0], set()).add(name.partition("::test_")[2])
    return found, done.stdout


@pytest.mark.slow
def test_what_the_kernel_refuses_is_a_skip_with_the_reason_and_the_count(tmp_path: Path) -> None:
    found, said = outcomes(tmp_path, refusing(tmp_path, "unshare"), "-c", EXECUTE)
    assert found == {
        "PASSED": {"passes", "needs_another_layer"},
        "FAILED": {"fails"},
        "SKIPPED": {"opens", "tells_another_error", "needs_the_minimum"},
    }
    no = "(unshare: Operation not permitted)"
    why = f"this machine lacks the layers ipc {no}, mount {no}, net {no}, pid {no}"
    assert f"\n3 tests were skipped: {why}" in said
    assert said.count(why) > 3  # each by its place, and the sum


@pytest.mark.slow
@pytest.mark.needs_layers
def test_where_the_kernel_gives_the_layers_a_refusal_is_a_failure(tmp_path: Path) -> None:
    found, said = outcomes(tmp_path)
    assert found["FAILED"] == {"fails", "tells_another_error"}
    assert found["PASSED"] == {"passes", "opens", "needs_the_minimum", "needs_another_layer"}
    assert not lacking()
    assert "were skipped" not in said
