"""A session that dies before or after any write of its journal comes to what the unbroken one came to."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests import counts
from tests.journal.crash.scenarios import SCENARIOS
from tests.journal.crash.trial import Trial

from cellwright.journal import checkpoint_schedule

pytestmark = pytest.mark.usefixtures("warm")

MOST = 6  # moments of one scenario in `make test`; `make crash` takes all
SAMPLE = list(SCENARIOS)[::5]  # of scenarios in `make test`; `make crash` takes all
ROWS = 1  # of deaths in a row in `make test`
MANY = counts.deaths(8, 30)
STEP = counts.deaths(2, 1)  # of moments, with a checkpoint after each cell


@pytest.mark.parametrize("name", SAMPLE)
async def test_a_session_that_dies_at_a_write_comes_to_the_same(name: str, tmp_path: Path) -> None:
    trial = Trial(SCENARIOS[name], tmp_path)
    await trial.unbroken()
    step = -(-trial.points // MOST)
    for moment in range(0, trial.points, step):
        await trial.dies([moment], offline=moment % 8 == 0)
    assert trial.deaths


@pytest.mark.parametrize("name", SAMPLE)
async def test_a_session_that_dies_again_while_it_is_resumed_comes_to_the_same(name: str, tmp_path: Path) -> None:
    trial = Trial(SCENARIOS[name], tmp_path)
    await trial.unbroken()
    for seed in range(ROWS):
        await trial.dies(deaths(random.Random(f"{name} {seed}"), trial.points))


@pytest.mark.crash
@pytest.mark.parametrize("name", SCENARIOS)
async def test_a_session_that_dies_at_any_write_comes_to_the_same(name: str, tmp_path: Path) -> None:
    trial = Trial(SCENARIOS[name], tmp_path)
    await trial.unbroken()
    for moment in range(trial.points):
        await trial.dies([moment])
    for seed in range(MANY):
        await trial.dies(deaths(random.Random(f"{name} {seed} many"), trial.points))
    print(f"{name}: {trial.deaths} deaths")


@pytest.mark.crash
@pytest.mark.parametrize("name", SCENARIOS)
async def test_a_session_with_a_checkpoint_after_each_cell_comes_to_the_same(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint_schedule, "CELLS", 1)
    monkeypatch.setattr(checkpoint_schedule, "CHEAP_S", 60.0)
    trial = Trial(SCENARIOS[name], tmp_path)
    await trial.unbroken()
    for moment in range(0, trial.points, STEP):
        await trial.dies([moment], offline=moment % 4 == 0)
    for seed in range(ROWS):
        await trial.dies(deaths(random.Random(f"{name} {seed} saved"), trial.points))
    print(f"{name}, with checkpoints: {trial.deaths} deaths")


def deaths(chance: random.Random, points: int) -> list[int]:
    """The moments at which a few lives in a row end: the first anywhere, the others sooner, to fall into a resume."""
    return [chance.randrange(points), *(chance.randrange(2 + points // 2) for _ in range(chance.randrange(1, 7)))]
