"""Turns of commands that were killed: carried on by `cellwright recover`, and by the next `run` and `chat`."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from tests.cli.firm import cellwright, fill, one_after_another, started
from tests.cli.terminal import Terminal

from cellwright.store import SqliteStore

pytestmark = pytest.mark.slow  # each starts several commands; `test_run` and `test_exec` are in `make test`

MODELS = '''
"""A model that waits where it is told to, by a file in its directory."""
import asyncio, pathlib
from cellwright.messages import AssistantMessage
from cellwright.testing import ScriptedModel, code

async def reply(request):
    number = sum(isinstance(m, AssistantMessage) for m in request.messages)
    if number == 1 and not pathlib.Path("go").exists():
        print("stands", flush=True)
        await asyncio.Event().wait()
    with open("paid", "a") as file:
        file.write(f"{number}\\\\n")
    return (code("x = 20"), code("done(x + 1)"))[number] if number < 2 else "ready"

slow = ScriptedModel(otherwise=reply)
quick = ScriptedModel(otherwise="Quick.")
dead = ScriptedModel(otherwise=lambda request: (_ for _ in ()).throw(RuntimeError("gone")))
'''


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (fill(tmp_path) / "models.py").write_text(MODELS.replace("\\\\n", "\\n"))
    return tmp_path


def kill_in_turn(here: Path, *args: str) -> None:
    """A command that dies while its model is asked for the second time."""
    with started(*args, cwd=here) as running:
        assert running.stdout is not None
        while "stands" not in running.stdout.readline():
            assert running.poll() is None
        os.kill(running.pid, signal.SIGKILL)
    (here / "go").touch()


def cut_off(here: Path, session: str = "s1", *more: str) -> None:
    kept = ("--store", "kept.db", "--session", session)
    kill_in_turn(here, "run", "A long task.", "--model", "models:slow", *kept, "--returns", "int", *more)


def states(here: Path, store: str = "kept.db") -> dict[str, str]:
    kept = SqliteStore(here / store)
    try:
        return {summary.id: summary.state for summary in kept.summaries()}
    finally:
        kept.close()


def test_recover_carries_on_what_was_killed_with_its_own_options(here: Path) -> None:
    cut_off(here)
    recover = ["recover", "--store", "kept.db"]
    listed, as_json, done, again = one_after_another(
        [[*recover, "--list"], [*recover, "--list", "--json"], recover, [*recover, "--json"]], cwd=here
    )
    code, out, err = listed
    assert (code, out[:4], out[-15:], err) == (0, "s1  ", "  A long task.\n", "")
    told = json.loads(as_json[1])
    assert (told["session"], told["command"], told["obstacle"]) == ("s1", "run", None)
    code, out, err = done
    assert (code, out) == (0, "s1: 21\n")
    assert "cellwright: carrying on session s1: A long task." in err
    assert "│ done(x + 1)" in err
    assert (here / "paid").read_text().split() == ["0", "1"]
    assert again == (0, "", "cellwright: no turn was cut off\n")


def test_what_was_opened_elsewhere_is_left_alone_and_named(here: Path, tmp_path: Path) -> None:
    cut_off(here)
    other = tmp_path / "elsewhere"
    other.mkdir()
    recover = ["recover", "--store", str(here / "kept.db")]
    (code, out, err), named = one_after_another([recover, [*recover, "s1"]], cwd=other)
    assert (code, out) == (0, "")
    assert f"left alone: session s1: it was opened in {here}: run `cellwright recover s1` there" in err
    assert (named[0], named[1], named[2].count("\n")) == (2, "", 1)
    assert states(here) == {"s1": "running"}


def test_the_next_run_carries_it_on_after_its_own_task_unless_it_is_told_not_to(here: Path) -> None:
    cut_off(here)
    run = ["run", "Hi", "--model", "models:quick", "--store", "kept.db"]
    # the task is the argument alone: what is piped in here is nothing
    left, done = one_after_another([[*run, "--no-recover"], run], cwd=here)
    assert left[:2] == (0, "Quick.\n")
    assert "s1" not in left[2]
    assert done[:2] == (0, "Quick.\n")  # its own answer, and no other
    assert "cellwright: carrying on session s1, which was cut off: A long task." in done[2]
    assert "cellwright: session s1: 21" in done[2]
    assert set(states(here).values()) == {"done"}


def test_a_chat_carries_on_what_a_chat_left_and_not_what_a_run_left(here: Path) -> None:
    cut_off(here, "of-run")
    (here / "go").unlink()
    kept = ("--model", "models:slow", "--store", "kept.db")
    with Terminal("chat", *kept, "--session", "of-chat", "--no-recover", cwd=here) as chat:
        chat.until("/help")
        chat.type("Another task.\n")
        chat.until("stands")
        os.kill(chat.running.pid, signal.SIGKILL)
    (here / "go").touch()
    done = cellwright("chat", *kept, cwd=here, stdin="/exit\n")
    assert done.returncode == 0
    assert "cellwright: carrying on session of-chat, which was cut off: Another task." in done.stderr
    assert "cellwright: session of-chat: 21" in done.stderr
    assert {id: state for id, state in states(here).items() if id.startswith("of-")} == {
        "of-chat": "done", "of-run": "running",
    }  # fmt: skip


def test_a_turn_that_fails_again_is_told_to_people_and_programs_with_code_1(here: Path) -> None:
    kept = ("--store", "kept.db", "--session", "s1")
    kill_in_turn(here, "run", "A long task.", "--model", "models:slow", *kept, "--returns", "bool")
    recover = ["recover", "-q", "--store", "kept.db", "--json"]
    ((code, out, err),) = one_after_another([recover], cwd=here)
    told = json.loads(out)
    assert (code, err, told["session"], told["value"], told["error"]["type"]) == (1, "", "s1", None, "ReturnTypeError")
    assert states(here) == {"s1": "failed"}


def test_a_session_whose_module_is_gone_is_told_and_does_not_stop_the_others(here: Path) -> None:
    (here / "extra.py").write_text("thing = 1")
    cut_off(here, "s1", "--scope", "thing=extra:thing")
    (here / "extra.py").unlink()
    (here / "go").unlink()
    cut_off(here, "s2")
    done = cellwright("recover", "--store", "kept.db", cwd=here)
    assert (done.returncode, done.stdout) == (1, "s2: 21\n")
    assert "cellwright: session s1: --scope thing=extra:thing: ModuleNotFoundError: No module named" in done.stderr
    assert states(here) == {"s1": "running", "s2": "done"}


def test_bad_input_is_one_line_and_its_code(here: Path) -> None:
    bad = [
        (["gone"], 2, "session 'gone' has no turn that was cut off"),
        (["--store", "ftp://x"], 2, "ftp://x"),
        (["--store", "shop.py"], 4, "shop.py"),
    ]
    for (_, code, said), (ended, out, err) in zip(
        bad, one_after_another([["recover", *args] for args, _, _ in bad], cwd=here), strict=True
    ):
        assert (ended, out, err.count("\n")) == (code, "", 1)
        assert said in err


def test_a_session_that_is_open_elsewhere_is_busy_and_can_be_taken_over(here: Path) -> None:
    kept = ("--store", "kept.db", "--session", "s1")
    with started("run", "A long task.", "--model", "models:slow", *kept, cwd=here) as running:
        try:
            assert running.stdout is not None
            while "stands" not in running.stdout.readline():
                assert running.poll() is None
            check_busy(here, running.pid, *kept)
        finally:
            running.kill()


def check_busy(here: Path, process: int, *kept: str) -> None:
    run = ["run", "Hi", "--model", "models:quick", *kept]
    lines = [run, ["exec", "-c", "1", *kept], [*run, "--take-over"]]
    busy, cell, taken = one_after_another(lines, cwd=here)
    words = f"session 's1' is open in process {process}; close it there, or take it over with --take-over"
    assert busy == (2, "", f"cellwright: {words}\n")
    assert cell == busy
    assert taken[:2] == (0, "Quick.\n")
