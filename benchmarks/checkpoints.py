"""Resuming a long session, from its checkpoints and without them, beside the time of ten of its cells.

Two kinds of cells: the least that does something, and one with twenty host calls. A session is resumed after it was
closed, and as after the death of its process: then the cells since its last checkpoint are run again.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.journal_file import forget_checkpoints
from benchmarks.results import Check
from benchmarks.run import Run, median
from cellwright import Limits, Runtime
from cellwright.errors import Fenced

TARGET = 1.0
TEN = 10
LIMITS = Limits(host_calls=10**6)
CELLS = {
    "one host call": "v{i} = await desk.add({i}, 1)",
    "20 host calls": "v{i} = 0\nfor n in range(20):\n    v{i} += await desk.add(n, {i})",
}


class Desk:
    """A host object that answers at once, and counts how often."""

    def __init__(self) -> None:
        self.called = 0

    async def add(self, a: int, b: int) -> int:
        self.called += 1
        return a + b


@dataclass(frozen=True, kw_only=True)
class Found:
    """Seconds: of each cell, and of resuming in each way."""

    cells: list[float]
    closed: list[float]
    died: list[float]
    whole: list[float]
    again: int  # cells that were run again after a death


async def measure(run: Run) -> list[Check]:
    with run.directory() as directory:
        checks: list[Check] = []
        async with Runtime():  # keeps the zygote
            for number, (kind, code) in enumerate(CELLS.items()):
                file = directory / f"{number}.db"
                found = await _session(run, file, kind, code, run.count(500, 20))
                checks += _checks(run, kind, found)
        return checks


async def _session(run: Run, file: Path, kind: str, code: str, count: int) -> Found:
    store, desk = f"sqlite:///{file}", Desk()
    first = Runtime({"desk": desk}, store=store, session="s1", limits=LIMITS)
    await first.__aenter__()
    cells: list[float] = []
    try:
        for i in range(count):
            began = time.perf_counter()
            (await first.execute(code.format(i=i))).unwrap()
            cells.append(time.perf_counter() - began)
        died, again = await _resumed(store, desk)
    finally:
        with suppress(Fenced):  # another took it over
            await first.close()
    closed: list[float] = []
    for _ in run.rounds(f"resuming {count} cells, {kind}", 20, 2):
        took, _ = await _resumed(store, desk)
        closed.append(took)
    forget_checkpoints(file)
    whole, _ = await _resumed(store, desk)
    return Found(cells=cells, closed=closed, died=[died], whole=[whole], again=again)


async def _resumed(store: str, desk: Desk) -> tuple[float, int]:
    """Seconds until the next cell can run, and how many were run again."""
    called = desk.called
    began = time.perf_counter()
    options = {"scope": {"desk": desk}, "limits": LIMITS}
    async with Runtime.resume("s1", store=store, take_over=True, **options) as rt:  # the first is not closed then
        took = time.perf_counter() - began
        assert rt.restored is not None
        (await rt.execute("assert v0 is not None")).unwrap()
        assert desk.called == called
        return took, len(rt.restored.cells)


def _checks(run: Run, kind: str, found: Found) -> list[Check]:
    ten = TEN * median(found.cells)
    lines = {
        "after a close": (found.closed, TARGET),
        f"after a kill, {found.again} run again": (found.died, None),
        "no checkpoints": (found.whole, None),
    }
    return [
        Check(
            subject="journal",
            what=f"resume {len(found.cells)} cells with {kind} each, {how}",
            against="ten of its cells",
            ours=median(took),
            theirs=ten,
            value=median(took) / ten,
            target=None if run.quick else target,
            samples=len(took),
        )
        for how, (took, target) in lines.items()
    ]
