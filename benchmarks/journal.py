"""What a journal adds to a host call, beside what one bare SQLite commit adds in the same place of the same work.

A journaled guest's clock stands still between deliveries, so the host's is read, by the method that is called: from one
call of a loop to the next is what a call takes in all. Three sessions take turns: one without a journal, one without a
journal whose method makes a commit of its own, and one with a journal.

What "a bare commit" costs depends on where it stands, so three figures for it are kept: what it adds to the call, what
a clock around it says there, and what it takes in a loop of nothing but commits, the least of them. Where host and
guest have a core each, an answer is written while the guest goes on; where they share one, nothing is hidden.
"""

from __future__ import annotations

import os
import time
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from benchmarks.bare import BareDatabase, Synchronous
from benchmarks.journal_file import journaled
from benchmarks.processes import leaves, placed
from benchmarks.results import Check, shown
from benchmarks.run import Run, median
from cellwright import Limits, Runtime, operation

TARGET = 2.0
CELL = "for _ in range({times}):\n    {call}"
CALLS = {
    "await desk.add_soon(1, 2)": "an async call",
    "await desk.look(1, 2)": "an async read",
    "desk.add(1, 2)": "a sync call",
}
EACH, ONE = "two cores", "one core"
SIDES = ("plain", "commit", "journal")
IN_PLACE = "added by a bare commit"
ALONE = {"within": "that commit, by a clock around it", "loop": "a bare SQLite commit in a loop of nothing else"}
LEAST_S = 1e-9  # a difference of a few samples may be nothing at all


class Desk:
    """Host methods that note when they were called and, given a database, commit a row to it."""

    def __init__(self, database: BareDatabase | None = None) -> None:
        self.times: list[float] = []
        self.commits: list[float] = []
        self.called = 0
        self._database = database

    async def add_soon(self, a: int, b: int) -> int:
        return self.add(a, b)

    @operation(reads=True)
    async def look(self, a: int, b: int) -> int:
        return self.add(a, b)

    def add(self, a: int, b: int) -> int:
        self.times.append(time.perf_counter())
        self.called += 1
        if self._database is not None:
            self.commits += self._database.commits(1)
        return a + b


@dataclass(frozen=True, kw_only=True)
class Side:
    """One session, and the object that it calls."""

    desk: Desk
    rt: Runtime

    async def calls(self, call: str, times: int) -> list[float]:
        """Seconds from each call to the next."""
        self.desk.times.clear()
        (await self.rt.execute(CELL.format(call=call, times=times + 1))).unwrap()
        found = self.desk.times
        assert len(found) == times + 1
        return [later - sooner for sooner, later in pairwise(found)]


@dataclass(frozen=True, kw_only=True)
class Three:
    """The sessions that take turns, and a database for commits that nothing stands around."""

    sides: dict[str, Side]
    tight: BareDatabase


Found = dict[str, dict[str, list[float]]]  # by call; then by side, and by kind of commit


async def measure(run: Run) -> list[Check]:
    async with _opened(run, "normal") as three:
        block = run.count(400, 30)
        checks: list[Check] = []
        for where in (EACH, ONE) if len(os.sched_getaffinity(0)) > 1 else (ONE,):
            found = await _rounds(run, three, where, f"journal, {where}", tuple(CALLS), block)
            checks += [_in_place(call, where, found[call], target=TARGET) for call in CALLS]
            for call in CALLS:
                if "look" not in call:
                    checks += [_alone(call, where, kind, found[call]) for kind in ALONE]
    return checks + await _power_safe(run)


async def _power_safe(run: Run) -> list[Check]:
    calls = tuple(CALLS)[:2]
    where = EACH if len(os.sched_getaffinity(0)) > 1 else ONE
    async with _opened(run, "full") as three:
        found = await _rounds(run, three, where, "the same, safe against power loss", calls, run.count(60, 10))
    note = "; `?power_safe=1`, and a commit with `synchronous = full`"
    return [_in_place(call, where, found[call], note) for call in calls]


@asynccontextmanager
async def _opened(run: Run, synchronous: Synchronous) -> AsyncGenerator[Three]:
    async with AsyncExitStack() as stack:
        directory = stack.enter_context(run.directory())
        own, tight = (
            stack.enter_context(closing(BareDatabase(directory / f"{name}.db", synchronous)))
            for name in ("own", "tight")
        )
        file = directory / "journal.db"
        store = f"sqlite:///{file}" + ("?power_safe=1" if synchronous == "full" else "")
        limits = Limits(host_calls=10**6)
        sides: dict[str, Side] = {}
        for name in SIDES:
            desk = Desk(own if name == "commit" else None)
            rt = Runtime({"desk": desk}, limits=limits, store=store if name == "journal" else None)
            sides[name] = Side(desk=desk, rt=await stack.enter_async_context(rt))
        await _warm(sides, file, own, tight)
        yield Three(sides=sides, tight=tight)
        assert journaled(file)[0] == sides["journal"].desk.called


async def _warm(sides: dict[str, Side], file: Path, *databases: BareDatabase) -> None:
    """Each call once, which starts the threads; then the bare rows are as long as the journal's own."""
    for side in sides.values():
        for call in CALLS:
            await side.calls(call, 1)
    _, body = journaled(file)
    for database in databases:
        database.body = body


async def _rounds(run: Run, three: Three, where: str, title: str, calls: tuple[str, ...], block: int) -> Found:
    found: Found = {call: {name: [] for name in (*SIDES, *ALONE)} for call in calls}
    cores = sorted(os.sched_getaffinity(0))
    with placed(leaves(os.getpid()), cores[0], cores[0] if where == ONE else cores[1]):
        for number in run.rounds(title, 12, 1):
            for call, kept in found.items():
                kept["loop"] += three.tight.commits(block)
                for i in range(len(SIDES)):
                    name = SIDES[(number + i) % len(SIDES)]  # each comes after each other one
                    side = three.sides[name]
                    side.desk.commits.clear()
                    kept[name] += await side.calls(call, block)
                    kept["within"] += side.desk.commits
    return found


def _in_place(
    call: str, where: str, found: dict[str, list[float]], note: str = "", target: float | None = None
) -> Check:
    plain, commit, journal = (median(found[name]) for name in SIDES)
    whole = f"{shown(journal, 's')}, {shown(commit, 's')}, {shown(plain, 's')}"
    return Check(
        subject="journal",
        what=f"journal added to {CALLS[call]}, {where}",
        against=IN_PLACE,
        ours=journal - plain,
        theirs=commit - plain,
        value=(journal - plain) / max(commit - plain, LEAST_S),
        target=target,
        samples=len(found["journal"]),
        note=whole + note,
    )


def _alone(call: str, where: str, kind: str, found: dict[str, list[float]]) -> Check:
    added, commit = median(found["journal"]) - median(found["plain"]), median(found[kind])
    return Check(
        subject="journal",
        what=f"journal added to {CALLS[call]}, {where}",
        against=ALONE[kind],
        ours=added,
        theirs=commit,
        value=added / commit,
        samples=len(found[kind]),
    )
