"""A thousand sessions that were used and closed: which processes are left of them, and what memory."""

from __future__ import annotations

import gc
import os
from pathlib import Path

from benchmarks.processes import descendants, pss_of_tree
from benchmarks.results import Check
from benchmarks.run import Run
from cellwright import Runtime


async def measure(run: Run, directory: Path) -> list[Check]:
    try:
        return [await _asleep(run, directory)]
    except PermissionError:
        run.say("memory of sessions asleep is not measured: the kernel shows that of guests to root only")
        return []


async def _asleep(run: Run, directory: Path) -> Check:
    count = run.count(1_000, 10)
    store = f"sqlite:///{directory / 'sleeping.db'}"
    async with Runtime():  # keeps the zygote, so that it is counted before and after
        for number in range(run.count(50, 2)):
            await _used(store, f"warm-{number}")
        gc.collect()
        before, memory = len(descendants(os.getpid())), pss_of_tree()
        for number in run.rounds("sessions used and closed", count, count):
            await _used(store, f"s-{number}")
        gc.collect()
        after, grown = len(descendants(os.getpid())), pss_of_tree()
    if after != before:
        run.remark(f"sleeping: {after - before} processes are left of {count:,} sessions that sleep")
    return Check(
        subject="sessions",
        what=f"memory, {count:,} sessions asleep",
        against="before them",
        ours=grown,
        theirs=memory,
        unit="B",
        value=grown / memory,
        samples=1,
        note=f"{after} processes, {before} before",
    )


async def _used(store: str, session: str) -> None:
    async with Runtime(store=store, session=session) as rt:
        (await rt.execute("kept = list(range(100))")).unwrap()
