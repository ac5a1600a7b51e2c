"""Processes that are killed for good, at a write of their journal or at any moment, and resumed by others."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.counts import deaths
from tests.journal.crash.desk import Effect, Effects
from tests.journal.crash.lives import SESSION, Ending, check_effects, ending
from tests.journal.crash.scenarios import SCENARIOS, Scenario

from cellwright.runtime import replay
from cellwright.store import SqliteStore

ROOT = Path(__file__).parents[3]
PATIENCE_S = 120
LIVES = 8
AT_WRITES, AT_MOMENTS = deaths(5, 15), deaths(3, 10)


@dataclass(frozen=True, kw_only=True, slots=True)
class Unbroken:
    ending: Ending
    effects: list[Effect]
    writes: int
    duration_s: float


class Processes:
    """Lives of one session, each a process."""

    def __init__(self, name: str, place: Path) -> None:
        self.place = place
        self.deaths = 0
        self._name = name
        place.mkdir()

    @property
    def scenario(self) -> Scenario:
        return SCENARIOS[self._name]

    def live(self, *death: object, kill_after_s: float | None = None) -> bool:
        """True: it ran to its end."""
        command = [sys.executable, "-m", "tests.journal.crash.program", str(self.place), self._name, *map(str, death)]
        path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        with subprocess.Popen(command, env={**os.environ, "PYTHONPATH": path}, stderr=subprocess.PIPE) as process:
            try:
                _, said = process.communicate(timeout=PATIENCE_S if kill_after_s is None else kill_after_s)
            except subprocess.TimeoutExpired:
                process.kill()
                _, said = process.communicate()
        assert process.returncode in (0, -signal.SIGKILL), said.decode()
        self.deaths += process.returncode != 0
        return process.returncode == 0

    def unbroken(self) -> Unbroken:
        began = time.monotonic()
        assert self.live()
        duration_s = time.monotonic() - began
        ending, effects = self.left()
        assert not any(error for *_, error in ending.cells), ending.cells
        return Unbroken(ending=ending, effects=effects, writes=self._writes(), duration_s=duration_s)

    def left(self) -> tuple[Ending, list[Effect]]:
        journal = SqliteStore(self.place / "journal.db")
        try:
            found = ending(journal, self.place / "work", self.scenario)
        finally:
            journal.close()
        return found, Effects(self.place / "effects").read()

    def _writes(self) -> int:
        """About as many as there are: a row for each cell and call, twice, and what the workspace takes."""
        journal = SqliteStore(self.place / "journal.db")
        try:
            return 2 + 2 * len(journal.cells(SESSION)) + 2 * len(journal.rows(SESSION))
        finally:
            journal.close()

    async def check(self, unbroken: Unbroken) -> None:
        """What came of it, after the last life."""
        found, _ = self.left()
        assert found == unbroken.ending, f"{found} and not {unbroken.ending}"
        check_effects(Effects(self.place / "effects"), unbroken.effects, self.scenario.free)
        again = await replay(SESSION, store=self.place / "journal.db")
        assert again.same, again


async def at_writes(name: str, tmp_path: Path, unbroken: Unbroken, kills: int, chance: random.Random) -> int:
    """Kill that many processes at a write each, some in a row in one session; gives how many died."""
    died, number, most = 0, 0, unbroken.writes
    while died < kills and number < kills * 3:
        number += 1
        processes = Processes(name, tmp_path / f"writes{number}")
        lives = min(chance.randrange(1, 4), kills - died)
        for _ in range(lives):
            write = chance.randrange(1, most)
            if processes.live(write, chance.choice(("before", "after"))):
                if not processes.deaths:
                    most = max(write, 2)  # there are fewer: rows of the same moment are one write
                break
        else:
            assert processes.live()
        await processes.check(unbroken)
        died += processes.deaths
    return died


async def at_moments(name: str, tmp_path: Path, unbroken: Unbroken, kills: int, chance: random.Random) -> int:
    """The same at moments of the clock, from outside."""
    died, number = 0, 0
    while died < kills and number < kills * 3:
        number += 1
        processes = Processes(name, tmp_path / f"moments{number}")
        for _ in range(LIVES):
            if processes.live(kill_after_s=chance.uniform(0.1, 1) * unbroken.duration_s):
                break
        else:
            assert processes.live()
        await processes.check(unbroken)
        died += processes.deaths
    return died


@pytest.mark.crash
@pytest.mark.parametrize("name", SCENARIOS)
async def test_a_session_whose_processes_are_killed_over_and_over_comes_to_the_same(name: str, tmp_path: Path) -> None:
    unbroken = Processes(name, tmp_path / "unbroken").unbroken()
    writes = await at_writes(name, tmp_path, unbroken, AT_WRITES, random.Random(f"{name} many"))
    moments = await at_moments(name, tmp_path, unbroken, AT_MOMENTS, random.Random(f"{name} many"))
    print(f"{name}: {writes} killed at a write, {moments} at a moment")
    assert writes >= AT_WRITES * 3 // 4  # a moment may come after the end, where the machine's load changes
