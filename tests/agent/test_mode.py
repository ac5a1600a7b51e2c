"""`decide`: few, small, atomic calls go directly; loops, joins, big results and many operations go by code."""

from __future__ import annotations

import pytest

from cellwright import Scope, operation
from cellwright.agent.mode import (
    MEASURED,
    CallStatistics,
    ModeCosts,
    TaskShape,
    TokenConstants,
    costs,
    decide,
    shape_of,
)
from cellwright.messages import Traits

CALLS = Traits()


class Calendar:
    """Events."""

    @operation(direct=True)
    def create(self, title: str, start: str, end: str | None = None) -> dict[str, str]:
        """Create an event."""
        return {"title": title, "start": start, "end": end or start}

    @operation(direct=True, reads=True)
    def find(self, title: str) -> list[dict[str, str]]:
        """Events of this title."""
        return []


class Wide(Calendar):
    """Events, and thirty operations besides."""


def _named(number: int) -> object:
    def work(self: object, first: str, second: int = 0) -> dict[str, int]:
        """Do one of many things, of which each has a line of words to say what it is for."""
        return {first: second}

    work.__name__ = f"work_{number}"
    return operation(direct=True)(work)


for _number in range(30):
    setattr(Wide, f"work_{_number}", _named(_number))


def scope(of: type[Calendar] = Calendar) -> Scope:
    return Scope({"calendar": of()})


def test_a_model_without_calls_writes_code() -> None:
    choice = decide("Find the standup.", scope(), Traits(calls=False))
    assert (choice.mode, choice.why) == ("code", "code: the model takes no tool calls")


def test_a_scope_that_marks_nothing_is_for_code() -> None:
    choice = decide("Find the standup.", Scope({"size": len}), CALLS)
    assert (choice.mode, choice.why) == ("code", "code: nothing in scope is marked direct=True")


@pytest.mark.parametrize(
    "task",
    [
        "Create an event called Standup on 2026-01-05 at 9:00.",
        "Find the event called Standup.",
        "Who owns invoice 1234?",
        "Remind me in 10 minutes.",
        "Move the review to his office for 30 minutes.",
        "What is the price of this?",
    ],
)
def test_one_small_operation_goes_directly(task: str) -> None:
    choice = decide(task, scope(), CALLS)
    assert choice.mode == "direct", choice
    assert choice.why.startswith("direct: 2 operations, no sign of a loop (about ")
    assert "\n" not in choice.why


@pytest.mark.parametrize(
    ("task", "sign"),
    [
        ("Create a calendar event for each of 31 days.", '"each" means a loop'),
        ("Delete all events.", '"all" means a loop'),
        ("Invite 12 people and book rooms for 12 guests.", '"12 guests" means many calls'),
        ("Book nine rooms.", '"nine rooms" means many calls'),
        ("Compare March with April.", '"compare" means a loop'),
        ("Send reminders for the meetings of today.", '"for the meetings" means a loop'),
        ("Move several old events.", '"several old events" means a loop'),
        ("How many events are there?", '"how many" means a loop'),
        ("Which room is the cheapest?", '"cheapest" means a loop'),
    ],
)
def test_a_task_that_speaks_of_many_is_for_code(task: str, sign: str) -> None:
    choice = decide(task, scope(), CALLS)
    assert choice.mode == "code", choice
    assert choice.why.startswith(f"code: {sign} (about ")


def test_big_results_seen_before_are_for_code() -> None:
    seen = CallStatistics().with_result("calendar.find", 40_000).with_result("calendar.find", 20_000)
    choice = decide("Find the event called Standup.", scope(), CALLS, seen)
    assert choice.mode == "code"
    assert choice.why.startswith("code: calendar.find gives about 30,000 characters (about ")
    assert (
        decide("Create an event called Standup.", scope(), CALLS, seen.with_result("calendar.create", 90)).mode
        == "direct"
    )


def test_turns_that_took_many_calls_so_far_are_for_code() -> None:
    busy = CallStatistics().with_turn(30).with_turn(20)
    assert decide("The usual, please.", scope(), CALLS, busy).why.startswith("code: turns took 25 calls so far")
    assert decide("The usual, please.", scope(), CALLS, CallStatistics().with_turn(1)).mode == "direct"


def test_many_operations_are_for_code() -> None:
    choice = decide("Find the event called Standup.", scope(Wide), CALLS, outline_text="x" * 700)
    assert choice.mode == "code"
    assert choice.why.startswith("code: 32 operations to define in each request (about ")


def test_what_is_not_offered_directly_keeps_execute_beside_the_functions() -> None:
    assert decide("Find the standup.", scope(), CALLS).mode == "direct"
    wider = Scope({"calendar": Calendar(), "size": len})
    assert decide("Find the standup.", wider, CALLS, outline_text="x" * 3000).mode == "both"


def test_direct_pays_for_definitions_results_and_rounds() -> None:
    base = costs(definitions=200, outline=300, task=20, calls=1)
    assert costs(definitions=300, outline=300, task=20, calls=1).direct == base.direct + 2 * 100
    assert costs(definitions=200, outline=300, task=20, calls=2, steps=2).direct > base.direct + 220
    assert costs(definitions=200, outline=300, task=20, calls=1, result=1060).direct == base.direct + 1000
    assert costs(definitions=200, outline=400, task=20, calls=1) == ModeCosts(direct=base.direct, code=base.code + 200)


def test_code_pays_nothing_for_more_calls() -> None:
    few, many = (costs(definitions=150, outline=100, task=20, calls=n) for n in (1, 31))
    assert few.code == many.code
    assert few.direct < few.code < many.direct


def test_a_dependent_step_resends_all_before_it() -> None:
    made = TokenConstants(direct_prompt=0, call=10, answered=0, answer=0)
    assert (
        costs(definitions=100, outline=0, task=0, calls=1, steps=1, result=90, constants=made).direct
        == 2 * 100 + 100 + 10
    )
    three = costs(definitions=100, outline=0, task=0, calls=3, steps=3, result=90, constants=made)
    assert three.direct == 4 * 100 + (1 + 2 + 3) * 100 + 3 * 10


@pytest.mark.parametrize(
    ("task", "shape"),
    [
        ("Find Ada.", TaskShape(calls=1, steps=1)),
        ("Find Ada, then write to her.", TaskShape(calls=2, steps=2)),
        ("Find Ada. Write to her. Log it.", TaskShape(calls=3, steps=3)),
        ("Find Ada; call her; then write; then log.", TaskShape(calls=4, steps=4, sign="4 steps")),
        ("", TaskShape(calls=1, steps=1)),
        ("Finn Ada og skriv til henne", TaskShape(calls=1, steps=1)),
    ],
)
def test_steps_are_read_from_the_words_between_them(task: str, shape: TaskShape) -> None:
    assert shape_of(task) == shape


def test_a_number_of_things_is_the_number_of_calls() -> None:
    assert shape_of("Make 31 calendar events.").calls == 31
    assert shape_of("Do it for each.").calls == MEASURED.many
    assert shape_of("Make 3 events.").calls == 1


def test_measuring_adds_and_changes_nothing_that_was_handed_out() -> None:
    first = CallStatistics()
    second = first.with_result("a.b", 10).with_result("a.b", 30).with_turn(2)
    assert (first.results, first.turns) == ({}, 0)
    assert (second.results["a.b"].calls, second.results["a.b"].chars, second.turns, second.calls) == (2, 40, 1, 2)
