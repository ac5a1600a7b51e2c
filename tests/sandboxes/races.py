"""What a hostile guest does beside the host: the same thing over and over, from a thread of its own."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Callable, Generator
from pathlib import Path
from threading import Event, Thread

AT_FDCWD, RENAME_EXCHANGE = -100, 2
libc = ctypes.CDLL(None, use_errno=True)


@contextlib.contextmanager
def busy(act: Callable[[], None]) -> Generator[list[int]]:
    """Call `act` in a tight loop meanwhile. The list grows by one with every call that worked."""
    stop, done = Event(), list[int]()

    def loop() -> None:
        while not stop.is_set():
            with contextlib.suppress(OSError):
                act()
                done.append(1)

    thread = Thread(target=loop)
    thread.start()
    try:
        yield done
    finally:
        stop.set()
        thread.join()


def exchange(one: Path, other: Path) -> None:
    """Let two names change places in one step, whatever they name."""
    if libc.renameat2(AT_FDCWD, bytes(one), AT_FDCWD, bytes(other), RENAME_EXCHANGE) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
