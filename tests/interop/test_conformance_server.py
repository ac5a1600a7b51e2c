"""The official conformance suite against a server on the same layer as the gateway, and against the gateway itself."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.interop.conformance import NEXT, RELEASED, failing, reasons, run
from tests.interop.programs import Program

pytestmark = [pytest.mark.interop, pytest.mark.quick]
ROOT = Path(__file__).resolve().parents[2]

# The tasks extension: neither the SDK nor the gateway offers tasks, so there is nothing to conform. docs/interop.md
TASKS = {
    "tasks-lifecycle",
    "tasks-capability-negotiation",
    "tasks-wire-fields",
    "tasks-request-state-removal",
    "tasks-mrtr-input",
    "tasks-request-headers",
    "tasks-dispatch-and-envelope",
    "tasks-required-task-error",
    "tasks-mrtr-composition",
}

# What the suite asks of every server. All else calls tools by fixed names, or features that the gateway does not have.
OF_EVERY_SERVER = {
    "server-initialize",
    "server-session-lifecycle",
    "ping",
    "tools-list",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
    "http-header-validation",
    "sep-2164-resource-not-found",
    "input-required-result-unsupported-methods",
    "input-required-result-validate-input",
}
NOT_OFFERED = re.compile(
    r"there is no tool '|Method not found|^Not testable: server (does not list|exposes no tool)|tools: search, "
    r"|^Expected InputRequiredResult|^Prerequisite failed: could not get initial InputRequiredResult"
)


@pytest.fixture(scope="module")
def everything() -> Iterator[str]:
    """The URL of a server that has all that the suite calls by name."""
    with Program([sys.executable, "-m", "tests.interop.conformance_server"], cwd=ROOT) as program:
        yield program.until(r"listening on (\S+)")[1]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a gateway over one small object."""
    folder = tmp_path_factory.mktemp("shelf")
    (folder / "shelf.py").write_text("shelf = {'Lem': ['Solaris', 'Eden']}\n", encoding="utf-8")
    command = [sys.executable, "-m", "cellwright", "gateway", "--python", "shelf=shelf:shelf"]
    with Program([*command, "--dir", folder, "--http", "127.0.0.1:0"], cwd=ROOT) as program:
        yield program.until(r"serving (\S+)")[1]


def test_the_released_suite_passes_whole(everything: str) -> None:
    told = run(RELEASED, "server", "--url", everything, "--suite", "all")
    assert failing(told) == set()
    assert len(told) >= 32


def test_what_2025_11_25_requires_passes_whole(everything: str) -> None:
    told = run(NEXT, "server", "--url", everything, "--requirements", "2025-11-25")
    assert failing(told) == set()
    assert len(told) >= 30


def test_what_2026_07_28_requires_passes_but_for_tasks(everything: str) -> None:
    told = run(NEXT, "server", "--url", everything, "--requirements", "2026-07-28")
    assert failing(told) == TASKS
    assert len(told) >= 48


def test_all_scenarios_of_the_next_suite_pass_but_for_tasks(everything: str) -> None:
    assert failing(run(NEXT, "server", "--url", everything, "--suite", "all")) == TASKS


def test_the_gateway_passes_what_is_asked_of_every_server(gateway: str, tmp_path: Path) -> None:
    told = run(NEXT, "server", "--url", gateway, "--suite", "all", "--output-dir", tmp_path)
    assert failing(told) & OF_EVERY_SERVER == set()
    assert all(told[name][0] for name in OF_EVERY_SERVER)
    why = {name: found for name, found in reasons(tmp_path).items() if name not in TASKS}
    assert why.keys() >= OF_EVERY_SERVER
    others = [f"{name}: {each}" for name, found in why.items() for each in found if not NOT_OFFERED.search(each)]
    assert others == []


def test_the_gateway_passes_the_released_suite_as_far_as_it_is_asked_of_every_server(gateway: str) -> None:
    told = run(RELEASED, "server", "--url", gateway, "--suite", "all")
    assert failing(told) & OF_EVERY_SERVER == set()
    assert all(told[name][0] for name in OF_EVERY_SERVER & told.keys())
    assert len(OF_EVERY_SERVER & told.keys()) >= 5
