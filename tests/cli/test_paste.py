"""Text that a person pastes into `cellwright chat`: at the prompt, while a turn runs, and where a question is open."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.cli.firm import cellwright, fill
from tests.cli.terminal import Terminal, screen

pytestmark = pytest.mark.slow  # each starts a command on a terminal

PROMPT = "\n> "
PARROT = '''
"""Models that say what they were told. `heard`: all that people said, with its length where it is long."""
import asyncio, hashlib, json, pathlib, sys
from cellwright.messages import Traits, UserMessage
from cellwright.testing import ScriptedModel, code

def heard(request):
    texts = [m.text for m in request.messages if isinstance(m, UserMessage)]
    return [t if len(t) < 2000 else [len(t), hashlib.sha256(t.encode()).hexdigest()] for t in texts]

def last(request):
    return "heard " + json.dumps(heard(request)[-1])

async def when_told(request):
    """The first step ends when the file `go` is there."""
    if len(request.messages) == 1:
        print("ready", file=sys.stderr, flush=True)
        while not pathlib.Path("go").exists():
            await asyncio.sleep(0.02)
        await asyncio.sleep(1)  # what was typed before is with the chat by then, on a busy machine too
        return code("1")
    return last(request)

async def pays(request):
    if len(request.messages) == 1:
        print("ready", file=sys.stderr, flush=True)
        while not pathlib.Path("go").exists():
            await asyncio.sleep(0.02)
        return code("x = pay(70)")
    return last(request) if len(request.messages) > 3 else code("'paid' in x")

parrot = ScriptedModel(otherwise=last, traits=Traits(window=2_000_000))  # what does not fit is cut
patient = ScriptedModel(otherwise=when_told)
payer = ScriptedModel(otherwise=pays)
'''


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "parrots.py").write_text(PARROT)
    return fill(tmp_path)


def chat(here: Path, model: str = "parrot") -> Terminal:
    more = ("--scope", "shop:pay", "--mode", "code", "--store", "none")
    return Terminal("chat", "--model", f"parrots:{model}", *more, cwd=here)


def heard(terminal: Terminal) -> Any:
    terminal.until("heard ")
    return json.loads(terminal.until("\n"))


def paste(terminal: Terminal, text: str) -> None:
    """More than a terminal holds at once: written by a thread, while what it shows is read."""

    def write() -> None:
        raw = text.encode()
        for start in range(0, len(raw), 999):  # in the middle of lines and characters
            os.write(terminal.keys, raw[start : start + 999])

    writing = threading.Thread(target=write)
    writing.start()
    while writing.is_alive():
        terminal.look(0.05)
    writing.join()


PASTES = {
    "plain": ("one\rtwo\r\rthree\r", "one\ntwo\n\nthree"),
    "with line feeds": ("one\ntwo\nthree\n", "one\ntwo\nthree"),
    "with both": ("one\r\ntwo\r\nthree\r\n", "one\ntwo\nthree"),
    "in brackets": ("\x1b[200~one\rtwo\rthree\r\x1b[201~\r", "one\ntwo\nthree"),
    "of a script": ("make \\\r  all\r", "make \\\n  all"),
    "of a command alone, then text": ("/cost\rone\rtwo\r", "one\ntwo"),
    "that begins as a command": ("\x1b[200~/cost\ris odd\x1b[201~\r", "/cost\nis odd"),
}


def test_a_paste_of_several_lines_is_one_message(here: Path) -> None:
    with chat(here) as terminal:
        for kind, (pasted, text) in PASTES.items():
            terminal.until(PROMPT)
            terminal.type(pasted)
            assert heard(terminal) == text, kind
    assert "… two" in screen(terminal.raw)  # what was taken is to be seen


def test_a_line_without_its_end_waits_for_it_and_can_be_changed(here: Path) -> None:
    with chat(here) as terminal:
        terminal.until(PROMPT)
        terminal.type("one\rtwo\rthre")
        terminal.until("… thre")
        terminal.type("e\x08\x08ough\r")
        assert heard(terminal) == "one\ntwo\nthrough"


def test_a_megabyte_is_taken_whole(here: Path) -> None:
    text = "".join(f"line {number}: äöü €, 木の葉\n" for number in range(40_000))
    assert len(text.encode()) > 1_000_000
    with chat(here) as terminal:
        terminal.until(PROMPT)
        paste(terminal, text.replace("\n", "\r"))
        terminal.until("more lines)")
        size, _ = heard(terminal)
    assert size == len(text.strip())


def test_bytes_that_are_no_text_do_not_end_a_chat(here: Path) -> None:
    with chat(here) as terminal:
        terminal.until(PROMPT)
        os.write(terminal.keys, b"a \xff b\r")
        assert heard(terminal) == "a \ufffd b"


def test_from_a_pipe_each_line_is_a_message(here: Path) -> None:
    done = cellwright("chat", "--model", "parrots:parrot", "--store", "none", cwd=here, stdin="one\ntwo\\\nthree\nfour")
    assert [json.loads(line) for line in done.stdout.replace("heard ", "").splitlines()] == [
        "one",
        "two\nthree",
        "four",
    ]


# while a turn runs


def test_lines_that_are_pasted_while_a_turn_runs_are_one_message_to_it(here: Path) -> None:
    with chat(here, "patient") as terminal:
        terminal.until(PROMPT)
        terminal.type("Wait.\r")
        terminal.until("ready")
        terminal.type("one\rtwo\rhalf a li")
        terminal.until("half a li")
        (here / "go").touch()
        terminal.until("added: one")
        assert str(heard(terminal)).endswith("while you work:\none\ntwo")
        terminal.until("> half a li")  # in the prompt, to be ended
        terminal.type("ne\r")
        assert heard(terminal) == "half a line"


def test_text_that_is_too_long_to_be_added_is_the_next_task(here: Path) -> None:
    text = "".join(f"line {number}\n" for number in range(4_000))
    with chat(here, "patient") as terminal:
        terminal.until(PROMPT)
        terminal.type("Wait.\r")
        terminal.until("ready")
        paste(terminal, text.replace("\n", "\r"))
        terminal.until("more than 20,000 characters: the next task")
        (here / "go").touch()
        heard(terminal)
        size, _ = heard(terminal)
    assert size == len(text.strip())


# a question


def test_text_that_was_pasted_before_a_question_is_told_to_the_turn_and_does_not_answer(here: Path) -> None:
    with chat(here, "payer") as terminal:
        terminal.until(PROMPT)
        terminal.type("Wait.\r")
        terminal.until("ready")
        os.kill(terminal.running.pid, 19)  # stopped, so that all of it is there when the question comes
        terminal.type("one\ry\rye")
        (here / "go").touch()
        os.kill(terminal.running.pid, 18)
        terminal.until("or why not]")
        terminal.type("\r")
        assert "denied" in terminal.until("\n  ✗") + terminal.until("\n")
        assert "one\ny" in str(heard(terminal))


def test_several_lines_at_once_do_not_answer_a_question(here: Path) -> None:
    with chat(here, "payer") as terminal:
        terminal.until(PROMPT)
        terminal.type("Wait.\r")
        (here / "go").touch()
        terminal.until("or why not]")
        terminal.type("y\ry\r")
        terminal.until("Several lines at once are no answer. Make it?")
        terminal.type("n\r")
        assert "denied" in terminal.until("\n  ✗") + terminal.until("\n")
        assert "y\ny" in str(heard(terminal))


def test_a_paste_after_undo_does_not_answer_it(here: Path) -> None:
    with Terminal("chat", "--model", "models:oslo", "--scope", "shop:crm", "--mode", "code", cwd=here) as terminal:
        terminal.until(PROMPT)
        terminal.type("Write to Oslo\r")
        terminal.until(PROMPT)
        terminal.type("/undo\ry\r")
        terminal.until("Undo the rest? [y/N] ")
        terminal.type("n\r")
        terminal.until("nothing was done")
        terminal.until("> y")


# Ctrl-C


def test_ctrl_c_after_text_was_typed_is_a_first_one_again(here: Path) -> None:
    with chat(here) as terminal:
        terminal.until(PROMPT)
        terminal.interrupt_prompt()
        terminal.until("Ctrl-C again, or Ctrl-D, leaves")
        terminal.until(PROMPT)
        terminal.type("text")
        terminal.until("text")
        terminal.interrupt_prompt()
        terminal.until("Ctrl-C again, or Ctrl-D, leaves")
        terminal.until(PROMPT)
        terminal.type("words\r")
        assert heard(terminal) == "words"
