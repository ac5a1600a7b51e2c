"""A journal that somebody else wrote. To replay it is to run a cell of a stranger in the jail, and no more."""

from __future__ import annotations

import asyncio
import json
import os
import random
import sqlite3
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cellwright import Limits, Runtime, replay
from cellwright.cli import app
from cellwright.errors import CellwrightError, JournalFailed, PlatformError
from cellwright.journal import Trees, remove_workspace
from cellwright.journal.outcomes import error_of
from cellwright.journal.session_workspaces import place_of
from cellwright.sandboxes import Workspace
from cellwright.store import Facts, MemoryStore, SqliteStore, open_store
from cellwright_guest.wire import NOTHING, type_of

LIMITS = Limits(wall_s=10, workspace_mb=8)


async def recorded(directory: Path) -> Path:
    """A journal with an honest session, `s1`, of two cells and a file."""
    path = directory / "agents.db"
    async with Runtime({"add": add}, store=path, session="s1", limits=LIMITS) as rt:
        (await rt.execute("x = add(1, 2)\nopen('f', 'w').write('text')\nprint(x)")).unwrap()
        (await rt.execute("add(x, x)")).unwrap()
    return path


def add(a: int, b: int) -> int:
    return a + b


@contextmanager
def opened(path: Path) -> Generator[sqlite3.Connection]:
    connection = sqlite3.connect(path)
    try:
        yield connection
        connection.commit()
    finally:
        connection.close()


def second(connection: sqlite3.Connection, id: str, facts: str) -> None:
    """One more session in the file."""
    sql = "insert into sessions (epoch, id, created, updated) values (0, ?, 0, 0)"
    number = connection.execute(sql, (id,)).lastrowid
    connection.execute("insert into facts values (?, ?)", (number, facts))


# --- the file ---


async def test_the_honest_one_is_the_same(tmp_path: Path) -> None:
    store = await recorded(tmp_path)
    assert (await replay("s1", store=store, limits=LIMITS)).same


@pytest.mark.parametrize(
    "statement",
    [
        "alter table inbox rename to other",
        "create view more as with recursive t(n) as (select 1 union all select n + 1 from t) select n from t",
        "create trigger spy after update on sessions begin delete from entries; end",
        "create table more (x)",
        "create index costly on blobs (hex(content))",
    ],
)
async def test_a_file_with_more_than_a_journal_has_is_refused(tmp_path: Path, statement: str) -> None:
    store = await recorded(tmp_path)
    with opened(store) as connection:
        connection.execute(statement)
    with pytest.raises(JournalFailed, match="that no journal has"):
        open_store(str(store))


async def test_a_table_that_is_really_a_view_without_end_is_refused(tmp_path: Path) -> None:
    store = await recorded(tmp_path)
    with opened(store) as connection:
        connection.execute("drop table entries")
        connection.execute(
            "create view entries as with recursive t(n) as (select 1 union all select n + 1 from t) "
            "select n, 1 session, n number, 0 parent, 'row' kind, n cell, 'x' path, 0 at, '[]' body from t"
        )
    with pytest.raises(JournalFailed, match="that no journal has"):
        open_store(str(store))


# --- sessions ---


@pytest.mark.parametrize("parents", [{"s1": "s1"}, {"s1": "s2", "s2": "s1"}])
async def test_a_session_that_is_a_fork_of_itself_is_told(tmp_path: Path, parents: dict[str, str]) -> None:
    store = await recorded(tmp_path)
    with opened(store) as connection:
        (body,) = connection.execute("select body from facts").fetchone()
        second(connection, "s2", body)
        for session, parent in parents.items():
            changed = json.dumps(json.loads(body) | {"parent": parent, "parent_cell": 1})
            sql = "update facts set body = ? where session = (select n from sessions where id = ?)"
            connection.execute(sql, (changed, session))
    with pytest.raises(JournalFailed, match="fork of itself"):
        await replay("s1", store=store, limits=LIMITS)


