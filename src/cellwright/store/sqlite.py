"""`SqliteStore` and `MemoryStore`: one engine, on a file or on a database in memory. Its parts are in modules beside.

There are two classes because a store in memory has no `path`, beside which the journal would keep workspaces, and
because to close it must not lose what it holds. Nothing else differs.
"""

from __future__ import annotations

import os
import weakref
from pathlib import Path

from cellwright.store.large_files import LargeFiles
from cellwright.store.sql_database import SNAPSHOTS_MB
from cellwright.store.sqlite_reader import SqliteReader
from cellwright.store.sqlite_schema import connect_file, connect_memory
from cellwright.store.sqlite_search import SqliteSearch
from cellwright.store.sqlite_writer import SqliteWriter
from cellwright.store.store_file import StoreFile


class SqliteEngine(SqliteReader, SqliteWriter, SqliteSearch):
    """What both stores do. Methods may be called from any thread, and wait for each other.

    `on_write` is for crash tests: it is called with the number of a durable write, and "before" or "after" it.
    """


class SqliteStore(SqliteEngine):
    """See `Store`: many sessions, many processes, one writer a session.

    It is durable against the death of the process; against power loss too when `power_safe`. Of the files of a session
    about `snapshots_mb` are kept, and what its resume needs: see `BoundedFiles`.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, power_safe: bool = False, snapshots_mb: int = SNAPSHOTS_MB
    ) -> None:
        self.path = Path(path)
        super().__init__(
            connect_file(self.path, power_safe=power_safe), str(self.path), LargeFiles(self.path, durable=power_safe)
        )
        self._file = StoreFile(self.path, moves=not power_safe)
        self._flushes = power_safe
        self.snapshots_mb = snapshots_mb


class MemoryStore(SqliteEngine):
    """See `Store`: for tests, and for sessions that need not outlive their process. Gone with the object.

    Large contents are in the database too: there is no directory beside it.
    """

    def __init__(self, *, snapshots_mb: int = SNAPSHOTS_MB) -> None:
        connection = connect_memory()
        super().__init__(connection, "memory:")
        self.snapshots_mb = snapshots_mb
        weakref.finalize(self, connection.close)

    def close(self) -> None:
        """Nothing to close: what was written stays as long as the object does."""
