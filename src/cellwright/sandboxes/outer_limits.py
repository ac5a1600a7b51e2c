"""The limits round the host: those of its container or service, and of its user. For words about what they ended.

Reads the host's own control group, version 1 or 2. Where nothing can be read, nothing is said.
"""

from __future__ import annotations

import errno
import functools
import os
import resource
from pathlib import Path

from cellwright.sandboxes import cgroup

_MACHINE = Path("/")
NO_THREAD = "can't start new thread"  # Python's own words
_NOT_STARTED = (os.strerror(errno.EAGAIN), NO_THREAD)
_UNLIMITED_MB = 1 << 30  # version 1 writes no limit as almost 2^63 bytes


class OuterLimits:
    """How often the kernel has kept a limit round this process, counted from when this was made."""

    def __init__(self, root: Path = _MACHINE) -> None:
        self._root = root
        self._kills = _kills(root)
        self._refused = _refused(root)

    def ended_by(self) -> str:
        """Which limit most likely ended a process by SIGKILL: words in brackets, or none."""
        kills = _kills(self._root)
        if kills is None or self._kills is None or kills <= self._kills:
            return ""
        limit = _memory_limit_mb(self._root)
        if limit is None:
            return " (most likely by the kernel: this machine has run out of memory)"
        return (
            f" (most likely by the kernel: the container or service has reached its memory limit of {limit} MB; "
            "raise that, or open fewer sessions at once)"
        )

    def explained(self, text: str) -> str:
        """The text of an error; of one that tells of a process or thread that did not start, with the limit it met."""
        return text + self.refused_by() if any(words in text for words in _NOT_STARTED) else text

    def refused_by(self) -> str:
        """Which limit a process or thread has met that could not be started: words in brackets, or none."""
        refused, most = _refused(self._root), _most_tasks(self._root)
        grown = refused is not None and self._refused is not None and refused > self._refused
        own, _ = resource.getrlimit(resource.RLIMIT_NPROC)
        unlimited = own == resource.RLIM_INFINITY
        if most is not None and (grown or unlimited or most <= own):  # where nothing is counted, the lower of the two
            return f" (the container or service has reached its limit of {most} processes and threads, pids.max)"
        return "" if unlimited or grown else f" (this user may have {own} processes, ulimit -u)"


@functools.cache
def _groups(root: Path) -> dict[str, Path]:
    try:
        return cgroup.own_groups(root)
    except (OSError, ValueError):
        return {}


def _kills(root: Path) -> int | None:
    """Processes that the kernel ended for want of memory: of the own group, else of the machine."""
    groups = _groups(root)
    for file in (
        groups.get("memory", root) / "memory.oom_control",
        groups.get("", root) / "memory.events",
        root / "proc/vmstat",
    ):
        try:
            return cgroup.field(file, "oom_kill")
        except (OSError, ValueError):
            continue
    return None


def _refused(root: Path) -> int | None:
    try:
        return cgroup.field(_tasks_group(root) / "pids.events", "max")
    except (OSError, ValueError):
        return None


def _most_tasks(root: Path) -> int | None:
    return _number(_tasks_group(root) / "pids.max")


def _tasks_group(root: Path) -> Path:
    groups = _groups(root)
    return groups.get("pids") or groups.get("") or root


def _memory_limit_mb(root: Path) -> int | None:
    groups = _groups(root)
    for file in (groups.get("memory", root) / "memory.limit_in_bytes", groups.get("", root) / "memory.max"):
        limit = _number(file)
        if limit is not None and limit >> 20 < _UNLIMITED_MB:
            return limit >> 20
    return None


def _number(file: Path) -> int | None:
    """None where there is no such file, or no limit in it ("max")."""
    try:
        return int(file.read_text())
    except (OSError, ValueError):
        return None
