"""The small tasks are sound: each can be done, what is done wrong is noticed, and all run in the real jail."""

from __future__ import annotations

import inspect
from textwrap import dedent
from typing import Any

import pytest
from evals.small import TAGS, TASKS, Task, put_files, take_files
from tests.cells import PATIENT

from cellwright import Runtime
from cellwright.errors import CodeError
from cellwright.scope.operations import facts_of

pytestmark = pytest.mark.usefixtures("warm")
WRONG = [(task, number) for task in TASKS for number in range(len(task.wrong))]
BOTH = [task for task in TASKS if not task.code_only]
by_id = pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)


class Finished(SystemExit):
    """What `done` ends a cell with."""


async def verdict(task: Task, code: str) -> str:
    """What the task's check says when this is what an agent wrote."""
    trial = task.prepare()
    values: list[Any] = []

    def done(value: Any) -> None:
        values.append(value)
        raise Finished

    async with Runtime({**trial.scope, **task.classes, "done": done}, limits=PATIENT) as rt:
        await put_files(trial, rt.files)
        outcome = await rt.execute(dedent(code))
        await take_files(trial, rt.files)
    assert isinstance(outcome.error, CodeError), outcome
    assert outcome.error.type == "Finished", outcome.error
    (value,) = values
    return trial.check(value)


@pytest.mark.slow
@by_id
async def test_the_solution_of_a_task_passes_its_check(task: Task) -> None:
    assert await verdict(task, task.solution) == ""


@pytest.mark.slow
@pytest.mark.parametrize(("task", "number"), WRONG, ids=lambda each: each.id if isinstance(each, Task) else str(each))
async def test_a_wrong_solution_comes_to_an_end_and_fails_the_check(task: Task, number: int) -> None:
    assert await verdict(task, task.wrong[number]) != ""


@by_id
def test_doing_nothing_fails_the_check_in_one_line(task: Task) -> None:
    told = task.prepare().check(None)
    assert told
    assert "\n" not in told


def test_there_are_enough_tasks_and_none_is_there_twice() -> None:
    assert len(TASKS) >= 36
    assert len({task.id for task in TASKS}) == len(TASKS)
    assert len({task.prompt for task in TASKS}) == len(TASKS)


def test_every_tag_is_explained_and_used() -> None:
    assert {tag for task in TASKS for tag in task.tags} == set(TAGS)


@by_id
def test_a_task_has_a_wrong_solution_and_no_hint_of_how_it_is_run(task: Task) -> None:
    assert task.wrong
    assert "done(" not in task.prompt
    assert not set(task.prompt.lower().split()) & {"code", "python", "tool", "function"}


@pytest.mark.parametrize("task", BOTH, ids=lambda task: task.id)
def test_what_a_task_needs_is_offered_one_call_at_a_time_and_says_what_it_does(task: Task) -> None:
    for bound in task.prepare().scope.values():
        methods = {
            name: found for name, found in inspect.getmembers(bound.__class__, inspect.isfunction) if name[0] != "_"
        }
        assert methods
        for name, method in methods.items():
            assert facts_of(method).direct, name
            assert len((method.__doc__ or "").strip().splitlines()) == 1, name
            signature = inspect.signature(method)
            assert signature.return_annotation is not signature.empty, name
            assert all(p.annotation is not p.empty for n, p in signature.parameters.items() if n != "self"), name


@by_id
def test_two_trials_share_no_state(task: Task) -> None:
    first, second = task.prepare(), task.prepare()
    assert first.files is not second.files
    assert all(first.scope[name] is not second.scope[name] for name in first.scope)
