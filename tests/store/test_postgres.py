"""PostgreSQL as a store: what every store promises, and what it does to a database."""

from __future__ import annotations

from contextlib import closing
from functools import partial

import pytest
from tests.store.postgres_server import Server

from cellwright.errors import JournalFailed, NoSession, UsageError
from cellwright.store import CellRow, Facts, Store, TurnRow, open_store
from cellwright.store.postgres import PostgresStore
from cellwright.store.postgres_schema import VERSION, plain, safe
from cellwright.testing import check_store
from cellwright_guest.wire import NOTHING


def facts(id: str) -> Facts:
    return Facts(id=id, created=1.5, seed=b"seed", pins={}, names=NOTHING)


def test_a_postgresql_database_keeps_every_promise_of_a_store(database: str) -> None:
    check_store(partial(PostgresStore, database), reopen=partial(PostgresStore, database))


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "PostgreSQL"])
def test_a_url_opens_it(scheme: str, database: str) -> None:
    with closing(open_store(database.replace("postgresql", scheme, 1))) as store:
        store.create(facts("one"))
    with closing(PostgresStore(database)) as again:
        assert list(again.sessions()) == ["one"]


def test_everything_lies_in_one_schema_and_nothing_else_is_touched(server: Server, shared: str, database: str) -> None:
    server.execute(shared, "create table public.sessions (mine text)", "insert into public.sessions values ('mine')")
    with closing(PostgresStore(database)) as store:
        store.create(facts("one"))
    outside = "select nspname, relname from pg_class c join pg_namespace n on n.oid = relnamespace "
    outside += "where nspname not like 'pg\\_%' and nspname not in ('information_schema', 'cellwright')"
    assert server.execute(shared, outside) == [("public", "sessions")]
    assert server.execute(shared, "select * from public.sessions") == [("mine",)]


def test_two_schemas_are_two_stores(database: str) -> None:
    with closing(PostgresStore(database)) as one, closing(PostgresStore(f"{database}&schema=other")) as two:
        one.create(facts("one"))
        two.create(facts("two"))
        assert (list(one.sessions()), list(two.sessions())) == (["one"], ["two"])
        assert one.workspaces != two.workspaces


def test_a_newer_version_is_refused_and_not_touched(server: Server, shared: str, database: str) -> None:
    PostgresStore(database).close()
    server.execute(shared, f"update cellwright.about set version = {VERSION + 1}")
    with pytest.raises(JournalFailed, match=f"has version {VERSION + 1} .* upgrade Cellwright"):
        PostgresStore(database)
    assert server.execute(shared, "select version from cellwright.about") == [(VERSION + 1,)]


@pytest.mark.parametrize("table", ["things (n int)", "about (n int)", "about (version int, id text)"])
def test_a_schema_of_something_else_is_refused_and_not_touched(
    table: str, server: Server, shared: str, database: str
) -> None:
    server.execute(shared, "create schema cellwright", f"create table cellwright.{table}")
    with pytest.raises(JournalFailed, match="tables of something else; name another with"):
        PostgresStore(database)
    assert server.execute(shared, "select count(*) from pg_class where relnamespace = 'cellwright'::regnamespace") == [
        (1,)
    ]


def test_a_user_who_may_make_no_schema_uses_one_that_was_made_for_them(
    server: Server, shared: str, database: str
) -> None:
    server.execute(shared, "create role modest login", "create schema prepared authorization modest")
    try:
        modest = server.url(shared, user="modest")
        with pytest.raises(JournalFailed, match="lacks rights in it; grant them"):
            PostgresStore(modest)
        with closing(PostgresStore(f"{modest}&schema=prepared")) as store:
            store.create(facts("one"))
            assert list(store.sessions()) == ["one"]
    finally:
        server.execute(shared, "drop schema prepared cascade", "drop role modest")


def test_a_database_of_another_encoding_is_refused(server: Server) -> None:
    name = server.database("template template0 encoding 'SQL_ASCII'")
    with pytest.raises(JournalFailed, match="its encoding is SQL_ASCII; make a database with the encoding UTF8"):
        PostgresStore(server.url(name))


