"""A bound SQLite connection reaches the data of its own database: no other file, and not the journal's.

The host's own use of the same connection stays as it was.
"""

from __future__ import annotations

import sqlite3
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, sessionmaker

from cellwright import Limits, Runtime, Scope

LAYER = "binding"


@pytest.fixture(autouse=True)
def opens_sessions(warm: None) -> None:
    """One zygote serves them all."""


@pytest.fixture
def orders(tmp_path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(tmp_path / "orders.db", check_same_thread=False, isolation_level=None)
    connection.execute("CREATE TABLE orders (name TEXT, price INT)")
    connection.execute("INSERT INTO orders VALUES ('tea', 3)")
    return connection


async def told(code: str, **names: Any) -> str:
    """The value of a cell as text, or the text of its error."""
    async with Runtime(names, limits=Limits()) as rt:
        outcome = await rt.execute(code)
    return str(outcome.value) if outcome.error is None else str(outcome.error).splitlines()[-1]


async def test_guest_code_does_not_attach_the_journal_of_its_own_session(
    orders: sqlite3.Connection, tmp_path: Path
) -> None:
    journal = tmp_path / "sessions.db"
    async with Runtime({"db": orders}, store=journal, limits=Limits()) as rt:
        attached = f"db.execute(\"ATTACH '{journal}' AS journal\")"
        code = f"{attached}\ndb.execute('SELECT name FROM journal.sqlite_master').fetchall()"
        outcome = await rt.execute(code)
    assert "ATTACH or VACUUM INTO, which opens another file, is not granted" in str(outcome.error)


FILES = [
    "ATTACH '{path}' AS x",
    "attach database '{path}' as x",
    "ATTACH 'file:{path}?mode=rwc' AS x",
    "ATTACH '{path}' || '' AS x",
    "VACUUM INTO '{path}'",
    "VACUUM main INTO '{path}'",
]


@pytest.mark.parametrize("sql", FILES)
@pytest.mark.parametrize("how", ["db.execute(sql)", "db.cursor().execute(sql)", "db.executescript(sql)"])
async def test_guest_sql_opens_and_writes_no_other_file(
    sql: str, how: str, orders: sqlite3.Connection, tmp_path: Path
) -> None:
    target = tmp_path / "written.db"
    text = await told(f"sql = {sql.format(path=target)!r}\n{how}", db=orders)
    assert "opens another file, is not granted by binding a database" in text
    assert not target.exists()


async def test_a_statement_that_the_host_has_prepared_is_asked_about_again(
    orders: sqlite3.Connection, tmp_path: Path
) -> None:
    target = tmp_path / "host.db"
    orders.execute("ATTACH ? AS mine", (str(target),))
    orders.execute("DETACH mine")
    text = await told("db.execute('ATTACH ? AS mine', (path,))", db=orders, path=str(tmp_path / "guest.db"))
    assert "is not granted" in text
    assert not (tmp_path / "guest.db").exists()
    orders.execute("ATTACH ? AS mine", (str(target),))
    orders.execute("CREATE TABLE mine.kept (a)")
    orders.execute("PRAGMA journal_mode = WAL")
    assert "is not granted" in await told("db.execute('DETACH mine')", db=orders)
    assert [name for _, name, _ in orders.execute("PRAGMA database_list")] == ["main", "mine"]


@pytest.mark.parametrize(
    "sql",
    [
        "PRAGMA writable_schema = 1",
        "PRAGMA temp_store_directory = '/tmp'",
        "PRAGMA journal_mode = OFF",
        "PRAGMA foreign_keys = 0",
        "PRAGMA database_list",
        "SELECT * FROM pragma_database_list",
        "SELECT load_extension('x')",
        "CREATE VIRTUAL TABLE t USING dbstat",
    ],
)
async def test_guest_sql_changes_no_setting_and_loads_no_code(sql: str, orders: sqlite3.Connection) -> None:
    assert "is not granted by binding a database" in await told(f"db.execute({sql!r}).fetchall()", db=orders)


async def test_other_sql_works(orders: sqlite3.Connection) -> None:
    code = """
    db.execute("INSERT INTO orders VALUES (?, ?)", ("scones", 4))
    db.execute("VACUUM")
    db.execute("CREATE TABLE more (a)")
    columns = [row[1] for row in db.execute("PRAGMA table_info(orders)").fetchall()]
    columns, db.execute("SELECT sum(price) FROM orders").fetchone(), db.execute("PRAGMA user_version").fetchone()
    """
    assert await told(code, db=orders) == "(['name', 'price'], (7,), (0,))"
    wrong = await told("db.execute('SELECT absent FROM orders')", db=orders)
    assert "no such column" in wrong


class Base(DeclarativeBase):
    pass


class Order(Base):
    __tablename__ = "orders"
    name: Mapped[str] = mapped_column(primary_key=True)


async def test_what_runs_when_a_query_is_iterated_or_sliced_is_guest_sql_too(tmp_path: Path) -> None:
    options: dict[str, Any] = {"check_same_thread": False}
    engine = sqlalchemy.create_engine(f"sqlite:///{tmp_path / 'orders.db'}", connect_args=options)
    Base.metadata.create_all(engine)
    target = tmp_path / "written.db"
    with Session(engine) as session:
        session.add(Order(name="tea"))
        session.commit()
        names: dict[str, Any] = {"session": session, "text": sqlalchemy.text, "Order": Order}
        scope = Scope(names)
        scope.declare("*.from_statement", hide=False)
        attached = f"session.query(Order).from_statement(text(\"ATTACH '{target}' AS x\"))"
        assert "binding it does not grant" in await told(f"list({attached})", **names)
        async with Runtime(scope, limits=Limits()) as rt:
            assert "is not granted by binding a database" in str((await rt.execute(f"list({attached})")).error)
        listing = 'session.query(Order).filter(text("(SELECT count(*) FROM pragma_database_list)"))'
        for use in (f"list({listing})", f"{listing}[0]"):
            assert "is not granted by binding a database" in await told(use, **names)
        assert await told("[order.name for order in session.query(Order)[0:5]]", **names) == "['tea']"
        flushed = "with maker.begin() as s:\n    s.add(Order(name=text('(SELECT file FROM pragma_database_list)')))"
        maker = sessionmaker(engine)
        assert "is not granted by binding a database" in await told(flushed, maker=maker, **names)
    assert not target.exists()


class Cursor:
    """A cursor of another driver: it cannot be given an authorizer."""

    def __init__(self, cursor: sqlite3.Cursor) -> None:
        self._cursor = cursor

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cursor, name)


