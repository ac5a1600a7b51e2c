"""One process of the soak: visits sessions of the store, runs random cells in them, and kills its own guests meanwhile.

python -m tests.soak.worker PLACE NUMBER SECONDS SESSIONS LANES SEED

What it meets is in PLACE/worker-NUMBER.json: counts, and failures, which must be none.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import resource
import signal
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.journal.crash.desk import Effects
from tests.soak.cells import Cell, SessionModel, SoakDesk, random_cell

from cellwright import Limits, Outcome, Runtime, decide
from cellwright.errors import (
    CodeError,
    Crashed,
    NoQuestion,
    NoSession,
    RestoreFailed,
    SandboxDied,
    SessionBusy,
    TypeMistake,
    UsageError,
)

LIMITS = Limits(wall_s=10.0, cpu_s=10.0)
MEMORY = 3 << 30  # of this process, and of each that it starts
TRIES = 8
KILL_S = 0.2, 2.0  # between two kills: three in a row in one resume stay rare


def proc(pid: int | str, name: str) -> str:
    """A file of the kernel's about a process; nothing where that has ended."""
    try:
        return Path(f"/proc/{pid}/{name}").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def children(pid: int | str) -> list[int]:
    tasks = os.listdir(f"/proc/{pid}/task") if Path(f"/proc/{pid}").exists() else []
    return [int(child) for task in tasks for child in proc(pid, f"task/{task}/children").split()]


def zygotes_of(pid: int | str) -> list[int]:
    """The zygotes of a host: each is two processes, of which the second is the parent of all guests."""
    started = [child for child in children(pid) if "zygote.py" in proc(child, "cmdline")]
    return [*started, *(inner for outer in started for inner in children(outer))]


def guests_of(zygotes: Sequence[int]) -> list[int]:
    return [guest for zygote in zygotes for guest in children(zygote) if guest not in zygotes]