def test_who_looks_for_a_session_makes_nothing(server: Server, shared: str, database: str) -> None:
    with pytest.raises(NoSession, match="there is no journal in postgresql://"):
        open_store(database, make=False)
    assert server.execute(shared, "select to_regnamespace('cellwright') is null") == [(True,)]
    PostgresStore(database).close()
    open_store(database, make=False).close()


@pytest.mark.parametrize(
    "text", ["", "plain", "\\", "\\0", "a\x00b", "\ud800", "\\ud800\udfff", "ü\N{GRINNING FACE}\n"]
)
def test_any_text_can_be_an_id(text: str, database: str) -> None:
    assert plain(safe(text)) == text
    with closing(PostgresStore(database)) as store:
        claim = store.create(facts(f"id {text}"))
        store.write(claim, TurnRow(number=1, task=text or "nothing"))
        assert list(store.sessions()) == [claim.session]
        assert store.summary(claim.session).id == claim.session
        assert store.turns(claim.session)[0].task == (text or "nothing")


def test_a_number_that_is_too_large_is_refused_and_the_store_goes_on(database: str) -> None:
    with closing(PostgresStore(database)) as store:
        claim = store.create(facts("one"))
        with pytest.raises(UsageError, match="a number is larger than a store keeps"):
            store.write(claim, CellRow(number=2**64, code="x"))
        store.write(claim, CellRow(number=1, code="x"))
        assert [cell.number for cell in store.cells("one")] == [1]


def test_the_writes_of_a_store_that_is_closed_are_refused(database: str) -> None:
    store = PostgresStore(database)
    claim = store.create(facts("one"))
    store.close()
    for tried in (lambda: store.write(claim, CellRow(number=1, code="")), lambda: store.rows("one")):
        with pytest.raises(UsageError, match="it is closed"):
            tried()


WORDS = {
    "orders": "for order in crm.find_orders(city='Oslo'):\n    print(order)",
    "camel": "shop.listOpenInvoices(limit=3)",
    "accents": "Die Straße nach Kraków führt über Malmö",
    "paths": "open('/data/2024-report.csv').read()  # https://example.org/a?b=c",
    "quotes": """it's "quoted" <b>bold</b> & a\\b | c:* !d <-> e""",
    "long": f"{'x' * 5000} needle {'y ' * 3000} thread",
}
QUERIES = [
    *("orders", "find_orders", "crm.find_orders", "oslo", "ORD*", "invoices", "listOpenInvoices", "strasse", "krakow"),
    *(
        "malmo",
        '"nach Kraków"',
        '"Kraków nach"',
        "report.csv",
        "2024*",
        "example.org",
        "bold",
        "a\\b",
        "c:*",
        "!d",
        "<->",
    ),
    *("needle thread", "it's", "nowhere orders", "'; drop table texts", "*", '"', "", "( |", "needle*", "zzz"),
]


def found_in(store: Store) -> dict[str, set[str]]:
    for id, text in WORDS.items():
        store.write(store.create(facts(id)), TurnRow(number=1, task=text))
    return {query: {hit.session for hit in store.search(query)} for query in QUERIES}


def test_a_search_finds_what_it_finds_in_sqlite(database: str) -> None:
    with closing(open_store("memory:")) as other, closing(PostgresStore(database)) as store:
        wanted = found_in(other)
        wanted["strasse"] = {"accents"}  # SQLite does not know that letter
        assert found_in(store) == wanted


def test_a_snippet_shows_what_was_found(database: str) -> None:
    with closing(PostgresStore(database)) as store:
        found_in(store)
        shown = {query: store.search(query)[0].snippet for query in ("find_orders", "needle", "invoices", "krakow")}
    assert shown["find_orders"].startswith("for order in crm.\x02find_orders\x03(city")
    assert "x \x02needle\x03 y y" in shown["needle"]
    assert len(shown["needle"]) < 400
    assert shown["invoices"] == "shop.listOpen\x02Invoices\x03(limit=3)"
    assert shown["krakow"] == "Die Straße nach \x02Kraków\x03 führt über Malmö"
