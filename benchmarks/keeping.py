"""An entry added to a session, beside a bare commit of as many bytes; and ten thousand sessions listed."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path

from benchmarks.bare import BareDatabase
from benchmarks.results import Check
from benchmarks.run import Run, median
from cellwright.store import Facts, Row, SqliteStore, TurnRow
from cellwright.store.row_codec import row_body
from cellwright_guest.wire import NOTHING, Packed

APPEND_TARGET, LIST_TARGET = 1.5, 2.0
BLOCK = 100
LISTED = (
    "select id, title, state, created, updated, turns, cells, entries, name, agent, parent, parent_cell, parent_entry, "
    "child_of from sessions order by updated desc"
)


def facts(session: str) -> Facts:
    return Facts(id=session, created=1.0, seed=b"s" * 32, pins={}, names=NOTHING)


def measure(run: Run, directory: Path) -> list[Check]:
    return [_append(run, directory), _listed(run, directory)]


def _append(run: Run, directory: Path) -> Check:
    store, bare = SqliteStore(directory / "append.db"), BareDatabase(directory / "bare.db", "normal")
    claim = store.create(facts("s"))
    arguments = Packed({"t": [[1, "to"], {"m": {"subject": "an argument of a usual length"}}]}, [])
    row = Row(cell=1, path="1#0", title="mail.send", verb="call", target=3, name="send", arguments=arguments)
    bare.body = str(row_body(row, {}))
    ours: list[float] = []
    theirs: list[float] = []
    with closing(store), closing(bare):
        for number in run.rounds("entries added to a session", 60, 2):
            rows = [
                Row(cell=1, path=f"1#{number * BLOCK + i}", title="mail.send", verb="call", target=3, name="send",
                    arguments=arguments)
                for i in range(BLOCK)
            ]  # fmt: skip
            for one in rows:
                began = time.perf_counter()
                store.write(claim, one)
                ours.append(time.perf_counter() - began)
            theirs += bare.commits(BLOCK)
        assert len(store.rows("s")) == len(ours)
    return Check(
        subject="sessions",
        what="add an entry, claim checked",
        against=f"bare commit of {len(bare.body)} bytes",
        ours=median(ours),
        theirs=median(theirs),
        value=median(ours) / median(theirs),
        target=APPEND_TARGET,
        samples=len(ours),
    )


def _listed(run: Run, directory: Path) -> Check:
    count = run.count(10_000, 200)
    path = directory / "list.db"
    store = SqliteStore(path)
    for number in run.rounds(f"{count:,} sessions made", count, count):
        claim = store.create(facts(f"session-{number}"))
        store.write(
            claim, TurnRow(number=1, task=f"task {number}: look into what came in", status="done", at=float(number))
        )
    ours: list[float] = []
    theirs: list[float] = []
    with closing(store), closing(sqlite3.connect(path)) as bare:
        for _ in run.rounds(f"{count:,} sessions listed", 20, 2):
            began = time.perf_counter()
            rows = bare.execute(LISTED).fetchall()
            theirs.append(time.perf_counter() - began)
            began = time.perf_counter()
            told = store.summaries()
            ours.append(time.perf_counter() - began)
            assert len(rows) == len(told) == count
    return Check(
        subject="sessions",
        what=f"`summaries` of {count:,} sessions",
        against="one indexed query",
        ours=median(ours),
        theirs=median(theirs),
        value=median(ours) / median(theirs),
        target=LIST_TARGET,
        samples=len(ours),
    )
