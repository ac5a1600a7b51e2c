"""`cellwright run` as a user runs it: the answer on stdout, what happens on stderr, and a code that means something."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli.firm import cellwright, environment, fill, one_after_another, started
from tests.cli.terminal import Terminal


@pytest.fixture
def here(tmp_path: Path) -> Path:
    return fill(tmp_path)


def run(task: str, model: str, *more: str, cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    scope = ("--scope", "shop:crm", "--scope", "shop:forever")
    return cellwright("run", task, "--model", f"models:{model}", *scope, *more, cwd=cwd, **environ)


# the answer


@pytest.mark.slow
def test_a_call_that_waits_for_a_yes_gets_it_by_an_option_and_not_from_a_pipe(here: Path) -> None:
    yes = run("Pay", "pays", "--scope", "shop:pay", "--yes", cwd=here)
    assert (yes.returncode, yes.stdout) == (0, "paid 70\n")
    no = run("Pay", "pays", "--scope", "shop:pay", "--steps", "1", cwd=here)
    assert no.returncode == 3
    assert "paid" not in no.stdout


def test_a_text_is_the_answer_as_it_is_and_stderr_stays_quiet(here: Path) -> None:
    done = cellwright("run", "Say something", "--model", "models:text", cwd=here)
    assert (done.returncode, done.stdout, done.stderr) == (0, "A plain answer.\n", "")


def test_a_value_is_json_and_what_happened_is_on_stderr(here: Path) -> None:
    done = run("Write to Oslo", "oslo", cwd=here)
    assert done.returncode == 0
    assert json.loads(done.stdout) == [{"name": "Ada", "city": "Oslo"}, {"name": "Bo", "city": "Oslo"}]
    lines = done.stderr.splitlines()
    assert lines[1] == "I look who lives there."
    assert "│ people = crm.contacts(city='Oslo')" in lines
    assert "  2 people" in lines
    assert any(line.startswith("  → crm.write ×2  ") for line in lines)
    assert "\x1b" not in done.stderr


@pytest.mark.slow
def test_a_value_that_is_no_data_is_its_repr_and_none_is_nothing(here: Path) -> None:
    assert "Crm object" in run("x", "live", "-q", cwd=here).stdout
    assert run("x", "nothing", "-q", cwd=here).stdout == ""


@pytest.mark.slow
def test_the_text_before_code_in_a_fence_is_told_and_the_fence_is_not(here: Path) -> None:
    done = run("Compute", "fences", cwd=here)
    assert done.stdout == "It is 42.\n"
    assert done.stderr.splitlines()[:2] == ["I compute.", "│ 6 * 7"]
    assert "```" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("task", [(), ("-",)])
def test_the_task_comes_from_stdin(task: tuple[str, ...], here: Path) -> None:
    done = cellwright("run", *task, "--model", "models:text", "--json", "--trace", cwd=here, stdin="What is it?\n")
    assert json.loads(done.stdout)["trace"][0]["task"] == "What is it?"


@pytest.mark.slow
def test_returns_is_the_type_of_the_answer(here: Path) -> None:
    done = run("Who?", "oslo", "-q", "--returns", "list[shop:Contact]", cwd=here)
    assert [one["name"] for one in json.loads(done.stdout)] == ["Ada", "Bo"]
    wrong = run("How many?", "words", "-q", "--returns", "int", cwd=here)
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert wrong.stderr.startswith("cellwright: 3 answers are not of type int")


@pytest.mark.slow
def test_quiet_says_nothing_but_the_answer(here: Path) -> None:
    done = run("Write to Oslo", "oslo", "--quiet", cwd=here)
    assert done.stdout
    assert done.stderr == ""


# for programs


def test_json_is_one_object(here: Path) -> None:
    done = run("Write to Oslo", "oslo", "--json", "--trace", "-q", cwd=here)
    told: dict[str, Any] = json.loads(done.stdout)
    assert [one["name"] for one in told["value"]] == ["Ada", "Bo"]
    assert told["error"] is None
    assert told["steps"] == 2
    assert told["usage"]["requests"] == 2
    assert told["session"] is None  # nothing is kept
    assert told["seconds"] > 0
    assert [event["event"] for event in told["trace"]][-1] == "Done"


def test_a_turn_whose_time_is_over_ends_with_the_code_of_a_spent_budget(here: Path) -> None:
    done = run("x", "sleeps", "--json", "-q", "--seconds", "0.5", cwd=here)
    assert done.returncode == 3
    assert json.loads(done.stdout)["error"]["type"] == "BudgetSpent"
    assert done.stderr.startswith("cellwright: spent 0.")
    assert done.stderr.count("\n") == 1


def strict(line: str) -> Any:
    """JSON as a reader other than Python takes it."""

    def no_json(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    return json.loads(line, parse_constant=no_json)


@pytest.mark.slow
def test_json_has_null_for_nan_and_infinity_and_the_rest_of_the_value(here: Path) -> None:
    run_ = ["run", "x", "--model", "models:unbounded", "--mode", "code"]
    lines = [
        [*run_, "--json", "--trace"],
        [*run_, "--events", "-q"],
        [*run_, "-q"],
        ["exec", "--json", "-c", "[1.5, float('nan'), {'a': float('-inf')}]"],
    ]
    whole, events, bare, cell = one_after_another(lines, cwd=here)
    value = [1.5, None, {"a": None, "nan": 1}]
    told = strict(whole[1])
    assert (told["value"], told["trace"][-1]["value"]) == (value, value)
    assert strict(events[1].splitlines()[-1])["value"] == value
    assert strict(bare[1]) == value
    assert strict(cell[1])["value"] == [1.5, None, {"a": None}]


@pytest.mark.slow
def test_json_tells_a_failure_and_what_it_took(here: Path) -> None:
    done = run("x", "stuck", "--json", "-q", "--steps", "2", cwd=here)
    told = json.loads(done.stdout)
    assert (done.returncode, told["error"]["type"], told["usage"]["requests"]) == (3, "BudgetSpent", 2)
    assert done.stderr == "cellwright: spent 2 of 2 steps; raise --steps\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("raises", "scripted: ExceptionGroup: two lines (2 sub-exceptions)"),
        ("runs_out", "AssertionError: scripted: 0 requests were expected"),
    ],
)
def test_whatever_a_model_raises_is_one_line_and_an_object(model: str, said: str, here: Path) -> None:
    done = run("x", model, "--json", "-q", cwd=here)
    assert done.returncode == 4
    told = json.loads(done.stdout)["error"]
    assert (told["type"], told["text"][: len(said)]) == ("ModelError", said)
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"cellwright: {said}")


@pytest.mark.slow
def test_events_are_json_lines_from_the_first_to_the_last(here: Path) -> None:
    done = run("Write to Oslo", "oslo", "--events", cwd=here)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert (events[0]["event"], events[-1]["event"]) == ("TurnStarted", "Done")
    assert {"TextPiece", "CodePiece", "CodeReady", "CallFinished", "Printed", "Used"} <= {e["event"] for e in events}
    assert len({e["session"] for e in events}) == 1
    assert done.stderr == ""


# codes


@pytest.mark.parametrize(
    ("model", "more", "code", "said"),
    [
        pytest.param("stuck", (), 1, "cellwright: the same failure", marks=pytest.mark.slow),
        pytest.param("stuck", ("--tokens", "10"), 3, "raise --tokens", marks=pytest.mark.slow),
        ("refused", (), 4, "cellwright: 401: wrong key"),
    ],
)
def test_a_failure_is_one_line_and_its_code(
    model: str, more: tuple[str, ...], code: int, said: str, here: Path
) -> None:
    done = run("x", model, "-q", *more, cwd=here)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
def test_ctrl_c_is_code_130_and_says_how_to_carry_on(here: Path) -> None:
    args = ("--model", "models:waits", "--store", "kept.db", "--session", "s1")
    with started("run", "x", *args, cwd=here) as running:
        assert running.stderr is not None
        while "set" not in running.stderr.readline():
            pass
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
    assert (running.returncode, out) == (130, "")
    assert "cellwright: cancelled; `cellwright run --resume s1 --model models:waits --store kept.db` carries on" in err


@pytest.mark.slow
def test_a_reader_that_leaves_ends_the_turn_quietly(here: Path) -> None:
    with started("run", "x", "--model", "models:waits", "--events", cwd=here) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.readline()
        running.stdout.close()
        assert running.wait(timeout=60) == 141
        assert running.stderr.read() == ""


@pytest.mark.slow
@pytest.mark.parametrize("more", [("--events",), ("--json",), ()])
def test_output_that_cannot_be_written_is_one_line_and_no_success(more: tuple[str, ...], here: Path) -> None:
    command = [sys.executable, "-m", "cellwright", "run", "x", "-q", "--model", "models:text", *more]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command, cwd=here, stdout=full, stderr=subprocess.PIPE, env=environment(here), text=True, check=False
        )
    assert (done.returncode, done.stderr) == (141, "cellwright: cannot write the output: No space left on device\n")


BAD: list[tuple[list[str], int, str]] = [
    (["x", "--model", "gpt"], 2, 'model "gpt" is not known'),
    (["x", "--model", "anthropic:claude-sonnet-4-5"], 4, "needs ANTHROPIC_API_KEY to be set; or use --model local"),
    (["x", "--model", "models:not_a_model"], 2, "--model models:not_a_model: it is a int and no Model"),
    (["x", "--model", "models:gone"], 2, "module 'models' has no attribute 'gone'"),
    (["x", "--returns", "lots"], 2, "--returns lots: `lots` is no type that is known here"),
    (["x", "--returns", "__import__('os').getcwd()"], 2, "is no type that is known here"),
    (["x", "--returns", "shop:crm"], 2, "shop:crm is no class"),
    (["x", "--scope", "shop"], 2, "give [NAME=]MODULE:OBJECT"),
    (["x", "--scope", "done=shop:crm"], 2, "'done' is a name of the agent's own"),
    (["x", "--resume", "s1"], 2, "a TASK and --resume"),
    (["--resume", "s1"], 2, "there is no journal agents.db"),
    (["  "], 2, "the task is empty"),
    ([], 2, "the task is empty"),
    (["x", "--session", "a", "--resume", "b"], 2, "a TASK and --resume"),
    (["x", "--session", "a b!"], 2, "a b!"),
    (["x", "--session", "a", "--store", "none"], 2, "session a needs a store"),
    (["x", "--session", "a", "--store", "shop.py"], 4, "shop.py"),
    (["x", "--session", "a", "--store", "ftp://x"], 2, "no journal can be opened at 'ftp://x'"),
    (["x", "--tokens", "0"], 2, "--tokens 0: give a number above zero"),
    (["x", "--mode", "fast"], 2, "'fast' is not one of"),
    (["x", "--events", "--json"], 2, "give one of them"),
]


@pytest.mark.slow
def test_bad_input_is_one_line_and_its_code(here: Path) -> None:
    lines = [["run", *args, *(() if "--model" in args else ("--model", "models:text"))] for args, _, _ in BAD]
    for (args, code, said), (ended, out, err) in zip(BAD, one_after_another(lines, cwd=here), strict=True):
        assert (ended, out) == (code, ""), (args, err)
        assert err.startswith("cellwright: "), args
        assert err.count("\n") == 1, (args, err)
        assert said in err, (args, err)


# which model


@pytest.mark.slow
def test_without_a_key_the_embedded_model_is_chosen_and_its_absence_is_told(here: Path) -> None:
    done = cellwright("run", "x", cwd=here, CELLWRIGHT_CACHE=str(here / "cache"))
    assert done.returncode == 4
    assert done.stderr.splitlines() == [
        "cellwright: no API key is set: using the embedded model (local)",
        "cellwright: the embedded model is not here yet: run `cellwright models pull` (1.1 GB)",
    ]


@pytest.mark.slow
def test_in_a_terminal_the_embedded_model_is_offered(here: Path) -> None:
    pytest.importorskip("xllamacpp")
    with Terminal(
        "run", "x", "--model", "local", cwd=here, environ={"CELLWRIGHT_CACHE": str(here / "cache")}
    ) as terminal:
        terminal.until("Fetch it now (1.1 GB, once)? [y/N] ")
        terminal.type("n\n")
        assert terminal.end() == 4
    assert "run `cellwright models pull`" in terminal.shown


# how it works


@pytest.mark.slow
def test_a_plan_is_told_before_the_work(here: Path) -> None:
    done = run("Count", "planned", "--plan", cwd=here)
    assert done.stdout == "2\n"
    assert done.stderr.splitlines()[:3] == ["plan", "  1. look -- crm.contacts", "  2. count -- python"]


@pytest.mark.slow
def test_functions_are_called_directly(here: Path) -> None:
    done = run("Count", "direct", "--mode", "direct", "--returns", "int", cwd=here)
    assert (done.returncode, done.stdout) == (0, "1\n")
    assert "→ crm.contacts" in done.stderr


# sessions


@pytest.mark.slow
def test_a_session_is_gone_on_with_by_its_name(here: Path) -> None:
    kept = ("--store", "kept.db", "--session", "s1")
    first = run("Write to Oslo", "oslo", *kept, cwd=here)
    assert first.stderr.endswith("cellwright: session s1 in kept.db\n")
    second = run("x", "words", *kept, "--json", cwd=here)
    assert json.loads(second.stdout)["session"] == "s1"
    assert "cellwright: going on in session s1" in second.stderr


@pytest.mark.slow
def test_a_turn_whose_process_was_killed_is_carried_on(here: Path) -> None:
    args = ("--model", "models:waits", "--session", "s1")
    with started("run", "Set it", *args, cwd=here) as running:
        assert running.stderr is not None
        while "✓" not in running.stderr.readline():
            pass
        running.kill()
    done = cellwright("run", "--resume", "s1", "--model", "models:goes_on", cwd=here)
    assert (done.returncode, done.stdout) == (0, "5\n"), done.stderr
    assert done.stderr.count("x = 5") == 1


# a terminal


@pytest.mark.slow
def test_a_terminal_gets_colours_unless_no_color_is_set(here: Path) -> None:
    shown: list[str] = []
    for environ in ({}, {"NO_COLOR": "1"}):
        args = ("--model", "models:oslo", "--scope", "shop:crm")
        with Terminal("run", "Write to Oslo", *args, cwd=here, environ=environ) as terminal:
            assert terminal.end() == 0
        shown.append(terminal.raw)
        assert "people = crm.contacts(city='Oslo')" in terminal.shown
        assert '{"name": "Ada", "city": "Oslo"}' in terminal.shown
    assert "\x1b[36m" in shown[0]
    assert "\x1b[3" not in shown[1]


@pytest.mark.slow
def test_what_guest_code_prints_moves_no_cursor(here: Path) -> None:
    with Terminal("run", "x", "--model", "models:escapes", cwd=here) as terminal:
        assert terminal.end() == 0
    assert "a\\x1b[2Jb" in terminal.shown
    assert "\x1b[2J" not in terminal.raw


def test_help_has_the_codes_and_an_example(here: Path) -> None:
    done = cellwright("run", "--help", cwd=here)
    assert "Example: cellwright run " in done.stdout
    assert "Exit codes: 0 there is an answer" in done.stdout
