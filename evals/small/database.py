"""A real sqlite3 connection, bound as it is. Its cursors make no sense one call at a time."""

from __future__ import annotations

import sqlite3

from evals.small.checks import equals, every, state
from evals.small.task import Trial, task

SCHEMA = """
create table customers (id integer primary key, name text, country text);
create table invoices (id integer primary key, customer_id integer, year integer, amount integer, archived integer);
insert into customers values (1, 'Alto', 'NO'), (2, 'Brink', 'SE'), (3, 'Corda', 'NO'), (4, 'Delfi', 'DK');
insert into invoices values
    (1, 1, 2022, 300, 0), (2, 2, 2022, 450, 1), (3, 1, 2023, 120, 0), (4, 3, 2024, 900, 0),
    (5, 4, 2023, 610, 0), (6, 2, 2024, 480, 0), (7, 1, 2024, 700, 0), (8, 3, 2025, 50, 0);
"""


def _database() -> sqlite3.Connection:
    # Opened here and used on the session's worker thread.
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.executescript(SCHEMA)
    return connection


@task(
    id="database-count",
    prompt="""The sqlite3 connection `db` has a table invoices with the columns id, customer_id, year, amount and
        archived. How many invoices are from the year 2024?""",
    returns=int,
    tags="lookup handles",
    solution="done(db.execute('select count(*) from invoices where year = 2024').fetchone()[0])",
    wrong=("done(db.execute('select count(*) from invoices').fetchone()[0])",),
    code_only=True,
)
def count() -> Trial:
    return Trial(scope={"db": _database()}, check=equals(3))


@task(
    id="database-by-customer",
    prompt="""The sqlite3 connection `db` has the tables customers (id, name, country) and invoices (id, customer_id,
        year, amount, archived). Give the total amount of the invoices of each customer in the country NO, as a
        dictionary from customer name to total.""",
    returns=dict[str, int],
    tags="join aggregate handles",
    solution='''
rows = db.execute("""
    select name, sum(amount) from customers join invoices on customer_id = customers.id
    where country = 'NO' group by name
""").fetchall()
done(dict(rows))
''',
    wrong=(
        "done(dict(db.execute('select name, sum(amount) from customers c join invoices i on c.id = i.customer_id "
        "group by 1').fetchall()))",
    ),
    code_only=True,
)
def by_customer() -> Trial:
    return Trial(scope={"db": _database()}, check=equals({"Alto": 1120, "Corda": 950}))


@task(
    id="database-archive",
    prompt="""The sqlite3 connection `db` has a table invoices with the columns id, customer_id, year, amount and
        archived, which is 0 or 1. Set archived to 1 for all invoices from before 2024, and give the number of
        rows that were 0 and are now 1.""",
    returns=int,
    tags="effect handles",
    solution="""
cursor = db.execute("update invoices set archived = 1 where year < 2024 and archived = 0")
db.commit()
done(cursor.rowcount)
""",
    wrong=(
        "done(db.execute('update invoices set archived = 1 where year < 2024').rowcount)",
        "done(db.execute('select count(*) from invoices where year < 2024 and archived = 0').fetchone()[0])",
    ),
    code_only=True,
)
def archive() -> Trial:
    db = _database()
    archived = state(
        "archived", lambda: db.execute("select id from invoices where archived").fetchall(), [(1,), (2,), (3,), (5,)]
    )
    return Trial(scope={"db": db}, check=every(equals(3), archived))


TASKS = (count, by_customer, archive)
