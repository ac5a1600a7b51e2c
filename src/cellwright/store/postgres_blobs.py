"""Bytes by their content in PostgreSQL, in pieces: a large content goes there and back past memory. Knows no entries.

What nobody uses is removed under a lock that who stores shares, so nothing is removed that somebody begins to use.
"""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Generator, Sequence

import psycopg

from cellwright.errors import JournalFailed
from cellwright.store import encoding
from cellwright.store.encoding import Large
from cellwright.store.large_files import digest_file
from cellwright.store.postgres_database import PostgresDatabase, no_session
from cellwright.store.postgres_failures import told
from cellwright.store.postgres_schema import BLOBS, safe

PIECE, SMALL = 4 << 20, 16 << 10
ADD = "insert into blobs (digest, piece, content) values (%s, %s, %b) on conflict do nothing"
USE = "insert into uses values (%s, %s) on conflict do nothing"


class PostgresBlobs(PostgresDatabase):
    """See `Blobs` and `BlobFiles`."""

    def _keeping(self, large: Large) -> str:
        """For who stores blobs: the statement to begin with."""
        return self._locked(BLOBS, "_shared") if large else ""

    def _store(self, number: int, large: Large) -> int:
        """How many bytes of them are new."""
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
        # Together where they are small; the driver takes ever longer for much that is sent at once.
        self._link.many(ADD, [piece for piece in pieces if len(piece[-1]) < SMALL])
        for piece in pieces:
            if len(piece[-1]) >= SMALL:
                self._link.run(ADD, *piece)
        self._link.many(USE, [(number, name) for name in names])
        return sum(map(len, new.values()))

    @told
    def keep(self, session: str, content: bytes) -> str:
        content = bytes(content)
        digest = encoding.digest_of(content)
        self._keep(session, {digest: content})
        return digest

    @told
    def keep_all(self, session: str, contents: Sequence[bytes]) -> None:
        self._keep(session, {encoding.digest_of(content): bytes(content) for content in contents})

    def _keep(self, session: str, large: Large) -> None:
        # To keep what is kept changes nothing: it may be done twice.
        self._link.transact(
            lambda: self._store(self._kept_in(session), large), first=self._keeping(large), made=lambda: None
        )

    def _kept_in(self, session: str) -> int:
        """The session's number; it is not forgotten until this is done."""
        found = self._link.fetch("select n from sessions where id = %s for key share", safe(session))
        if not found:
            raise no_session(session)
        return found[0][0]

    @told
    def keep_file(self, session: str, file: int, size: int) -> tuple[str, int]:
        passing = f"passing {uuid.uuid4().hex}"

        def work() -> tuple[str, int]:
            found, count = hashlib.blake2b(digest_size=32), 0
            for n, piece in enumerate(_pieces(file, size)):
                found.update(piece)
                count += len(piece)
                self._link.run(ADD, passing, n, piece)
            digest = found.hexdigest()
            # Only now: until here nobody else can see it, and they need not wait.
            self._link.run(self._locked(BLOBS, "_shared"))
            if self._link.fetch("select 1 from blobs where digest = %s", digest):
                self._link.run("delete from blobs where digest = %s", passing)
            else:
                self._link.run("update blobs set digest = %s where digest = %s", digest, passing)
            self._link.run(USE, self._kept_in(session), digest)
            return digest, count

        try:
            return self._link.transact(work, made=lambda: None)
        except psycopg.errors.UniqueViolation:
            pass  # somebody kept the same in this moment: it is known now
        return self._link.transact(work, made=lambda: None)

    @told
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
                view = memoryview(piece)
                while view:
                    view = view[os.write(file, view) :]
        if found.hexdigest() != digest:
            raise JournalFailed(f"blob {digest} of the journal is damaged: its content is not what was written")
        return True

    def digest(self, content: bytes) -> str:
        return encoding.digest_of(content)

    def digest_file(self, file: int, size: int) -> str:
        return digest_file(file, size)

    @told
    def blob(self, digest: str) -> bytes:
        found = self._link.read(PIECES, safe(digest), binary=True)
        if not found:
            raise KeyError(digest)
        return encoding.checked(digest, b"".join(piece for (piece,) in found))

    def _part(self, digest: str) -> bytes:
        """A large part of an entry. Not within what the link runs."""
        try:
            return self.blob(digest)
        except KeyError:
            pass
        raise JournalFailed(f"journal {self.address.shown}: blob {digest} is missing, and a row needs it")

    def _inner_part(self, digest: str) -> bytes:
        """The same within it; nothing where it is missing, which whoever reads the entry is told."""
        found = self._link.fetch(PIECES, safe(digest), binary=True)
        return encoding.checked(digest, b"".join(piece for (piece,) in found)) if found else b"null"


PIECES = "select content from blobs where digest = %s order by piece"


def _pieces(file: int, size: int) -> Generator[bytes]:
    """Of a file's first bytes, one at least. A read may give less than was asked for."""
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
