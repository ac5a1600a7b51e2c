"""`cellwright sessions` as a user runs it: a process with arguments, output and an exit code."""

from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.sessions.made import cell, facts, session, turn

from cellwright.cli import main
from cellwright.sessions import Sessions
from cellwright.store import LeaseHolder, Note, SqliteStore
from cellwright.store import this_process as this_process


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """`agents.db` with a family: a rewound session, a fork with a name, a child; and one whose process died."""
    store = SqliteStore(tmp_path / "agents.db")
    session(
        store,
        "march-orders",
        turn(1, "Load the orders \x1b[2Jof March", status="running"),  # 1
        cell(1, "orders = crm.orders(3)\nlen(orders)", stdout="9 orders\n"),  # 2
        turn(1, "Load the orders \x1b[2Jof March", answer="There are 9."),  # 3
        cell(2, "crm.walrus()", status="failed", error={"class": "CodeError", "text": "no walrus"}),  # 4
        cell(2, "crm.walrus()", status="failed", undone=True),  # 5
        Note(kind="rewound", about="1", text="3"),  # 6
        cell(3, "sum(orders)", files=("total.txt",)),  # 7
    )
    session(store, "branch01", cell(2, "max(orders)"), parent="march-orders", parent_cell=1, parent_entry=2)
    session(store, "child001", turn(1, "Count"), child_of="march-orders")
    dead = store.create(facts("dead0001"), _dead())
    store.write(dead, turn(1, "Never ends", status="running"))
    Sessions(store).rename("branch01", "try-2")
    store.close()
    return tmp_path


def _dead() -> LeaseHolder:
    """A process of this machine that is not there any more."""
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    return LeaseHolder(machine=this_process().machine, process=done.pid, started="1", name="x")


class Ran(NamedTuple):
    """What came of a command."""

    returncode: int
    stdout: str
    stderr: str


def cellwright(*args: str, cwd: Path) -> Ran:
    """The command in this process: what it prints is what a pipe would get."""
    out, said = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(said):
        patch.chdir(cwd)
        patch.setenv("CELLWRIGHT_STATE", str(cwd / "state"))
        patch.setattr(sys, "argv", ["cellwright", "sessions", *args])
        code = main()
    return Ran(code, out.getvalue(), said.getvalue())


