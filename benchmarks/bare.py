"""One SQLite commit and nothing else: what the journal's writes are held against."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from typing import Literal

Synchronous = Literal["normal", "full"]
TABLE = (
    "create table rows (session integer not null, cell not null, path not null, seq integer not null, body not null, "
    "primary key (session, cell, path)) without rowid"
)
INSERT = "insert into rows values (1, 1, ?, ?, ?)"


class BareDatabase:
    """A WAL file with one table like the journal's. Not for two threads at once, but for any one."""

    def __init__(self, path: Path, synchronous: Synchronous) -> None:
        self.body = ""  # what each row holds
        self._rows = 0
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        assert self._connection.execute("pragma journal_mode = wal").fetchone() == ("wal",)
        self._connection.execute(f"pragma synchronous = {synchronous}")
        self._connection.execute(TABLE)

    def commit(self) -> None:
        """A row more. The statement is a transaction."""
        self._rows += 1
        self._connection.execute(INSERT, (f"1#{self._rows}", self._rows, self.body))

    def commits(self, times: int) -> list[float]:
        """Seconds for each of many commits, one right after the other."""
        took: list[float] = []
        for _ in range(times):
            began = time.perf_counter()
            self.commit()
            took.append(time.perf_counter() - began)
        return took

    def close(self) -> None:
        """Raises where a commit left nothing behind."""
        assert self._connection.execute("select count(*) from rows").fetchone() == (self._rows,)
        self._connection.close()
