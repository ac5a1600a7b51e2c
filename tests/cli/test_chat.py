"""`cellwright chat` as a person uses it: on a terminal, turn after turn, with Ctrl-C; and from a pipe."""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path

import pytest
from tests.cli.firm import cellwright, fill, one_after_another, started
from tests.cli.terminal import Terminal, screen

pytestmark = pytest.mark.slow  # each starts several commands; `test_run` and `test_exec` are in `make test`

SCOPE = ("--scope", "shop:crm", "--scope", "shop:forever")
PROMPT = "\n> "


@pytest.fixture
def here(tmp_path: Path) -> Path:
    return fill(tmp_path)


def chat(model: str, *more: str, cwd: Path, columns: int = 100, **environ: str) -> Terminal:
    args = ("chat", "--model", f"models:{model}", "--mode", "code", *SCOPE, *more)
    return Terminal(*args, cwd=cwd, columns=columns, environ=environ)


# a turn


def test_a_turn_is_shown_and_the_prompt_comes_back(here: Path) -> None:
    with chat("oslo", cwd=here) as terminal:
        terminal.until(PROMPT)
        terminal.type("Write to Oslo\n")
        shown = terminal.until(PROMPT)
        terminal.type("/exit\n")
        assert terminal.end() == 0
    for line in ("I look who lives there.", "│ people = crm.contacts(city='Oslo')", "  2 people", '{"name": "Ada"'):
        assert line in shown
    assert re.search(r"→ crm.write ×2  [\d.]+ ms", shown)
    assert re.search(r"2 steps · [\d,]+ tokens · ", shown)


def test_text_is_shown_while_the_model_still_writes(here: Path) -> None:
    with chat("half_text", cwd=here) as terminal:
        terminal.until(PROMPT)
        terminal.type("Go\n")
        terminal.until("The first words are here")
        terminal.interrupt()
        assert "cancelled while the model was replying" in terminal.until(PROMPT)


def test_code_is_shown_line_by_line_while_the_model_still_writes(here: Path) -> None:
    with chat("half_code", cwd=here) as terminal:
        terminal.until(PROMPT)
        terminal.type("Go\n")
        terminal.until("│ x = 1\n")
    assert "for i" not in terminal.shown


def test_a_reply_that_broke_off_is_taken_back(here: Path) -> None:
    with chat("busy", cwd=here, columns=30) as terminal:
        terminal.until(PROMPT)
        terminal.type("Go\n")
        terminal.until("The whole reply.")
        terminal.until(PROMPT)
    seen = screen(terminal.raw)
    assert "This is the beginning of a" in terminal.shown
    assert not any("beginning" in line or "never finished" in line for line in seen)
    assert [line for line in seen if "reply" in line] == ["The whole reply."]
    assert any(line.startswith("asked again in ") for line in seen)


def test_the_same_call_again_and_again_is_one_line(here: Path) -> None:
    with chat("loops", cwd=here) as terminal:
        terminal.until(PROMPT)
        terminal.type("Go\n")
        terminal.until(PROMPT)
    assert len([line for line in screen(terminal.raw) if "→ crm.write ×31" in line]) == 1
    assert not any("…" in line for line in screen(terminal.raw))


def test_two_cells_of_one_reply_are_shown_once_each(here: Path) -> None:
    with chat("two_cells", cwd=here) as terminal:
        terminal.until(PROMPT)
        terminal.type("Go\n")
        terminal.until(PROMPT)
    assert [line for line in screen(terminal.raw) if line.startswith("│")] == ["│ x = 1", "│ done(x)"]


def test_a_narrow_terminal_breaks_lines_between_words(here: Path) -> None:
    with chat("oslo", cwd=here, columns=20) as terminal:
        terminal.until("typed")
        terminal.until(PROMPT)
        terminal.type("Go\n")
        terminal.until(PROMPT)
    seen = screen(terminal.raw)
    assert all(len(line) <= 20 for line in seen)
    assert seen[seen.index("I look who lives") + 1] == "there."
    code = [line for line in seen if line.startswith("│ ")]
    assert "".join(line[2:] for line in code[:3]).replace(" ", "") == "people=crm.contacts(city='Oslo')"


