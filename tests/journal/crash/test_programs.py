"""Programs of awaits, gathers, timeouts, cancels and callbacks that die anywhere come to what they come to unbroken."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.counts import deaths
from tests.journal.crash.programs import scenarios
from tests.journal.crash.scenarios import Scenario
from tests.journal.crash.trial import Trial

pytestmark = pytest.mark.usefixtures("warm")

BOUNDED = settings(
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    phases=[Phase.generate],
)


async def try_out(scenario: Scenario, lives: list[float]) -> None:
    with tempfile.TemporaryDirectory() as place:
        trial = Trial(scenario, Path(place))
        await trial.unbroken()
        await trial.dies([int(part * trial.points) for part in lives])


@pytest.mark.crash
@settings(BOUNDED, max_examples=deaths(100, 400))
@given(scenario=scenarios(), lives=st.lists(st.floats(0, 0.99), min_size=1, max_size=5))
async def test_any_program_that_dies_anywhere_comes_to_the_same(scenario: Scenario, lives: list[float]) -> None:
    await try_out(scenario, lives)
