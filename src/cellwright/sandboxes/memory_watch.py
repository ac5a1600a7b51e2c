"""Counts what guests hold in memory, because the kernel's limit on data leaves out what is no longer called data.

`RLIMIT_DATA` refuses at once, so this ends only those who went round it: a page of a stack that was moved and grows,
memory that was written and then made read-only. A guest in a control group is counted by the kernel.
"""

from __future__ import annotations

import asyncio
import contextlib
import resource
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from cellwright.errors import GuestError, MemoryLimit
from cellwright.sandboxes.base import Limits
from cellwright.sandboxes.exit_errors import GONE
from cellwright.sandboxes.process_tree import family, living_task, memory
from cellwright.sandboxes.zygotes import Child

LOOK_S = 0.1
BUSY_S = 0.02  # looking takes that long at once, at 10 µs a process: a larger crowd is looked at in turn
RESTS = 4  # times as long as the look took: guest code decides how many processes a guest has
# A guest that keeps to RLIMIT_DATA holds its stack besides, and what its libraries have written and made read-only.
SLACK = 64 << 20
_PAGE = resource.getpagesize()


@dataclass(kw_only=True, eq=False)
class WatchedGuest:
    """`most` bytes for each of its processes; `end` is called on its loop once it holds more."""

    child: Child
    most: int
    limits: Limits
    end: Callable[[GuestError], None]
    loop: asyncio.AbstractEventLoop

    def look(self) -> bool:
        """Whether it still keeps to its limit."""
        for pid in self.child.running():
            if any(held(process)[0] > self.most for process in (family(pid) if self.limits.processes else (pid,))):
                error = MemoryLimit(f"the guest held more than memory_mb={self.limits.memory_mb}. {GONE}")
                with contextlib.suppress(RuntimeError):  # the loop has been closed, and its guests are gone
                    self.loop.call_soon_threadsafe(self.end, error)
                return False
        return True


class MemoryWatch:
    """Looks at all guests in turn, on a thread while there are any.

    A timer that comes again and again would keep the cancelled ones behind it in the loop, and what they hold.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._guests: deque[WatchedGuest] = deque()
        self._thread: threading.Thread | None = None

    def add(self, guest: WatchedGuest) -> None:
        with self._lock:
            self._guests.append(guest)
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="cellwright-memory", daemon=True)
                self._thread.start()

    def remove(self, guest: WatchedGuest) -> None:
        with self._lock, contextlib.suppress(ValueError):
            self._guests.remove(guest)

    def _watch(self) -> None:
        while self._is_needed():
            began = time.monotonic()
            self._look(began + BUSY_S)  # keeps nothing over the pause
            time.sleep(max(LOOK_S, RESTS * (time.monotonic() - began)))

    def _is_needed(self) -> bool:
        with self._lock:
            if not self._guests:
                self._thread = None
            return self._thread is not None

    def _look(self, until: float) -> None:
        with self._lock:
            due = list(self._guests)
        for guest in due:
            with self._lock:
                self._guests.rotate(-1)  # whom there is no time for is first the next time
            if not guest.look():
                self.remove(guest)
            if time.monotonic() > until:
                return


_WATCH = MemoryWatch()


def watch(child: Child, limits: Limits, warm: int, end: Callable[[GuestError], None]) -> Callable[[], None]:
    """Watch a guest whose zygote holds `warm` bytes, until what is given back is called."""
    most, loop = warm + (limits.memory_mb << 20) + SLACK, asyncio.get_running_loop()
    guest = WatchedGuest(child=child, most=most, limits=limits, end=end, loop=loop)
    _WATCH.add(guest)
    return lambda: _WATCH.remove(guest)


def held(pid: int) -> tuple[int, int]:
    """Bytes of memory without files': those that are present, and those that may be written; zeros when it is gone."""
    fields = memory(pid)
    if fields[:1] == [b"0"]:  # its first thread has ended
        fields = memory(living_task(pid))
    pages = [int(count) * _PAGE for count in fields]
    return (pages[1] - pages[2], pages[5]) if len(pages) > 5 else (0, 0)
