"""`sqlite3`: a connection that lives on the host, used from the guest as any script uses one."""

from __future__ import annotations

import sqlite3
from textwrap import dedent
from typing import Any

from tests.cells import PATIENT, failure, value

from cellwright import Runtime, Scope

FILL = """
    db = connect(":memory:")
    db.execute("create table item (id integer primary key, name text unique, price real)")
    db.executemany("insert into item (name, price) values (?, ?)", [("pen", 1.5), ("ink", 7.0), ("pad", 3.25)])
"""


async def shop(code: str, *granted: str, **names: Any) -> Any:
    """The value of the code. `granted`: members of connections that are declared."""
    scope = Scope({"connect": sqlite3.connect, **names})
    for name in granted:
        scope.declare(f"Connection.{name}", hide=False)
    async with Runtime(scope, limits=PATIENT) as rt:
        return [(await rt.execute(dedent(cell))).unwrap() for cell in (FILL, code)][-1]


def keyed(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path)
    connection.row_factory = sqlite3.Row
    return connection


async def test_a_query_gives_its_rows() -> None:
    assert await shop("db.execute('select name from item where price > ?', (2,)).fetchall()") == [("ink",), ("pad",)]


async def test_a_for_loop_goes_over_the_rows_of_a_cursor() -> None:
    code = """
        found = {}
        for name, price in db.execute("select name, price from item order by name"):
            found[name] = price
        found
    """
    assert await shop(code) == {"ink": 7.0, "pad": 3.25, "pen": 1.5}


async def test_named_parameters_and_the_description_of_a_cursor_work() -> None:
    code = """
        cursor = db.cursor()
        cursor.execute("select name, price from item where name = :name", {"name": "ink"})
        [column[0] for column in cursor.description], cursor.fetchone(), cursor.fetchone()
    """
    assert await shop(code) == (["name", "price"], ("ink", 7.0), None)


async def test_executemany_draws_from_a_generator_of_the_guest() -> None:
    code = """
        count = db.executemany("insert into item (name) values (?)", ((f"n{i}",) for i in range(4))).rowcount
        count, db.execute("select count(*) from item").fetchone()[0]
    """
    assert await shop(code) == (4, 7)


async def test_the_context_manager_commits_and_rolls_back() -> None:
    code = """
        with db:
            db.execute("insert into item (name) values ('kept')")
        try:
            with db:
                db.execute("insert into item (name) values ('lost')")
                raise ValueError("changed my mind")
        except ValueError as error:
            why = str(error)
        why, db.execute("select name from item where id > 3").fetchall(), db.in_transaction
    """
    assert await shop(code) == ("changed my mind", [("kept",)], False)


async def test_an_error_is_caught_by_its_class_and_by_its_bases() -> None:
    code = """
        caught = []
        for kind in (sqlite3.IntegrityError, sqlite3.DatabaseError, sqlite3.Error, Exception):
            try:
                db.execute("insert into item (name) values ('pen')")
            except kind as error:
                caught.append((type(error).__name__, str(error), error.sqlite_errorname))
        set(caught)
    """
    found = await shop(code, sqlite3=sqlite3)
    assert found == {("IntegrityError", "UNIQUE constraint failed: item.name", "SQLITE_CONSTRAINT_UNIQUE")}


async def test_a_wrong_query_is_told_with_the_cells_own_line() -> None:
    error = await failure(FILL, "db.execute('selec 1')", connect=sqlite3.connect)
    assert error.type == "OperationalError"
    assert 'near "selec": syntax error' in error.message
    assert error.line == 1


async def test_row_objects_give_columns_by_name_by_number_and_as_a_dict() -> None:
    code = """
        db = keyed(":memory:")
        row = db.execute("select 2 as id, 'ink' as name, 7.0 as price").fetchone()
        row["name"], row[0], row.keys(), len(row), dict(row), tuple(row)
    """
    as_dict = {"id": 2, "name": "ink", "price": 7.0}
    expected = ("ink", 2, ["id", "name", "price"], 3, as_dict, (2, "ink", 7.0))
    assert await shop(code, keyed=keyed) == expected


async def test_a_guest_lambda_is_an_sql_function() -> None:
    code = """
        rate = 1.25
        db.create_function("gross", 1, lambda price: round(price * rate, 2))
        db.execute("select name from item where gross(price) > 4").fetchall()
    """
    assert await shop(code, "create_function") == [("ink",), ("pad",)]


async def test_an_error_in_a_guest_function_reaches_sql_and_comes_back() -> None:
    code = """
        db.create_function("broken", 1, lambda price: 1 / 0)
        try:
            db.execute("select broken(price) from item").fetchall()
        except sqlite3.OperationalError as error:
            told = str(error)
        told
    """
    assert await shop(code, "create_function", sqlite3=sqlite3) == "user-defined function raised exception"


async def test_a_collation_and_a_trace_of_the_guest_are_called() -> None:
    code = """
        seen = []
        db.create_collation("backwards", lambda a, b: (a < b) - (a > b))
        db.set_trace_callback(seen.append)
        names = [name for (name,) in db.execute("select name from item order by name collate backwards")]
        db.set_trace_callback(None)
        names, len(seen)
    """
    assert await shop(code, "create_collation", "set_trace_callback") == (["pen", "pad", "ink"], 1)


async def test_blobs_scripts_and_dumps_cross() -> None:
    code = """
        db.executescript("create table file (body blob); create index by_body on file (body);")
        db.execute("insert into file values (?)", (bytes(range(256)) * 100,))
        body = db.execute("select body from file").fetchone()[0]
        len(body), body[:3], sum("CREATE" in line for line in db.iterdump())
    """
    assert await shop(code) == (25600, b"\x00\x01\x02", 3)


async def test_closing_works_and_a_closed_connection_says_so() -> None:
    code = """
        from contextlib import closing
        with closing(db.cursor()) as cursor:
            first = cursor.execute("select 1").fetchone()
        db.close()
        try:
            db.execute("select 1")
        except sqlite3.ProgrammingError as error:
            first += (str(error),)
        first
    """
    assert await shop(code, sqlite3=sqlite3) == (1, "Cannot operate on a closed database.")


async def test_a_connection_made_by_the_guests_call_stays_on_one_thread_through_all_cells() -> None:
    cells = (
        "db = connect(':memory:')",  # check_same_thread is on: another thread would raise
        "db.execute('create table t (x)')",
        "import threading\nt = threading.Thread(target=db.execute, args=['insert into t values (1)'])",
        "t.start(); t.join()",
        "db.execute('select x from t').fetchall()",
    )
    assert await value(*cells, connect=sqlite3.connect) == [(1,)]


async def test_methods_that_load_code_into_the_host_are_hidden() -> None:
    error = await failure(FILL, "db.enable_load_extension(True)", connect=sqlite3.connect)
    assert error.type == "NotPublic"
