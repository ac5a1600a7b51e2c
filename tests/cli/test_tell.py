"""`cellwright tell`: somebody speaks to a session from another terminal; and what is typed while a chat's turn runs."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.cli.firm import cellwright, fill, one_after_another, started
from tests.cli.terminal import Terminal

from cellwright.store import SqliteStore

pytestmark = pytest.mark.slow  # each starts several commands; `test_run` and `test_exec` are in `make test`

MODELS = '''
"""Models that reply when somebody has said something to their session, until they were told enough."""
import asyncio, sys
from cellwright.messages import UserMessage
from cellwright.store import SqliteStore
from cellwright.testing import ScriptedModel, code

async def reply(request):
    said = "\\n".join(m.text for m in request.messages if isinstance(m, UserMessage))
    if request.aside:
        return "Half way."
    if "enough" in said and "again" not in said:
        return code("done('heard ' + str(x))")
    if getattr(request.messages[-1], "text", "").endswith("Pay again."):
        return code("x = pay(70)")
    print("ready", file=sys.stderr, flush=True)
    store = SqliteStore("agents.db")
    while not store.inbox("s1"):
        await asyncio.sleep(0.02)
    store.close()
    return code("x = 1")

patient = ScriptedModel(otherwise=reply)
'''
KEPT = ("--session", "s1", "--store", "agents.db", "--model", "telling:patient", "--mode", "code")


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "telling.py").write_text(MODELS)
    return fill(tmp_path)


@contextmanager
def working(here: Path) -> Generator[subprocess.Popen[str]]:
    """A turn that waits until somebody speaks to it; killed at the end if it still does."""
    with started("run", "Wait.", *KEPT, cwd=here) as running:
        try:
            yield running
        finally:
            running.kill()


def until(running: subprocess.Popen[str], word: str) -> str:
    """What is said on stderr up to a line with that word."""
    assert running.stderr is not None
    said = ""
    for line in running.stderr:
        said += line
        if word in line:
            return said
    raise AssertionError(f"{word!r} is not in {said!r}")


def test_what_is_told_from_another_terminal_is_seen_at_the_next_step(here: Path) -> None:
    with working(here) as running:
        until(running, "ready")
        told = cellwright("tell", "s1", "Go on.", "--wait", cwd=here)
        assert (told.returncode, told.stdout) == (0, "it was taken up\n")
        assert "told s1: message 1; it is seen at the next step" in told.stderr
        assert "added: Go on." in until(running, "ready")
        asked = cellwright("tell", "s1", "How far?", "--ask", "--wait", "--json", cwd=here)
        answer = json.loads(asked.stdout)
        assert (answer["running"], answer["taken"], answer["answer"]) == (True, True, "Half way.")
        until(running, "ready")
        assert "it is seen at the next step" in cellwright("tell", "s1", "-", cwd=here, stdin="That is enough.").stdout
        out, _ = running.communicate(timeout=60)
        assert (running.returncode, out) == (0, "heard 1\n")


def test_a_turn_is_cancelled_from_another_terminal(here: Path) -> None:
    with working(here) as running:
        until(running, "ready")
        assert cellwright("tell", "s1", "--cancel", "--wait", cwd=here).stdout == "it was taken up\n"
        _, said = running.communicate(timeout=60)
        assert running.returncode == 130
        assert "cellwright: a person ended the turn" in said
    store = SqliteStore(here / "agents.db")
    assert [row.status for row in store.turns("s1")] == ["cancelled"]
    store.close()


def test_what_cannot_be_told_is_one_line(here: Path) -> None:
    lines = [
        ["run", "x", "--session", "s1", "--store", "agents.db", "--model", "models:text"],
        ["tell", "s1", "late"],
        ["tell", "nothing", "x"],
        ["tell", "nothing", "x", "--store", "agents.db"],
        ["tell", "s1", "x", "--store", "missing.db"],
        ["tell", "s1", ""],
        ["tell", "s1", "x", "--ask", "--cancel"],
        ["tell", "s1", "x", "--now"],
    ]
    said = one_after_another(lines, cwd=here)
    assert said[0][0] == 0
    assert said[1] == (0, "told s1: message 1; no turn is running; it will be seen when one is\n", "")
    assert [code for code, _, _ in said[2:]] == [2] * 6
    for (_, out, error), words in zip(
        said[2:], ("no session 'nothing'", "no session 'nothing'", "missing.db", "empty", "one of them", "--cancel"),
        strict=True,
    ):  # fmt: skip
        assert out == ""
        assert error.count("\n") == 1
        assert words in error


def test_what_is_typed_while_a_turn_of_a_chat_runs_is_said_to_it(here: Path) -> None:
    with Terminal("chat", *KEPT, "--scope", "shop:pay", cwd=here) as terminal:
        terminal.until("\n> ")
        terminal.type("Wait.\n")
        terminal.until("ready")
        terminal.type("Go on.\n")
        terminal.until("added: Go on.")
        terminal.until("ready")
        terminal.type("/undo\n")
        terminal.until("/undo can be typed when the turn is over")
        terminal.type("/ask How far?\n")
        terminal.until("Half way.")
        terminal.until("ready")
        terminal.type("/redirect That is enough.\n")
        terminal.until("another task: That is enough.")
        assert "heard 1" in terminal.until("\n> ")
        terminal.type("/cancel\n")
        terminal.until("no turn is running")
        terminal.until("> ")
        terminal.type("Pay again.\n")
        terminal.until("pay(70)")
        terminal.until("y/N")
        terminal.type("y\n")  # an answer, and no message
        terminal.until("paid 70")
        terminal.until("ready")
        terminal.type("/cancel\n")
        terminal.until("a person ended the turn")
        terminal.until("\n> ")
        terminal.type("/exit\n")
        assert terminal.end() == 0
