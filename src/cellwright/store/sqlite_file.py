"""A store's file, open: one connection and one lock, transactions, and reading. It knows no rows."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

from cellwright.errors import JournalFailed, NoSession
from cellwright.store import encoding
from cellwright.store.encoding import Large, storable
from cellwright.store.large_files import LARGE, LargeFiles, digest_file
from cellwright.store.schema import connect, failure
from cellwright.store.tables import NUMBER_BITS

Moment = Literal["before", "after"]
ADD_BLOB = "insert or ignore into blobs (digest, content) values (?, ?)"
ADD_USE = "insert or ignore into uses values (?, ?)"


class SqliteFile:
    """What the parts of `SqliteStore` share. `clock` is the wall clock: of leases, and of what expires."""

    def __init__(self, path: str | os.PathLike[str], *, power_safe: bool = False) -> None:
        self.path = Path(path)
        self.clock: Callable[[], float] = time.time
        self.on_write: Callable[[int, Moment], None] | None = None
        self._writes = 0
        self._lock = threading.Lock()
        self._large = LargeFiles(self.path, durable=power_safe)
        self._connection = connect(self.path, power_safe=power_safe)

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    # blobs: small ones are in their rows; a row with a text in place of bytes tells the size of one that is a file

    def blob(self, digest: str) -> bytes:
        content = self._blob(digest)
        return encoding.checked(digest, content) if isinstance(content, bytes) else self._large.read(digest, content)

    def keep(self, session: str, content: bytes) -> str:
        content = bytes(content)
        digest = encoding.digest_of(content)
        with self._transaction():
            self._store(self._known(session), {digest: content})
        return digest

    def keep_all(self, session: str, contents: Sequence[bytes]) -> None:
        """See `BlobFiles`, also for those below."""
        with self._transaction():
            self._store(self._known(session), {encoding.digest_of(content): content for content in contents})

    def keep_file(self, session: str, file: int, size: int) -> tuple[str, int]:
        path, digest, count = self._large.took(file, size)
        with self._large.passing(path), self._transaction():
            self._name_file(self._known(session), digest, count, path)
        return digest, count

    def copy_to(self, digest: str, file: int, size: int) -> bool:
        content = self._blob(digest)
        if size != (len(content) if isinstance(content, bytes) else content):
            return False
        if isinstance(content, int):
            self._large.copy(digest, content, file)
            return True
        view = memoryview(encoding.checked(digest, content))
        while view:
            view = view[os.write(file, view) :]
        return True

    def digest(self, content: bytes) -> str:
        return encoding.digest_of(content)

    def digest_file(self, file: int, size: int) -> str:
        return digest_file(file, size)

    def _blob(self, digest: str) -> bytes | int:
        with self._reading():
            return self._content(digest)

    def _part(self, digest: str) -> bytes:
        """A large part of a row."""
        with self._reading():
            return self._locked_part(digest)

    @contextmanager
    def _reading(self) -> Generator[None]:
        """With the lock, and what SQLite says of it told in our words."""
        try:
            with self._lock:
                yield
        except UnicodeEncodeError:  # of what was asked for
            raise
        except (sqlite3.Error, ValueError) as error:
            raise failure(self.path, error) from error

    def _read(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._reading():
            return self._fetch(sql, *values)

    @contextmanager
    def _transaction(self, *, quiet: bool = False) -> Generator[None]:
        """All or nothing, from the first read to the last write, with nobody else's write between.

        A `quiet` one is none of the durable writes that `on_write` counts: when it comes depends on the clock.
        """
        with self._reading():
            if self.on_write is not None and not quiet:
                self._announce("before")
            self._connection.execute("begin immediate")
            try:
                yield
                self._connection.execute("commit")
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

    def _fetch(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql, values).fetchall()

    def _run(self, sql: str, *values: Any) -> int:
        """How many rows it changed. Texts that are no UTF-8 and large integers are kept as `storable` has them."""
        try:
            return self._connection.execute(sql, values).rowcount
        except (UnicodeEncodeError, OverflowError):
            return self._connection.execute(sql, [storable(value) for value in values]).rowcount

    def _content(self, digest: str) -> bytes | int:
        """Of a blob; or its size, where it is a file."""
        found = self._fetch("select content from blobs where digest = ?", storable(digest))
        if not found:
            raise KeyError(digest)
        content = found[0][0]
        if isinstance(content, str) and content.isascii() and content.isdecimal() and len(content) < 19:
            return int(content)
        if not isinstance(content, bytes):
            raise JournalFailed(f"blob {digest} of the journal is damaged: its content is not what was written")
        return content

    def _locked_part(self, digest: str) -> bytes:
        try:
            content = self._content(digest)
        except KeyError:
            raise JournalFailed(f"journal {self.path}: blob {digest} is missing, and a row needs it") from None
        return encoding.checked(digest, content) if isinstance(content, bytes) else self._large.read(digest, content)

    def _number(self, session: str) -> int | None:
        found = self._fetch("select n from sessions where id = ?", storable(session))
        return found[0][0] if found else None

    def _known(self, session: str) -> int:
        number = self._number(session)
        if number is None:
            raise no_session(session)
        return number

    def _last(self, number: int) -> int:
        """The number of a session's last entry."""
        sql = "select number from entries where n between ? and ? order by n desc limit 1"
        found = self._fetch(sql, *span(number))
        return found[0][0] if found else 0

    def _store(self, number: int, large: Large) -> int:
        added = 0
        for digest, content in large.items():
            if len(content) >= LARGE:
                added += self._name_file(number, digest, len(content), content)
                continue
            new = self._run(ADD_BLOB, digest, content)
            added += len(content) if new else 0
            self._run(ADD_USE, number, digest)
        return added

    def _name_file(self, number: int, digest: str, size: int, content: bytes | Path) -> int:
        """A blob that is a file, from here on: one of a passing name, or one that is written now."""
        known = self._fetch("select content from blobs where digest = ?", digest)
        if not known or (isinstance(known[0][0], str) and not self._large.has(digest, size)):
            path = content if isinstance(content, Path) else self._large.wrote(content)
            with self._large.passing(path):
                self._large.named(path, digest)
            self._run(ADD_BLOB, digest, str(size))
        self._run(ADD_USE, number, digest)
        return 0 if known else size

    def _remove_files(self, digests: Iterable[str]) -> None:
        """Files whose rows are gone. In a transaction of its own: who keeps the same content meanwhile has its row."""

        def is_kept(digest: str) -> bool:
            return bool(self._fetch("select 1 from blobs where digest = ?", storable(digest)))

        with suppress(JournalFailed), self._transaction(quiet=True):  # the next removal finds what is left
            self._large.remove(digests, is_kept)


def no_session(session: str) -> NoSession:
    return NoSession(f"the journal has no session {session!r}")


def span(number: int, first: int = 1, upto: int | None = None) -> tuple[int, int]:
    """The keys of a session's entries, from the first to the last that is asked for."""
    base, most = number << NUMBER_BITS, (1 << NUMBER_BITS) - 1
    return base + min(max(first, 1), most), base + (most if upto is None else min(max(upto, 0), most))
