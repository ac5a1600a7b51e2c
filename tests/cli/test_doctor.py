"""`cellwright doctor` as a user runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from cellwright import errors
from cellwright.cli.doctor import LIMITS
from cellwright.sandboxes import LAYERS, STANDARD, Limits


def doctor(*args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cellwright", "doctor", *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    return json.loads(doctor("--json").stdout)


@pytest.fixture(scope="module")
def table() -> subprocess.CompletedProcess[str]:
    return doctor()


def test_every_layer_is_named_and_tried(told: dict[str, Any]) -> None:
    assert [layer["name"] for layer in told["layers"]] == list(LAYERS)
    assert all(layer["seen"] for layer in told["layers"])
    assert {layer["name"] for layer in told["layers"] if layer["required"]} == STANDARD


def test_what_is_missing_comes_with_what_adds_it(told: dict[str, Any]) -> None:
    assert [layer["name"] for layer in told["layers"] if bool(layer["fix"]) == layer["ok"]] == []


@pytest.mark.needs_layers
def test_the_process_rung_ran_a_cell(told: dict[str, Any]) -> None:
    rungs = {rung["name"]: rung for rung in told["rungs"]}
    assert list(rungs) == ["process", "landlock"]
    assert rungs["process"]["ok"], rungs["process"]["seen"]


def test_a_container_and_what_would_help_are_told(told: dict[str, Any]) -> None:
    assert told["container"] is None or told["container"]["kind"]
    assert bool(told["help"]) != told["ok"]
    assert told["sandbox"] == "process"


def test_every_limit_is_named_with_who_holds_it(told: dict[str, Any]) -> None:
    assert {limit["name"]: limit["default"] for limit in told["limits"]} == {
        name: getattr(Limits(), name) for name in Limits.__dataclass_fields__
    }


def test_the_outcome_of_every_limit_is_an_error_of_ours() -> None:
    assert all(issubclass(getattr(errors, held.outcome), errors.LimitExceeded) for held in LIMITS)


def test_a_limit_whose_layer_is_missing_is_not_called_enforced(told: dict[str, Any]) -> None:
    missing = {layer["name"] for layer in told["layers"] if not layer["ok"]}
    needs = {held.name: set(held.needs) for held in LIMITS}
    assert all(limit["enforced"] == (not needs[limit["name"]] & missing) for limit in told["limits"])


def test_the_exit_code_says_whether_the_standard_minimum_holds(
    told: dict[str, Any], table: subprocess.CompletedProcess[str]
) -> None:
    minimum = all(layer["ok"] for layer in told["layers"] if layer["required"])
    assert told["ok"] == minimum
    assert table.returncode == (0 if minimum else 4)


def test_the_table_has_a_row_for_each_and_a_closing_line(table: subprocess.CompletedProcess[str]) -> None:
    lines = table.stdout.splitlines()
    rows = {words[1] for line in lines if (words := line.split()) and words[0] in "✓✗"}
    assert {*LAYERS, "process", "landlock", *Limits.__dataclass_fields__} == rows
    closing = "\n".join(lines[-5:])
    assert any(words in closing for words in ("Everything is there.", "minimum is there.", "This machine does not"))
    assert "\x1b[" not in "".join(lines)
