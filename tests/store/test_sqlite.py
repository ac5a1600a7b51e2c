"""The journal in a file: what is no journal, what the machine refuses, many processes at once, large values."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import random
import resource
import sqlite3
import tempfile
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager, suppress
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path

import pytest

from cellwright.errors import CellwrightError, Fenced, JournalFailed, UsageError
from cellwright.store import CellRow, Claim, Facts, Row, SqliteStore, sqlite_schema
from cellwright_guest.wire import NOTHING, Packed

PATIENCE_S = 60
NOBODY = 65534
TABLES = ("blobs", "uses", "entries", "facts", "sessions", "checkpoints")
SPAWN = multiprocessing.get_context("spawn")


def facts(id: str) -> Facts:
    return Facts(id=id, created=0.0, seed=b"seed", pins={}, names=NOTHING)


def call(cell: int, path: object = 0, value: Packed | None = None) -> Row:
    return Row(cell=cell, path=f"{cell}/{path}", value=value)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "agents.db"


@pytest.fixture
def journal(path: Path) -> Generator[SqliteStore]:
    with closing(SqliteStore(path)) as journal:
        yield journal


def ask(path: Path, sql: str) -> int:
    """One number out of the file."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchone()[0]


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def one_line(error: BaseException, path: Path) -> str:
    text = str(error)
    assert text.startswith(f"journal {path}: ")
    assert "\n" not in text
    return text


# files that are no journal


@pytest.mark.parametrize(
    "content", [b"no database", b"no database" * 1000, b"\x00" * 5000], ids=["short", "long", "zeros"]
)
def test_a_file_that_is_no_database_is_refused_and_left_alone(content: bytes, path: Path) -> None:
    path.write_bytes(content)
    with pytest.raises(JournalFailed) as told:
        SqliteStore(path)
    assert "no journal" in one_line(told.value, path)
    assert path.read_bytes() == content
    assert os.listdir(path.parent) == [path.name]


def test_a_database_of_something_else_is_refused_and_left_alone(path: Path) -> None:
    change(path, "create table mine (x)")
    before = path.read_bytes()
    with pytest.raises(JournalFailed) as told:
        SqliteStore(path)
    assert "a database of something else" in one_line(told.value, path)
    assert path.read_bytes() == before


def test_an_empty_file_becomes_a_journal(path: Path) -> None:
    path.touch()
    with closing(SqliteStore(path)) as journal:
        assert journal.create(facts("s")).session == "s"


@pytest.mark.parametrize(("version", "said"), [(99, "upgrade Cellwright"), (1, "with the Cellwright that made it")])
def test_another_version_is_refused_with_what_to_do_and_left_alone(version: int, said: str, path: Path) -> None:
    SqliteStore(path).close()
    change(path, f"pragma user_version = {version}")
    before = path.read_bytes()
    with pytest.raises(JournalFailed, match=f"version {version} .* reads version 2; .*{said}") as told:
        SqliteStore(path)
    one_line(told.value, path)
    assert path.read_bytes() == before


def test_a_file_that_cannot_be_made_whole_is_not_made(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_schema, "TABLES", (*sqlite_schema.TABLES, "insert into nowhere values (1)"))
    with pytest.raises(JournalFailed, match="nowhere"):
        SqliteStore(path)
    monkeypatch.undo()
    assert ask(path, "select count(*) from sqlite_master") == 0
    with closing(SqliteStore(path)) as journal:
        journal.create(facts("s"))


def _open_at_once(path: Path, line: Connection) -> None:
    line.recv()
    with closing(SqliteStore(path)) as store:
        line.send(store.sessions())


def test_processes_that_open_a_new_file_at_once_make_it_once(path: Path) -> None:
    pipes = [SPAWN.Pipe() for _ in range(4)]
    children = [SPAWN.Process(target=_open_at_once, args=(path, theirs), daemon=True) for _, theirs in pipes]
    for child in children:
        child.start()
    try:
        for ours, _ in pipes:
            ours.send("go")
        assert [ours.poll(PATIENCE_S) and ours.recv() for ours, _ in pipes] == [[]] * len(pipes)
    finally:
        for child in children:
            child.kill()
            child.join(PATIENCE_S)