async def test_a_workspace_that_is_a_symlink_is_not_given_to_a_guest(tmp_path: Path) -> None:
    store = await recorded(tmp_path)
    place = tmp_path / "agents.db.workspaces" / "s1"
    place.rename(tmp_path / "elsewhere")
    place.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PlatformError, match="symlink"):
        await Runtime.resume("s1", scope={"add": add}, store=store, limits=LIMITS).__aenter__()


@pytest.mark.parametrize("name", ["SqliteStore", "annotations", "UsageError", "CellwrightError", "", 5, None])
def test_an_error_of_any_name_is_one_of_the_guests(name: Any) -> None:
    told = error_of({"class": name, "text": "words"})
    assert str(told) == "words"
    assert isinstance(told, CellwrightError)


# --- rows ---


ODD: tuple[Any, ...] = (
    *(None, True, -1, 10**30, 1.5, "x", "\0", "a" * 100),
    *([], {}, [[]], [1, 2, 3], {"at": "x"}, {"tree": 1}, {"m": 1}),
)


def spoiled(rng: random.Random, value: Any) -> Any:
    """The same with one thing changed."""
    if type_of(value) is list and value and rng.random() < 0.8:
        at = rng.randrange(len(value))
        return [*value[:at], spoiled(rng, value[at]), *value[at + 1 :]]
    if type_of(value) is dict and value and rng.random() < 0.8:
        chosen = rng.choice(sorted(value))
        return {**value, chosen: spoiled(rng, value[chosen])}
    return rng.choice(ODD)


@pytest.mark.parametrize(
    "table", ["entries where kind = 'row'", "entries where kind = 'cell'", "facts where true", "checkpoints where true"]
)
async def test_rows_of_any_shape_are_told_or_run(tmp_path: Path, table: str) -> None:
    store = await recorded(tmp_path)
    rng = random.Random(7)
    with opened(store) as connection:
        bodies = [body for (body,) in connection.execute(f"select body from {table}")]
    outcomes: set[str] = set()
    for _ in range(25):
        body = rng.choice(bodies)
        other = json.dumps(spoiled(rng, json.loads(body)))
        with opened(store) as connection:
            connection.execute(f"update {table.replace('where', 'set body = ? where')} and body = ?", (other, body))
        try:
            found = await replay("s1", store=store, limits=LIMITS)
            outcomes.add("same" if found.same else "different")
        except CellwrightError:
            outcomes.add("told")
        with opened(store) as connection:
            connection.execute(f"update {table.replace('where', 'set body = ? where')} and body = ?", (body, other))
    assert outcomes


@pytest.mark.parametrize("body", ["[" * 100_000, b"\xff\xfe", "{}", "[]", "1e999999", '["done"]'])
async def test_bodies_that_are_no_rows_are_told(tmp_path: Path, body: Any) -> None:
    store = await recorded(tmp_path)
    with opened(store) as connection:
        connection.execute("update entries set body = ? where kind = 'row'", (body,))
    with pytest.raises(JournalFailed, match="damaged"):
        await replay("s1", store=store, limits=LIMITS)


# --- trees ---

FILE = ["f", "file", 0o644, 0, 4, "content"]


@pytest.mark.parametrize(
    "entry",
    [
        ["../out", "file", 0o644, 0, 4, "content"],
        ["a/../../out", "file", 0o644, 0, 4, "content"],
        ["/etc/out", "file", 0o644, 0, 4, "content"],
        ["a\0b", "file", 0o644, 0, 4, "content"],
        [5, "file", 0o644, 0, 4, "content"],
        ["f", "device", 0o644, 0, 4, "content"],
        ["f", "file", "0o644", 0, 4, "content"],
        ["f", "file", 0o644, 10**30, 4, "content"],
        ["f", "file", 0o644, 0, -4, "content"],
        ["f", "file", 0o644, 0, True, "content"],
        ["f", "link", 0o777, 0, 0, "a\0b"],
        ["f", "link", 0o777, 0, 0, ["a"]],
        ["f", "file"],
    ],
)
def test_a_tree_that_no_workspace_had_is_refused(entry: list[Any], tmp_path: Path) -> None:
    trees, workspace = planted([entry], tmp_path)
    with pytest.raises(JournalFailed, match="no tree"):
        trees.restore(NAME[0], workspace)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["place"]
    workspace.close()


