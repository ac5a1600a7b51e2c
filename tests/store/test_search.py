"""The search index of a file: made when it is wanted, made again when it is damaged, and bounded."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest

from cellwright.store import CellRow, Facts, Reach, Row, SqliteStore, TurnRow, sqlite_search
from cellwright.store.entry_texts import LONGEST
from cellwright.store.snippets import snippet_of
from cellwright_guest.packer import Packer, plain
from cellwright_guest.wire import NOTHING, Packed


def facts(id: str) -> Facts:
    return Facts(id=id, created=0.0, seed=b"seed", pins={}, names=NOTHING)


def cell(number: int, code: str, **fields: str) -> CellRow:
    return CellRow(number=number, code=code, status="done", stdout=fields.get("stdout", ""))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "agents.db"


@pytest.fixture
def store(path: Path) -> Generator[SqliteStore]:
    with closing(SqliteStore(path)) as store:
        yield store


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def ask(path: Path, sql: str) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchone()[0]


def test_writing_makes_no_index_and_searching_does(store: SqliteStore, path: Path) -> None:
    store.write(store.create(facts("s")), cell(1, "alpha"))
    assert ask(path, "select count(*) from sqlite_master where name = 'found'") == 0
    assert [hit.entry for hit in store.search("alpha")] == [1]
    assert ask(path, "select count(*) from texts") == 1


def test_a_file_with_an_index_is_opened_again(store: SqliteStore, path: Path) -> None:
    store.write(claim := store.create(facts("s")), cell(1, "alpha"))
    assert store.catch_up() == 1
    with closing(SqliteStore(path)) as again:
        assert again.catch_up() == 0
        again.write(claim, cell(2, "alpha beta"))
        assert sorted(hit.entry for hit in again.search("alpha")) == [1, 2]
    assert [hit.entry for hit in store.search("beta")] == [2]


@pytest.mark.parametrize(
    "damage",
    [
        ["drop table found"],
        ["delete from found_data"],
        ["update found_data set block = x'00ff00ff00ff' where id > 1"],
        ["update found_data set block = zeroblob(10)"],
        ["delete from found_content"],
        ["delete from found_docsize"],
        ["delete from found_config"],
        ["drop table found_data"],
        ["drop table found_config", "drop table found_idx"],
    ],
    ids=lambda damage: damage[0],
)
def test_an_index_that_is_damaged_or_gone_is_made_again(damage: list[str], store: SqliteStore, path: Path) -> None:
    claim = store.create(facts("s"))
    store.write(claim, *(cell(n, f"alpha word{n}") for n in range(1, 40)))
    assert len(store.search("alpha", limit=100)) == 39
    change(path, *damage)
    store.write(claim, cell(40, "alpha word40"))
    with closing(SqliteStore(path)) as again:
        assert sorted(hit.entry for hit in again.search("alpha", limit=100)) == list(range(1, 41))
        assert [hit.entry for hit in again.search("word40")] == [40]
        assert again.forget("s").indexed == 40


def test_a_session_is_forgotten_under_a_damaged_index(store: SqliteStore, path: Path) -> None:
    for name in ("s", "t"):
        store.write(store.create(facts(name)), cell(1, "alpha"))
    assert len(store.search("alpha")) == 2
    change(path, "update found_data set block = x'00'")
    with closing(SqliteStore(path)) as again:
        assert again.forget("s").indexed == 1
        assert [hit.session for hit in again.search("alpha")] == ["t"]


def test_entries_that_are_damaged_are_left_out(store: SqliteStore, path: Path) -> None:
    store.write(store.create(facts("s")), cell(1, "alpha"), cell(2, "alpha"), cell(3, "alpha"))
    change(path, "update entries set body = '[1' where number = 2")
    assert sorted(hit.entry for hit in store.search("alpha")) == [1, 3]


def test_it_is_taken_in_by_batches_and_goes_on_where_it_ended(
    store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_search, "BATCH", 10)
    claim = store.create(facts("s"))
    store.write(claim, *(cell(n, "alpha") for n in range(1, 26)), Row(cell=1, path="1#1"))
    other = store.create(facts("t"))
    store.write(other, cell(1, "alpha"))
    assert store.catch_up() == 26
    assert len(store.search("alpha", limit=100)) == 26
    assert ask(path, "select sum(stale) from sessions") == 0
    assert ask(path, "select indexed from sessions where id = 's'") == 26


def test_another_process_may_write_while_it_is_taken_in(
    store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_search, "BATCH", 1)
    claim = store.create(facts("s"))
    store.write(claim, *(cell(n, "alpha") for n in range(1, 6)))
    with closing(SqliteStore(path)) as other:
        theirs = other.create(facts("t"))
        wrote: list[int] = []

        def between(statement: str) -> None:
            if statement.lower().startswith("select n, indexed") and len(wrote) < 3:
                wrote.append(other.write(theirs, Row(cell=1, path=f"1#{len(wrote)}")))

        watched = Watched(path)
        with closing(watched):
            watched.watch(between)
            watched.catch_up()
        assert len(wrote) == 3
        assert len(other.rows("t")) == 3


class Watched(SqliteStore):
    def watch(self, seen: object) -> None:
        fetch = self._read

        def read(sql: str, *values: object) -> list[tuple[object, ...]]:
            assert callable(seen)
            seen(sql)
            return fetch(sql, *values)

        self._read = read


def test_a_text_is_bounded(store: SqliteStore) -> None:
    store.write(store.create(facts("s")), cell(1, f"{'x ' * LONGEST} omega", stdout="word " * 20_000))
    assert store.search("omega") == []
    (hit,) = store.search("word")
    assert len(hit.snippet) < 400


def test_what_a_model_said_is_found_without_the_code_that_cells_have(store: SqliteStore) -> None:
    claim = store.create(facts("s"))
    asked = packed({"base": 0, "kept": 0, "messages": [{"kind": "asked", "text": "the task"}], "generation": {}})
    said = packed(
        {"message": {"kind": "said", "text": "Thinking aloud\n```python\nhidden()\n```\nthen more", "calls": []}}
    )
    reply = Row(cell=0, path="model#1", door="model", status="done", arguments=asked, value=said)
    store.write(claim, reply)
    assert [hit.kind for hit in store.search("aloud")] == ["reply"]
    assert [hit.kind for hit in store.search("task")] == ["prompt"]  # no turn has it
    assert store.search("hidden") == []
    turns = store.create(facts("t"))
    answer = packed({"message": {"kind": "said", "text": "forty two", "calls": []}})
    store.write(turns, TurnRow(number=1, task="the task"), Row(cell=0, path="model#1", door="model", value=answer))
    store.write(turns, TurnRow(number=1, task="the task", status="done", answer="forty two"))
    (hit,) = store.search("forty", within=[Reach(session="t")])
    assert (hit.kind, hit.entry) == ("reply", 2)
    assert len(store.search("task", within=[Reach(session="t")])) == 1


def packed(value: object) -> Packed:
    return Packer(plain).packed(value)


def test_a_model_that_repeats_a_fence_for_ever_is_taken_in_at_once(store: SqliteStore) -> None:
    said = packed({"message": {"text": "alpha\n" + "```python\n" * 50_000}})
    store.write(store.create(facts("s")), Row(cell=0, path="1", door="model", status="done", value=said))
    assert [hit.kind for hit in store.search("alpha")] == ["reply"]


def test_a_long_text_that_a_cell_came_to_is_found(store: SqliteStore) -> None:
    value = packed({"report": "words " * 2000 + "omega", "count": 12345})
    store.write(store.create(facts("s")), CellRow(number=1, code="x", status="done", value=value))
    assert [hit.kind for hit in store.search("omega")] == ["output"]
    assert [hit.kind for hit in store.search("12345")] == ["output"]


def test_a_row_of_the_model_that_no_model_wrote_is_left_out(store: SqliteStore) -> None:
    claim = store.create(facts("s"))
    for n, value in enumerate((Packed(1, []), Packed({"d": [["message", 5]]}, []), Packed({"b": 7}, []), NOTHING)):
        store.write(claim, Row(cell=0, path=f"model#{n}", door="model", value=value, arguments=value))
    store.write(claim, cell(1, "alpha"))
    assert len(store.search("alpha")) == 1


def test_many_sessions_can_be_named(store: SqliteStore) -> None:
    for n in range(1500):
        store.create(facts(f"s{n}"))
    store.write(store.claim("s700"), cell(1, "alpha"), cell(2, "alpha"))
    whole = [Reach(session=f"s{n}") for n in range(1500)]
    parts = [Reach(session=f"s{n}", upto=1) for n in range(1500)]
    assert (len(store.search("alpha", within=whole)), len(store.search("alpha", within=parts))) == (2, 1)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a \x02b\x03 c", "a \x02b\x03 c"),
        ("nothing", "nothing"),
        ("findOrders", "find\x02Orders\x03"),
        (
            "word " * 20 + "\x02hit\x03" + " word" * 60,
            "…word word word word word word word \x02hit\x03" + " word" * 38 + "…",
        ),
    ],
)
def test_a_snippet_shows_what_matched_with_what_stands_round_it(text: str, wanted: str) -> None:
    assert snippet_of(text, ["orders"]) == wanted
