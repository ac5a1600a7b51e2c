"""A file as a journal: opened, checked, brought to this version; and what SQLite's failures mean for an operator.

What is in a file of which version is `tables`' business.
"""

from __future__ import annotations

import functools
import itertools
import os
import sqlite3
import time
from contextlib import suppress
from pathlib import Path

from cellwright.errors import CellwrightError, JournalFailed, UsageError
from cellwright.store.tables import INDEX, INDEX_PARTS, MAKE_INDEX, MIGRATIONS, Step

BUSY_S = 10.0
APPLICATION_ID = 0x74774A6C  # "twJl", in the file's header: it tells a journal from anybody else's database

_WHY = {
    sqlite3.SQLITE_FULL: "the disk is full; make room, then resume",
    sqlite3.SQLITE_READONLY: "it may not be written; check the rights of the file and of its directory",
    sqlite3.SQLITE_PERM: "it may not be opened; check the rights of the file and of its directory",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened; check that it is a file, and the rights of its directory",
    sqlite3.SQLITE_NOTADB: "it is no journal, not even a database; name another file",
    sqlite3.SQLITE_CORRUPT: "the file is damaged; put a copy of it in its place",
    sqlite3.SQLITE_IOERR: "the disk refused to read or write; check it, and the space on it",
    sqlite3.SQLITE_TOOBIG: "a value is larger than SQLite takes; hand over less at a time",
}


def failure(path: Path, error: sqlite3.Error | ValueError) -> CellwrightError:
    """One line for the operator. Whatever failed, the file is as the last `write` that returned left it.

    A `ValueError` is what Python makes of a damaged file: words with bytes of it, a row that only an index has.
    """
    code = getattr(error, "sqlite_errorcode", None)
    if isinstance(error, ValueError):
        return JournalFailed(f"journal {path}: {_WHY[sqlite3.SQLITE_CORRUPT]} ({str(error)!r:.200})")
    if code is None:
        if "closed" in str(error):
            return UsageError(f"journal {path}: it is closed")
        return JournalFailed(f"journal {path}: {error}")
    if code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        why = f"another process kept it locked for {BUSY_S:g} s; end that process, or try again"
    else:
        why = _WHY.get(code & 0xFF, "SQLite failed")
    return JournalFailed(f"journal {path}: {why} ({error})")


def connect(path: Path, *, power_safe: bool) -> sqlite3.Connection:
    """The file as a journal of this version, made where there is none. A file that is something else is not touched."""
    if not path.parent.is_dir():
        raise UsageError(f"journal {path}: there is no directory {path.parent}; make it, or name another file")
    try:
        # It holds arguments and answers as they were. One that is there is not opened: closing it again would take from
        # this process the locks of its other connections to the file.
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError:
        pass  # SQLite says better what is wrong with it
    try:
        connection = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
    except sqlite3.Error as error:
        raise failure(path, error) from error
    try:
        connection.execute("begin")  # all of it as it was at one moment: another process may be making it
        _check(connection, path)
        connection.execute("commit")
        _write_ahead(connection, path)
        connection.execute(f"pragma synchronous = {'full' if power_safe else 'normal'}")
        _migrate(connection, path)
    except (sqlite3.Error, UnicodeDecodeError) as error:
        connection.close()
        raise failure(path, error) from error
    except CellwrightError:
        connection.close()
        raise
    return connection


def _version(connection: sqlite3.Connection) -> int:
    return _one(connection, "pragma user_version")


def _one(connection: sqlite3.Connection, sql: str) -> int:
    (found,) = connection.execute(sql).fetchone()
    return found


def _check(connection: sqlite3.Connection, path: Path) -> None:
    version, application = _version(connection), _one(connection, "pragma application_id")
    if application != APPLICATION_ID and (version or _one(connection, "select count(*) from sqlite_master")):
        raise JournalFailed(f"journal {path}: it is a database of something else; name another file")
    if version <= len(MIGRATIONS) and _objects(connection) != _made_by(version):
        raise JournalFailed(f"journal {path}: it has tables, views or triggers that no journal has; name another file")
    if version > len(MIGRATIONS):
        raise JournalFailed(
            f"journal {path}: it has version {version} and this Cellwright knows up to {len(MIGRATIONS)}; "
            "upgrade Cellwright, or name another file"
        )
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise JournalFailed(f"journal {path}: {_WHY[sqlite3.SQLITE_READONLY]}")


def _objects(connection: sqlite3.Connection) -> set[tuple[object, ...]]:
    """All that is defined there but SQLite's own statistics. A view or a trigger of a stranger's file would run.

    The search index is made when somebody searches, and its inner tables as SQLite's version likes them.
    """
    sql = "select type, name, tbl_name, sql from sqlite_master where name not like 'sqlite_stat%'"
    return {found for found in connection.execute(sql) if not _of_index(*found)}


def _of_index(kind: str, name: str, table: str, sql: str | None) -> bool:
    if kind != "table" or name != table or sql is None:
        return False
    return sql == MAKE_INDEX if name == INDEX else name in INDEX_PARTS and sql.startswith("CREATE TABLE ")


@functools.cache
def _made_by(version: int) -> set[tuple[object, ...]]:
    """What a journal of that version has."""
    connection = sqlite3.connect(":memory:")
    try:
        for step in itertools.chain(*MIGRATIONS[:version]):
            _take(connection, step)
        return _objects(connection)
    finally:
        connection.close()


def _take(connection: sqlite3.Connection, step: Step) -> None:
    if isinstance(step, str):
        connection.execute(step)
    else:
        step(connection)


def _write_ahead(connection: sqlite3.Connection, path: Path) -> None:
    """Change to WAL. SQLite does not wait for its locks here, which processes that open a new file at once need."""
    until = time.monotonic() + BUSY_S
    while True:
        try:
            (mode,) = connection.execute("pragma journal_mode = wal").fetchone()
            break
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)
    if mode != "wal":
        raise JournalFailed(
            f"journal {path}: its file system has no shared memory for SQLite; name a file on a local disk"
        )


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    if _version(connection) == len(MIGRATIONS):
        return
    connection.execute("begin immediate")
    try:
        _check(connection, path)  # another process may have been here before the lock was ours
        for step in MIGRATIONS[_version(connection) :]:
            for one in step:
                _take(connection, one)
        connection.execute(f"pragma application_id = {APPLICATION_ID}")
        connection.execute(f"pragma user_version = {len(MIGRATIONS)}")
        connection.execute("commit")
    finally:
        if connection.in_transaction:
            with suppress(sqlite3.Error):  # what failed first is the reason
                connection.execute("rollback")