# what the machine refuses


def test_a_missing_directory_is_the_developers_to_make(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "agents.db"
    with pytest.raises(UsageError, match="there is no directory") as told:
        SqliteStore(path)
    one_line(told.value, path)


def test_a_directory_is_no_journal(tmp_path: Path) -> None:
    with pytest.raises(JournalFailed, match="it cannot be opened") as told:
        SqliteStore(tmp_path)
    one_line(told.value, tmp_path)


def _open_as_nobody(path: Path, line: Connection) -> None:
    if os.geteuid() == 0:
        os.setgroups([])
        os.setuid(NOBODY)
    try:
        SqliteStore(path)
    except CellwrightError as error:
        line.send((type(error).__name__, str(error)))


@pytest.mark.parametrize("there", [False, True], ids=["a new file", "a file"])
def test_a_directory_that_may_not_be_written_is_told_so(there: bool) -> None:
    with tempfile.TemporaryDirectory() as directory:  # others can reach it, unlike `tmp_path`
        path = Path(directory) / "agents.db"
        if there:
            SqliteStore(path).close()
            path.chmod(0o444)
        path.parent.chmod(0o555)
        name, text = told_by(partial(_open_as_nobody, path))
        path.parent.chmod(0o755)
    assert name == "JournalFailed"
    assert text.startswith(f"journal {path}: it ")
    assert "the rights of" in text


def told_by(target: Callable[[Connection], None]) -> tuple[str, str]:
    """What a process of its own says at its end."""
    ours, theirs = SPAWN.Pipe()
    child = SPAWN.Process(target=target, args=(theirs,), daemon=True)
    child.start()
    theirs.close()
    try:
        assert ours.poll(PATIENCE_S)
        return ours.recv()
    finally:
        child.kill()
        child.join(PATIENCE_S)


def _fill_the_disk(path: Path, line: Connection) -> None:
    journal = SqliteStore(path)
    claim = journal.create(facts("s"))
    journal.write(claim, call(1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))  # the kernel refuses what goes beyond
    many = [os.urandom(1 << 19) for _ in range(8)]
    try:
        journal.write(claim, call(2), call(3, value=Packed([{"b": n} for n in range(8)], many)))
    except JournalFailed as error:
        journal.write(claim, call(4))  # a small one still goes
        line.send((str(error), str([row.cell for row in journal.rows("s")])))


def test_a_full_disk_loses_nothing_that_was_written(path: Path) -> None:
    text, there = told_by(partial(_fill_the_disk, path))
    assert text.startswith(f"journal {path}: the disk ")
    assert there == "[1, 4]"
    with closing(SqliteStore(path)) as journal:
        assert journal.rows("s") == [call(1), call(4)]


@contextmanager
def locked(path: Path) -> Generator[None]:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("begin immediate")
        yield
        other.execute("rollback")


def test_a_locked_journal_is_told_so_and_works_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("sqlite_schema", "sqlite_database"):
        monkeypatch.setattr(f"cellwright.store.{module}.BUSY_S", 0.05)
    with closing(SqliteStore(path)) as journal:
        claim = journal.create(facts("s"))
        tried: list[Callable[[], object]] = [
            lambda: journal.write(claim, call(1)),
            lambda: journal.write(claim, call(1), call(2)),
            lambda: journal.claim("s"),
            lambda: journal.keep("s", b"content"),
        ]
        with locked(path):
            for each in tried:
                with pytest.raises(JournalFailed, match=r"locked for 0\.05 s; end that process") as told:
                    each()
                one_line(told.value, path)
            assert list(journal.rows("s")) == []
        journal.write(claim, call(3))
        assert journal.rows("s") == [call(3)]


def test_a_closed_journal_says_that_it_is_closed(journal: SqliteStore) -> None:
    claim = journal.create(facts("s"))
    journal.close()
    for tried in (lambda: journal.write(claim, call(1)), lambda: journal.claim("s"), journal.sessions):
        with pytest.raises(UsageError, match="it is closed"):
            tried()


@pytest.mark.parametrize(("power_safe", "level"), [(False, 1), (True, 2)])
def test_power_safe_decides_how_long_a_write_waits(power_safe: bool, level: int, path: Path) -> None:
    seen: list[int] = []

    class Watched(SqliteStore):
        def level(self) -> int:
            return self._fetch("pragma synchronous")[0][0]

    with closing(Watched(path, power_safe=power_safe)) as journal:
        seen.append(journal.level())
    assert seen == [level]
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("pragma journal_mode").fetchone() == ("wal",)


# damage


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("update blobs set content = x'00' || substr(content, 2)", "is damaged"),
        ("update blobs set content = substr(content, 2)", "is damaged"),
        ("delete from blobs", "is missing"),
        ("update entries set body = '[1' where kind = 'row'", "is damaged"),
        ("update entries set body = '[]' where kind = 'row'", "is damaged"),
        ("update entries set body = cast(replace(body, 'at', 'it') as blob) where kind = 'row'", "is damaged"),
    ],
)
def test_damage_is_told_when_it_is_read(damage: str, said: str, journal: SqliteStore, path: Path) -> None:
    claim = journal.create(facts("s"))
    journal.write(claim, call(1, value=Packed({"b": 0}, [b"content" * 1000])))
    journal.write(claim, CellRow(number=1, code="x"))
    change(path, damage)
    with pytest.raises(JournalFailed, match=said):
        repr(journal.rows("s"))  # which reads what is large, too
    assert len(journal.cells("s")) == 1


