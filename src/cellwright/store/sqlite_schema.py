"""The tables of a SQLite store; a file opened, checked and made; and what SQLite's failures mean for an operator."""

from __future__ import annotations

import functools
import os
import sqlite3
import time
from contextlib import suppress
from pathlib import Path

from cellwright.errors import CellwrightError, JournalFailed, UsageError

BUSY_S = 10.0  # for a lock that another process holds
APPLICATION_ID = 0x63774A6C  # "cwJl", in the file's header: it tells a journal from anybody else's database
VERSION = 2
NUMBER_BITS = 32  # an entry's key is its session's number and its own, in one integer: one tree, and no index beside it

# `session` is `sessions.n`, which is never used twice. `epochs` has one row: claims are counted for the whole database,
# so that no claim of a session that was forgotten fits a later session of the same name. Entries are only ever added.
# `sessions` has what a list of sessions shows, and the lease: `until` is when it runs out. `facts` has what a session
# began with, so that a list need not read past it. `texts` says which entry each text of the search index is from.
TABLES = (
    "create table epochs (last integer not null)",
    "insert into epochs values (0)",
    "create table sessions (n integer primary key autoincrement, epoch integer not null, id not null unique, parent, "
    "child_of, parent_cell not null default 0, parent_entry not null default 0, agent not null default '', "
    "created not null, updated not null, title not null default '', name not null default '', "
    "state not null default 'new', turns integer not null default 0, cells integer not null default 0, "
    "entries integer not null default 0, early not null default 0, stale integer not null default 1, "
    "indexed integer not null default 0, machine, process, started, holder, until not null default 0)",
    "create index latest on sessions (updated)",
    "create index leased on sessions (until) where until > 0",
    "create index forks on sessions (parent) where parent is not null",
    "create index children on sessions (child_of) where child_of is not null",
    "create index unindexed on sessions (stale) where stale = 1",
    "create table facts (session integer primary key, body not null)",
    "create table entries (n integer primary key, session integer not null, number integer not null, "
    "parent integer not null, kind text not null, cell not null, path not null, at not null, body not null)",
    "create index cells on entries (session, cell) where kind = 'cell'",
    "create index turns on entries (session, cell) where kind = 'turn'",
    "create index notes on entries (session) where kind = 'note'",
    "create table checkpoints (session integer not null, cell not null, body not null, "
    "primary key (session, cell)) without rowid",
    "create table blobs (n integer primary key, digest text not null unique, content blob not null)",
    "create table uses (session integer not null, digest text not null, primary key (session, digest)) without rowid",
    "create index users on uses (digest)",
    "create table questions (n integer primary key, id not null unique, session integer not null, asked not null, "
    "expires, decided integer not null default 0, body not null)",
    "create index asked on questions (session)",
    "create index undecided on questions (asked) where decided = 0",
    "create table decisions (question integer primary key, body not null)",
    "create table grants (n integer primary key, operation not null, session integer not null, body)",
    "create index granted on grants (operation, session)",
    "create table inbox (n integer primary key autoincrement, session integer not null, body not null)",
    "create index sent on inbox (session)",
    "create table texts (n integer primary key, session integer not null, source text not null, kind text not null, "
    "entry integer not null, cell not null, at not null)",
    "create index sources on texts (session, source)",
)

# The first search makes the index: a Python without FTS5 can do everything else. The text is as SQLite stores it, which
# is how `_check` recognises it.
INDEX = "found"
MAKE_INDEX = f'CREATE VIRTUAL TABLE {INDEX} using fts5(text, parts, tokenize = "unicode61 remove_diacritics 2")'
INDEX_PARTS = frozenset(f"{INDEX}_{part}" for part in ("data", "idx", "content", "docsize", "config"))

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


