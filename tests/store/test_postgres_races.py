"""Processes that want the same thing of one PostgreSQL store at the same moment: one of them gets it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing

import pytest
from tests.store.postgres_server import Server
from tests.store.racing import RACERS, race

from cellwright.store import Row
from cellwright.store.postgres import PostgresStore

Raced = tuple[dict[str, Counter[str]], PostgresStore]


@pytest.fixture(scope="module")
def raced(server: Server) -> Iterator[Raced]:
    """What came of it, and the store in which it did."""
    url = server.url(server.database())
    got = race(url)
    with closing(PostgresStore(url)) as store:
        yield got, store


def test_many_that_open_a_new_database_make_one_store(raced: Raced) -> None:
    got, store = raced
    assert got["opened"] == {store.id: RACERS}


def test_one_of_many_gets_a_session_that_nobody_holds(raced: Raced) -> None:
    results = raced[0]["claimed"]
    assert results.pop("claimed") == 1
    assert all(refused.startswith("SessionBusy: session 'claimed' is open in process") for refused in results)
    assert results.total() == RACERS - 1


def test_one_of_many_decides_a_question_and_the_others_are_told_who(raced: Raced) -> None:
    got, store = raced
    said = store.question("decided").decision
    assert said is not None
    assert store.granted("decided", "pay") == said
    assert got["decided"].pop(said.who) == 1
    assert all(f"is decided already: yes by {said.who}, at " in refused for refused in got["decided"])
    assert got["decided"].total() == RACERS - 1


def test_who_is_overtaken_writes_nothing_after_the_claim(raced: Raced) -> None:
    got, store = raced
    assert got["taken"] == {"done": RACERS}
    entries = store.entries("taken")
    epochs = [int(entry.change.path.partition("/")[0]) for entry in entries if isinstance(entry.change, Row)]
    assert epochs == sorted(epochs)
    assert [(entry.number, entry.parent) for entry in entries] == [(n + 1, n) for n in range(len(entries))]
