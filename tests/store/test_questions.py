"""Questions and messages in a file: many processes, a death at each write, a disk that is full."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from cellwright.errors import JournalFailed, UsageError
from cellwright.store import (
    CellRow,
    Claim,
    Decision,
    Facts,
    Message,
    Note,
    Question,
    Row,
    SqliteStore,
    TurnRow,
)
from cellwright_guest.wire import NOTHING, Packed

PATIENCE_S = 60
SPAWN = multiprocessing.get_context("spawn")


def facts(id: str) -> Facts:
    return Facts(id=id, created=0.0, seed=b"seed", pins={}, names=NOTHING)


def question(id: str) -> Question:
    return Question(id=id, session="s", cell=1, path="1#1", operation="crm.delete", arguments="(7)", asked=1.0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "agents.db"


@pytest.fixture
def store(path: Path) -> Generator[SqliteStore]:
    with closing(SqliteStore(path)) as store:
        yield store


def _decide(path: Path, who: str, line: Connection) -> None:
    with closing(SqliteStore(path)) as store:
        line.send("ready")
        line.recv()
        for n in range(20):
            try:
                line.send(str(store.decide(f"q{n}", Decision(yes=True, who=who)).decision))
            except UsageError as refused:
                line.send(str(refused))


def test_of_two_processes_that_decide_at_once_one_does_and_the_other_is_told_who(
    store: SqliteStore, path: Path
) -> None:
    claim = store.create(facts("s"))
    for n in range(20):
        store.ask(claim, question(f"q{n}"))
    pipes = [SPAWN.Pipe() for _ in range(2)]
    children = [
        SPAWN.Process(target=_decide, args=(path, f"person {n}", theirs), daemon=True)
        for n, (_, theirs) in enumerate(pipes)
    ]
    for child in children:
        child.start()
    try:
        told: list[list[str]] = []
        for ours, _ in pipes:
            assert ours.poll(PATIENCE_S)
            assert ours.recv() == "ready"
        for ours, _ in pipes:
            ours.send("go")
        for ours, _ in pipes:
            told.append([ours.recv() for _ in range(20) if ours.poll(PATIENCE_S)])
    finally:
        for child in children:
            child.kill()
            child.join(PATIENCE_S)
    for n, (first, second) in enumerate(zip(*told, strict=True)):
        said = store.question(f"q{n}").decision
        assert said is not None
        assert sorted(["Decision(" in first, "Decision(" in second]) == [False, True]
        refused = second if "Decision(" in first else first
        assert refused.startswith(f"question 'q{n}' is decided already: yes by {said.who}, at 20")


Write = Callable[[SqliteStore, Claim], object]
WRITES: dict[str, tuple[Write, Callable[[SqliteStore], bool]]] = {
    "ask": (lambda store, claim: store.ask(claim, question("new")), lambda store: len(store.questions("s")) == 2),
    "decide": (lambda store, _: store.decide("old", Decision(yes=True)), lambda store: not store.questions("s")),
    "post": (lambda store, _: store.post("s", Message(kind="add")), lambda store: len(store.inbox("s")) == 2),
    "take up": (lambda store, claim: store.write(claim, Note(kind="message", about="1")), lambda s: not s.inbox("s")),
    "a turn": (lambda store, claim: store.write(claim, TurnRow(number=1, task="x")), lambda s: bool(s.turns("s"))),
    "a row": (lambda store, claim: store.write(claim, Row(cell=1, path="1#1")), lambda s: bool(s.rows("s"))),
    "forget": (lambda store, _: store.forget("s"), lambda store: "s" not in store.sessions()),
}


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("name", WRITES)
def test_a_death_before_or_after_a_write_leaves_nothing_or_all_of_it(
    name: str, moment: str, store: SqliteStore, path: Path
) -> None:
    write, is_there = WRITES[name]
    claim = store.create(facts("s"))
    store.write(claim, CellRow(number=1, code="x"))
    store.ask(claim, question("old"))
    store.post("s", Message(kind="add", text="hello"))

    def die(number: int, when: str) -> None:
        if when == moment:
            raise InterruptedError

    store.on_write = die
    with pytest.raises(InterruptedError):
        write(store, claim)
    store.on_write = None
    with closing(SqliteStore(path)) as again:
        assert is_there(again) == (moment == "after")


class Small(SqliteStore):
    """A file that cannot grow beyond so many pages more."""

    def leave(self, pages: int | None) -> None:
        ((count,),) = self._fetch("pragma page_count")
        self._fetch(f"pragma max_page_count = {1 << 30 if pages is None else count + pages}")


def test_a_full_disk_is_told_in_one_line_and_all_goes_on_when_there_is_room(path: Path) -> None:
    tried: list[Callable[[], object]] = []
    with closing(Small(path)) as store:
        claim = store.create(facts("s"))
        store.write(claim, CellRow(number=1, code="alpha"), *(Row(cell=1, path=f"1#{n}") for n in range(20)))
        tried += [
            lambda: store.write(claim, *(Row(cell=1, path=f"2#{n}", name="x" * 3000) for n in range(20))),
            lambda: store.write(claim, Row(cell=1, path="3#1", value=Packed({"b": 0}, [os.urandom(100_000)]))),
            lambda: store.keep("s", os.urandom(100_000)),
            lambda: store.post("s", Message(kind="add", text="x" * 100_000)),
            lambda: store.ask(claim, replace(question("q"), arguments="x" * 100_000)),
            lambda: store.search("alpha"),
        ]
        for attempt in tried:
            store.leave(1)
            with pytest.raises(JournalFailed, match=r"the disk is full; make room, then resume") as told:
                attempt()
            assert "\n" not in str(told.value)
            assert (len(store.rows("s")), len(store.questions("s")), len(store.inbox("s"))) == (20, 0, 0)
        store.leave(None)
        for attempt in tried:
            attempt()
        assert (len(store.rows("s")), len(store.questions("s")), len(store.inbox("s"))) == (41, 1, 1)
        assert len(store.search("alpha")) == 1
