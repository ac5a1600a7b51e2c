"""Files of an older version: brought up to date once, with all that is in them; or left as they were."""

from __future__ import annotations

import multiprocessing
import sqlite3
from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from cellwright.errors import JournalFailed
from cellwright.store import CellRow, Facts, Row, SqliteStore, digest_of, tables
from cellwright_guest.wire import NOTHING, Packed

FIRST = (Path(__file__).parent / "first_version.sql").read_text()
PATIENCE_S = 60
SPAWN = multiprocessing.get_context("spawn")


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "agents.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(FIRST)
    return path


def version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("pragma user_version").fetchone()[0]


def path_of(change: object) -> str:
    assert isinstance(change, Row)
    return change.path


def test_all_that_an_older_file_has_is_there(old: Path) -> None:
    for _ in range(2):
        with closing(SqliteStore(old)) as store:
            one, two = store.cells("s")
            assert (one.code, one.status, one.stdout) == ("\n  total = crm.sum()\nprint(total)", "done", "7\n")
            assert (one.tree, one.tree_after, one.files, one.calls) == ("t", "", (), (("crm.sum", 0.1, None),))
            assert (two.status, two.error["text"]) == ("failed", "KeyError: 'x'")
            assert [row.path for row in store.rows("s")] == ["1#1", "1#2", "2#1", "1#3"]
            assert store.rows("s")[0].value == Packed(7, [])
            assert store.rows("s")[2].value == Packed({"b": 0}, [b"large " * 400])
            assert [point.cell for point in store.checkpoints("s")] == [1]
            assert store.blob(digest_of(b"kept")) == b"kept"
            assert store.facts("fork") == Facts(
                id="fork",
                created=200.0,
                seed=b"seed",
                pins={"python": "3.11"},
                names=NOTHING,
                parent="s",
                parent_cell=1,
            )
    assert version(old) == len(tables.MIGRATIONS)


def test_its_cells_come_before_their_calls_and_each_entry_follows_the_one_before_it(old: Path) -> None:
    with closing(SqliteStore(old)) as store:
        entries = store.entries("s")
        told = [one.change.number if isinstance(one.change, CellRow) else path_of(one.change) for one in entries]
        assert told == [1, "1#1", "1#2", 2, "2#1", "1#3"]
        assert [(one.number, one.parent) for one in entries] == [(n, n - 1) for n in range(1, 7)]
        assert [one.at for one in entries] == [101.0, 101.0, 101.0, 102.0, 102.0, 102.0]
        assert [row.path for row in store.rows("s", 2)] == ["2#1"]
        assert [row.path for row in store.rows("fork", 1)] == ["1#1"]


def test_it_can_be_listed_searched_and_written_to(old: Path) -> None:
    with closing(SqliteStore(old)) as store:
        fork, main = store.summaries()
        assert (main.id, main.title, main.state, main.cells, main.entries) == ("s", "total = crm.sum()", "failed", 2, 6)
        assert (fork.id, fork.parent, fork.parent_cell, fork.state) == ("fork", "s", 1, "new")
        assert [one.id for one in store.family("fork")] == ["s", "fork"]
        assert [hit.kind for hit in store.search("KeyError")] == ["error"]
        store.write(store.claim("s"), Row(cell=2, path="2#2"))
        assert [row.path for row in store.rows("s", 2)] == ["2#1", "2#2"]
        assert store.entries("s", 7)[0].parent == 6


def test_numbers_of_sessions_that_were_forgotten_are_not_given_again(old: Path) -> None:
    with closing(SqliteStore(old)) as store:
        claim = store.create(Facts(id="new", created=0.0, seed=b"", pins={}, names=NOTHING))
        assert claim.epoch == 5
    with closing(sqlite3.connect(old)) as connection:
        assert connection.execute("select n from sessions where id = 'new'").fetchone() == (5,)


def test_rows_that_are_damaged_are_brought_over_and_told_when_they_are_read(old: Path) -> None:
    with closing(sqlite3.connect(old, isolation_level=None)) as connection:
        connection.execute("update cells set body = '[1' where number = 1")
        connection.execute("update sessions set body = x'ff' where id = 'fork'")
    with closing(SqliteStore(old)) as store:
        assert [row.path for row in store.rows("s")] == ["1#1", "1#2", "2#1", "1#3"]
        assert [cell.number for cell in store.cells("s", 2)] == [2]
        for read in (lambda: store.cells("s"), lambda: store.facts("fork")):
            with pytest.raises(JournalFailed, match="damaged"):
                read()


def test_times_that_are_none_are_brought_over(old: Path) -> None:
    with closing(sqlite3.connect(old, isolation_level=None)) as connection:
        huge = "1" + "0" * 400
        connection.execute(f"update sessions set body = json_set(body, '$.created', json('{huge}')) where id = 's'")
        connection.execute(f"update cells set body = json_set(body, '$.at', json('{huge}')) where number = 1")
    with closing(SqliteStore(old)) as store:
        assert store.summary("s").cells == 2


def test_a_step_that_fails_leaves_the_older_file_as_it_was(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = tables.MIGRATIONS
    for at in range(1, len(steps[1]) + 1):
        failing = (*steps[1][:at], "insert into nowhere values (1)")
        monkeypatch.setattr("cellwright.store.schema.MIGRATIONS", (steps[0], failing))
        with pytest.raises(JournalFailed, match="nowhere"):
            SqliteStore(old)
        with closing(sqlite3.connect(old)) as connection:
            assert connection.execute("select count(*) from calls").fetchone() == (5,)
        assert version(old) == 1
    monkeypatch.setattr("cellwright.store.schema.MIGRATIONS", steps)
    with closing(SqliteStore(old)) as store:
        assert len(store.rows("s")) == 4


def _open_at_once(path: Path, line: Connection) -> None:
    line.recv()
    with closing(SqliteStore(path)) as store:
        line.send([len(store.entries(session)) for session in ("s", "fork")])


def test_processes_that_open_an_older_file_at_once_bring_it_up_to_date_once(old: Path) -> None:
    pipes = [SPAWN.Pipe() for _ in range(4)]
    children = [SPAWN.Process(target=_open_at_once, args=(old, theirs), daemon=True) for _, theirs in pipes]
    for child in children:
        child.start()
    try:
        for ours, _ in pipes:
            ours.send("go")
        assert [ours.poll(PATIENCE_S) and ours.recv() for ours, _ in pipes] == [[6, 1]] * len(pipes)
    finally:
        for child in children:
            child.kill()
            child.join(PATIENCE_S)
