"""`cellwright exec` with operations that wait for a yes: a person at a terminal, a pipe, and `--yes`."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import termios
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # each starts several commands; `test_run` and `test_exec` are in `make test`

OFFICE = '''
"""A module of the developer's."""
import pathlib, cellwright
class Mail:
    @cellwright.operation(ask=True)
    def send(self, to, body=""):
        with open("sent.txt", "a") as file: file.write(to + "\\n")
        return to
mail = Mail()
'''
PATIENCE_S = 60
PROMPT = "why not] "


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "office.py").write_text(OFFICE)
    return tmp_path


def sent(here: Path) -> list[str]:
    file = here / "sent.txt"
    return file.read_text().splitlines() if file.exists() else []


def command(code: str, *options: str) -> list[str]:
    return [sys.executable, "-m", "cellwright", "exec", "--scope", "office:mail", *options, "-c", code]


class Terminal:
    """The other end of one that the command runs on."""

    def __init__(self, ours: int, running: subprocess.Popen[bytes]) -> None:
        self._ours = ours
        self.running = running
        self.text = ""

    def until(self, words: str) -> str:
        """What came up to these words; they are looked for after what was read before."""
        before = len(self.text)
        while words not in self.text[before:]:
            part = self._read()
            assert part, f"it ended without {words!r}: {self.text}"
            self.text += part.decode(errors="replace")
        return self.text[before:]

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def rest(self) -> str:
        before = len(self.text)
        while part := self._read():
            self.text += part.decode(errors="replace")
        return self.text[before:]

    def _read(self) -> bytes:
        try:
            return os.read(self._ours, 4096)
        except OSError:  # EIO: the other side has closed
            return b""


@contextmanager
def terminal(code: str, here: Path, *options: str) -> Generator[Terminal]:
    ours, theirs = pty.openpty()
    settings = termios.tcgetattr(theirs)
    settings[3] &= ~termios.ECHO
    termios.tcsetattr(theirs, termios.TCSANOW, settings)
    environ = {**os.environ, "TERM": "xterm-256color", "NO_COLOR": "1"}
    with subprocess.Popen(
        command(code, *options),
        cwd=here,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environ,
        start_new_session=True,
    ) as running:
        os.close(theirs)
        try:
            yield Terminal(ours, running)
            running.wait(timeout=PATIENCE_S)
        finally:
            running.kill()
            os.close(ours)


def piped(code: str, here: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(code, *options), cwd=here, input="y\n", capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )


def test_a_yes_at_the_terminal_makes_the_call_and_a_no_does_not(here: Path) -> None:
    code = "for to in ('ann', 'bob', 'cid', 'dan'):\n    try: mail.send(to)\n    except PermissionError as e: print(e)"
    with terminal(code, here) as person:
        assert "mail.send('ann')" in person.until(PROMPT)
        person.type("y\n")
        person.until(PROMPT)
        person.type("\n")
        assert "mail.send was denied\r\n" in person.until(PROMPT)
        person.type("not on a Sunday\n")
        assert "mail.send was denied: not on a Sunday" in person.until(PROMPT)
        person.type("YES\n")
        person.rest()
    assert (person.running.returncode, sent(here)) == (0, ["ann", "dan"])


def test_the_end_of_the_input_is_a_no(here: Path) -> None:
    with terminal("mail.send('ann')", here) as person:
        person.until(PROMPT)
        person.type("\x04")
        assert "Denied" in person.rest()
    assert (person.running.returncode, sent(here)) == (1, [])


def test_what_was_typed_before_the_question_is_no_answer(here: Path) -> None:
    with terminal("print('Make it?')\nwait()\nmail.send('ann')", here, "--scope", "waiting:wait") as person:
        person.until("Make it?")
        person.type("y\ny\n")
        (here / "go").touch()
        person.until(PROMPT)
        person.type("n\n")
        assert "Denied" in person.rest()
    assert sent(here) == []


@pytest.fixture(autouse=True)
def gate(here: Path) -> None:
    (here / "waiting.py").write_text(
        "import os, time\ndef wait():\n    while not os.path.exists('go'): time.sleep(0.01)\n"
    )


def test_prints_wait_while_a_question_stands(here: Path) -> None:
    code = """
import asyncio
async def cover():
    await asyncio.sleep(0)
    print('\\x1b[1A\\x1b[2Knothing to see')
    wait()
    print('covered')
await asyncio.gather(asyncio.create_task(asyncio.to_thread(mail.send, 'ann')), cover())
"""
    with terminal(code, here, "--scope", "waiting:wait", "--wall-s", "30") as person:
        shown = person.until(PROMPT)
        (here / "go").touch()
        person.type("y\n")
        rest = person.rest()
    assert "nothing to see" in shown.partition("mail.send('ann')")[0] + rest
    assert "nothing to see" not in shown.partition("mail.send('ann')")[2]
    assert sent(here) == ["ann"]


def test_control_c_at_the_question_ends_the_cell(here: Path) -> None:
    with terminal("mail.send('ann')", here) as person:
        person.until(PROMPT)
        person.running.send_signal(2)
        person.rest()
    assert (person.running.returncode, sent(here)) == (130, [])


def test_in_a_pipe_the_call_is_denied_and_the_reason_says_what_to_do(here: Path) -> None:
    done = piped("mail.send('ann')", here)
    assert done.returncode == 1
    assert "Denied: mail.send was denied: nobody can be asked here" in done.stderr
    assert "--yes" in done.stderr
    assert sent(here) == []


def test_with_yes_nobody_is_asked(here: Path) -> None:
    done = piped("mail.send('ann')", here, "--yes")
    assert (done.returncode, done.stdout, done.stderr, sent(here)) == (0, "'ann'\n", "", ["ann"])
