"""A store in one SQLite file: many sessions, many processes, one writer a session. Its parts are in modules beside."""

from __future__ import annotations

from cellwright.store.sqlite_deciding import SqliteDeciding
from cellwright.store.sqlite_reading import SqliteReading
from cellwright.store.sqlite_searching import SqliteSearching
from cellwright.store.sqlite_writing import SqliteWriting


class SqliteStore(SqliteReading, SqliteWriting, SqliteDeciding, SqliteSearching):
    """See `Store`. Durable against the death of the process; against power loss too when `power_safe`.

    Its methods may be called from any thread, and wait for each other. `on_write` is for crash tests: it is called with
    the number of a durable write, and "before" or "after" it.
    """
