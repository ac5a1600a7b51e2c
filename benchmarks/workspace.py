"""What a snapshot of the workspace costs before a cell, with one file changed among few and among many that were not.

The same change is also kept by `cp -a` and by a git directory beside the workspace (`git add -A && git write-tree`), in
the same round. The first snapshot, which reads everything, is not part of it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.results import Check, shown
from benchmarks.run import Run, median
from cellwright.journal import Trees
from cellwright.sandboxes import GUEST_UID, Workspace
from cellwright.store import Facts, SqliteStore
from cellwright_guest.wire import NOTHING

FEW = 100
GROWTH = 2.0  # times what it costs among few
FULL, QUICK = (10_000, 50_000), (2_000,)
IN_DIRECTORY = 100
SIDES = ("nothing", "one", "cp", "git")
Found = dict[str, list[float]]


async def measure(run: Run) -> list[Check]:
    with run.directory() as directory:
        found = {count: _measured(run, directory, count) for count in (FEW, *(QUICK if run.quick else FULL))}
    few = found.pop(FEW)
    checks: list[Check] = []
    for count, times in found.items():
        checks += [
            _check(f"snapshot, one of {count:,} files changed", f"one of {FEW}", times, few),
            _against("cp", f"snapshot, one of {count:,} files changed", "`cp -a`", times),
            _against(
                "git",
                f"snapshot, one of {count:,} files changed",
                "`git add -A && git write-tree`",
                times,
            ),
        ]
    return checks


def _check(what: str, against: str, many: Found, few: Found) -> Check:
    ours, theirs = median(many["one"]), median(few["one"])
    nothing = f"none changed {shown(median(many['nothing']), 's')}, {shown(median(few['nothing']), 's')}"
    return Check(
        subject="sessions",
        what=what,
        against=against,
        ours=ours,
        theirs=theirs,
        value=ours / theirs,
        target=GROWTH,
        samples=len(many["one"]),
        note=nothing,
    )


def _against(side: str, what: str, against: str, times: Found) -> Check:
    ours, theirs = median(times["one"]), median(times[side])
    return Check(
        subject="sessions",
        what=what,
        against=against,
        ours=ours,
        theirs=theirs,
        value=ours / theirs,
        samples=len(times[side]),
    )


def _measured(run: Run, directory: Path, count: int) -> Found:
    found: Found = {side: [] for side in SIDES}
    with _workspace(directory, count) as (workspace, take):
        git = _git(directory / f"{count}.git", workspace.path)
        git()

        def copy() -> None:
            subprocess.run(["cp", "-a", workspace.path, directory / "copy"], check=True)

        for number in run.rounds(f"snapshots of {count:,} files", 20, 5):
            (workspace.path / "0" / "changed").write_text(f"changed {number}")
            found["one"].append(_took(take))
            found["nothing"].append(_took(take))
            found["git"].append(_took(git))
            if number < 2:  # it takes its time
                found["cp"].append(_took(copy))
                shutil.rmtree(directory / "copy")
    return found


def _took(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


@contextmanager
def _workspace(directory: Path, count: int) -> Generator[tuple[Workspace, Callable[[], object]]]:
    """A workspace of that many files, of which a first snapshot was taken."""
    store = SqliteStore(directory / f"{count}.db")
    store.create(Facts(id="s", created=0.0, seed=bytes(32), pins={}, names=NOTHING))
    workspace = Workspace.create(directory, GUEST_UID)
    for i in range(count):
        place = workspace.path / str(i // IN_DIRECTORY)
        if not i % IN_DIRECTORY:
            place.mkdir()
        (place / f"{i}.txt").write_text(f"This is file {i}.\n" * 10)
    trees = Trees(store, "s")
    trees.take(workspace)
    try:
        yield workspace, lambda: trees.take(workspace)
    finally:
        workspace.close()
        store.close()


def _git(directory: Path, workspace: Path) -> Callable[[], object]:
    """A git directory beside it, as other tools have one."""
    environment = os.environ | {"GIT_DIR": str(directory), "GIT_WORK_TREE": str(workspace)}

    def git(*words: str) -> None:
        subprocess.run(["git", *words], env=environment, check=True, capture_output=True)

    def snapshot() -> None:
        git("add", "-A")
        git("write-tree")

    git("init")
    return snapshot
