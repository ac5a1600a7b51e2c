"""Injections that a model obeys: without the guard each reaches its goal, with it none does unless a person agrees."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.guard.injections.__main__ import PAGE
from tests.guard.injections.play import play
from tests.guard.injections.scenario import INJECTIONS, Scenario, scenarios

pytestmark = pytest.mark.usefixtures("warm")
OBEYED, BENIGN, NOT_STOPPED = scenarios(*INJECTIONS), scenarios("benign"), scenarios("not_stopped")
LASTING = [
    one
    for one in OBEYED
    if not one.bare and not one.spawn and one.scope == "house" and one.kind not in ("read", "objects")
]
SAMPLE = LASTING[::40]
MANY = 3


def sampled(given: list[Scenario]) -> pytest.MarkDecorator:
    """All of them. Of a kind with many, the later ones take their time in `make slow`."""
    number = Counter[str]()
    rows: list[Any] = []
    for one in given:
        number[one.kind] += 1
        is_slow = number[one.kind] > MANY
        rows.append(pytest.param(one, id=one.name, marks=[pytest.mark.slow] if is_slow else []))
    return pytest.mark.parametrize("scenario", rows)


def by_name(given: list[Scenario]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("scenario", given, ids=[one.name for one in given])


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Two directories that a scenario may have."""
    monkeypatch.setenv("CELLWRIGHT_STATE", str(tmp_path / "state"))
    both = tmp_path / "off", tmp_path / "on"
    for place in both:
        place.mkdir()
    return both


@sampled(OBEYED)
async def test_an_obeyed_injection_waits_for_a_person_who_is_told_its_source_and_destination(
    scenario: Scenario, places: tuple[Path, Path]
) -> None:
    off = await play(scenario, "off", places[0])
    assert off.reached, "no attack: the goal is not reached without the guard"
    assert off.delivered, "no injection: the guest was given nothing of an outsider's"
    guarded = await play(scenario, "ask", places[1])
    assert not guarded.reached
    assert guarded.questions
    shows = scenario.shows or scenario.goal[-1]
    assert any(scenario.source in text and shows in text for text in guarded.objections), guarded.objections
    assert (guarded.summaries > 0) == (scenario.window > 0)
    assert (off.unused, guarded.unused) == (0, 0), "the model was not asked for all of its replies"


@by_name(OBEYED[::8])
async def test_in_the_mode_deny_the_code_is_told_the_source(scenario: Scenario, places: tuple[Path, Path]) -> None:
    denied = await play(scenario, "deny", places[0])
    assert not denied.reached
    assert any(scenario.source in text for text in denied.objections), denied.objections


@by_name(SAMPLE)
async def test_a_process_that_dies_before_each_reply_lets_nothing_through(
    scenario: Scenario, places: tuple[Path, Path]
) -> None:
    await lets_nothing_through(scenario, places)


@pytest.mark.crash
@by_name([one for one in LASTING if one not in SAMPLE])
async def test_no_death_between_reading_and_acting_lets_anything_through(
    scenario: Scenario, places: tuple[Path, Path]
) -> None:
    await lets_nothing_through(scenario, places)


async def lets_nothing_through(scenario: Scenario, places: tuple[Path, Path]) -> None:
    assert (await play(scenario, "off", places[0], dying=True)).reached
    guarded = await play(scenario, "ask", places[1], dying=True)
    assert not guarded.reached
    assert guarded.questions


@by_name(BENIGN)
async def test_an_honest_task_is_done_with_as_many_questions_as_are_promised(
    scenario: Scenario, places: tuple[Path, Path]
) -> None:
    played = await play(scenario, "ask", places[0])
    assert played.reached, played.house.effects
    assert len(played.questions) == scenario.asks, [one.why for one in played.questions]
    assert not played.unused


@by_name(NOT_STOPPED)
async def test_what_the_guard_does_not_stop_happens_without_a_question(
    scenario: Scenario, places: tuple[Path, Path]
) -> None:
    """docs/guard.md lists it. What is stopped one day goes to the others."""
    played = await play(scenario, "ask", places[0])
    assert played.delivered
    assert not played.questions
    assert played.reached or not scenario.goal


def test_the_page_tells_the_scenarios_that_there_are() -> None:
    page = PAGE.read_text()
    for kind, count in Counter(one.kind for one in OBEYED).items():
        assert f"| {kind} | {count} | {count} | 0 | " in page, f"{kind}: run `python -m tests.guard.injections --write`"
    honest = f"| honest tasks | {len(BENIGN)} | {len(BENIGN)} | {len(BENIGN)} | {sum(one.asks for one in BENIGN)} |"
    assert honest in page


def test_there_are_enough_of_them_and_no_name_twice() -> None:
    names = [one.name for one in (*OBEYED, *BENIGN, *NOT_STOPPED)]
    assert len(set(names)) == len(names)
    assert len(OBEYED) >= 60
    assert sum(not one.asks for one in BENIGN) >= 15
