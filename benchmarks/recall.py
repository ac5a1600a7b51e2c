"""A hundred thousand entries searched, beside the full-text query of the same words on the same index."""

from __future__ import annotations

import random
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from benchmarks.keeping import facts
from benchmarks.results import Check
from benchmarks.run import Run, median
from cellwright.store import CellRow, SqliteStore

TARGET = 2.0
SESSIONS = 200
BARE = (
    "select rowid, snippet(found, 0, char(2), char(3), '…', 24), rank from found where found match ? "
    "order by rank limit 10"
)
QUERIES = ("invoice overdue", "retry connection", "customer oslo", '"total amount"', "warehouse", "parse*")
WORDS = (
    "invoice overdue customer oslo bergen retry connection total amount warehouse parse order ship delay price report "
    "table column index query user mail send reply draft week month sum mean check file path load write open close"
).split()


def measure(run: Run, directory: Path) -> list[Check]:
    entries = run.count(100_000, 1_000)
    path = directory / "recall.db"
    store = SqliteStore(path)
    chance = random.Random(6)
    made = 0
    for number in run.rounds("sessions written", SESSIONS, 10):
        count = (entries - made) // (run.count(SESSIONS, 10) - number)
        claim = store.create(facts(f"s{number}"))
        store.write(claim, *(_cell(n, chance) for n in range(1, count + 1)))
        made += count
    began = time.perf_counter()
    store.catch_up()
    indexed = time.perf_counter() - began
    ours: list[float] = []
    theirs: list[float] = []
    with closing(store), closing(sqlite3.connect(path)) as bare:
        for _ in run.rounds("searches", 20, 2):
            for query in QUERIES:
                match = (
                    " ".join(f'"{word}"' for word in query.split()) if query[0] != '"' and "*" not in query else query
                )
                began = time.perf_counter()
                rows = bare.execute(BARE, (match,)).fetchall()
                theirs.append(time.perf_counter() - began)
                began = time.perf_counter()
                found = store.search(query, limit=10)
                ours.append(time.perf_counter() - began)
                assert len(found) == len(rows) == 10, (query, len(found), len(rows))
    return [
        Check(
            subject="sessions",
            what=f"search {made:,} cells of {run.count(SESSIONS, 10)} sessions",
            against="bare FTS5 query",
            ours=median(ours),
            theirs=median(theirs),
            value=median(ours) / median(theirs),
            target=TARGET,
            samples=len(ours),
            note=f"indexed once in {indexed:.1f} s",
        )
    ]


def _cell(number: int, chance: random.Random) -> CellRow:
    """As long as real ones are: some lines of code, some of output."""
    said = [" ".join(chance.choices(WORDS, k=12)) for _ in range(6)]
    return CellRow(number=number, code="\n".join(said[:3]), stdout="\n".join(said[3:]), status="done", rung="process")
