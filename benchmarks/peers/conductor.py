"""Starts the contestants, gives each the same task in turn, and ends them with all they started."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

from benchmarks.peers.roster import LASTING, ROSTER, Entry, Environment
from benchmarks.results import Peer, shown
from benchmarks.run import Run, median

ROOT = Path(__file__).resolve().parents[2]
ANSWER_S = 300
ENDING_S = 10
FIB = 22
LASTING_CELLS = 100


class Gone(Exception):
    """The contestant ended, or was ended because it took too long."""


class Contestant:
    """One running module of this package."""

    def __init__(self, entry: Entry, python: str, directory: Path) -> None:
        self.entry = entry
        self.figures: dict[str, list[float]] = defaultdict(list)
        self.failed: dict[str, str] = {}
        self._process = subprocess.Popen(
            [python, "-m", f"benchmarks.peers.{entry.module}", str(directory)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        hello = self._hear()
        self.version: str = hello["version"]
        self.tasks = frozenset[str](hello["tasks"])

    def do(self, task: str, size: int) -> None:
        if task not in self.tasks or task in self.failed:
            return
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"task": task, "size": size}) + "\n")
        self._process.stdin.flush()
        answer = self._hear()
        if "error" in answer:
            self.failed[task] = answer["error"]
        else:
            self.figures[task] += answer["figures"]

    def _hear(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        watchdog = threading.Timer(ANSWER_S, self._kill)
        watchdog.start()
        try:
            line = self._process.stdout.readline()
        finally:
            watchdog.cancel()
        if not line:
            raise Gone(f"{self.entry.name} ended, or gave no answer within {ANSWER_S} s")
        return json.loads(line)

    def _kill(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)  # not waited for yet, so the number is still ours

    def end(self) -> None:
        """Let it end, then end what it left behind."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        watchdog = threading.Timer(ENDING_S, self._kill)
        watchdog.start()
        self._process.stdin.close()
        self._process.stdout.read()
        watchdog.cancel()
        self._kill()
        self._process.stdout.close()
        self._process.wait()


class Round:
    """The contestants of one roster, and why those that are missing are. A context manager, which ends them all."""

    def __init__(self, run: Run, roster: tuple[Entry, ...]) -> None:
        self.running: dict[str, Contestant] = {}
        self._run = run
        self._roster = roster
        self._environment = Environment(run.cache, run.say)
        self._absent = dict.fromkeys((entry.name for entry in roster), "")
        self._stack = ExitStack()

    def __enter__(self) -> Round:
        with ExitStack() as stack:
            self._directory = stack.enter_context(self._run.directory())
            for entry in self._roster:
                python, self._absent[entry.name] = self._environment.python(entry, install=not self._run.quick)
                try:
                    if python:
                        self.running[entry.name] = contestant = Contestant(entry, python, self._directory)
                        stack.callback(contestant.end)
                except Gone as gone:
                    self._absent[entry.name] = str(gone)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def fresh(self, contestant: Contestant) -> Contestant:
        """The same once more, in a new process. Who asks for it ends it."""
        python, _ = self._environment.python(contestant.entry, install=False)
        return Contestant(contestant.entry, python, self._directory)

    def everybody(self, task: str, size: int) -> None:
        """One task for all, one after the other. Who does not survive it is absent from then on."""
        for name, contestant in self.running.items():
            if self._absent[name]:
                continue
            try:
                contestant.do(task, size)
            except (Gone, BrokenPipeError) as gone:
                self._absent[name] = str(gone)

    def rows(self) -> list[Peer]:
        """A row for each entry, with what it could do, or with the reason why it is not there."""
        return [_row(entry, self.running.get(entry.name), self._absent[entry.name]) for entry in self._roster]


async def measure(run: Run) -> list[Peer]:
    with Round(run, ROSTER) as together:
        _cold(run, together)
        _go_round(run, together)
        return together.rows()


async def measure_lasting(run: Run) -> list[Peer]:
    """What it costs to keep a session, for those that can."""
    tasks = (("kept_call", run.count(200, 20)), ("suspend", run.count(6, 1)), ("bring_back", LASTING_CELLS))
    with Round(run, LASTING) as together:
        for number in run.rounds("sessions that last", 13, 2):
            for task, size in tasks:
                together.everybody(task, size)
            if number == 0:  # which made what is kept warm
                for contestant in together.running.values():
                    contestant.figures.clear()
        return together.rows()


def _cold(run: Run, together: Round) -> None:
    """The first session of a fresh process, after its imports. At the end everybody makes what the tasks keep warm."""
    for _ in run.rounds("peers, cold", 5, 1):
        for contestant in together.running.values():
            fresh = together.fresh(contestant)
            try:
                fresh.do("start", 1)
            finally:
                fresh.end()
            contestant.figures["cold"] += fresh.figures["start"]
    for contestant in together.running.values():
        for task in ("start", "eval"):
            contestant.do(task, 1)
            contestant.figures.pop(task, None)


def _go_round(run: Run, together: Round) -> None:
    once = [("memory", run.count(40, 3))]
    few = [("fib", FIB)]
    many = [("start", 8), ("eval", 40), ("call", 200), ("call_back", 200), ("call_async", 200)]
    for number in run.rounds("peers", 24, 2):
        for task, size in many + (few if number % 6 == 0 else []) + (once if number == 1 else []):
            together.everybody(task, size)


def _row(entry: Entry, contestant: Contestant | None, why: str) -> Peer:
    if contestant is None:
        return Peer(name=entry.name, isolation=entry.isolation, language=entry.language, keeps=entry.keeps, missing=why)
    figures = {task: median(figures) for task, figures in contestant.figures.items()}
    notes = [f"{task}: {reason}" for task, reason in contestant.failed.items()]
    if {"call", "call_back"} <= figures.keys():
        by_hand, by_callback = figures["call"], figures.pop("call_back")
        notes.append(
            f"a host call takes {shown(by_hand, 's')} by `feed_start` and `resume`, {shown(by_callback, 's')} by "
            "`feed_run`; the table has the lesser"
        )
        figures["call"] = min(by_hand, by_callback)
    return Peer(
        name=entry.name,
        version=contestant.version,
        isolation=entry.isolation,
        language=entry.language,
        keeps=entry.keeps,
        figures=figures,
        notes=(*entry.notes, *notes),
        missing=why,
    )
