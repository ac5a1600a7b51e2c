"""The runner gives tasks to an agent and says what came of each. The models here are scripted."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from evals import page, run, terminal
from evals.results import Attempt, Report
from evals.run import attempt, attempt_all
from evals.small import TASKS, Task, Trial
from rich.console import Console

from cellwright.doors import Request
from cellwright.messages import Traits
from cellwright.models import Budget
from cellwright.testing import ScriptedModel
from cellwright.testing.model import call, fenced

pytestmark = pytest.mark.usefixtures("warm")
BUDGET = Budget(steps=3, seconds=60)
BY_ID = {task.id: task for task in TASKS}
ROOT = Path(__file__).resolve().parent.parent.parent
WRITES = Traits(calls=False)  # as the embedded model: its fenced code is read


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
async def test_a_solution_that_a_model_writes_is_type_checked_run_and_passes_in_one_step(task: Task) -> None:
    made = await attempt(task, "code", ScriptedModel(fenced(task.solution), traits=WRITES), BUDGET)
    assert (made.why, made.steps) == ("", 1)
    assert made.input_tokens > 0
    assert made.output_tokens > 0


async def test_a_wrong_answer_is_a_failed_attempt_that_says_what_was_expected() -> None:
    task = BY_ID["crm-count-city"]
    made = await attempt(task, "code", ScriptedModel(fenced(task.wrong[0]), traits=WRITES), BUDGET)
    assert not made.passed
    assert made.why == "the answer is 8, not 3"


async def test_an_attempt_that_takes_too_many_steps_fails_with_what_it_used() -> None:
    model = ScriptedModel(traits=WRITES, otherwise=lambda request: fenced(f"print({len(request.messages)})"))
    made = await attempt(BY_ID["crm-email"], "code", model, BUDGET)
    assert made.why.startswith("BudgetSpent")
    assert made.steps == 3
    assert made.input_tokens > 0


async def test_a_model_that_breaks_fails_its_own_task_and_the_next_one_is_given() -> None:
    def replies(request: Request) -> Any:
        if "Clara Holm" in str(request.messages[0]):
            return RuntimeError("the model broke")
        return fenced(BY_ID["crm-count-city"].solution)

    model = ScriptedModel(otherwise=replies, traits=WRITES)
    told: list[Attempt] = []
    tasks = [BY_ID["crm-email"], BY_ID["crm-count-city"]]
    made = await attempt_all(tasks, ["code"], model, BUDGET, ended=told.append)
    assert [each.passed for each in made] == [False, True]
    assert "the model broke" in made[0].why
    assert told == made


async def test_a_task_that_cannot_be_prepared_is_a_failed_attempt() -> None:
    def prepare() -> Trial:
        raise OSError("no room")

    made = await attempt(replace(BY_ID["crm-email"], prepare=prepare), "code", ScriptedModel(), BUDGET)
    assert (made.why, made.steps) == ("OSError: no room", 0)


async def test_in_direct_mode_the_same_functions_are_called_one_by_one() -> None:
    tools: list[str] = []

    def first(request: Request) -> Any:
        tools.extend(tool.name for tool in request.tools)
        name = next(tool.name for tool in request.tools if tool.name.endswith("find"))
        return [call(name, name="Clara Holm")]

    model = ScriptedModel(first, [call("done", value="clara.holm@nord.example")])
    made = await attempt(BY_ID["crm-email"], "direct", model, BUDGET)
    assert (made.why, made.steps, made.mode) == ("", 2, "direct")
    assert "execute" not in tools


async def test_tasks_whose_objects_need_code_are_not_given_in_direct_mode() -> None:
    task = BY_ID["music-merge"]
    model = ScriptedModel(fenced(task.solution), traits=WRITES)
    made = await attempt_all([task], ["code", "direct"], model, BUDGET)
    assert [each.mode for each in made] == ["code"]


async def test_a_transcript_tells_what_was_said_run_and_found(tmp_path: Path) -> None:
    task = BY_ID["crm-count-city"]
    model = ScriptedModel(fenced("crm.contact()"), fenced(task.solution), traits=WRITES)
    await attempt(task, "code", model, BUDGET, tmp_path)
    text = (tmp_path / "crm-count-city.code.txt").read_text()
    assert text.startswith(f"task: {task.prompt}\n")
    assert "crm.contact()" in text
    assert "done: 3\ncheck: passed\n" in text


def report() -> Report:
    both = Attempt(task="a-b", tags=("loop",), mode="code", steps=1, input_tokens=1000, output_tokens=20, seconds=2.0)
    return Report(
        model="some:model",
        steps=6,
        seconds=180,
        date="2025-01-01",
        machine={"cores": "2", "architecture": "x", "memory": "8 GB", "python": "CPython 3.11", "load": "0.1"},
        attempts=(
            both,
            replace(both, mode="direct", why="the answer is 8, not 3", steps=4),
            replace(both, task="c-d", tags=("loop", "effect"), seconds=4.0),
        ),
    )


def test_the_page_has_the_modes_side_by_side_between_its_marks_only(tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    file.write_text(f"before\n{page.BEGIN}\nold\n{page.END}\nafter\n")
    page.rewrite(file, report())
    page.rewrite(file, report())
    text = file.read_text()
    assert text.startswith(f"before\n{page.BEGIN}\n")
    assert text.endswith(f"{page.END}\nafter\n")
    assert "old" not in text
    assert "- **code, passed**: a-b, c-d\n- **direct, passed**: none" in text
    assert "| code | all | **2 of 2 (100%)** | 2 | 2,000 | 40 | 3.0 |" in text
    assert "| code | shared | **1 of 1 (100%)** | 1 | 1,000 | 20 | 2.0 |" in text
    assert "| effect | 1/1 | — |" in text


def test_a_report_in_a_pipe_is_plain_text_and_says_why_a_task_failed() -> None:
    out = io.StringIO()
    console = Console(file=out, width=140)
    for each in report().attempts:
        terminal.line(each, console)
    terminal.summary(report(), console)
    assert "\x1b" not in out.getvalue()
    assert "✗ a-b" in out.getvalue()
    assert "the answer is 8, not 3" in out.getvalue()


def test_the_report_as_json_has_every_attempt_and_the_totals() -> None:
    told = json.loads(json.dumps(report().as_json()))
    assert [each["passed"] for each in told["attempts"]] == [True, False, True]
    assert told["totals"]["direct"]["passed"] == 0


def test_the_published_page_has_its_marks() -> None:
    text = (ROOT / "docs" / "evals.md").read_text(encoding="utf-8")
    assert text.count(page.BEGIN) == text.count(page.END) == 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--only", "no-such-*"], "no task is called no-such-*"),
        (["--write", "--mode", "code"], "--write is for a whole run"),
    ],
)
def test_what_makes_no_sense_is_refused_before_a_model_is_opened(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        run.main(arguments)
    assert end.value.code == 2
    assert told in capsys.readouterr().err
