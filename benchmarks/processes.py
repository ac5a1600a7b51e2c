"""What the kernel says of processes: who descends from whom, how much memory each takes; and on which core they run.
Standard library only.

Memory is PSS: private pages in full, a page shared by n processes as 1/n. Page tables, sockets, mounts and whatever
else the kernel keeps for a process are not in it.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress


def _children() -> dict[int, list[int]]:
    children: dict[int, list[int]] = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                parent = int(file.read().rpartition(")")[2].split()[1])
        except OSError:
            continue  # ended meanwhile
        children.setdefault(parent, []).append(int(entry))
    return children


def descendants(root: int) -> list[int]:
    """All processes below this one, itself not among them, parents first."""
    children = _children()
    found = list(children.get(root, ()))
    for pid in found:
        found += children.get(pid, ())
    return found


def leaves(root: int) -> list[int]:
    """The descendants that have no children of their own."""
    children = _children()
    return [pid for pid in descendants(root) if pid not in children]


def pss(pid: int | str) -> int:
    """Bytes. Raises `PermissionError` for a process that this user may not look into."""
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        for line in file:
            if line.startswith("Pss:"):
                return int(line.split()[1]) << 10
    return 0


def pss_of_tree() -> int:
    """This process and all below it. Raises as `pss` does."""
    total = pss("self")
    for pid in descendants(os.getpid()):
        try:
            total += pss(pid)
        except (FileNotFoundError, ProcessLookupError):
            continue  # ended meanwhile
    return total


def available() -> int:
    """Bytes that the machine could still give, by its own account."""
    with open("/proc/meminfo", encoding="ascii") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) << 10
    return 0


@contextmanager
def placed(others: list[int], ours: int, theirs: int) -> Generator[None]:
    """This process on one core, the others on another; afterwards anywhere again."""
    anywhere = os.sched_getaffinity(0)
    try:
        for pid, core in [*((thread, ours) for thread in _threads()), *((pid, theirs) for pid in others)]:
            os.sched_setaffinity(pid, {core})
        yield
    finally:
        for pid in [*_threads(), *others]:  # threads that began meanwhile took the place of those that began them
            with suppress(ProcessLookupError):
                os.sched_setaffinity(pid, anywhere)


def _threads() -> list[int]:
    return [int(thread) for thread in os.listdir("/proc/self/task")]
