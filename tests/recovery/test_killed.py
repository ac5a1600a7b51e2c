"""A task of fifty steps whose process is killed over and over comes to what it comes to unbroken, and is paid once."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests import counts
from tests.recovery.program import SESSION, STEPS, lines

from cellwright.runtime import replay
from cellwright.store import SqliteStore

ROOT = Path(__file__).parents[2]
PATIENCE_S = 120
KILLS = 20


class Lives:
    """Processes of one session, one after the other."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.deaths = 0
        self.in_request = 0  # how many died while the model was asked
        place.mkdir()

    def live(self, *when: object, kill_after_s: float | None = None) -> Any:
        """The answer; None where it was killed. No reply that the journal had may be asked for again."""
        kept, asked = self._kept(), len(lines(self.place / "asked"))
        command = [sys.executable, "-m", "tests.recovery.program", str(self.place), *map(str, when or ("never",))]
        path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        with subprocess.Popen(
            command, env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() in ("ready\n", "")
            try:
                said, error = process.communicate(timeout=PATIENCE_S if kill_after_s is None else kill_after_s)
            except subprocess.TimeoutExpired:
                process.kill()
                said, error = process.communicate()
        assert process.returncode in (0, -signal.SIGKILL), error
        now = [int(line) for line in lines(self.place / "asked")[asked:]]
        assert now == list(range(kept, kept + len(now))), f"the journal had {kept} replies, and asked for was {now}"
        if process.returncode == 0:
            return json.loads(said)
        self.deaths += 1
        self.in_request += self._kept() < kept + len(now)
        return None

    def _kept(self) -> int:
        """How many replies the journal has."""
        if not (self.place / "agents.db").exists():
            return 0
        store = SqliteStore(self.place / "agents.db")
        try:
            return sum(row.door == "model" for row in store.rows(SESSION)) if SESSION in store.sessions() else 0
        finally:
            store.close()

    def left(self) -> dict[str, Any]:
        """What is there at the end, as far as it must not depend on the deaths."""
        work = self.place / "agents.db.workspaces" / SESSION
        store = SqliteStore(self.place / "agents.db")
        try:
            cells = [(c.number, c.code, c.status, c.stdout) for c in store.cells(SESSION)]
            turns = [(t.number, t.task, t.status, t.answer) for t in store.turns(SESSION)]
        finally:
            store.close()
        files = {str(p.relative_to(work)): p.read_text() for p in sorted(work.rglob("*")) if p.is_file()}
        return {"cells": cells, "turns": turns, "files": files, "effects": sorted(lines(self.place / "ledger"))}


def deaths(chance: random.Random, kills: int) -> list[tuple[object, ...]]:
    """When each process dies: most at a write, a few in a request or in an effect; a number is seconds from outside."""
    chosen: list[tuple[object, ...]] = [("asked", 2), ("paid", 1), ("paid", 3), ("effect", 1), ("effect", 2)]
    chosen += [("write", 1, "after"), ("write", 2, "before"), ("write", 3, "after"), ("write", 4, "after")]
    while len(chosen) < kills - kills // 4:
        chosen.append(("write", chance.randrange(1, 14), chance.choice(("before", "after"))))
    chosen += [(chance.uniform(0.02, 0.4),) for _ in range(kills - len(chosen))]
    chance.shuffle(chosen)
    return chosen


async def killed_often(tmp_path: Path, chance: random.Random, kills: int) -> tuple[int, int]:
    unbroken, broken = Lives(tmp_path / "unbroken"), Lives(tmp_path / "broken")
    wanted, answer = unbroken.live(), None
    assert wanted["files"]
    for when in deaths(chance, kills):
        if isinstance(when[0], float):
            answer = broken.live(kill_after_s=when[0])
        else:
            answer = broken.live(*when)
        if answer is not None:
            break
    if answer is None:
        answer = broken.live()
    assert answer == wanted
    assert broken.left() == unbroken.left()
    paid = Counter(lines(broken.place / "paid"))
    assert set(paid) == {str(number) for number in range(STEPS)}
    again = sum(paid.values()) - STEPS
    assert again <= broken.in_request, (
        f"{again} replies were paid twice, and {broken.in_request} deaths fell into a request"
    )
    assert str(await replay(SESSION, store=broken.place / "agents.db")).startswith("same")
    return broken.deaths, again


@pytest.mark.crash
async def test_a_task_whose_process_is_killed_twenty_times_comes_to_the_same(tmp_path: Path) -> None:
    died, _ = await killed_often(tmp_path, random.Random(6), KILLS)
    assert died == KILLS


@pytest.mark.crash
@pytest.mark.parametrize("seed", range(counts.deaths(4, 20)))
async def test_a_task_that_is_killed_at_other_moments_comes_to_the_same(seed: int, tmp_path: Path) -> None:
    died, again = await killed_often(tmp_path, random.Random(f"other {seed}"), 2 * KILLS)
    print(f"{died} deaths; {again} replies were under way and asked for again")