class Driver:
    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, check_same_thread=False)

    def cursor(self) -> Cursor:
        return Cursor(self._connection.cursor())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


async def test_sqlite_by_a_driver_without_an_authorizer_is_refused(tmp_path: Path) -> None:
    engine = sqlalchemy.create_engine("sqlite://", creator=lambda: Driver(tmp_path / "a.db"))
    target = tmp_path / "written.db"
    with engine.connect() as connection:
        code = f"c.exec_driver_sql(\"ATTACH '{target}' AS x\")"
        assert "another driver than sqlite3" in await told(code, c=connection)
        assert connection.exec_driver_sql("SELECT 1").scalar() == 1
    assert not target.exists()


ASYNC = {
    "await conn.execute(text(sql))": "conn.execute",
    "await session.execute(text(sql))": "session.execute",
    "await session.stream(text(sql))": "session.stream",
    "await conn.stream(text(sql))": "",
    "async with conn.stream(text(sql)): pass": "",
    "async with engine.connect() as one:\n    await one.exec_driver_sql(sql)": "exec_driver_sql",
    "async with maker.begin() as s:\n    s.add(Order(name=text('(SELECT file FROM pragma_database_list)')))": "",
}
WORKS = {
    "async with maker.begin() as s:\n    s.add(Order(name='tea'))": "None",
    "[order.name for order in (await session.scalars(select(Order))).all()]": "['tea']",
    "(await session.get(Order, 'tea')).name": "'tea'",
    "rows = await session.stream(select(Order))\n[order.name async for order in rows.scalars()]": "['tea']",
    "async with conn.stream(text('SELECT 1')) as rows:\n    found = await rows.all()\nfound": "[(1,)]",
    "async with engine.begin() as one:\n    await one.execute(text('DELETE FROM orders'))": "None",
    "one = await engine.connect()\nawait (await one.begin()).rollback()\nawait one.close()": "None",
}