class Worker:
    def __init__(self, place: Path, number: int, seconds: float, sessions: int, seed: int) -> None:
        self.tally = Counter[str]()
        self.failures: list[str] = []
        self._place = place
        self._number = number
        self._sessions = sessions
        self._until = time.monotonic() + seconds
        self._rng = random.Random(f"{seed} {number}")
        self._desk = SoakDesk(Effects(place / "effects"))
        self._heard: deque[str] = deque(maxlen=100)  # what the runtimes say, for whoever looks into this process
        self._held: set[str] = set()
        self._generations = Counter[int]()

    async def run(self, lanes: int) -> None:
        beside = [asyncio.create_task(self._kill()), asyncio.create_task(self._report())]
        await asyncio.gather(*(self._lane(random.Random(self._rng.random())) for _ in range(lanes)))
        for task in beside:
            task.cancel()
        await asyncio.wait(beside)
        self._write()

    # beside the sessions

    async def _kill(self) -> None:
        while True:
            await asyncio.sleep(self._rng.uniform(*KILL_S))
            zygotes = zygotes_of("self")
            kind, pids = ("zygotes", zygotes) if self._rng.random() < 0.15 else ("guests", guests_of(zygotes))
            if pids:
                with suppress(ProcessLookupError):  # it ended by itself
                    os.kill(self._rng.choice(pids), signal.SIGKILL)
                    self.tally[f"{kind} killed"] += 1

    async def _report(self) -> None:
        while True:
            self._write()
            await asyncio.sleep(1)

    def _write(self) -> None:
        temporary = self._place / f"worker-{self._number}.tmp"
        threads = Counter(thread.name.rstrip("-_0123456789") for thread in threading.enumerate())
        temporary.write_text(json.dumps({"tally": self.tally, "failures": self.failures, "threads": threads}))
        temporary.rename(temporary.with_suffix(".json"))

    def _fail(self, model: SessionModel, kind: str, what: object) -> None:
        model.broken = True
        self.tally[kind] += 1
        self.failures.append(f"{kind}: session {model.id}, cell {model.last}: {what}"[:1000])

    # sessions

    async def _lane(self, rng: random.Random) -> None:
        while time.monotonic() < self._until:
            slot = rng.randrange(self._sessions)
            file = self._newest(slot)
            if file.stem in self._held:
                await asyncio.sleep(0.01)
                continue
            self._held.add(file.stem)
            try:
                await self._visit(file, rng)
            except SessionBusy:
                self.tally["sessions busy elsewhere"] += 1
            except (SandboxDied, RestoreFailed) as error:  # the journal is as it was: another visit finds all of it
                self.tally[f"raised {type(error).__name__}"] += 1
            except Exception as error:
                self.tally[f"raised {type(error).__name__}"] += 1
                self.failures.append(f"raised {type(error).__name__}: session {file.stem}: {error}"[:1000])
            finally:
                self._held.discard(file.stem)

    def _newest(self, slot: int) -> Path:
        """The session that stands in this place now. One that is long enough is followed by a new one."""
        while (file := self._place / "models" / f"s{slot}-{self._generations[slot] + 1}.json").exists():
            self._generations[slot] += 1
        return file.with_stem(f"s{slot}-{self._generations[slot]}")

    async def _visit(self, file: Path, rng: random.Random) -> None:
        model = SessionModel.read(file)
        if model.broken:
            return self._follow(model, rng)
        async with await self._opened(model) as rt:
            self.tally["sessions opened"] += 1
            model = SessionModel.read(file)  # as its last owner left it
            try:
                await self._in_session(rt, model, rng)
            finally:
                model.write(file.parent)
        if model.cells >= model.length or model.broken:
            self._follow(model, rng)

    async def _opened(self, model: SessionModel) -> Runtime:
        check = "strict" if model.strict else "off"
        options: dict[str, Any] = {"store": self._place / "s.db", "limits": LIMITS, "check": check}
        options |= {"scope": {"desk": self._desk}, "progress": self._heard.append}
        try:
            return await Runtime.resume(model.id, **options).__aenter__()
        except NoSession:
            try:
                return await Runtime(session=model.id, **options).__aenter__()
            except UsageError:  # the other process was quicker
                raise SessionBusy(model.id) from None

    def _follow(self, model: SessionModel, rng: random.Random) -> None:
        slot, _, generation = model.id[1:].partition("-")
        new = SessionModel(id=f"s{slot}-{int(generation) + 1}", strict=model.strict, length=rng.randrange(20, 90))
        new.write(self._place / "models")

    async def _in_session(self, rt: Runtime, model: SessionModel, rng: random.Random) -> None:
        await self._settle_pending(rt, model, rng)
        await self._look(rt, model)
        for _ in range(rng.randrange(2, 8)):
            if model.broken or model.cells >= model.length:
                return
            await self._run(rt, model, random_cell(model, rng), rng)
        if rng.random() < 0.1 and not model.broken:
            await self._fork(rt, model, rng)

    async def _fork(self, rt: Runtime, model: SessionModel, rng: random.Random) -> None:
        new = SessionModel(id=f"fork{rng.randrange(1 << 40)}", strict=model.strict, length=1)
        new.names, new.files = dict(model.names), dict(model.files)
        async with await rt.fork(session=new.id) as branch:
            self.tally["forks"] += 1
            await self._look(branch, new)
            if not new.broken:
                await self._run(branch, new, random_cell(new, rng), rng)
            new.write(self._place / "models")

    # cells

    async def _settle_pending(self, rt: Runtime, model: SessionModel, rng: random.Random) -> None:
        """The cell that an error left under way: it was never begun, or it is carried on to its end here."""
        if model.pending:
            if rt.cells > model.last:
                self.tally["cells carried on"] += 1
                await self._judge(rt, model, Cell(**model.pending), await rt.outcome(), rng)
            model.pending = {}

    async def _run(self, rt: Runtime, model: SessionModel, cell: Cell, rng: random.Random) -> None:
        model.pending = asdict(cell)
        outcome = await rt.execute(cell.code)
        await self._judge(rt, model, cell, outcome, rng)
        model.pending = {}

    async def _look(self, rt: Runtime, model: SessionModel) -> None:
        """Whether names and files are as expected."""
        for _ in range(TRIES):
            outcome = await rt.execute(model.look(), check="off")
            self._count(rt, model)
            self._seek_divergence(rt, model, outcome)
            if outcome.error is None and outcome.value != [model.names, model.files]:
                self._fail(model, "names or files lost", f"{outcome.value} and not {[model.names, model.files]}")
            if isinstance(outcome.error, CodeError):
                self._fail(model, "names or files lost", outcome.error)
            if outcome.error is None or model.broken:
                return
            self.tally[f"ended by {type(outcome.error).__name__}"] += 1
        self._fail(model, "no cell runs", f"{TRIES} guests in a row ended")

    async def _judge(self, rt: Runtime, model: SessionModel, cell: Cell, outcome: Outcome, rng: random.Random) -> None:
        while outcome.waiting:
            self.tally["approvals"] += 1
            yes = rng.random() < 0.7
            for question in outcome.waiting:
                with suppress(NoQuestion, UsageError):  # its cell was ended meanwhile
                    await asyncio.to_thread(decide, self._place / "s.db", question, yes=yes)
            if not yes:
                model.never += cell.once
                cell.once = []
                model.pending = asdict(cell)
            outcome = await rt.outcome()
        self._count(rt, model)
        self._seek_divergence(rt, model, outcome)
        error = outcome.error
        if cell.wrong:
            self.tally["wrong cells"] += 1
            if not isinstance(error, TypeMistake):
                self.tally["wrong cells not refused"] += 1
                model.lost(cell, names=True)
        elif (error is None and not cell.fails) or (cell.fails and isinstance(error, CodeError)):
            model.took(cell, outcome.value)
        elif isinstance(error, TypeMistake):
            self._fail(model, "right cells refused", f"{cell.code!r}: {error}")
        elif isinstance(error, CodeError) or error is None:
            self._fail(model, "wrong outcomes", f"{cell.code!r}: {error}")
        else:
            self.tally[f"ended by {type(error).__name__}"] += 1
            model.lost(cell)
            if not isinstance(error, Crashed):
                self.failures.append(f"ended by {type(error).__name__}: session {model.id}: {error}"[:1000])

    def _count(self, rt: Runtime, model: SessionModel) -> None:
        self.tally["cells"] += 1
        model.cells += 1
        model.last = rt.cells

    def _seek_divergence(self, rt: Runtime, model: SessionModel, outcome: Outcome) -> None:
        restored = rt.restored
        if restored is not None and restored.diverged is not None:
            self._fail(model, "diverged", restored.diverged)
        elif type(outcome.error).__name__ == "Diverged":
            self._fail(model, "diverged", outcome.error)


def main() -> None:
    place, (number, seconds, sessions, lanes, seed) = Path(sys.argv[1]), map(int, sys.argv[2:])
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    asyncio.run(Worker(place, number, seconds, sessions, seed).run(lanes))


if __name__ == "__main__":
    main()
