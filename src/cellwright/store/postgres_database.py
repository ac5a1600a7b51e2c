"""A PostgreSQL database, open: what the parts of the store share, and contents by digest. It knows no entries.

A content is in pieces, so a large one goes there and back without being in memory. A content that nobody uses is
removed under a lock that those who store contents share, so nothing is removed that somebody begins to use.
"""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Callable, Collection, Generator, Sequence
from typing import Any

import psycopg

from cellwright.errors import JournalFailed
from cellwright.store.codec import Body, Large, checked, damaged, digest_of
from cellwright.store.large_files import write_file
from cellwright.store.postgres_failures import Address, reports_failures
from cellwright.store.postgres_link import PostgresLink
from cellwright.store.postgres_schema import BLOBS, plain, safe
from cellwright.store.sql_database import SqlDatabase, no_session

CLOCK = "extract(epoch from clock_timestamp())::float8"  # the server's: processes on many machines have one
PIECE, SMALL = 4 << 20, 16 << 10
ADD = "insert into blobs (digest, piece, content) values (%s, %s, %b) on conflict do nothing"
USE = "insert into uses values (%s, %s) on conflict do nothing"
FILES = "from uses join blobs using (digest) where session = %s"
PIECES = "select content from blobs where digest = %s order by piece"


class PostgresDatabase(SqlDatabase):
    """See `Blobs` and `BlobFiles`. Methods with a leading underscore run within what the link runs, unless they say
    otherwise.
    """

    newest = "number"

    def __init__(self, link: PostgresLink) -> None:
        super().__init__()
        self._link = link

    @property
    def address(self) -> Address:
        return self._link.address

    def _locked(self, key: int, how: str = "") -> str:
        """The statement that takes one of the store's own locks, for the beginning of a transaction."""
        return f"select pg_advisory_xact_lock{how}({key}, hashtext('{self.address.schema}'))"

    def _fetch(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        return self._link.fetch(sql.replace("?", "%s"), *values)

    def _run(self, sql: str, *values: Any) -> int:
        return self._link.run(sql.replace("?", "%s"), *values).rowcount

    def _key(self, key: Any) -> Any:
        return safe(key) if isinstance(key, str) else key

    def _text(self, key: Any) -> str:
        return plain(key)

    # contents

    def _blob_lock(self, large: Large) -> str:
        """The first statement of a transaction that stores blobs."""
        return self._locked(BLOBS, "_shared") if large else ""

    def _store(self, number: int, large: Large) -> int:
        """Store contents; gives how many bytes of them are new."""
        if not large:
            return 0
        names = {safe(digest): content for digest, content in large.items()}
        known = {name for (name,) in self._link.fetch("select digest from blobs where digest = any(%s)", list(names))}
        new = {name: content for name, content in names.items() if name not in known}
        pieces = [
            (name, n, content[at : at + PIECE])
            for name, content in new.items()
            for n, at in enumerate(range(0, max(1, len(content)), PIECE))
        ]
        # Small pieces are sent together; for large ones the driver would take ever longer.
        self._link.many(ADD, [piece for piece in pieces if len(piece[-1]) < SMALL])
        for piece in pieces:
            if len(piece[-1]) >= SMALL:
                self._link.run(ADD, *piece)
        self._link.many(USE, [(number, name) for name in names])
        return sum(map(len, new.values()))

    @reports_failures
    def keep(self, session: str, content: bytes) -> str:
        content = bytes(content)
        digest = digest_of(content)
        self._keep(lambda: self._kept_in(session), {digest: content})
        return digest

    @reports_failures
    def keep_all(self, session: str, contents: Sequence[bytes]) -> None:
        large = {digest_of(content): bytes(content) for content in contents}
        self._keep(lambda: -self._kept_in(session), large)

    def _keep(self, user: Callable[[], int], large: Large) -> None:
        # To keep a content twice changes nothing, so this may be tried again.
        self._link.transact(lambda: self._store(user(), large), first=self._blob_lock(large), made=lambda: None)

    def _kept_in(self, session: str) -> int:
        """The session's number. The session cannot be forgotten before the end of the transaction."""
        found = self._link.fetch("select n from sessions where id = %s for key share", safe(session))
        if not found:
            raise no_session(session)
        return found[0][0]

    @reports_failures
    def keep_file(self, session: str, file: int, size: int) -> tuple[str, int]:
        passing = f"passing {uuid.uuid4().hex}"

        def work() -> tuple[str, int]:
            hashed, count = hashlib.blake2b(digest_size=32), 0
            for n, piece in enumerate(_pieces(file, size)):
                hashed.update(piece)
                count += len(piece)
                self._link.run(ADD, passing, n, piece)
            digest = hashed.hexdigest()
            # The lock is taken only here: until now nobody else can see the content, and nobody need wait.
            self._link.run(self._locked(BLOBS, "_shared"))
            if self._link.fetch("select 1 from blobs where digest = %s", digest):
                self._link.run("delete from blobs where digest = %s", passing)
            else:
                self._link.run("update blobs set digest = %s where digest = %s", digest, passing)
            self._link.run(USE, -self._kept_in(session), digest)
            return digest, count

        try:
            return self._link.transact(work, made=lambda: None)
        except psycopg.errors.UniqueViolation:
            pass  # somebody kept the same content at this moment; the second try finds it
        return self._link.transact(work, made=lambda: None)

    @reports_failures
    def copy_to(self, digest: str, file: int, size: int) -> bool:
        sql = "select count(*), coalesce(sum(length(content)), 0) from blobs where digest = %s"
        ((count, whole),) = self._link.read(sql, safe(digest))
        if not count:
            raise KeyError(digest)
        if whole != size:
            return False
        found = hashlib.blake2b(digest_size=32)
        sql = "select content from blobs where digest = %s and piece = %s"
        for n in range(count):
            for (piece,) in self._link.read(sql, safe(digest), n, binary=True):
                found.update(piece)
                write_file(file, piece)
        if found.hexdigest() != digest:
            raise damaged(digest)
        return True

    @reports_failures
    def held(self, session: str) -> int:
        """See `BoundedFiles`."""
        sql = f"select coalesce(sum(length(content)), 0) {FILES}"
        return self._link.reading(lambda: int(self._link.fetch(sql, -self._known(session))[0][0]))

    @reports_failures
    def contents(self, session: str) -> dict[str, int]:
        sql = f"select digest, sum(length(content)) {FILES} group by digest"
        found = self._link.reading(lambda: self._link.fetch(sql, -self._known(session)))
        return {plain(digest): int(size) for digest, size in found}

    @reports_failures
    def lacking(self, digests: Collection[str]) -> set[str]:
        return self._link.reading(lambda: self._unknown(digests))

    @reports_failures
    def blob(self, digest: str) -> bytes:
        found = self._link.read(PIECES, safe(digest), binary=True)
        if not found:
            raise KeyError(digest)
        return checked(digest, b"".join(piece for (piece,) in found))

    def _part(self, digest: str) -> bytes:
        """A large part of an entry. Not within what the link runs."""
        try:
            return self.blob(digest)
        except KeyError:
            pass
        raise JournalFailed(f"journal {self.address.shown}: blob {digest} is missing, and a row needs it")

    def _inner_part(self, digest: str) -> bytes:
        """The same within what the link runs. A missing part is "null": whoever reads the entry gets the error."""
        found = self._link.fetch(PIECES, safe(digest), binary=True)
        return checked(digest, b"".join(piece for (piece,) in found)) if found else b"null"


def body_of(packed: Any, text: str) -> Body:
    """A body as it was written: the driver gives text."""
    return text.encode("ascii") if packed else text


def text_of(body: Body) -> str:
    return body.decode("ascii") if isinstance(body, bytes) else body


def _pieces(file: int, size: int) -> Generator[bytes]:
    """The pieces of a file's first bytes, one at least. A read may give less than was asked for."""
    os.lseek(file, 0, os.SEEK_SET)
    first = True
    while size or first:
        parts: list[bytes] = []
        while (left := min(PIECE, size) - sum(map(len, parts))) and (part := os.read(file, left)):
            parts.append(part)
        piece = b"".join(parts)
        if not piece and not first:
            return
        size -= len(piece)
        first = False
        yield piece
        if len(piece) < PIECE:
            return
