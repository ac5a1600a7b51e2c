"""A session of a thousand turns opened again: its names, its files and what was said; beside reading its rows bare."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path

from benchmarks.results import Check
from benchmarks.run import Run, median
from cellwright import Agent
from cellwright.testing import ScriptedModel, code

TARGET = 3.0
CELL = "total = desk.add({i}, 1)\ndone(f'turn {i} came to {{total}}')"
BARE = (
    "select e.* from (select n from sessions where id = ?) s cross join entries e "
    "on e.n > s.n << 32 and e.n < (s.n + 1) << 32 order by e.n"
)


class Desk:
    def add(self, a: int, b: int) -> int:
        return a + b


async def measure(run: Run, directory: Path) -> list[Check]:
    turns = run.count(1_000, 5)
    path = directory / "long.db"
    replies = [code(CELL.format(i=i)) for i in range(turns)]
    agent = Agent(ScriptedModel(*replies), scope={"desk": Desk()}, store=path, check="off", say=lambda line: None)
    async with agent.session("long") as session:
        for number in run.rounds(f"a session of {turns:,} turns made", turns, turns):
            result = await session.run(f"Add one to {number}, and say what it came to.")
            assert str(number + 1) in str(result.value)
    opened: list[float] = []
    looked_back: list[float] = []
    bare: list[float] = []
    count = 0
    async with agent.session("other"):  # keeps the zygote
        for _ in run.rounds("the same opened again", 15, 2):
            began = time.perf_counter()
            with closing(sqlite3.connect(path)) as connection:
                count = len(connection.execute(BARE, ("long",)).fetchall())
            bare.append(time.perf_counter() - began)
            began = time.perf_counter()
            async with agent.resume("long") as session:
                opened.append(time.perf_counter() - began)
                assert session.has_turn
                looked_back.append(time.perf_counter() - began)
                assert (await session.runtime.execute("total")).unwrap() == turns
    lines = {
        f"`agent.resume`, {turns:,} turns, until a cell can run": opened,
        "the same, conversation read": looked_back,
    }
    return [
        Check(
            subject="sessions",
            what=what,
            against=f"bare read of {count:,} rows",
            ours=median(own),
            theirs=median(bare),
            value=median(own) / median(bare),
            target=TARGET if own is opened else None,
            samples=len(own),
        )
        for what, own in lines.items()
    ]
