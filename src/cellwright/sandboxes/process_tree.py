"""What the host reads in /proc of a guest: a thread that has the process's memory and files, and the processes below.

Nothing here looks at the first thread alone: guest code may end it while others go on.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

_AT_ONCE = 1 << 16


def tasks(pid: int) -> list[int]:
    """The threads of a process; none when it is gone."""
    with contextlib.suppress(OSError):
        return [int(task) for task in os.listdir(f"/proc/{pid}/task")]
    return []


def living_task(pid: int) -> int:
    """A thread that has the process's memory and files: the first may end before the others, and then has none."""
    if _has_memory(pid):
        return pid
    return next(filter(_has_memory, tasks(pid)), pid)


def _has_memory(pid: int) -> bool:
    return memory(pid)[:1] not in ([], [b"0"])


def memory(pid: int) -> list[bytes]:
    """The pages of a process or thread, as `statm` has them: all "0" where it has no memory, [] when it is gone."""
    return read_words(f"/proc/{pid}/statm")


def family(pid: int) -> Iterator[int]:
    """A process and those below it. A child stands with the thread that made it."""
    pending = [pid]  # no recursion: guest code decides how long the line of descent is
    for one in pending:
        yield one
        for task in tasks(one):
            pending += map(int, read_words(f"/proc/{one}/task/{task}/children"))


def read_words(path: str) -> list[bytes]:
    """The words of a file of /proc; none where it cannot be read."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return []
    try:
        parts = iter(lambda: os.read(fd, _AT_ONCE), b"")  # the kernel gives a page of a list at a time
        return b"".join(parts).split()
    except OSError:
        return []
    finally:
        os.close(fd)
