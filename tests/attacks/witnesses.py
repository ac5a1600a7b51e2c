"""Facts about the host that an attack would change: files, connections, processes, descriptors."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import socket
import stat
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

WAIT_S = 10.0


async def until(true: Callable[[], bool], wait_s: float = WAIT_S) -> bool:
    """Whether it became true within the time."""
    end = time.monotonic() + wait_s
    while not true():
        if time.monotonic() > end:
            return False
        await asyncio.sleep(0.005)
    return True


async def settled(wait_s: float = WAIT_S) -> None:
    """Until no process has come or gone for a while: a zygote forks its next child a moment after it was asked."""
    end = time.monotonic() + wait_s
    count, same = len(descendants()), 0
    while same < 10 and time.monotonic() < end:
        await asyncio.sleep(0.005)
        now = len(descendants())
        count, same = now, same + 1 if now == count else 0


def descendants(root: int | None = None) -> dict[int, int]:
    """The processes below `root` (this one when left out), each with its parent."""
    parents: dict[int, int] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{entry}/stat", "rb") as file:
                parents[int(entry)] = int(file.read().rpartition(b")")[2].split()[1])
    below = {root or os.getpid()}
    found: dict[int, int] = {}
    grew = True
    while grew:
        new = {pid: parent for pid, parent in parents.items() if parent in below and pid not in found}
        found |= new
        below |= new.keys()
        grew = bool(new)
    return found


def cpu_s(pids: Iterable[int]) -> float:
    """Processor time that these processes have used so far."""
    ticks = 0
    for pid in pids:
        with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", "rb") as file:
            ticks += sum(int(field) for field in file.read().rpartition(b")")[2].split()[11:13])
    return ticks / os.sysconf("SC_CLK_TCK")


def memory_mb(pids: Iterable[int]) -> int:
    """Memory that these processes hold, without files'."""
    pages = 0
    for pid in pids:
        with contextlib.suppress(OSError), open(f"/proc/{pid}/statm") as file:
            _, resident, shared, *_ = map(int, file.read().split())
            pages += resident - shared
    return pages * os.sysconf("SC_PAGE_SIZE") >> 20


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def peak_mb() -> int:
    """The most memory that this process held since `reset_peak_mb`."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) >> 10 for line in file if line.startswith("VmHWM:"))


def reset_peak_mb() -> int:
    """Measure anew; gives what is held now."""
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    return peak_mb()


def snapshot(root: Path) -> dict[str, str]:
    """Every entry below `root`: its kind, mode, owner, time of change, and a hash of what it holds."""
    found: dict[str, str] = {}
    for path in [root, *sorted(root.rglob("*"))]:
        info = path.lstat()
        what = ""
        if stat.S_ISREG(info.st_mode):
            what = hashlib.sha256(path.read_bytes()).hexdigest()
        elif stat.S_ISLNK(info.st_mode):
            what = os.readlink(path)
        found[str(path)] = f"{info.st_mode:o} {info.st_uid} {info.st_nlink} {info.st_mtime_ns} {what}"
    return found


def changes(before: dict[str, str], after: dict[str, str]) -> list[str]:
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


def _shared_directories() -> Iterator[Path]:
    """Where a guest that got out could leave a file for later sessions or for the host."""
    stdlib = Path(sysconfig.get_path("stdlib"))
    yield from (stdlib / name for name in (".", "__pycache__", "json", "json/__pycache__", "lib-dynload"))
    yield Path(sysconfig.get_path("purelib"))
    yield from (Path(name) for name in "/ /tmp /var/tmp /dev /dev/shm /run /etc /usr/lib".split())
    yield from (Path(tempfile.gettempdir()), Path.home())


def strays(marker: str) -> list[str]:
    """Files named after the marker, where none may be."""
    found: list[str] = []
    for directory in _shared_directories():
        with contextlib.suppress(OSError):
            found += [str(directory / name) for name in os.listdir(directory) if marker in name]
    return found


class Listeners:
    """Sockets of the host that must hear nothing: TCP and UDP on the loopback, two unix paths, an abstract name."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "listener.sock"
        self.abstract = f"cellwright-attack-{os.urandom(6).hex()}"
        tcp = socket.create_server(("127.0.0.1", 0))
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.bind(("127.0.0.1", 0))
        named = socket.socket(socket.AF_UNIX)
        named.bind(str(self.path))
        self.path.chmod(0o777)
        self.datagrams = directory / "datagrams.sock"
        datagrams = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        datagrams.bind(str(self.datagrams))
        self.datagrams.chmod(0o777)
        abstract = socket.socket(socket.AF_UNIX)
        abstract.bind(f"\0{self.abstract}")
        for server in (named, abstract):
            server.listen()
        self.tcp_port: int = tcp.getsockname()[1]
        self.udp_port: int = udp.getsockname()[1]
        self._servers = {"tcp": tcp, "unix": named, "abstract": abstract}
        self._datagrams = {"udp": udp, "unix datagram": datagrams}
        for server in (*self._servers.values(), *self._datagrams.values()):
            server.setblocking(False)

    def heard(self) -> list[str]:
        """Who connected or sent since the last time."""
        found: list[str] = []
        for name, server in self._servers.items():
            with contextlib.suppress(BlockingIOError):
                server.accept()[0].close()
                found.append(name)
        for name, receiver in self._datagrams.items():
            with contextlib.suppress(BlockingIOError):
                receiver.recv(1)
                found.append(name)
        return found

    def close(self) -> None:
        for server in (*self._servers.values(), *self._datagrams.values()):
            server.close()
