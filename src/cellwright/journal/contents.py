"""`KeptContents`: contents of files in a session's blobs, by digest. Large ones go there and back past memory.

Knows blobs and open files; no paths, and nothing of trees.
"""

from __future__ import annotations

import os

from cellwright.errors import JournalFailed
from cellwright.sandboxes import CHUNK, chunks
from cellwright.store import BlobFiles, Blobs

BATCH_BYTES, BATCH = 4 << 20, 256  # of small contents, which are kept together


class KeptContents:
    """The contents of one session. What `keep` named is there after `flush`. Not for two threads at once."""

    def __init__(self, blobs: Blobs, session: str) -> None:
        self.given = 0  # bytes that were given to the store, again and again for what changes
        self._blobs = blobs
        self._files = blobs if isinstance(blobs, BlobFiles) else None
        self._session = session
        self._waiting: dict[str, bytes] = {}
        self._waiting_bytes = 0

    def keep(self, content: bytes) -> str:
        self.given += len(content)
        if self._files is None:
            return self._blobs.keep(self._session, content)
        digest = self._files.digest(content)
        if digest not in self._waiting:
            self._waiting[digest] = content
            self._waiting_bytes += len(content)
        if self._waiting_bytes >= BATCH_BYTES or len(self._waiting) >= BATCH:
            self.flush()
        return digest

    def flush(self) -> None:
        """Until here it may not be in the store."""
        waiting, self._waiting, self._waiting_bytes = self._waiting, {}, 0
        if waiting and self._files is not None:
            self._files.keep_all(self._session, list(waiting.values()))

    def keep_file(self, file: int, size: int) -> tuple[str, int]:
        if self._files is None:
            content = b"".join(chunks(file, size))
            return self.keep(content), len(content)
        self.given += size
        return self._files.keep_file(self._session, file, size)

    def content(self, digest: str) -> bytes:
        self.flush()
        try:
            return self._blobs.blob(digest)
        except KeyError:
            raise _missing(digest) from None

    def write(self, name: str, file: int, size: int) -> bool:
        self.flush()
        if self._files is not None:
            try:
                return self._files.copy_to(name, file, size)
            except KeyError:
                raise _missing(name) from None
        content = memoryview(self.content(name))
        if len(content) != size:
            return False
        while content:
            content = content[os.write(file, content[:CHUNK]) :]
        return True

    def equals(self, name: str, file: int, size: int) -> bool:
        if self._files is not None:
            return self._files.digest_file(file, size) == name
        wanted, at = self.content(name), 0
        for chunk in chunks(file, size):
            if chunk != wanted[at : at + len(chunk)]:
                return False
            at += len(chunk)
        return at == len(wanted)


def _missing(digest: str) -> JournalFailed:
    return JournalFailed(f"the journal does not hold {digest}, which a tree of the workspace needs")
