"""`cellwright files` as a user runs it. No guest is started: a session is made of its rows and a directory."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tests.sessions.made import facts

from cellwright.cli import main
from cellwright.journal import Trees, workspace_of
from cellwright.store import CellRow, LeaseHolder, SqliteStore


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A session of two cells: the first wrote `a.txt`, the second changed it and wrote a file with a bad name."""
    store = SqliteStore(tmp_path / "agents.db")
    claim = store.create(facts("s-one"))
    workspace = workspace_of(store, "s-one")
    assert workspace is not None
    trees = Trees(store, "s-one")
    states: Sequence[dict[str, str]] = ({"a.txt": "one\n"}, {"a.txt": "two\n", "bad\x1b[2J": "x"})
    for number, state in enumerate(states, start=1):
        before = trees.take(workspace)
        for name, text in state.items():
            (workspace.path / name).write_text(text)
        row = CellRow(number=number, code="…", status="done", tree=before, tree_after=trees.take(workspace))
        store.write(claim, row)
    workspace.close()
    store.close()
    monkeypatch.chdir(tmp_path)
    return tmp_path


Files = Callable[..., tuple[int, str, str]]


@pytest.fixture
def files(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, here: Path) -> Files:
    """The command: its exit code, and what it printed."""

    def run(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["cellwright", "files", *words])
        code = main()
        out, err = capsys.readouterr()
        return code, out, err

    return run


def workspace(here: Path) -> Path:
    return here / "agents.db.workspaces" / "s-one"


def test_files_are_listed_without_control_characters(files: Files) -> None:
    code, out, _ = files("list", "s-one")
    assert code == 0
    assert out == "           4  a.txt\n           1  bad\\x1b[2J\n"
    assert json.loads(files("list", "s-one", "--at", "1", "--json")[1]) == [{"path": "a.txt", "size": 4}]


def test_what_the_last_cell_changed_is_shown(files: Files) -> None:
    code, out, _ = files("diff", "s-one")
    assert code == 0
    assert out.splitlines()[:6] == ["M a.txt", "--- a.txt", "+++ a.txt", "@@ -1 +1 @@", "-one", "+two"]
    assert "\x1b" not in out
    found = json.loads(files("diff", "s-one", "--since", "0", "--json", "--names")[1])
    assert [(one["path"], one["what"], one["text"]) for one in found] == [
        ("a.txt", "added", ""),
        ("bad\x1b[2J", "added", ""),
    ]


def test_files_are_undone_and_restored(files: Files, here: Path) -> None:
    code, out, err = files("undo", "s-one")
    assert (code, out, err) == (0, "M a.txt\nD bad\\x1b[2J\n", "cellwright: 2 paths put back\n")
    assert (workspace(here) / "a.txt").read_text() == "one\n"
    assert files("diff", "s-one", "--since", "1")[1] == ""
    assert files("restore", "s-one", "--at", "2")[0] == 0
    assert (workspace(here) / "a.txt").read_text() == "two\n"
    assert json.loads(files("restore", "s-one", "--at", "0", "--json")[1])[0]["what"] == "removed"
    assert list(workspace(here).iterdir()) == []


def test_a_workspace_that_is_gone_is_listed_and_put_back(files: Files, here: Path) -> None:
    shutil.rmtree(workspace(here))
    assert "a.txt" in files("list", "s-one")[1]
    code, _, err = files("diff", "s-one")
    assert code == 2
    assert err.startswith("cellwright: session 's-one' has no files on this machine; `cellwright files restore s-one`")
    assert files("restore", "s-one")[0] == 0
    assert (workspace(here) / "a.txt").read_text() == "two\n"


def test_files_are_handed_in_and_taken_out(files: Files, here: Path) -> None:
    (here / "in.bin").write_bytes(b"\xff")
    assert files("put", "s-one", "in.bin", "data/in.bin")[0] == 0
    assert files("put", "s-one", "in.bin")[0] == 0
    assert (workspace(here) / "in.bin").read_bytes() == b"\xff"
    assert files("take", "s-one", "data/in.bin", "out.bin")[0] == 0
    assert files("take", "s-one", "a.txt")[0] == 0
    assert (here / "out.bin").read_bytes() == b"\xff"
    assert (here / "a.txt").read_text() == "two\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["take", "s-one", "nothing"], "nothing is not in the workspace"),
        (["take", "s-one", "../../x"], "no path in the workspace"),
        (["put", "s-one", "absent"], "no file of this machine"),
        (["list", "s-none"], "no session"),
        (["list", "s-one", "--at", "9"], "has no cell 9; its last one is 2"),
        (["restore", "s-one", "--at", "9"], "has no cell 9"),
    ],
)
def test_bad_input_is_one_line(words: list[str], said: str, files: Files) -> None:
    code, out, err = files(*words)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_a_session_that_somebody_has_open_is_not_touched(files: Files, here: Path) -> None:
    store = SqliteStore(here / "agents.db")
    store.claim("s-one", LeaseHolder(machine="elsewhere", process=1, started="1", name="laptop"))
    for act in ("undo", "restore"):
        code, _, err = files(act, "s-one")
        assert code == 2
        assert "s-one" in err
        assert err.count("\n") == 1
    store.close()
    assert (workspace(here) / "a.txt").read_text() == "two\n"


def test_a_cell_that_is_not_over_is_not_undone(files: Files, here: Path) -> None:
    store = SqliteStore(here / "agents.db")
    store.write(store.claim("s-one"), CellRow(number=3, code="…", tree=store.cells("s-one")[-1].tree_after))
    store.close()
    code, _, err = files("undo", "s-one")
    assert code == 2
    assert "cell 3 of session 's-one' is not over" in err
