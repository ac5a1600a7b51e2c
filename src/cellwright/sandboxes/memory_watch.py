"""Counts what guests hold in memory, because the kernel's limit on data leaves out what is no longer called data.

`RLIMIT_DATA` refuses at once, so this ends only those who went round it: a page of a stack that was moved and grows,
memory that was written and then made read-only. A guest in a control group is counted by the kernel.
"""

from __future__ import annotations

import asyncio
import os
import resource
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from cellwright.errors import GuestError, MemoryLimit
from cellwright.sandboxes.base import Limits
from cellwright.sandboxes.exit_errors import GONE
from cellwright.sandboxes.zygotes import Child

LOOK_S = 0.1
MOST_LOOKS = 100  # at once, at 10 µs each: a larger crowd is looked at in turn
# A guest that keeps to RLIMIT_DATA holds its stack besides, and what its libraries have written and made read-only.
SLACK = 64 << 20
_PAGE = resource.getpagesize()


@dataclass(frozen=True, kw_only=True, eq=False)
class WatchedGuest:
    """`most` bytes for each of its processes; `end` is called once it holds more."""

    child: Child
    most: int
    limits: Limits
    end: Callable[[GuestError], None]

    def look(self) -> None:
        for pid in self.child.running():
            if any(held(process)[0] > self.most for process in self._processes(pid)):
                self.end(MemoryLimit(f"the guest held more than memory_mb={self.limits.memory_mb}. {GONE}"))

    def _processes(self, pid: int) -> Iterator[int]:
        yield pid
        if self.limits.processes:
            for below in _read(f"/proc/{pid}/task/{pid}/children"):
                yield from self._processes(int(below))


class MemoryWatch:
    """The guests of one event loop, looked at in turn by one timer while there are any."""

    def __init__(self) -> None:  # without the loop: it is found by its loop, which may go
        self._guests: deque[WatchedGuest] = deque()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, guest: WatchedGuest) -> None:
        self._guests.append(guest)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(LOOK_S, self._look)

    def remove(self, guest: WatchedGuest) -> None:
        if guest in self._guests:
            self._guests.remove(guest)

    def _look(self) -> None:
        due = [self._guests[i] for i in range(min(len(self._guests), MOST_LOOKS))]
        self._guests.rotate(-len(due))
        for guest in due:
            guest.look()
        self._timer = asyncio.get_running_loop().call_later(LOOK_S, self._look) if self._guests else None


_watches: WeakKeyDictionary[asyncio.AbstractEventLoop, MemoryWatch] = WeakKeyDictionary()


def watch(child: Child, limits: Limits, warm: int, end: Callable[[GuestError], None]) -> Callable[[], None]:
    """Watch a guest whose zygote holds `warm` bytes, until what is given back is called."""
    loop = asyncio.get_running_loop()
    if (watched := _watches.get(loop)) is None:
        watched = _watches[loop] = MemoryWatch()
    guest = WatchedGuest(child=child, most=warm + (limits.memory_mb << 20) + SLACK, limits=limits, end=end)
    watched.add(guest)
    return lambda: watched.remove(guest)


def held(pid: int) -> tuple[int, int]:
    """Bytes of memory without files': those that are present, and those that may be written; zeros when it is gone."""
    fields = [int(pages) * _PAGE for pages in _read(f"/proc/{pid}/statm")]
    return (fields[1] - fields[2], fields[5]) if len(fields) > 5 else (0, 0)


def _read(path: str) -> list[bytes]:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return []
    try:
        return os.read(fd, 4096).split()
    except OSError:
        return []
    finally:
        os.close(fd)