def test_a_damaged_blob_is_not_handed_out(journal: SqliteStore, path: Path) -> None:
    journal.create(facts("s"))
    digest = journal.keep("s", b"content")
    change(path, "update blobs set content = x'00'")
    with pytest.raises(JournalFailed, match=digest):
        journal.blob(digest)


def test_a_damaged_file_is_told_so(path: Path) -> None:
    with closing(SqliteStore(path)) as journal:
        claim = journal.create(facts("s"))
        journal.write(claim, *(call(n, value=Packed("x" * 500, [])) for n in range(500)))
    with path.open("r+b") as file:
        for page in range(1, path.stat().st_size // 4096):
            file.seek(page * 4096)
            file.write(os.urandom(64))
    with pytest.raises(JournalFailed, match="the file is damaged") as told:
        with closing(SqliteStore(path)) as journal:
            journal.rows("s")
    one_line(told.value, path)


# large values


def test_a_damaged_schema_is_told_so(path: Path) -> None:
    SqliteStore(path).close()
    content = path.read_bytes()
    path.write_bytes(content.replace(b"CREATE TABLE decisions", b"CREATE T\xb5BLE decisions"))
    with pytest.raises(JournalFailed, match="the file is damaged; put a copy of it in its place"):
        SqliteStore(path)


def test_bytes_that_are_others_are_told_or_not_noticed_and_nothing_else(path: Path) -> None:
    with closing(SqliteStore(path)) as journal:
        for session in ("one", "two", "three"):
            claim = journal.create(facts(session))
            journal.write(claim, *(CellRow(number=n, code=f"alpha {n}", status="running") for n in range(20)))
        journal.catch_up()
    content, chance = path.read_bytes(), random.Random(6)
    for _ in range(150):
        damaged = bytearray(content)
        for _ in range(40):
            damaged[chance.randrange(100, len(damaged))] = chance.randrange(256)
        path.write_bytes(damaged)
        with suppress(CellwrightError), closing(SqliteStore(path)) as journal:
            for look in (journal.summaries, partial(journal.family, "two"), partial(journal.cells, "two")):
                with suppress(CellwrightError):
                    look()
        for beside in path.parent.glob("agents.db-*"):
            beside.unlink()


def test_a_large_value_is_stored_once_by_its_content(journal: SqliteStore, path: Path) -> None:
    claim, other = journal.create(facts("one")), journal.create(facts("two"))
    content, tree = b"x" * 100_000, ["word"] * 5000
    for n in range(10):
        journal.write(
            claim, call(n, "a", Packed({"b": 0}, [content, bytearray(content)])), call(n, "b", Packed(tree, []))
        )
        journal.write(other, call(n, "a", Packed([tree, {"b": 0}], [memoryview(content)])))
        journal.keep("two", content)
    assert ask(path, "select count(*) from blobs") == 3  # the bytes, and two trees
    assert ask(path, "select count(*) from uses") == 4
    assert ask(path, "select max(length(body)) from entries") < 1000
    journal.forget("one")
    assert ask(path, "select count(*) from blobs") == 2
    assert journal.rows("two", 9) == [call(9, "a", Packed([tree, {"b": 0}], [content]))]
    journal.forget("two")
    assert [ask(path, f"select count(*) from {table}") for table in TABLES] == [0] * len(TABLES)


@pytest.mark.parametrize(("size", "kept"), [(1023, 0), (1024, 1)])
def test_a_blob_of_a_kilobyte_is_a_large_one(size: int, kept: int, journal: SqliteStore, path: Path) -> None:
    journal.write(journal.create(facts("s")), call(1, value=Packed({"b": 0}, [b"x" * size])))
    assert ask(path, "select count(*) from blobs") == kept


async def test_fifty_megabytes_can_be_written_from_a_thread(journal: SqliteStore) -> None:
    claim, other = journal.create(facts("s")), journal.create(facts("other"))
    content = os.urandom(1 << 20) * 50
    large = call(1, value=Packed({"b": 0}, [content]))
    writing = asyncio.create_task(asyncio.to_thread(journal.write, claim, large))
    for n in range(100):
        journal.write(other, call(n))
        await asyncio.sleep(0)
    await writing
    digest = await asyncio.to_thread(journal.keep, "s", content)
    (found,) = await asyncio.to_thread(journal.rows, "s")
    assert found == large
    assert journal.blob(digest) == content
    assert len(journal.rows("other")) == 100


# many processes


def _take_over(path: Path, line: Connection) -> None:
    journal = SqliteStore(path)
    claim = journal.claim("s")
    line.send(len(journal.rows("s")))
    for n in range(100):
        journal.write(claim, call(n, "theirs"))
    line.send("wrote")
    line.recv()


def until_fenced(journal: SqliteStore, claim: Claim) -> int:
    """How many rows could be written as fast as it goes."""
    for n in range(10_000_000):
        try:
            journal.write(claim, call(n, "ours"))
        except Fenced:
            return n
    raise AssertionError("nobody took the session over")


def test_a_session_taken_by_another_process_is_fenced_from_that_moment_on(journal: SqliteStore, path: Path) -> None:
    claim = journal.create(facts("s"))
    ours, theirs = SPAWN.Pipe()
    child = SPAWN.Process(target=_take_over, args=(path, theirs), daemon=True)
    child.start()
    try:
        written = until_fenced(journal, claim)
        assert ours.poll(PATIENCE_S)
        assert ours.recv() == written  # what the other found when it had taken over: nothing came after
        assert ours.poll(PATIENCE_S)
        assert ours.recv() == "wrote"
        with pytest.raises(Fenced, match="taken over by another process"):
            journal.write(claim, call(0, "late"), call(1, "late"))
    finally:
        child.kill()
        child.join(PATIENCE_S)
    assert [row.path.partition("/")[2] for row in journal.rows("s")] == ["ours"] * written + ["theirs"] * 100


def _write_many(path: Path, name: str, count: int, line: Connection) -> None:
    line.recv()  # all begin at once, the making of the file too
    with closing(SqliteStore(path)) as journal:
        claim = journal.create(facts(name))
        for n in range(count):
            shared = Packed({"b": 0}, [b"shared" * 1000]) if n % 10 == 0 else None
            journal.write(claim, call(n, "a"))
            journal.write(claim, call(n, "a", shared), CellRow(number=n, code=name))
    line.send("done")


@pytest.mark.slow
def test_many_processes_write_to_sessions_of_their_own_at_once(path: Path) -> None:
    names, count = [f"s{n}" for n in range(6)], 100
    lines: list[Connection] = []
    children: list[SpawnProcess] = []
    for name in names:
        ours, theirs = SPAWN.Pipe()
        child = SPAWN.Process(target=_write_many, args=(path, name, count, theirs), daemon=True)
        child.start()
        lines.append(ours)
        children.append(child)
    try:
        for line in lines:
            line.send("go")
        assert [line.poll(PATIENCE_S) and line.recv() for line in lines] == ["done"] * len(names)
    finally:
        for child in children:
            child.kill()
            child.join(PATIENCE_S)
    with closing(SqliteStore(path)) as journal:
        assert sorted(journal.sessions()) == names
        for name in names:
            assert [row.cell for row in journal.rows(name)] == list(range(count))
            assert [(cell.number, cell.code) for cell in journal.cells(name)] == [(n, name) for n in range(count)]
    assert ask(path, "select count(*) from blobs") == 1


def test_a_claim_used_through_a_second_object_keeps_the_order(path: Path) -> None:
    with closing(SqliteStore(path)) as first, closing(SqliteStore(path)) as second:
        claim = first.create(facts("s"))
        first.write(claim, call(9), call(1))
        second.write(claim, call(5))
        second.write(claim, call(9, value=Packed(1, [])))
        assert [row.cell for row in second.rows("s")] == [9, 1, 5]


def test_a_claim_of_another_session_writes_nothing(journal: SqliteStore) -> None:
    one, two = journal.create(facts("one")), journal.create(facts("two"))
    with pytest.raises(Fenced):
        journal.write(Claim(session="two", epoch=one.epoch), call(1))
    with pytest.raises(Fenced):
        journal.write(Claim(session="one", epoch=two.epoch), call(1))
    assert (list(journal.rows("one")), list(journal.rows("two"))) == ([], [])


# crash tests


def test_a_listener_hears_of_each_durable_write(journal: SqliteStore) -> None:
    heard: list[tuple[int, str]] = []
    claim = journal.create(facts("s"))

    def listen(number: int, moment: str) -> None:
        heard.append((number, moment))

    journal.on_write = listen
    journal.write(claim, call(1))
    journal.write(claim, call(2), call(3))
    journal.keep("s", b"x")
    journal.claim("s")
    journal.on_write = None
    journal.write(journal.claim("s"), call(4))
    assert heard == [(n, moment) for n in (1, 2, 3, 4) for moment in ("before", "after")]


def test_a_listener_that_ends_the_write_before_it_leaves_nothing(journal: SqliteStore) -> None:
    claim = journal.create(facts("s"))

    def listen(number: int, moment: str) -> None:
        raise InterruptedError(f"{number} {moment}")

    journal.on_write = listen
    for changes in ((call(1),), (call(1), call(2))):
        with pytest.raises(InterruptedError):
            journal.write(claim, *changes)
    journal.on_write = None
    assert list(journal.rows("s")) == []
    journal.write(claim, call(3))


class Counted(SqliteStore):
    """Counts what SQLite does, in steps of its machine."""

    def steps(self, read: Callable[[], object]) -> int:
        count = 0

        def stepped() -> None:
            nonlocal count
            count += 1

        self._connection.set_progress_handler(stepped, 10)
        read()
        self._connection.set_progress_handler(None, 0)
        return count


def test_the_last_cells_of_a_long_session_are_read_without_the_others(path: Path) -> None:
    with closing(Counted(path)) as journal:
        claim = journal.create(facts("s"))
        for n in range(1, 201):
            journal.write(claim, CellRow(number=n, code="x"), *(call(n, m) for m in range(5)))
        assert [row.path for row in journal.rows("s", 200)] == [f"200/{m}" for m in range(5)]
        assert journal.steps(lambda: journal.rows("s", 200)) * 20 < journal.steps(lambda: journal.rows("s"))
        assert journal.steps(lambda: journal.cells("s", 200)) * 20 < journal.steps(lambda: journal.cells("s"))


def test_rows_that_came_before_their_cell_are_found_all_the_same(journal: SqliteStore) -> None:
    claim = journal.create(facts("s"))
    journal.write(claim, call(7))
    journal.write(claim, CellRow(number=1, code="x"))
    journal.write(claim, call(3))
    journal.write(claim, CellRow(number=9, code="x"), call(9))
    journal.write(journal.claim("s"), call(8, "late"), CellRow(number=12, code="x"))
    assert [row.cell for row in journal.rows("s", 3)] == [7, 3, 9, 8]
    assert [row.cell for row in journal.rows("s", 8)] == [9, 8]
    assert list(journal.rows("s", 12)) == []