@pytest.mark.parametrize("place", ["/{path}", ""])
async def test_sqlalchemy_over_aiosqlite_opens_no_other_file_and_works(place: str, tmp_path: Path) -> None:
    pytest.importorskip("aiosqlite")
    pytest.importorskip("greenlet")
    asynchronous: Any = import_module("sqlalchemy.ext.asyncio")
    engine = asynchronous.create_async_engine("sqlite+aiosqlite://" + place.format(path=tmp_path / "orders.db"))
    target = tmp_path / "written.db"
    async with engine.begin() as connection:
        await connection.run_sync(Base.metadata.create_all)
    maker = asynchronous.async_sessionmaker(engine)
    async with maker() as session, engine.connect() as conn:
        names: dict[str, Any] = {"engine": engine, "session": session, "conn": conn, "maker": maker, "Order": Order}
        names |= {"text": sqlalchemy.text, "select": sqlalchemy.select, "sql": f"ATTACH '{target}' AS x"}
        async with Runtime(names, limits=Limits()) as rt:
            for code, worked in WORKS.items():
                assert repr((await rt.execute(code)).unwrap()) == worked, code
            for code, title in ASYNC.items():
                error = str((await rt.execute(code)).error)
                assert title in error, code
                assert "is not granted by binding a database" in error, code
        await conn.exec_driver_sql(f"ATTACH '{target}' AS mine")
    await engine.dispose()


async def test_sqlalchemy_over_sqlite_opens_no_other_file(tmp_path: Path) -> None:
    engine = sqlalchemy.create_engine(f"sqlite:///{tmp_path / 'orders.db'}")
    target = tmp_path / "written.db"
    with engine.connect() as connection:
        code = f"c.exec_driver_sql(\"ATTACH '{target}' AS x\")"
        assert "is not granted by binding a database" in await told(code, c=connection)
        assert await told("c.exec_driver_sql('SELECT 1, 2').fetchall()", c=connection) == "[(1, 2)]"
        connection.exec_driver_sql(f"ATTACH '{target}' AS mine")


DIRECT = {
    "await (await db.execute('SELECT name FROM orders')).fetchall()": "[('tea',)]",
    "async with db.execute('SELECT price FROM orders') as cursor:\n    row = await cursor.fetchone()\nrow": "(3,)",
    "[row async for row in await db.execute('SELECT 7')]": "[(7,)]",
    "await db.execute_fetchall('SELECT 8')": "[(8,)]",
    "await db.execute('INSERT INTO orders VALUES (?, ?)', ('milk', 1)); await db.commit(); db.total_changes": "2",
}
DIRECT_ATTACKS = (
    "await db.execute(sql)",
    "async with db.execute(sql): pass",
    "await db.executescript(sql)",
    "await db.execute_fetchall(sql)",
    "cursor = await db.cursor()\nawait cursor.execute(sql)",
    "[row async for row in await cursor.execute(sql)]",
    "await db.execute('PRAGMA temp_store_directory = 1')",
)


async def test_a_bound_aiosqlite_connection_opens_no_other_file_and_works(tmp_path: Path) -> None:
    aiosqlite = pytest.importorskip("aiosqlite")
    target = tmp_path / "written.db"
    async with aiosqlite.connect(tmp_path / "orders.db") as db:
        await db.execute("CREATE TABLE orders (name TEXT, price INT)")
        await db.execute("INSERT INTO orders VALUES ('tea', 3)")
        bound_cursor = await db.cursor()
        async with Runtime({"db": db, "cursor": bound_cursor, "sql": f"ATTACH '{target}' AS x"}, limits=Limits()) as rt:
            for code in DIRECT_ATTACKS:
                assert "is not granted by binding a database" in str((await rt.execute(code)).error), code
            for code, worked in DIRECT.items():
                assert repr((await rt.execute(code)).unwrap()) == worked, code
            for code in ("db.set_authorizer", "db.load_extension", "db.create_function", "cursor.connection"):
                assert "binding it does not grant this member" in str((await rt.execute(code)).error), code
        assert not target.exists()
        await db.execute(f"ATTACH '{target}' AS mine")
