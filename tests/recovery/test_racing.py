"""Processes that recover at the same moment: each turn is carried on by one of them, once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from tests import counts
from tests.recovery.program import lines
from tests.recovery.racing import CELLS, SESSIONS

ROOT = Path(__file__).parents[2]
PATIENCE_S = 120


def started(place: Path, what: str) -> subprocess.Popen[str]:
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.Popen(
        [sys.executable, "-m", "tests.recovery.racing", str(place), what],
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def race(place: Path, racers: int) -> None:
    with started(place, "leave") as left:
        assert left.wait(PATIENCE_S) == -signal.SIGKILL
    running = [started(place, "recover") for _ in range(racers)]
    for one in running:
        assert one.stdout is not None
        assert one.stdout.readline() == "ready\n"
    for one in running:
        assert one.stdin is not None
        one.stdin.write("go\n")
        one.stdin.flush()
    told = [one.communicate(timeout=PATIENCE_S) for one in running]
    assert all(one.returncode == 0 for one in running), told
    done = [(name, value) for said, _ in told for name, value in json.loads(said).items()]
    names = [f"s{number}" for number in range(SESSIONS)]
    assert sorted(done) == [(name, name) for name in names]
    assert Counter(lines(place / "paid")) == Counter(f"{n} {step}" for n in names for step in range(len(CELLS)))
    assert Counter(lines(place / "ledger")) == Counter(
        f"{name} {word}" for name in names for word in ("first", "second", "third")
    )


@pytest.mark.crash
@pytest.mark.parametrize("number", range(1))
def test_of_processes_that_recover_at_once_each_turn_is_carried_on_by_one(number: int, tmp_path: Path) -> None:
    race(tmp_path, racers=3)


@pytest.mark.crash
@pytest.mark.parametrize("number", range(counts.deaths(5, 15)))
def test_of_many_processes_that_recover_at_once_each_turn_is_carried_on_by_one(number: int, tmp_path: Path) -> None:
    race(tmp_path, racers=5)
