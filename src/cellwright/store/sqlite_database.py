"""A SQLite database, open: one connection and one lock, transactions, and contents by digest. It knows no rows.

The lock is never held while another process's lock is waited for.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

from cellwright.errors import JournalFailed
from cellwright.store.codec import Large, checked, damaged, digest_of
from cellwright.store.large_files import LARGE, LargeFiles, read_file, write_file
from cellwright.store.sql_database import SqlDatabase
from cellwright.store.sqlite_schema import BUSY_S, NUMBER_BITS, failure, is_busy
from cellwright.store.store_file import StoreFile

Moment = Literal["before", "after"]
ADD_BLOB = "insert or ignore into blobs (digest, content) values (?, ?)"
ADD_USE = "insert or ignore into uses values (?, ?)"
PAGE = 4096
LONGEST_PAUSE_S = 0.05  # between two tries for a lock
IS_FILE = "typeof(content) = 'text'"
SIZE = f"case when {IS_FILE} then cast(content as integer) else length(content) end"
FILES = "from uses join blobs using (digest) where session = ?"


class WouldWait(Exception):
    """A write that must not wait would have to."""


class SqliteDatabase(SqlDatabase):
    """See `Blobs` and `BlobFiles`. `clock` is the wall clock, for leases and for questions that expire."""

    def __init__(self, connection: sqlite3.Connection, name: str, large: LargeFiles | None = None) -> None:
        super().__init__()
        self.clock: Callable[[], float] = time.time
        self.on_write: Callable[[int, Moment], None] | None = None
        self._name = name  # for messages
        self._writes = 0
        self._lock = threading.RLock()
        self._prompt = False  # who holds the lock must not wait
        self._file: StoreFile | None = None
        self._large = large
        self._connection = connection

    def close(self) -> None:
        with self._lock:
            file, self._file = self._file, None
            if file is not None:
                file.close()
            self._connection.close()
            self._claims.clear()

    # Contents are in their rows. With `LargeFiles`, a large one is a file, and its row has its size as a text.

    def blob(self, digest: str) -> bytes:
        with self._reading():
            content = self._content(digest)
        return self._whole(digest, content)

    def keep(self, session: str, content: bytes) -> str:
        content = bytes(content)
        digest = digest_of(content)
        with self._transaction():
            self._store(self._known(session), {digest: content})
        return digest

    def keep_all(self, session: str, contents: Sequence[bytes]) -> None:
        with self._transaction():
            self._store(-self._known(session), {digest_of(content): content for content in contents})

    def keep_file(self, session: str, file: int, size: int) -> tuple[str, int]:
        if self._large is None:
            content = read_file(file, size)
            self.keep_all(session, [content])
            return digest_of(content), len(content)
        path, digest, count = self._large.copy_in(file, size)
        with self._large.passing(path), self._transaction():
            self._name_file(self._large, -self._known(session), digest, count, path)
        return digest, count

    def copy_to(self, digest: str, file: int, size: int) -> bool:
        with self._reading():
            content = self._content(digest)
        if size != (len(content) if isinstance(content, bytes) else content):
            return False
        if isinstance(content, int):
            self._files(digest).copy_out(digest, content, file)
        else:
            write_file(file, checked(digest, content))
        return True

    def held(self, session: str) -> int:
        """See `BoundedFiles`."""
        with self._reading():
            return self._fetch(f"select ifnull(sum({SIZE}), 0) {FILES}", -self._known(session))[0][0]

    def contents(self, session: str) -> dict[str, int]:
        with self._reading():
            return dict(self._fetch(f"select digest, {SIZE} {FILES}", -self._known(session)))

    def lacking(self, digests: Collection[str]) -> set[str]:
        with self._reading():
            return self._unknown(digests)

    def _part(self, digest: str) -> bytes:
        """A large part of a row. Not under the lock."""
        with self._reading():
            return self._locked_part(digest)

    @contextmanager
    def _reading(self) -> Generator[None]:
        """Hold the lock; errors of SQLite become ours."""
        with self._lock:
            try:
                yield
            except UnicodeEncodeError:  # of a name that the caller gave
                raise
            except (sqlite3.Error, ValueError) as error:
                raise self._failure(error) from error

    def _failure(self, error: sqlite3.Error | ValueError) -> Exception:
        """With the lock held: another thread may be one that must not wait."""
        if isinstance(error, sqlite3.Error) and self._prompt and is_busy(error):
            return WouldWait()
        return failure(self._name, error)

    def _read(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._reading():
            return self._fetch(sql, *values)

    @contextmanager
    def _transaction(self, *, quiet: bool = False) -> Generator[None]:
        """All or nothing, from the first read to the last write, without another process's write between.

        `on_write` does not count a `quiet` one: when it happens depends on the clock.
        """
        with self._reading():
            if self.on_write is not None and not quiet:
                self._announce("before")
            if self._file is not None:
                self._file.check()
            self._execute("begin immediate")
            try:
                yield
                self._connection.execute("commit")
                if self._file is not None:
                    self._file.wrote(3)
            finally:
                if self._connection.in_transaction:
                    with suppress(sqlite3.Error):  # what failed first is the reason
                        self._connection.execute("rollback")
            if self.on_write is not None and not quiet:
                self._announce("after")

    # with the lock held

    def _announce(self, moment: Moment) -> None:
        if moment == "before":
            self._writes += 1
        if self.on_write is not None:
            self.on_write(self._writes, moment)

    def _execute(self, sql: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        """Run a statement; outside of a transaction, another process's lock is waited for without our own."""
        try:
            return self._connection.execute(sql, values)
        except sqlite3.OperationalError as error:
            if self._prompt or self._connection.in_transaction or not is_busy(error):
                raise
        until, pause = time.monotonic() + BUSY_S, 0.001
        while True:
            self._lock.release()
            try:
                time.sleep(pause)
            finally:
                self._lock.acquire()
            try:
                return self._connection.execute(sql, values)
            except sqlite3.OperationalError as error:
                if not is_busy(error) or time.monotonic() > until:
                    raise
            pause = min(pause * 2, LONGEST_PAUSE_S)

    def _fetch(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        return self._execute(sql, values).fetchall()

    def _run(self, sql: str, *values: Any) -> int:
        """How many rows it changed. `storable` is applied only where SQLite refuses a value: most need it not."""
        try:
            return self._connection.execute(sql, values).rowcount
        except (UnicodeEncodeError, OverflowError):
            return self._connection.execute(sql, [storable(value) for value in values]).rowcount

    def _key(self, key: Any) -> Any:
        return storable(key)

    def _text(self, key: Any) -> str:
        return restored(key)

    def _content(self, digest: str) -> bytes | int:
        """The content of a blob, or its size where it is a file."""
        found = self._fetch("select content from blobs where digest = ?", storable(digest))
        if not found:
            raise KeyError(digest)
        content = found[0][0]
        if isinstance(content, str) and content.isascii() and content.isdecimal() and len(content) < 19:
            return int(content)
        if not isinstance(content, bytes):
            raise damaged(digest)
        return content

    def _locked_part(self, digest: str) -> bytes:
        try:
            content = self._content(digest)
        except KeyError:
            raise JournalFailed(f"journal {self._name}: blob {digest} is missing, and a row needs it") from None
        return self._whole(digest, content)

    def _whole(self, digest: str, content: bytes | int) -> bytes:
        if isinstance(content, int):
            return self._files(digest).read(digest, content)
        return checked(digest, content)

    def _files(self, digest: str) -> LargeFiles:
        if self._large is None:
            raise damaged(digest)
        return self._large

    def _last(self, number: int) -> int:
        """The number of a session's last entry."""
        sql = "select number from entries where n between ? and ? order by n desc limit 1"
        found = self._fetch(sql, *span(number))
        return found[0][0] if found else 0

    def _store(self, number: int, large: Large) -> int:
        added = 0
        for digest, content in large.items():
            if self._large is not None and len(content) >= LARGE:
                added += self._name_file(self._large, number, digest, len(content), content)
                continue
            if self._file is not None:
                self._file.wrote(len(content) // PAGE)
            new = self._run(ADD_BLOB, digest, content)
            added += len(content) if new else 0
            self._run(ADD_USE, number, digest)
        return added

    def _name_file(self, files: LargeFiles, number: int, digest: str, size: int, content: bytes | Path) -> int:
        """Keep a blob as a file: one that has a temporary name so far, or one that is written now."""
        known = self._fetch("select content from blobs where digest = ?", digest)
        if not known or (isinstance(known[0][0], str) and not files.has(digest, size)):
            path = content if isinstance(content, Path) else files.write(content)
            with files.passing(path):
                files.give_name(path, digest)
            self._run(ADD_BLOB, digest, str(size))
        self._run(ADD_USE, number, digest)
        return 0 if known else size

    def _remove_files(self, digests: Iterable[str]) -> None:
        """Remove files whose rows are gone, in a transaction that sees who keeps the same content again."""

        def is_kept(digest: str) -> bool:
            return bool(self._fetch("select 1 from blobs where digest = ?", storable(digest)))

        if self._large is not None:
            # The next removal finds what is left; what was written before this one is not to be written again.
            with suppress(JournalFailed, WouldWait), self._transaction(quiet=True):
                self._large.remove(digests, is_kept)


def storable(key: Any) -> Any:
    """A key as SQLite takes it, instead of a text that is no UTF-8 or an integer beyond 64 bits."""
    if type(key) is str:
        try:
            key.encode()
        except UnicodeEncodeError:
            return key.encode("utf-8", "surrogatepass")
    elif type(key) is int and not -(1 << 63) <= key < 1 << 63:
        return str(key)
    return key


def restored(key: Any) -> str:
    """The text that `storable` was given."""
    return key.decode("utf-8", "surrogatepass") if type(key) is bytes else key


def span(number: int, first: int = 1, upto: int | None = None) -> tuple[int, int]:
    """The first and the last key of a session's entries from `first` to `upto`."""
    base, most = number << NUMBER_BITS, (1 << NUMBER_BITS) - 1
    return base + min(max(first, 1), most), base + (most if upto is None else min(max(upto, 0), most))