def in_process(*args: str, cwd: Path, stdin: bytes = b"") -> Ran:
    """The same as a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "cellwright", "sessions", *args],
        cwd=cwd,
        input=stdin,
        env={**os.environ, "CELLWRIGHT_STATE": str(cwd / "state")},
        capture_output=True,
        timeout=120,
        check=False,
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def told(*args: str, cwd: Path) -> str:
    done = cellwright(*args, cwd=cwd)
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def test_the_list_says_which_died(here: Path) -> None:
    lines = told("list", cwd=here).splitlines()
    assert lines[0].split() == ["session", "title", "state", "turns", "cells", "updated"]
    found = {line.split()[0]: line for line in lines[1:]}
    assert "✗ died" in found["dead0001"]
    assert "↳ try-2" in found["branch01"]
    assert "Load the orders" in found["march-orders"]
    assert "\x1b" not in "".join(lines)
    done = cellwright("list", "--limit", "1", "--json", cwd=here)
    assert len(json.loads(done.stdout)) == 1
    assert done.stderr == "cellwright: there are more; --limit 2 shows them\n"


def test_the_tree_is_drawn_with_the_entries_to_fork_at(here: Path) -> None:
    drawn = told("tree", "march", cwd=here)
    shape = [line.split(", ")[0].rstrip() for line in drawn.splitlines()]
    assert shape == [
        "march-orders done",
        "├── child child001 done",
        "│   └── [1] turn 1 Count",
        "└── [3] turn 1 Load the orders \\x1b[2Jof March",
        "    ├── [2] cell 1 orders = crm.orders(3)",
        "    ├── fork at [2] branch01 try-2 done",
        "    │   └── [1] cell 2 max(orders)",
        "    ├── left here by a rewind to [3]",
        "    │   └── [4] cell 2 ✗ crm.walrus()",
        "    └── [7] cell 3 sum(orders)",
    ]
    root = json.loads(told("tree", "try-2", "--json", cwd=here))
    assert root["id"] == "march-orders"


def test_a_history_is_told_turn_by_turn(here: Path) -> None:
    text = told("show", "march-orders", cwd=here)
    for part in ("turn 1 [1]", "cell 1 [2] done", "9 orders", "There are 9.", "cell 2 [4] failed, undone", "total.txt"):
        assert part in text
    assert text.index("cell 2 [4]") < text.index("rewound to cell 1") < text.index("cell 3 [7]")
    assert "\x1b" not in text
    history = json.loads(told("show", "march-orders", "--upto", "2", "--json", cwd=here))
    assert [step["number"] for step in history["turns"][0]["steps"]] == [1]


def test_a_search_tells_where_and_shows_the_words(here: Path) -> None:
    lines = told("search", "walrus", "--kind", "code", cwd=here).splitlines()
    assert lines[0].startswith("march-orders [4] code, cell 2")
    assert lines[1] == "  crm.walrus()"
    hits = json.loads(told("search", "orders", "--branch", "try-2", "--json", cwd=here))
    assert {hit["session"] for hit in hits} == {"march-orders", "branch01"}
    none = cellwright("search", "platypus", cwd=here)
    assert (none.returncode, none.stdout, none.stderr) == (1, "", "cellwright: nothing has these words\n")
    assert cellwright("search", "x", "--kind", "soup", cwd=here).returncode == 2


def test_a_fork_is_made_at_once_and_a_rewind_and_a_name(here: Path) -> None:
    id = told("fork", "march-orders", "--entry", "4", "--name", "again", cwd=here).strip()
    tree = told("tree", id[:6], cwd=here)
    assert f"fork at [4] {id} again new" in tree
    assert told("rewind", "march-orders", "--at", "2", cwd=here) == (
        "rewound to cell 2, 1 cell left, 1 cell taken up again, 0 files restored\n"
    )
    assert told("name", id, "final", cwd=here) == ""
    assert json.loads(told("show", "final", "--json", cwd=here))["session"]["id"] == id


def test_what_is_exported_is_imported_elsewhere(here: Path) -> None:
    done = cellwright("export", "try-2", "out.jsonl", cwd=here)
    assert done.returncode == 0
    assert "out.jsonl: 4 entries" in done.stderr
    assert "1 session it was forked from" in done.stderr
    came = cellwright("import", "out.jsonl", "--store", "sqlite:///other.db", cwd=here)
    assert (came.returncode, came.stdout) == (0, "branch01\n")
    assert "march-orders" in came.stderr
    piped = in_process("export", "try-2", "--store", "other.db", cwd=here)
    again = in_process("import", "-", "--id", "again", "--store", "other.db", cwd=here, stdin=piped.stdout.encode())
    assert (again.returncode, again.stdout) == (0, "again\n")
    chat = cellwright("export", "try-2", "--format", "chat", cwd=here)
    assert (chat.returncode, chat.stdout, chat.stderr) == (0, "", "cellwright: no turn of it asked a model\n")


def test_removing_asks_and_says_what_went(here: Path) -> None:
    alone = cellwright("rm", "march-orders", "--yes", cwd=here)
    assert alone.returncode == 2
    assert "has forks or children" in alone.stderr
    unasked = cellwright("rm", "branch01", cwd=here)
    assert (unasked.returncode, unasked.stderr) == (
        2,
        "cellwright: removing session branch01 needs a yes: give --yes\n",
    )
    assert typed("rm", "branch01", answer="n", cwd=here)[0] == 130
    code, text = typed("rm", "branch01", answer="y", cwd=here)
    assert code == 0
    assert "removed branch01: 2 entries and " in text
    assert told("rm", "march-orders", "--whole", "--yes", cwd=here).startswith("removed march-orders, child001: ")
    assert [one["id"] for one in json.loads(told("list", "--json", cwd=here))] == ["dead0001"]


def typed(*args: str, answer: str, cwd: Path) -> tuple[int, str]:
    """In a terminal, with an answer on the keyboard."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "cellwright", "sessions", *args]
    env = {**os.environ, "CELLWRIGHT_STATE": str(cwd / "state")}
    with subprocess.Popen(command, cwd=cwd, stdin=theirs, stdout=theirs, stderr=theirs, env=env) as process:
        os.close(theirs)
        os.write(ours, f"{answer}\n".encode())
        text = b""
        while True:
            try:
                text += os.read(ours, 65536)
            except OSError:  # the other end was closed
                break
        code = process.wait(timeout=60)
    os.close(ours)
    return code, text.decode()


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("show", "nobody"), "there is no session 'nobody'"),
        (("show", "march-orders", "--store", "nowhere.db"), "there is no journal nowhere.db"),
        (("list", "--state", "odd"), "--state odd: give one of new, running"),
        (("fork", "march-orders", "--entry", "99"), "has no entry 99; its last one is 7"),
        (("rewind", "march-orders"), "give a cell, or an entry"),
        (("import", "agents.db"), "this is no exported session"),
        (("name", "march-orders", "try-2"), "already"),
    ],
)
def test_wrong_usage_is_one_line(here: Path, args: tuple[str, ...], said: str) -> None:
    done = cellwright(*args, cwd=here)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert said in done.stderr


def test_a_file_that_is_not_there_is_told(here: Path) -> None:
    done = cellwright("import", "nothing.jsonl", cwd=here)
    assert (done.returncode, done.stderr) == (4, "cellwright: cannot read nothing.jsonl: No such file or directory\n")
    done = cellwright("export", "try-2", "no/where.jsonl", cwd=here)
    assert done.returncode == 4


def test_where_there_is_no_store_that_is_told(tmp_path: Path) -> None:
    done = cellwright("list", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no journal agents.db" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_forks_of_forks_without_end_are_drawn_and_lead_on(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "agents.db")
    session(store, "deep-000", cell(1, "x"))
    for number in range(1, 250):
        above = {"parent": f"deep-{number - 1:03}", "parent_cell": 1, "parent_entry": 1}
        session(store, f"deep-{number:03}", turn(1, "x"), **above)
    store.close()
    drawn = told("tree", "deep-200", cwd=tmp_path)
    assert "sessions tree deep-189 shows what is above" in drawn
    assert "1 more below: cellwright sessions tree deep-209" in drawn
    assert json.loads(told("tree", "deep-200", "--json", cwd=tmp_path))["id"] == "deep-190"
