"""A control group for one guest: memory and number of tasks, of all its processes together.

Used where a session may start processes, or where the operator requires it: joining one costs the kernel milliseconds.
Version 2 needs a subtree that is ours with the memory and pids controllers; version 1 needs root. Else there is none.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import signal
from dataclasses import dataclass
from pathlib import Path

from cellwright.sandboxes.base import Limits

_NEEDED = ("memory", "pids")
_MB = 1 << 20
_numbers = itertools.count(1)
_lingering: set[Path] = set()


@dataclass(frozen=True, kw_only=True)
class Cgroup:
    """Its directories, by controller. In version 2 they are all the same one."""

    version: int
    directories: dict[str, Path]

    def add(self, pid: int) -> None:
        for directory in set(self.directories.values()):
            (directory / "cgroup.procs").write_text(str(pid))

    def cpu_s(self) -> float | None:
        """Processor time of all that ran in it; None where nobody counts it."""
        if self.version == 2:
            return field(self.directories["memory"] / "cpu.stat", "usage_usec") / 1e6
        if "cpuacct" in self.directories:
            return int((self.directories["cpuacct"] / "cpuacct.usage").read_text()) / 1e9
        return None

    def out_of_memory(self) -> bool:
        """Whether the kernel ended one of its processes for want of memory."""
        name = "memory.events" if self.version == 2 else "memory.oom_control"
        return field(self.directories["memory"] / name, "oom_kill") > 0

    def pids(self) -> list[int]:
        """The processes in it now; none once it is gone."""
        with contextlib.suppress(FileNotFoundError):
            return [int(pid) for pid in (self.directories["pids"] / "cgroup.procs").read_text().split()]
        return []

    def kill(self) -> None:
        """SIGKILL to all in it."""
        with contextlib.suppress(OSError):
            (self.directories["pids"] / "cgroup.kill").write_text("1")
            return
        for pid in self.pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def remove(self) -> None:
        """Once its processes have ended. What the kernel still holds is removed when the next group is made."""
        _lingering.update(self.directories.values())
        _sweep()


def _sweep() -> None:
    for directory in list(_lingering):
        try:
            directory.rmdir()
        except FileNotFoundError:
            pass
        except OSError as error:
            if error.errno == errno.EBUSY:
                continue
            raise
        _lingering.discard(directory)


def _find_orphans(parents: set[Path]) -> None:
    """Groups of hosts that were killed. The kernel refuses to remove one that still has a process."""
    for parent in parents:
        for directory in parent.glob("cellwright-*-*"):
            if not Path("/proc", directory.name.split("-")[1]).exists():
                _lingering.add(directory)


def create(limits: Limits) -> Cgroup | None:
    """A new group under this process's own, or None where this machine gives none. Blocking."""
    memory, tasks = limits.memory_mb * _MB, 1 + limits.processes + limits.threads
    name = f"cellwright-{os.getpid()}-{next(_numbers)}"
    with contextlib.suppress(OSError, KeyError):
        own = own_groups()
        if "" in own and _offers(own[""]):
            group = Cgroup(version=2, directories=dict.fromkeys(_NEEDED, own[""] / name))
            files = {"memory": ("memory.max", memory), "pids": ("pids.max", tasks)}
        else:
            parents = {kind: own[kind] for kind in _NEEDED} | {kind: own[kind] for kind in ("cpuacct",) if kind in own}
            group = Cgroup(version=1, directories={kind: parent / name for kind, parent in parents.items()})
            files = {"memory": ("memory.limit_in_bytes", memory), "pids": ("pids.max", tasks)}
        _find_orphans({directory.parent for directory in group.directories.values()})
        _sweep()
        return _made(group, files)
    return None


def _made(group: Cgroup, files: dict[str, tuple[str, int]]) -> Cgroup:
    try:
        for directory in set(group.directories.values()):
            directory.mkdir()
        for kind, (file, value) in files.items():
            (group.directories[kind] / file).write_text(str(value))
    except OSError:
        group.remove()
        raise
    return group


def _offers(directory: Path) -> bool:
    """Whether groups below this one can have both controllers; turns them on where we may."""
    control = directory / "cgroup.subtree_control"
    if not set(_NEEDED) <= set((directory / "cgroup.controllers").read_text().split()):
        return False
    if not set(_NEEDED) <= set(control.read_text().split()):
        # A group that hands controllers down may hold no processes: the host moves into a leaf of its own first.
        leaf = directory / "cellwright-host"
        leaf.mkdir(exist_ok=True)
        for pid in (directory / "cgroup.procs").read_text().split():
            (leaf / "cgroup.procs").write_text(pid)
        control.write_text("+memory +pids")
    return True


def own_groups(root: Path = Path("/")) -> dict[str, Path]:
    """The directory of this process's group by controller; the unified hierarchy goes by the empty name.

    A container of docker with version 1 sees its group as the root of each mount, and the group's whole path in
    /proc/self/cgroup.
    """
    mounted: dict[str, tuple[str, Path]] = {}
    for line in (root / "proc/self/mountinfo").read_text().splitlines():
        fields, _, kinds = line.partition(" - ")
        _, _, _, shown, where, *_ = fields.split()
        kind, _, options = kinds.split()[:3]
        if kind == "cgroup2":
            mounted[""] = shown, root / where.lstrip("/")
        elif kind == "cgroup":
            mounted.update({option: (shown, root / where.lstrip("/")) for option in options.split(",")})
    groups: dict[str, Path] = {}
    for line in (root / "proc/self/cgroup").read_text().splitlines():
        _, kinds, path = line.split(":", 2)
        for kind in kinds.split(","):
            shown, where = mounted.get(kind, ("", Path()))
            if shown and Path(path).is_relative_to(shown):
                directory = where / Path(path).relative_to(shown)
                groups[kind] = directory.parent if directory.name == "cellwright-host" else directory
    return groups


def field(file: Path, name: str) -> int:
    """One number of a file of names and numbers; 0 where it is not there."""
    for line in file.read_text().splitlines():
        key, _, value = line.partition(" ")
        if key == name:
            return int(value)
    return 0