def failure(name: object, error: sqlite3.Error | ValueError) -> CellwrightError:
    """One line for the operator. Whatever failed, the file is as the last `write` that returned left it.

    Python raises `ValueError` for some damage: a text that is no UTF-8, a row that only an index has.
    """
    code = getattr(error, "sqlite_errorcode", None)
    if isinstance(error, ValueError):
        return JournalFailed(f"journal {name}: {_WHY[sqlite3.SQLITE_CORRUPT]} ({str(error)!r:.200})")
    if code is None:
        if "closed" in str(error):
            return UsageError(f"journal {name}: it is closed")
        return JournalFailed(f"journal {name}: {error}")
    if is_busy(error):
        why = f"another process kept it locked for {BUSY_S:g} s; end that process, or try again"
    else:
        why = _WHY.get(code & 0xFF, "SQLite failed")
    return JournalFailed(f"journal {name}: {why} ({error})")


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another process holds a lock."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def connect_memory() -> sqlite3.Connection:
    """A new, empty store that no file holds."""
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    for statement in TABLES:
        connection.execute(statement)
    return connection


def connect_file(path: Path, *, power_safe: bool) -> sqlite3.Connection:
    """The file as a journal of this version, made where there is none. A file that is something else is not touched."""
    if not path.parent.is_dir():
        raise UsageError(f"journal {path}: there is no directory {path.parent}; make it, or name another file")
    try:
        # Only the owner may read it: it has arguments and results in clear. A file that exists is not opened: to close
        # it would drop the locks of this process's other connections to it.
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError:
        pass  # SQLite reports the reason below
    try:
        connection = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
    except sqlite3.Error as error:
        raise failure(path, error) from error
    try:
        connection.execute("begin")  # one moment of the file: another process may be making it
        _check(connection, path)
        connection.execute("commit")
        _write_ahead(connection, path)
        connection.execute(f"pragma synchronous = {'full' if power_safe else 'normal'}")
        if not power_safe:
            connection.execute("pragma wal_autocheckpoint = 0")  # `StoreFile` does it
        _make(connection, path)
        connection.execute("pragma busy_timeout = 0")  # from now on `SqliteDatabase` waits, without its own lock
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
    if version not in (0, VERSION):
        raise JournalFailed(
            f"journal {path}: it has version {version} and this Cellwright reads version {VERSION}; "
            f"{'upgrade Cellwright' if version > VERSION else 'open it with the Cellwright that made it'}, "
            "or name another file"
        )
    if _objects(connection) != (_expected() if version else set()):
        raise JournalFailed(f"journal {path}: it has tables, views or triggers that no journal has; name another file")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise JournalFailed(f"journal {path}: {_WHY[sqlite3.SQLITE_READONLY]}")


def _objects(connection: sqlite3.Connection) -> set[tuple[object, ...]]:
    """All that is defined, without SQLite's statistics: a view or a trigger in a stranger's file would run.

    The search index is left out: it may be missing, and its inner tables depend on SQLite's version.
    """
    sql = "select type, name, tbl_name, sql from sqlite_master where name not like 'sqlite_stat%'"
    return {found for found in connection.execute(sql) if not _of_index(*found)}


def _of_index(kind: str, name: str, table: str, sql: str | None) -> bool:
    if kind != "table" or name != table or sql is None:
        return False
    return sql == MAKE_INDEX if name == INDEX else name in INDEX_PARTS and sql.startswith("CREATE TABLE ")


@functools.cache
def _expected() -> set[tuple[object, ...]]:
    """The objects of a journal of this version."""
    connection = connect_memory()
    try:
        return _objects(connection)
    finally:
        connection.close()


def _write_ahead(connection: sqlite3.Connection, path: Path) -> None:
    """Change to WAL mode. SQLite does not wait for its locks here, so processes that open a new file at once must."""
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


def _make(connection: sqlite3.Connection, path: Path) -> None:
    """Make the tables of a new file, all of them or none."""
    if _version(connection) == VERSION:
        return
    connection.execute("begin immediate")
    try:
        _check(connection, path)  # another process may have made them before this one had the lock
        if _version(connection) != VERSION:
            for statement in TABLES:
                connection.execute(statement)
            connection.execute(f"pragma application_id = {APPLICATION_ID}")
            connection.execute(f"pragma user_version = {VERSION}")
        connection.execute("commit")
    finally:
        if connection.in_transaction:
            with suppress(sqlite3.Error):  # what failed first is the reason
                connection.execute("rollback")
