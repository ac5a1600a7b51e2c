"""A session run again from its journal, beside running it the first time; and the snapshot of files before a cell."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmarks.journal_file import forget_checkpoints
from benchmarks.results import Check
from benchmarks.run import Run, median
from cellwright import Limits, Runtime
from cellwright.journal import Trees
from cellwright.runtime import replay
from cellwright.sandboxes import GUEST_UID, Workspace
from cellwright.store import open_store

CALLS = 20
FILES = 1_000
LIMITS = Limits(host_calls=10**6)
CELL = """
total_{i} = 0
for n in range({calls}):
    total_{i} += await desk.add(n, {i})
print(total_{i})
"""
WRITE = """
for i in range({files}):
    with open(f"file-{{i}}.txt", "w") as file:
        file.write(f"{{i}}\\n" * 10)
"""


class Desk:
    """A host object that answers at once, and counts how often."""

    def __init__(self) -> None:
        self.called = 0

    async def add(self, a: int, b: int) -> int:
        self.called += 1
        return a + b


@dataclass(frozen=True, kw_only=True)
class Course:
    """One session of so many cells, in a journal."""

    file: Path
    session: str
    cells: int

    @property
    def store(self) -> str:
        return f"sqlite:///{self.file}"

    async def live(self) -> float:
        """Seconds from opening it to the end of its last cell."""
        desk = Desk()
        began = time.perf_counter()
        async with Runtime({"desk": desk}, store=self.store, session=self.session, limits=LIMITS) as rt:
            for i in range(self.cells):
                (await rt.execute(CELL.format(i=i, calls=CALLS))).unwrap()
            took = time.perf_counter() - began
        assert desk.called == self.cells * CALLS
        return took

    async def offline(self) -> float:
        """Seconds to run all of it again with nothing behind its doors, its end included."""
        began = time.perf_counter()
        told = await replay(self.session, store=self.store, limits=LIMITS)
        took = time.perf_counter() - began
        assert told.same, str(told)
        assert told.cells == self.cells
        return took

    async def resumed(self) -> float:
        """Seconds until its names are back and the next cell can run."""
        desk = Desk()
        forget_checkpoints(self.file)
        began = time.perf_counter()
        async with Runtime.resume(self.session, scope={"desk": desk}, store=self.store, limits=LIMITS) as rt:
            took = time.perf_counter() - began
            assert desk.called == 0
            assert rt.restored is not None
            assert len(rt.restored.cells) == self.cells
            last = self.cells - 1
            total = (await rt.execute(f"total_{last}")).unwrap()
        assert total == sum(range(CALLS)) + last * CALLS
        return took


async def measure(run: Run) -> list[Check]:
    with run.directory() as directory:
        return await _again(run, directory) + await _snapshots(run, directory)


async def _again(run: Run, directory: Path) -> list[Check]:
    cells = run.count(50, 4)
    live: list[float] = []
    offline: list[float] = []
    resumed: list[float] = []
    async with Runtime():  # keeps the zygote
        for number in run.rounds("sessions run again", 8, 1):
            course = Course(file=directory / "again.db", session=f"s{number}", cells=cells)
            live.append(await course.live())
            offline.append(await course.offline())
            resumed.append(await course.resumed())
    what = f"{cells} cells with {CALLS} calls each"
    lines = {
        f"`Runtime.resume`, {what}, no checkpoints": resumed,
        f"`cellwright replay`, {what}": offline,
    }
    return [
        Check(
            subject="journal",
            what=name,
            against="its first run",
            ours=median(own),
            theirs=median(live),
            value=median(own) / median(live),
            samples=len(own),
        )
        for name, own in lines.items()
    ]


async def _snapshots(run: Run, directory: Path) -> list[Check]:
    """With many files and with none: the snapshot by itself, and a whole cell with it."""
    journal = open_store(f"sqlite:///{directory / 'trees.db'}")
    taken: dict[str, list[float]] = {"many": [], "none": []}
    cells: dict[str, list[float]] = {"many": [], "none": []}
    async with AsyncExitStack() as stack:
        stack.callback(journal.close)
        sessions: dict[str, Runtime] = {}
        trees: dict[str, tuple[Trees, Workspace]] = {}
        for name in taken:
            path = directory / name
            path.mkdir()
            rt = Runtime(workspace=path, store=journal, session=name)
            sessions[name] = await stack.enter_async_context(rt)
            (await rt.execute(WRITE.format(files=FILES if name == "many" else 0))).unwrap()
            workspace = Workspace.at(path, GUEST_UID)
            stack.callback(workspace.close)
            trees[name] = Trees(journal, name), workspace
            await _cell(sessions[name])
            await _take(*trees[name])
        assert (len(list((directory / "many").iterdir())), len(list((directory / "none").iterdir()))) == (FILES, 0)
        for _ in run.rounds("snapshots of a workspace", 60, 2):
            for name in taken:
                taken[name].append(await _take(*trees[name]))
                cells[name].append(await _cell(sessions[name]))
    return [
        Check(
            subject="journal",
            what=f"{what}, {FILES:,} unchanged files",
            against="empty workspace",
            ours=median(found["many"]),
            theirs=median(found["none"]),
            value=median(found["many"]) / median(found["none"]),
            samples=len(found["many"]),
        )
        for what, found in (("snapshot", taken), ("cell `1` with snapshot", cells))
    ]


async def _take(trees: Trees, workspace: Workspace) -> float:
    began = time.perf_counter()
    await asyncio.to_thread(trees.take, workspace)
    return time.perf_counter() - began


async def _cell(rt: Runtime) -> float:
    began = time.perf_counter()
    outcome = await rt.execute("1")
    took = time.perf_counter() - began
    assert outcome.value == 1
    return took