def test_no_file_gets_more_rights_than_a_workspace_gives(tmp_path: Path) -> None:
    trees, workspace = planted([["f", "file", 0o106755, 0, 4, "content"]], tmp_path)
    trees.restore(NAME[0], workspace)
    assert stat.S_IMODE((tmp_path / "place" / "f").stat().st_mode) == 0o755
    workspace.close()


def test_one_content_under_many_names_fills_no_disk(tmp_path: Path) -> None:
    entries = [[f"f{i}", "file", 0o644, 0, 1 << 20, "content"] for i in range(100)]
    trees, workspace = planted(entries, tmp_path, bytes(1 << 20))
    with pytest.raises(PlatformError, match="more than workspace_mb=8"):
        trees.restore(NAME[0], workspace)
    assert not os.listdir(tmp_path / "place")
    workspace.close()


def test_a_size_that_is_not_the_contents_is_told(tmp_path: Path) -> None:
    entries = [[f"f{i}", "file", 0o644, 0, 1, "content"] for i in range(100)]
    trees, workspace = planted(entries, tmp_path, bytes(1 << 20))
    with pytest.raises(PlatformError, match="not its recorded size"):
        trees.restore(NAME[0], workspace)
    assert not os.listdir(tmp_path / "place")
    workspace.close()


def test_a_link_out_of_the_workspace_is_a_link_and_nothing_is_written_through_it(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    entries = [["d", "link", 0o777, 0, 0, str(tmp_path / "out")], ["d/f", "file", 0o644, 0, 4, "content"]]
    trees, workspace = planted(entries, tmp_path)
    trees.restore(NAME[0], workspace)
    assert (tmp_path / "place" / "d").is_symlink()
    assert not os.listdir(tmp_path / "out")
    workspace.close()


NAME = [""]  # of the tree that was planted last


def planted(entries: list[list[Any]], tmp_path: Path, content: bytes = b"text") -> tuple[Trees, Workspace]:
    journal = MemoryStore()
    journal.create(Facts(id="s1", created=0.0, seed=b"", pins={}, names=NOTHING))
    digest = journal.keep("s1", content)
    text = json.dumps({"entries": entries, "left": []}).replace('"content"', f'"{digest}"')
    NAME[0] = journal.keep("s1", text.encode())
    (tmp_path / "place").mkdir()
    return Trees(journal, "s1", LIMITS), Workspace.at(tmp_path / "place")


# --- what people read ---


async def test_the_command_prints_nothing_that_a_terminal_obeys(tmp_path: Path) -> None:
    path = tmp_path / "agents.db"
    async with Runtime({"add": add}, store=path, session="s1", limits=LIMITS) as rt:
        await rt.execute("raise ValueError('\\x1b]0;owned\\x07\\x9b2J\\u202e')")
    with opened(path) as connection:
        connection.execute("update entries set body = replace(body, 'owned', 'other') where kind = 'cell'")
        (facts,) = connection.execute("select body from facts").fetchone()
        second(connection, "\x1b[2J\u202e", facts)
    for arguments in (["s1"], ["s1", "--json"], [], ["--json"], ["\x1b[2J"]):
        told = await asyncio.to_thread(CliRunner().invoke, app, ["replay", *arguments, "--store", str(path)])
        assert told.exit_code in (0, 1, 2), told
        assert all(letter.isprintable() or letter == "\n" for letter in told.output), repr(told.output)


@pytest.mark.parametrize("id", ["", ".", "..", "{}/mine", "../mine", "a/../../mine"])
def test_a_session_with_the_name_of_a_directory_has_none_that_could_be_removed(id: str, tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "agents.db")
    id = id.format(tmp_path)
    store.create(Facts(id=id, created=0.0, seed=bytes(32), pins={}, names=NOTHING))
    kept = [tmp_path / "mine" / "file", tmp_path / "agents.db.workspaces" / "s1" / "file"]
    for file in kept:
        file.parent.mkdir(parents=True)
        file.write_text("mine")
    assert place_of(store, id) is None
    assert remove_workspace(store, id) == 0
    assert all(file.exists() for file in kept)
    store.close()