def test_no_color_is_plain(here: Path) -> None:
    with chat("oslo", cwd=here, NO_COLOR="1") as terminal:
        terminal.until(PROMPT)
        terminal.type("Go\n")
        terminal.until(PROMPT)
    assert not re.search(r"\x1b\[[0-9;]*(3|9)\d", terminal.raw)


def test_a_call_that_waits_for_a_yes_is_asked_for(here: Path) -> None:
    with chat("pays", "--scope", "shop:pay", cwd=here) as terminal:
        terminal.until(PROMPT)
        terminal.type("Pay\n")
        assert "pay(70)" in terminal.until("or why not]")
        terminal.type("y\n")
        assert "paid 70" in terminal.until(PROMPT)


# Ctrl-C


def test_ctrl_c_cancels_the_cell_and_the_names_before_it_stay(here: Path) -> None:
    with chat("hangs", cwd=here) as terminal:
        terminal.until(PROMPT)
        terminal.type("One\n")
        terminal.until(PROMPT)
        terminal.type("Two\n")
        terminal.until("→ forever …")
        terminal.interrupt()
        told = terminal.until(PROMPT)
        assert "names are as they were before this cell" in told
        assert "calls that were made stay made: crm.write" in told
        terminal.type("Three\n")
        assert "\n1\n" in terminal.until(PROMPT)


def test_without_a_store_ctrl_c_says_that_the_names_are_gone(here: Path) -> None:
    with chat("hangs", "--store", "none", cwd=here) as terminal:
        terminal.until("a session that is not kept")
        terminal.until(PROMPT)
        terminal.type("One\n")
        terminal.until(PROMPT)
        terminal.type("Two\n")
        terminal.until("→ forever …")
        terminal.interrupt()
        terminal.until("the names of this session are gone")
        terminal.until(PROMPT)
        terminal.type("/undo\n")
        terminal.until("cellwright: undo needs the session to be kept: --store")
        terminal.until(PROMPT)
        terminal.type("\x04")
        assert terminal.end() == 0


def test_ctrl_c_twice_at_the_prompt_leaves_and_tells_how_to_go_on(here: Path) -> None:
    with chat("oslo", "--session", "s1", cwd=here) as terminal:
        terminal.until(PROMPT)
        terminal.type("Write to Oslo\n")
        terminal.until(PROMPT)
        terminal.interrupt_prompt()
        terminal.until("Ctrl-C again, or Ctrl-D, leaves")
        terminal.until(PROMPT)
        terminal.interrupt_prompt()
        assert terminal.end() == 0
    assert "to go on: cellwright chat --session s1 --model models:oslo --scope shop:crm" in terminal.shown
    with chat("oslo", "--session", "s1", cwd=here) as again:
        again.until("session s1; ")
        again.until("its names and files are as they were")
        again.until(PROMPT)
        again.type("\x1b[A\n")  # the line before, from the history that is kept
        again.until("Write to Oslo\n")


# commands


def test_undo_lists_what_cannot_be_undone_and_asks(here: Path) -> None:
    with chat("oslo", cwd=here) as terminal:
        terminal.until(PROMPT)
        terminal.type("Write to Oslo\n")
        terminal.until(PROMPT)
        for answer, said in (("n", "nothing was done"), ("y", "2 cells rolled back")):
            terminal.type("/undo\n")
            assert "crm.write('Ada') in cell 1" in terminal.until("Undo the rest? [y/N] ")
            terminal.type(f"{answer}\n")
            terminal.until(said)
            terminal.until(PROMPT)
        terminal.type("/undo\n")
        terminal.until("cellwright: there is no turn to undo")


def test_a_fork_is_gone_on_in(here: Path) -> None:
    with chat("oslo", "--session", "s1", cwd=here) as terminal:
        terminal.until(PROMPT)
        terminal.type("Write to Oslo\n")
        terminal.until(PROMPT)
        terminal.type("/fork s1\n")
        terminal.until("cellwright: there is a session 's1' already")
        terminal.until(PROMPT)
        terminal.type("/fork s2\n")
        terminal.until("in s2 now, a fork; s1 stays as it is")
        terminal.until(PROMPT)
        terminal.type("How many?\n")
        assert "\n2\n" in terminal.until(PROMPT)
        terminal.type("\x04")
        assert terminal.end() == 0
    assert "--session s2" in terminal.shown


