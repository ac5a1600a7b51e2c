"""`cellwright approve`: what waits, decided from another process; and how commands pause where nobody can be asked."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.terminal import Terminal
from tests.cli.test_approval_prompt import OFFICE, PATIENCE_S, sent

from cellwright.guard import open_questions
from cellwright.store import SqliteStore

pytestmark = pytest.mark.slow  # each starts several commands; `test_run` and `test_exec` are in `make test`

STORE = "sqlite:///agents.db"
LOOP = "for to in ('ann', 'bob'):\n    mail.send(to, body='\\x1b[2Jhello')\n    print('sent', to)"


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "office.py").write_text(OFFICE)
    return tmp_path


def cellwright(here: Path, *args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cellwright", *args]
    return subprocess.run(
        command, cwd=here, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )


def execute(here: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return cellwright(here, "exec", "--scope", "office:mail", "--session", "s1", "--store", STORE, *args)


def waiting(here: Path) -> str:
    (question,) = open_questions(here / "agents.db")
    return question.id


def told(text: str) -> list[str]:
    """The command of Cellwright in a message."""
    return shlex.split(text.partition("`cellwright ")[2].partition("`")[0])


def test_the_commands_that_messages_name_find_the_store_that_was_given(here: Path) -> None:
    paused = cellwright(here, "exec", "--scope", "office:mail", "--session", "s1", "--store", "other.db", "-c", LOOP)
    assert cellwright(here, *told(paused.stderr)).returncode == 0, paused.stderr
    cellwright(here, "exec", "--scope", "office:mail", "--session", "s1", "--store", "other.db", "--carry-on")
    listed = cellwright(here, "approve", "--store", "other.db")
    assert cellwright(here, *told(listed.stderr)).returncode == 0, listed.stderr
    model = "from cellwright.testing import ScriptedModel, code\nmodel = ScriptedModel(code('mail.send(1)'))\n"
    (here / "script.py").write_text(model)
    common = ("run", "-q", "x", "--model", "script:model", "--scope", "office:mail", "--session", "s2")
    paused = cellwright(here, *common, "--store", "other.db")
    assert cellwright(here, *told(paused.stderr), "--yes").returncode == 0, paused.stderr
    assert "`cellwright recover s2 --store other.db`" in paused.stderr


def test_a_command_without_a_terminal_pauses_and_goes_on_when_another_has_said_yes(here: Path) -> None:
    paused = execute(here, "-c", LOOP)
    id = waiting(here)
    assert (paused.returncode, sent(here)) == (5, [])
    assert f"cellwright approve {id} --yes" in paused.stderr
    listed = cellwright(here, "approve", "--store", STORE)
    assert (listed.returncode, id in listed.stdout, "session s1, cell 1, line 2" in listed.stdout) == (0, True, True)
    assert "mail.send('ann', body='\\x1b[2Jhello')" in listed.stdout
    assert "\x1b" not in listed.stdout + paused.stderr
    said = cellwright(here, "approve", id, "--yes", "--always", "session", "--who", "cleo", "--store", STORE)
    assert said.returncode == 0, said.stderr
    assert "yes, always in this session, by cleo" in said.stdout
    done = execute(here, "--carry-on")
    assert (done.returncode, done.stdout, sent(here)) == (0, "sent ann\nsent bob\n", ["ann", "bob"])
    assert "nothing waits" in cellwright(here, "approve", "--store", STORE).stderr
    taken = cellwright(here, "approve", "--revoke", "s1", "mail.send", "--store", STORE)
    assert "mail.send is asked for again" in taken.stdout


def test_what_waits_and_what_was_decided_can_be_had_as_json(here: Path) -> None:
    execute(here, "-c", LOOP)
    (line,) = cellwright(here, "approve", "--json", "--store", STORE).stdout.splitlines()
    told = json.loads(line)
    assert (told["session"], told["operation"], told["cell"], told["decision"]) == ("s1", "mail.send", 1, None)
    said = cellwright(here, "approve", told["id"], "--no", "--reason", "not him", "--json", "--store", STORE)
    decision = json.loads(said.stdout)["decision"]
    assert (decision["yes"], decision["reason"]) == (False, "not him")
    done = execute(here, "--carry-on")
    assert (done.returncode, sent(here)) == (1, [])
    assert "Denied: mail.send was denied: not him" in done.stderr


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("q-0", "--yes"), "there is no question 'q-0' here"),
        (("--yes",), "say which question"),
        (("q-0", "--yes", "--no"), "--yes and --no: give one of them"),
        (("--revoke", "s1", "mail.send"), "nothing was said for always of mail.send"),
    ],
)
def test_wrong_usage_is_one_line_on_stderr(here: Path, args: tuple[str, ...], words: str) -> None:
    SqliteStore(here / "agents.db").close()
    done = cellwright(here, "approve", *args, "--store", STORE)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert words in done.stderr


def test_a_question_is_decided_once_and_not_without_a_yes_or_a_no(here: Path) -> None:
    execute(here, "-c", LOOP)
    id = waiting(here)
    asked = cellwright(here, "approve", id, "--store", STORE)
    assert (asked.returncode, "say --yes or --no" in asked.stderr) == (2, True)
    wrong = cellwright(here, "approve", id, "--yes", "--always", "ever", "--store", STORE)
    assert (wrong.returncode, "--always ever: give session or operation" in wrong.stderr) == (2, True)
    assert cellwright(here, "approve", id, "--no", "--store", STORE).returncode == 0
    again = cellwright(here, "approve", id, "--yes", "--store", STORE)
    assert (again.returncode, "decided already" in again.stderr, sent(here)) == (2, True, [])


def test_in_a_terminal_the_question_is_shown_and_the_answer_typed(here: Path) -> None:
    execute(here, "-c", LOOP)
    id = waiting(here)
    with Terminal("approve", id, "--store", STORE, cwd=here, columns=200) as person:
        assert "mail.send('ann'" in person.until("why not] ")
        person.type("l\n")
        person.until("it waits")
        assert person.end() == 0
    with Terminal("approve", id, "--store", STORE, cwd=here, columns=200) as person:
        person.until("why not] ")
        person.type("y\n")
        person.until("yes, by")
        assert person.end() == 0
    assert "sent ann" in execute(here, "--carry-on").stdout


def test_at_the_prompt_of_a_kept_session_later_pauses_and_always_asks_once(here: Path) -> None:
    args = ("exec", "--scope", "office:mail", "--session", "s1", "--store", STORE)
    with Terminal(*args, "-c", LOOP, cwd=here, columns=200) as person:
        assert "a: always in this session, l: later" in person.until("why not] ")
        person.type("l\n")
        person.until("cellwright approve q-")
        assert person.end() == 5
    with Terminal(*args, "--carry-on", cwd=here, columns=200) as person:
        person.until("why not] ")
        person.type("a\n")
        person.until("sent bob")
        assert person.end() == 0
    assert sent(here) == ["ann", "bob"]


def test_carry_on_takes_no_code_and_needs_a_session(here: Path) -> None:
    done = execute(here, "--carry-on", "-c", "1")
    assert (done.returncode, "--carry-on goes with --session" in done.stderr) == (2, True)
