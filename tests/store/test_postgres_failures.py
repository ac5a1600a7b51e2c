"""What goes wrong between a store and its PostgreSQL server: one clear line, no password, and nothing is lost."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from tests.store.cutting import Line
from tests.store.postgres_server import PASSWORD, Server, new_server
from tests.store.test_postgres import facts

from cellwright.errors import CellwrightError, JournalFailed, UsageError
from cellwright.settings import install_command
from cellwright.store import CellRow, Checkpoint, Message, Row, digest_of, open_store
from cellwright.store.postgres import PostgresStore


@pytest.fixture(scope="module")
def mortal() -> Iterator[Server]:
    made = new_server()
    try:
        yield made
    finally:
        made.remove()


@pytest.fixture
def own(mortal: Server) -> Server:
    """A server that a test may kill."""
    if mortal.process is None:
        mortal.start()
    return mortal


def row(n: int) -> Row:
    return Row(cell=1, path=f"1/{n}", status="done")


def refused(url: str) -> CellwrightError:
    with pytest.raises(CellwrightError) as caught:
        open_store(url)
    assert "\n" not in str(caught.value)
    return caught.value


# opening


def test_an_address_where_nothing_is_says_so() -> None:
    error = refused("postgresql://someone@127.0.0.1:1/nothing")
    assert isinstance(error, JournalFailed)
    assert str(error).startswith(
        "journal postgresql://someone@127.0.0.1:1/nothing: it cannot be reached; check that the"
    )


def test_a_wrong_password_a_missing_user_and_a_missing_database_say_so(server: Server) -> None:
    assert "does not let this user in; check the user and the password" in str(refused(server.tcp("postgres", "wrong")))
    assert "does not let this user in" in str(refused(server.url("postgres", user="nobody_here")))
    assert "there is no such database; make it (createdb)" in str(refused(server.url("no_such_database")))


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://cellwright:{PASSWORD}-wrong@127.0.0.1:%PORT%/postgres",
        f"postgresql://cellwright:{PASSWORD}@127.0.0.1:%PORT%/no_such_database",
        f"postgresql://cellwright@127.0.0.1:%PORT%/no_such_database?password={PASSWORD}",
        f"postgresql://cellwright:{PASSWORD}@127.0.0.1:1/postgres",
        f"postgresql://cellwright:{PASSWORD}@no host/postgres",
        f"postgresql://cellwright:a/{PASSWORD}@127.0.0.1/postgres",
        f"postgresql://cellwright:a@{PASSWORD}@127.0.0.1/postgres",
        f"postgresql://cellwright:%zz{PASSWORD}@127.0.0.1/postgres",
        f"postgresql://cellwright:{PASSWORD}@127.0.0.1/postgres?nonsense={PASSWORD}",
        f"postgresql://cellwright:{PASSWORD}@127.0.0.1:%PORT%/postgres?schema=Not A Name",
        f"postgresql:/cellwright:{PASSWORD}@127.0.0.1/postgres",
        f"mysql://cellwright:{PASSWORD}@127.0.0.1/postgres",
        f"mysql://cellwright:a@b:{PASSWORD}@127.0.0.1/postgres?password={PASSWORD}",
    ],
)
def test_no_error_shows_the_password(url: str, server: Server) -> None:
    error: BaseException | None = refused(url.replace("%PORT%", str(server.port)))
    assert isinstance(error, JournalFailed | UsageError)
    while error is not None:  # nor does what it came from
        assert PASSWORD not in f"{error!r} {vars(error)}"
        assert not isinstance(error, psycopg.Error)
        error = error.__cause__ or error.__context__


@pytest.mark.usefixtures("database")
def test_a_store_does_not_show_its_password(server: Server, shared: str) -> None:
    with closing(PostgresStore(server.tcp(shared))) as store:
        assert repr(store).startswith("PostgresStore('postgresql://cellwright@127.0.0.1:")
        assert PASSWORD not in repr(store) + repr(store.address)


def test_without_the_driver_it_says_what_to_install() -> None:
    code = "import sys; sys.modules['psycopg'] = None\nfrom cellwright.store import open_store\n"
    code += "try: open_store('postgresql://host/db')\nexcept Exception as error: print(type(error).__name__, error)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True).stdout
    assert told == f"UsageError a PostgreSQL store needs a package: {install_command('postgres')}\n"


# a server that goes and comes


@pytest.mark.parametrize("how", [signal.SIGQUIT, signal.SIGINT])
def test_a_server_that_was_killed_and_started_between_writes_loses_nothing(how: int, own: Server) -> None:
    with closing(PostgresStore(own.url(own.database()))) as store:
        claim = store.create(facts("one"))
        written = 0
        for changes in ((row(0),), (row(1), CellRow(number=1, code="x")), (row(2),)):
            store.write(claim, *changes)
            written += len(changes)
            own.stop(how)
            own.start()
            assert store.summary("one").entries == written
        own.stop(how)
        own.start()
        store.write(claim, row(3))
        assert [one.path for one in store.rows("one")] == ["1/0", "1/1", "1/2", "1/3"]


def test_while_the_server_is_away_a_write_fails_in_one_line_and_then_goes_on(own: Server) -> None:
    with closing(PostgresStore(own.url(own.database()), patience_s=0.05)) as store:
        claim = store.create(facts("one"))
        store.write(claim, row(0))
        own.stop(signal.SIGQUIT)
        for tried in (lambda: store.write(claim, row(1)), lambda: store.rows("one"), lambda: store.claim("one")):
            with pytest.raises(JournalFailed, match="it cannot be reached; check that the server runs") as caught:
                tried()
            assert "\n" not in str(caught.value)
        own.start()
        store.write(claim, row(2))
        assert [one.path for one in store.rows("one")] == ["1/0", "1/2"]


def test_a_connection_that_the_server_ended_is_made_again(server: Server, shared: str, database: str) -> None:
    with closing(PostgresStore(database)) as store:
        claim = store.create(facts("one"))
        for n in range(3):
            others = "select pg_terminate_backend(pid, 10000) from pg_stat_activity "
            server.execute(shared, f"{others} where datname = current_database() and pid <> pg_backend_pid()")
            store.write(claim, row(n))
        assert len(store.rows("one")) == 3


# a line that is cut in the middle of a write


@pytest.fixture
def line(server: Server, shared: str, database: str, tmp_path: Path) -> Iterator[tuple[Line, PostgresStore]]:
    """A store whose line to the server can be cut."""
    port = 5432
    made = Line(server.home / f".s.PGSQL.{server.port}", tmp_path / f".s.PGSQL.{port}")
    url = f"postgresql://cellwright@/{shared}?host={tmp_path}&port={port}"
    with closing(PostgresStore(url, patience_s=5.0)) as store:
        try:
            yield made, store
        finally:
            made.close()


@pytest.mark.parametrize("changes", [(row(1),), (row(1), CellRow(number=1, code="x"))])
@pytest.mark.parametrize("word", [b"insert into entries", b"commit"])
def test_a_write_whose_answer_was_lost_is_made_once(
    changes: tuple[Row | CellRow, ...], word: bytes, line: tuple[Line, PostgresStore]
) -> None:
    cutter, store = line
    claim = store.create(facts("one"))
    store.write(claim, row(0))
    cutter.cut_after(word)
    store.write(claim, *changes)
    store.write(claim, row(2))
    assert cutter.cuts == (1 if len(changes) > 1 or word != b"commit" else 0)
    written = [entry.change for entry in store.entries("one")]
    assert written == [row(0), *changes, row(2)]


def test_a_message_whose_answer_was_lost_is_told_as_unsure_and_can_be_looked_for(
    line: tuple[Line, PostgresStore],
) -> None:
    cutter, store = line
    store.create(facts("one"))
    cutter.cut_after(b"commit")
    with pytest.raises(JournalFailed, match="lost in the middle of a write, which was made whole or not at all"):
        store.post("one", Message(kind="add", text="hello"))
    assert cutter.cuts == 1
    assert [one.text for one in store.inbox("one")] == ["hello"]


def test_a_claim_whose_answer_was_lost_is_made_again_and_holds(line: tuple[Line, PostgresStore]) -> None:
    cutter, store = line
    first = store.create(facts("one"))
    cutter.cut_after(b"commit")
    second = store.claim("one")
    assert cutter.cuts == 1
    assert second.epoch > first.epoch
    store.write(second, row(1))
    assert len(store.rows("one")) == 1


# what the server refuses


def test_a_full_disk_is_told_and_nothing_is_lost(server: Server, shared: str, database: str) -> None:
    with closing(PostgresStore(database)) as store:
        claim = store.create(facts("one"))
        store.write(claim, row(0))
        full = "create function cellwright.full() returns trigger language plpgsql as $$ begin raise exception "
        full += "'could not extend file: No space left on device' using errcode = '53100'; end $$"
        trigger = "create trigger full_disk before insert on cellwright.%s execute function cellwright.full()"
        server.execute(shared, full, *(trigger % table for table in ("entries", "checkpoints", "blobs")))
        content = b"state" * 1000
        for change in (
            row(1),
            CellRow(number=1, code="x"),
            Checkpoint(cell=1, digest=digest_of(content), signature="", content=content),
        ):
            with pytest.raises(JournalFailed, match="the server's disk is full; make room, then resume") as caught:
                store.write(claim, change)
            assert "\n" not in str(caught.value)
        for table in ("entries", "checkpoints", "blobs"):
            server.execute(shared, f"drop trigger full_disk on cellwright.{table}")
        store.write(claim, row(2))
        assert [one.path for one in store.rows("one")] == ["1/0", "1/2"]
        assert (len(store.cells("one")), len(store.checkpoints("one"))) == (0, 0)


def test_a_database_that_may_only_be_read_says_so_and_can_be_read(server: Server) -> None:
    database = server.url(name := server.database())
    with closing(PostgresStore(database)) as store:
        store.create(facts("one"))
    server.execute("postgres", f"alter database {name} set default_transaction_read_only to on")
    with closing(PostgresStore(database)) as store:
        assert list(store.sessions()) == ["one"]
        with pytest.raises(JournalFailed, match="it may only be read; name a server that takes writes"):
            store.claim("one")


def test_what_another_process_keeps_locked_is_told(server: Server, database: str) -> None:
    with closing(PostgresStore(database, patience_s=0.05)) as store, psycopg.connect(database) as other:
        claim = store.create(facts("one"))
        other.execute("select 1 from cellwright.sessions for update")
        with pytest.raises(JournalFailed, match="another process kept it locked for too long"):
            store.write(claim, row(1))
        other.rollback()
        store.write(claim, row(1))


def test_a_name_that_is_larger_than_the_server_takes_is_told(database: str) -> None:
    with closing(PostgresStore(database)) as store:
        name = "".join(digest_of(bytes([n])) for n in range(100))
        with pytest.raises(JournalFailed, match="a value is larger than PostgreSQL takes; hand over less at a time"):
            store.create(facts(name))
        assert list(store.sessions()) == []


def test_a_table_that_somebody_removed_is_told(server: Server, shared: str, database: str) -> None:
    with closing(PostgresStore(database)) as store:
        store.create(facts("one"))
        server.execute(shared, "drop table cellwright.entries")
        with pytest.raises(JournalFailed, match=r"PostgreSQL failed .*entries.* does not exist"):
            store.rows("one")
