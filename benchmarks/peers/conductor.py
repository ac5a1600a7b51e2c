"""Starts the contestants, gives each the same task in turn, and ends them with all they started."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections import defaultdict
from pathlib import Path
from typing import Any

from benchmarks.peers.roster import ROSTER, Entry, Environment
from benchmarks.results import Peer, shown
from benchmarks.run import Run, median

ROOT = Path(__file__).resolve().parents[2]
ANSWER_S = 120
ENDING_S = 10
FIB = 22


class Gone(Exception):
    """The contestant ended, or was ended because it took too long."""


class Contestant:
    """One running module of this package."""

    def __init__(self, entry: Entry, python: str) -> None:
        self.entry = entry
        self.figures: dict[str, list[float]] = defaultdict(list)
        self.failed: dict[str, str] = {}
        self._process = subprocess.Popen(
            [python, "-m", f"benchmarks.peers.{entry.module}"],
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


async def measure(run: Run) -> list[Peer]:
    """A row for each entry, with what it could do, or with the reason why it is not there."""
    environment = Environment(run.cache, run.say)
    running: dict[str, Contestant] = {}
    absent: dict[str, str] = {}
    try:
        for entry in ROSTER:
            python, why = environment.python(entry, install=not run.quick)
            try:
                if python:
                    running[entry.name] = Contestant(entry, python)
            except Gone as gone:
                why = str(gone)
            absent[entry.name] = why
        _cold(run, environment, running)
        _go_round(run, running, absent)
    finally:
        for contestant in running.values():
            contestant.end()
    return [_row(entry, running.get(entry.name), absent[entry.name]) for entry in ROSTER]


def _cold(run: Run, environment: Environment, running: dict[str, Contestant]) -> None:
    """The first session of a fresh process, after its imports. At the end everybody makes what the tasks keep warm."""
    for _ in run.rounds("peers, cold", 5, 1):
        for contestant in running.values():
            python, _ = environment.python(contestant.entry, install=False)
            fresh = Contestant(contestant.entry, python)
            try:
                fresh.do("start", 1)
            finally:
                fresh.end()
            contestant.figures["cold"] += fresh.figures["start"]
    for contestant in running.values():
        for task in ("start", "eval"):
            contestant.do(task, 1)
            contestant.figures.pop(task, None)


def _go_round(run: Run, running: dict[str, Contestant], absent: dict[str, str]) -> None:
    once = [("memory", run.count(40, 3))]
    few = [("fib", FIB)]
    many = [("start", 8), ("eval", 40), ("call", 200), ("call_back", 200), ("call_async", 200)]
    for number in run.rounds("peers", 24, 2):
        tasks = many + (few if number % 6 == 0 else []) + (once if number == 1 else [])
        for task, size in tasks:
            for name, contestant in running.items():
                if absent[name]:
                    continue
                try:
                    contestant.do(task, size)
                except (Gone, BrokenPipeError) as gone:
                    absent[name] = str(gone)


def _row(entry: Entry, contestant: Contestant | None, why: str) -> Peer:
    if contestant is None:
        return Peer(name=entry.name, isolation=entry.isolation, language=entry.language, missing=why)
    figures = {task: median(figures) for task, figures in contestant.figures.items()}
    notes = [f"{task}: {reason}" for task, reason in contestant.failed.items()]
    if {"call", "call_back"} <= figures.keys():
        by_hand, by_callback = figures["call"], figures.pop("call_back")
        notes.append(
            f"a host call takes {shown(by_hand, 's')} when the host drives each step (`feed_start`, `resume`) and "
            f"{shown(by_callback, 's')} as a callback (`feed_run`); the lesser is in the table"
        )
        figures["call"] = min(by_hand, by_callback)
    return Peer(
        name=entry.name,
        version=contestant.version,
        isolation=entry.isolation,
        language=entry.language,
        figures=figures,
        notes=tuple(notes),
        missing=why,
    )