def test_commands_work_from_a_pipe_and_the_output_is_plain(here: Path) -> None:
    lines = "Write to Oslo\n/cost\n/undo\n/undo yes\n/rung\n/nonsense\n/help\n/etc/hosts is odd\n"
    done = cellwright("chat", "--model", "models:oslo", *SCOPE, cwd=here, stdin=lines)
    assert (done.returncode, done.stderr) == (1, "")  # the last turn has no `people` any more
    assert "\x1b" not in done.stdout
    assert "> " not in done.stdout
    for said in (
        "session    2 requests, ",
        "`/undo yes` undoes the rest; nothing was done.",
        "2 cells rolled back",
        "rung     process: CPython in a kernel jail",
        "cellwright: there is no /nonsense; /help lists what there is",
        "/fork     go on in a copy",
    ):
        assert said in done.stdout


def test_the_cost_of_a_session_counts_what_earlier_processes_spent(here: Path) -> None:
    for lines, requests in (("Write to Oslo\n", 2), ("More\n/cost\n", 3)):
        model = "oslo" if requests == 2 else "words"
        done = cellwright("chat", "--model", f"models:{model}", *SCOPE, "--session", "s1", cwd=here, stdin=lines)
        assert done.returncode == 0, done.stdout
    assert "last turn  1 request, " in done.stdout
    assert "session    3 requests, " in done.stdout


def test_a_failed_turn_is_one_line_and_the_chat_goes_on(here: Path) -> None:
    done = cellwright("chat", "--model", "models:refused", cwd=here, stdin="One\n\nTwo\n")
    assert (done.returncode, done.stdout) == (4, "cellwright: 401: wrong key\n" * 2)


def test_ctrl_c_ends_a_chat_that_nobody_sits_at(here: Path) -> None:
    with started("chat", "--model", "models:waits", cwd=here, stdin=subprocess.PIPE) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        running.stdin.write("Go\n")
        running.stdin.flush()
        while "✓" not in running.stdout.readline():
            pass
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=60)
    assert (running.returncode, err) == (130, "cellwright: cancelled\n")


def test_a_reader_that_leaves_ends_the_chat_quietly(here: Path) -> None:
    with started("chat", "--model", "models:waits", cwd=here, stdin=subprocess.PIPE) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        running.stdin.write("/help\n")
        running.stdin.flush()
        running.stdout.readline()
        running.stdout.close()
        running.stdin.write("/help\n/help\n")
        running.stdin.flush()
        assert running.wait(timeout=60) == 141


def test_a_turn_that_was_cut_off_is_carried_on(here: Path) -> None:
    with chat("waits", "--session", "s1", cwd=here) as terminal:
        terminal.until(PROMPT)
        terminal.type("Set it\n")
        terminal.until("✓")
        terminal.running.kill()
    done = cellwright("chat", "--model", "models:goes_on", *SCOPE, "--resume", "s1", cwd=here)
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[0] == "carrying on the last turn of s1"
    assert lines[-1] == "5"


BAD: list[tuple[list[str], int, str]] = [
    (["--model", "gpt"], 2, 'model "gpt" is not known'),
    (["--resume", "gone"], 2, "there is no journal "),
    (["--session", "a", "--resume", "b"], 2, "--session and --resume: give one of them"),
    (["--store", "shop.py"], 4, "shop.py"),
    (["--store", "none", "--session", "a"], 2, "session a needs a store"),
    (["--returns", "lots"], 2, "--returns lots"),
    (["task"], 2, "unexpected extra argument(s) (task)"),
]


def test_bad_input_is_one_line_and_its_code(here: Path) -> None:
    lines = [["chat", *args, *(() if "--model" in args else ("--model", "models:text"))] for args, _, _ in BAD]
    for (args, code, said), (ended, out, err) in zip(BAD, one_after_another(lines, cwd=here), strict=True):
        assert (ended, out) == (code, ""), (args, err)
        assert err.startswith("cellwright: "), args
        assert err.count("\n") == 1, (args, err)
        assert said in err, (args, err)
