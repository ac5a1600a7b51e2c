"""`StoreFile`: the file of a SQLite store on its disk: whether it is still there, and its log moved into it.

SQLite moves the log (WAL) at a commit, and flushes the disk for it. Here a thread does both, so that no commit waits.
It knows no rows.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from contextlib import closing, suppress
from pathlib import Path

from cellwright.errors import JournalFailed

PAGES = 1000  # of the log, before they are moved
LONG_LOG = 16 << 20  # bytes of a log that processes with few writes each have left: it is moved at the first write
KEPT_LOG = 4 << 20  # bytes that the file of the log keeps
PATIENCE_S = 1.0
GLANCE_S = 0.01


class StoreFile:
    """The file of an open store. `moves`: its connection leaves the log to this."""

    def __init__(self, path: Path, *, moves: bool) -> None:
        self._name = path
        self._path = os.path.abspath(path)
        self._log = f"{self._path}-wal"
        self._is = _identity(self._path), _identity(self._log)
        self._moves = moves
        self._pages = PAGES if _size(self._log) > LONG_LOG else 0
        self._thread: threading.Thread | None = None
        self._checked = 0.0

    def glance(self) -> None:
        """The same as `check`, for a write that may come soon after another: a look costs a third of a small row."""
        if time.monotonic() - self._checked > GLANCE_S:
            self.check()

    def check(self) -> None:
        """`JournalFailed` where the file, or its log, was removed or replaced: what is written would be lost."""
        if (_identity(self._path), _identity(self._log)) != self._is:
            raise self._gone()
        self._checked = time.monotonic()

    def _gone(self) -> JournalFailed:
        here = _identity(self._path)
        if here == self._is[0]:
            what = f"{self._log} was {'removed' if _identity(self._log) is None else 'replaced'}"
        else:
            what = f"the file was {'removed' if here is None else 'replaced by another'}"
        return JournalFailed(
            f"journal {self._name}: {what} while it was open; nothing more is written. Put it back, then resume"
        )

    def wrote(self, pages: int) -> None:
        """About so many pages were added to the log."""
        self._pages += pages
        if self._pages >= PAGES and self._moves and (self._thread is None or not self._thread.is_alive()):
            self._pages = 0
            thread = threading.Thread(target=self._move, name="cellwright-wal", daemon=True)
            with suppress(RuntimeError):  # there are too many threads: the next time will do, and this row is written
                thread.start()
                self._thread = thread

    def close(self) -> None:
        """Before the store's own connection is closed."""
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join()

    def _move(self) -> None:
        with suppress(sqlite3.Error, JournalFailed):  # the next time will do; a write tells what is wrong
            self.check()
            uri = f"{Path(self._path).as_uri()}?mode=rw"
            with closing(sqlite3.connect(uri, uri=True, timeout=PATIENCE_S, isolation_level=None)) as connection:
                connection.execute(f"pragma journal_size_limit = {KEPT_LOG}")
                connection.execute("pragma synchronous = normal")
                connection.execute("pragma wal_checkpoint(passive)").fetchall()  # nearly all, while others write
                connection.execute("pragma wal_checkpoint(full)").fetchall()  # the rest, while nobody does
                connection.execute("update epochs set last = last")  # begins the log anew, which flushes it once


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
