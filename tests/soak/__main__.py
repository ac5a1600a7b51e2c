"""A soak: 100 sessions, two processes, one store; random cells; guests and zygotes killed, the store slowed and locked.

python -m tests.soak                 20 minutes; shows its progress, then a table; exit code 1 where a check fails
python -m tests.soak --minutes 2     shorter: what must be flat is judged from 5 minutes on
python -m tests.soak --json --keep   the figures for programs; keep its directory, which is named

Then one session runs 10,000 cells with strict checks, beside one without journal and checks, to compare its first cells
with its last.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import resource
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.journal.crash.desk import Effects
from tests.soak.cells import SessionModel, SoakDesk, ledger_faults
from tests.soak.worker import LIMITS, MEMORY, children, guests_of, proc, zygotes_of

from cellwright import Runtime
from cellwright.settings import Settings
from cellwright.store import SqliteStore

WORKERS, SAMPLE_S, TELL_S = 2, 1.0, 30.0
LONG_CELLS, EARLY, WINDOW, SLOWER = 10_000, 100, 50, 1.3
JUDGED_MIN = 5  # minutes from which on a second quarter says something
# What must be flat, and how much more of it the last quarter may have than the second: a share, and a number beside it.
FLAT = {
    "memory of the host (MB)": (0.15, 10),
    "memory of the type checker (MB)": (0.15, 20),
    "memory of the zygotes (MB)": (0.15, 10),
    "descriptors": (0.1, 10),
    "threads": (0.1, 4),
    "processes": (0.1, 4),
    "journal (kB a cell)": (0.25, 1),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """One line of the table. `ok` is None where it is only told."""

    what: str
    found: str
    wanted: str = ""
    ok: bool | None = None


class Disturber(threading.Thread):
    """Another connection that locks the store for up to some seconds, or makes it slow for a while."""

    def __init__(self, store: Path, seed: int) -> None:
        super().__init__(daemon=True)
        self._store = store
        self._rng = random.Random(seed)
        self._stopped = threading.Event()
        self.locked_s = 0.0

    def run(self) -> None:
        with closing(sqlite3.connect(self._store, timeout=30, isolation_level=None)) as connection:
            while not self._stopped.wait(self._rng.uniform(2, 12)):
                holds = [self._rng.uniform(0.5, 4)] if self._rng.random() < 0.5 else [0.05] * 40
                for hold in holds:
                    connection.execute("begin immediate")
                    self._stopped.wait(hold)
                    connection.execute("rollback")
                    self.locked_s += hold
                    self._stopped.wait(0.02)

    def stop(self) -> None:
        self._stopped.set()
        self.join()


class Soak:
    def __init__(self, place: Path, minutes: float, sessions: int, seed: int, *, quiet: bool) -> None:
        self.place, self.store = place, place / "s.db"
        self._sessions, self._seed, self._quiet = sessions, seed, quiet
        self._crowd_s, self._long_s = minutes * 60 * 0.6, minutes * 60 * 0.35
        self._desk = SoakDesk(Effects(place / "effects"))
        self._judged = minutes >= JUDGED_MIN
        self.samples: list[dict[str, float]] = []
        self.tally = Counter[str]()
        self.failures: list[str] = []

    def run(self) -> list[Verdict]:
        self._crowd()
        models = [SessionModel.read(file) for file in sorted((self.place / "models").glob("*.json"))]
        verdicts = [*self._outcomes(models), *asyncio.run(self._resumed(models)), *self._flat()]
        return [*verdicts, *asyncio.run(self._long())]

    def _say(self, line: str) -> None:
        if not self._quiet:
            print(f"{time.strftime('%H:%M:%S')}  {line}", file=sys.stderr, flush=True)

    # the crowd

    def _crowd(self) -> None:
        rng, models = random.Random(self._seed), self.place / "models"
        models.mkdir()
        SqliteStore(self.store).close()
        for number in range(self._sessions):
            SessionModel(id=f"s{number}-0", strict=number % 3 == 0, length=rng.randrange(5, 90)).write(models)
        disturber = Disturber(self.store, self._seed)
        disturber.start()
        numbers = [int(self._crowd_s), self._sessions, 4, self._seed]
        workers = [self._worker(number, *numbers) for number in range(WORKERS)]
        try:
            self._watch(workers)
        finally:
            for worker in workers:
                worker.kill()
            disturber.stop()
        self._read_reports()
        self.failures += [f"a worker ended with {worker.returncode}" for worker in workers if worker.returncode]

    def _watch(self, workers: Sequence[subprocess.Popen[bytes]]) -> None:
        told = time.monotonic()
        while any(worker.poll() is None for worker in workers):
            time.sleep(SAMPLE_S)
            self._read_reports()
            if all(worker.poll() is None for worker in workers):
                self.samples.append(self._sample([worker.pid for worker in workers]))
            if time.monotonic() - told > TELL_S and self.samples:
                told = time.monotonic()
                figures = ", ".join(f"{what} {value:.0f}" for what, value in self.samples[-1].items())
                self._say(f"{len(self.failures)} failures; {figures}")

    def _worker(self, *numbers: int) -> subprocess.Popen[bytes]:
        arguments = [sys.executable, "-m", "tests.soak.worker", str(self.place), *map(str, numbers)]
        environ = os.environ | {"CELLWRIGHT_STATE": str(self.place / "state")}
        return subprocess.Popen(arguments, env=environ, cwd=Path(__file__).parents[2])

    def _read_reports(self) -> None:
        reports = [json.loads(file.read_text()) for file in self.place.glob("worker-*.json")]
        self.tally = sum((Counter[str](report["tally"]) for report in reports), Counter[str]())
        self.failures = [failure for report in reports for failure in report["failures"]]

    def _sample(self, workers: Sequence[int]) -> dict[str, float]:
        zygotes = [zygote for worker in workers for zygote in zygotes_of(worker)]
        others = [child for worker in workers for child in children(worker) if child not in zygotes]
        guests = guests_of(zygotes)
        stored = sum(file.stat().st_size for file in self.place.glob("s.db*") if file.is_file())
        stored += sum(file.stat().st_size for file in self.place.glob("s.db.blobs/*"))
        return {
            "memory of the host (MB)": sum(map(_resident_mb, workers)),
            "memory of the type checker (MB)": sum(map(_resident_mb, others)),
            "memory of the zygotes (MB)": sum(map(_resident_mb, zygotes)),
            "descriptors": sum(_entries(worker, "fd") for worker in workers),
            "threads": sum(_entries(worker, "task") for worker in workers),
            "processes": len(zygotes) + len(others) + len(guests),
            "journal (kB)": stored / 1e3,
            "cells": self.tally["cells"],
        }

    # what must be true

    def _outcomes(self, models: Sequence[SessionModel]) -> list[Verdict]:
        for failure in self.failures:
            self._say(failure)
        counts, tally = Counter(failure.partition(":")[0] for failure in self.failures), self.tally
        told = [f"{tally[what]} {what}" for what in ("sessions opened", "forks", "approvals", "cells carried on")]
        shown = ("killed", "ended by", "raised", "busy")
        told += [f"{count} {what}" for what, count in sorted(tally.items()) if any(word in what for word in shown)]
        diverged, through = counts.pop("diverged", 0), tally["wrong cells not refused"]
        with closing(SqliteStore(self.store)) as store:
            faults = ledger_faults(models, self._desk, store)
        for fault in faults:
            self._say(fault)
        effects = sum(len(model.once) + len(model.undone) for model in models)
        other = ", ".join(f"{what} {count}" for what, count in counts.items())
        return [
            Verdict(what="cells", found=f"{tally['cells']:,} in {len(models)} sessions: {', '.join(told)}"),
            Verdict(what="effects lost or doubled", found=f"{len(faults)} of {effects:,}", wanted="0", ok=not faults),
            Verdict(what="divergences without a difference", found=str(diverged), wanted="0", ok=not diverged),
            Verdict(
                what="wrong cells not refused", found=f"{through} of {tally['wrong cells']}", wanted="0", ok=not through
            ),
            Verdict(what="other failures", found=other or "0", wanted="0", ok=not counts),
        ]

    async def _resumed(self, models: Sequence[SessionModel]) -> list[Verdict]:
        """Each session that nothing was reported of is opened once more."""
        whole, wrong = [model for model in models if model.last and not model.broken and not model.pending], 0
        os.environ["CELLWRIGHT_STATE"] = str(self.place / "state")
        for model in whole:
            options: dict[str, Any] = {"store": self.store, "limits": LIMITS, "progress": self._say}
            async with Runtime.resume(
                model.id, scope={"desk": SoakDesk(Effects(self.place / "effects"))}, **options
            ) as rt:
                found = await rt.execute(model.look())
            if found.value != [model.names, model.files]:
                wrong += 1
                self._say(f"session {model.id}: {found} and not {[model.names, model.files]}")
        broken = sum(model.broken for model in models)
        found = f"{len(whole) - wrong} of {len(whole)}; {broken} more are broken since a failure above"
        return [Verdict(what="sessions that resume, names and files there", found=found, wanted="all", ok=not wrong)]

    def _flat(self) -> list[Verdict]:
        verdicts: list[Verdict] = []
        quarter = len(self.samples) // 4
        second, last = self.samples[quarter : 2 * quarter], self.samples[3 * quarter :]
        for what, (share, more) in FLAT.items() if quarter else ():
            if what.startswith("journal"):
                before, after = (_a_cell(part) for part in (second, last))
            else:
                before, after = (statistics.median(sample[what] for sample in part) for part in (second, last))
            most = before * (1 + share) + more
            ok = after <= most if self._judged else None
            verdicts.append(Verdict(what=what, found=f"{before:.1f} → {after:.1f}", wanted=f"≤ {most:.1f}", ok=ok))
        return verdicts

    # one long session

    async def _long(self) -> list[Verdict]:
        ours: list[float] = []
        bare: list[float] = []
        desk, until = SoakDesk(Effects(self.place / "long")), time.monotonic() + self._long_s
        told = time.monotonic()
        checked = Runtime({"desk": desk}, store=self.place / "long.db", check="strict", limits=LIMITS)
        async with checked, Runtime({"desk": desk}, limits=LIMITS) as plain:
            while len(ours) < LONG_CELLS and time.monotonic() < until:
                number = len(ours)
                code = f"total_{number % 10} = len(desk.look_now({number})) + {number}"
                for rt, times in ((checked, ours), (plain, bare)):
                    began = time.perf_counter()
                    (await rt.execute(code)).unwrap()
                    times.append(time.perf_counter() - began)
                if time.monotonic() - told > TELL_S:
                    told = time.monotonic()
                    self._say(f"long session: cell {number}, {1e3 * statistics.median(ours[-WINDOW:]):.1f} ms a cell")
        if len(ours) < EARLY + 2 * WINDOW:
            return [Verdict(what="long session", found=f"{len(ours)} cells", wanted="more minutes")]
        early = slice(EARLY - WINDOW // 2, EARLY + WINDOW // 2)
        first, last, noise = (statistics.median(part) for part in (ours[early], ours[-WINDOW:], bare[-WINDOW:]))
        drift = noise / statistics.median(bare[early])  # of the machine
        slower, enough = last / first / drift, len(ours) >= LONG_CELLS or None
        found = f"{1e3 * first:.1f} → {1e3 * last:.1f} ms; × {slower:.2f} (without journal, checks: × {drift:.2f})"
        what = f"time of cell {len(ours):,} against cell {EARLY}, strict"
        return [Verdict(what=what, found=found, wanted=f"≤ × {SLOWER}", ok=enough and slower <= SLOWER)]


def _resident_mb(pid: int) -> float:
    return int((proc(pid, "statm") or "0 0").split()[1]) * resource.getpagesize() / 1e6


def _entries(pid: int, kind: str) -> int:
    try:
        return len(os.listdir(f"/proc/{pid}/{kind}"))
    except FileNotFoundError:
        return 0


def _a_cell(samples: Sequence[dict[str, float]]) -> float:
    cells = samples[-1]["cells"] - samples[0]["cells"]
    return (samples[-1]["journal (kB)"] - samples[0]["journal (kB)"]) / max(cells, 1)


def table(verdicts: Sequence[Verdict]) -> str:
    marks = {True: "✓", False: "✗", None: ""}
    rows = [f"| {each.what} | {each.found} | {each.wanted} | {marks[each.ok]} |" for each in verdicts]
    return "\n".join(["| what | found | wanted | |", "|---|---|---|---|", *rows])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--sessions", type=int, default=100)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--json", action="store_true", help="print the verdicts as JSON")
    parser.add_argument("--keep", action="store_true", help="keep the directory of the run")
    chosen = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    cache = Settings.from_environment().cache_dir
    cache.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(prefix="soak-", dir=cache))
    print(f"seed {chosen.seed}, in {place}", file=sys.stderr)
    try:
        verdicts = Soak(place, chosen.minutes, chosen.sessions, chosen.seed, quiet=chosen.json).run()
    finally:
        if not chosen.keep:
            shutil.rmtree(place, ignore_errors=True)
    print(json.dumps([asdict(each) for each in verdicts], indent=2) if chosen.json else table(verdicts))
    sys.exit(any(each.ok is False for each in verdicts))


if __name__ == "__main__":
    main()
