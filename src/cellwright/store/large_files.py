"""Contents too large for a row, as files by digest in a directory beside the store's file: `LargeFiles`.

A file gets its final name when it is whole; its row is written after that, under the store's lock. So every row has its
file, and a crash leaves at most a file without a row, which the next removal deletes. It knows no sessions.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol, runtime_checkable

from cellwright.errors import JournalFailed
from cellwright.sandboxes import clone
from cellwright.store.codec import checked, damaged

LARGE = 1 << 20  # bytes from which a content is a file
CHUNK = 1 << 20
PASSING = ".passing-"  # the beginning of a temporary name
OLD_S = 3600.0  # a younger file without a row may be about to get one
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
CREATE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_DIGEST = re.compile(r"[0-9a-f]{64}\Z")


@runtime_checkable
class BlobFiles(Protocol):
    """What a store may offer besides `Blobs`: many contents at once, and contents of open files without loading them.

    `keep_file` keeps the first `size` bytes of a file, or as many as there are, and says how many. `copy_to` writes a
    content to a file; where its size is another, it writes nothing and gives False. `KeyError` for an unknown digest.
    What is kept here is of files, and no row needs it: see `BoundedFiles`.
    """

    def digest(self, content: bytes) -> str: ...
    def digest_file(self, file: int, size: int) -> str: ...
    def keep_all(self, session: str, contents: Sequence[bytes]) -> None: ...
    def keep_file(self, session: str, file: int, size: int) -> tuple[str, int]: ...
    def copy_to(self, digest: str, file: int, size: int) -> bool: ...


class LargeFiles:
    """The directory of one store. `durable`: a file is flushed to the disk before its row is written."""

    def __init__(self, store: Path, *, durable: bool) -> None:
        base = store.resolve()
        self.path = base.with_name(f"{base.name}.blobs")
        self._store = store
        self._durable = durable

    # writing

    def write(self, content: bytes) -> Path:
        """A file with this content, under a temporary name until `give_name`."""
        with self._failing_clearly(), self._passing() as (path, target):
            write_file(target, content)
        return path

    def copy_in(self, source: int, size: int) -> tuple[Path, str, int]:
        """The same of an open file's first bytes; gives their digest and number too."""
        with self._failing_clearly(), self._passing() as (path, target):
            if clone(source, target):
                os.truncate(target, min(size, os.fstat(target).st_size))
                source = target
            os.lseek(source, 0, os.SEEK_SET)
            digest, count = hashlib.blake2b(digest_size=32), 0
            for chunk in _chunks(source, size):
                digest.update(chunk)
                count += len(chunk)
                if source != target:
                    write_file(target, chunk)
        return path, digest.hexdigest(), count

    def give_name(self, path: Path, digest: str) -> None:
        """Give it its final name. Call this under the lock of the store."""
        with self._failing_clearly():
            path.rename(self._of(digest))
            if self._durable:
                directory = os.open(self.path, READ | os.O_DIRECTORY)
                try:
                    os.fsync(directory)
                finally:
                    os.close(directory)

    @contextmanager
    def _passing(self) -> Generator[tuple[Path, int]]:
        self.path.mkdir(mode=0o700, exist_ok=True)
        path = self.path / f"{PASSING}{secrets.token_hex(12)}"
        fd = os.open(path, CREATE, 0o600)
        try:
            yield path, fd
            if self._durable:
                os.fsync(fd)
        except BaseException:
            with suppress(OSError):
                path.unlink()
            raise
        finally:
            os.close(fd)

    @contextmanager
    def passing(self, path: Path) -> Generator[None]:
        """Remove the file if it has no final name by the end."""
        try:
            yield
        finally:
            with suppress(OSError):
                path.unlink()

    # reading

    def read(self, digest: str, size: int) -> bytes:
        with self._opened(digest, size) as fd:
            content = b"".join(_chunks(fd, size))
        return checked(digest, content)

    def copy_out(self, digest: str, size: int, target: int) -> None:
        """To an open, empty file."""
        with self._opened(digest, size) as fd:
            shared = clone(fd, target)
            found = hashlib.blake2b(digest_size=32)
            for chunk in _chunks(fd, size):
                found.update(chunk)
                if not shared:
                    write_file(target, chunk)
        if found.hexdigest() != digest:
            raise damaged(digest)

    @contextmanager
    def _opened(self, digest: str, size: int) -> Generator[int]:
        try:
            fd = os.open(self._of(digest), READ)
        except OSError as error:
            raise JournalFailed(
                f"journal {self._store}: blob {digest} is a file in {self.path.name} that cannot be read "
                f"({error.strerror}); put that directory back beside the journal"
            ) from None
        try:
            if os.fstat(fd).st_size != size:
                raise damaged(digest)
            yield fd
        finally:
            os.close(fd)

    def has(self, digest: str, size: int) -> bool:
        """Whether the file is there with this size: a loss of power may have cut it."""
        path = self._of(digest)
        return path.is_file() and path.stat().st_size == size

    # removing

    def remove(self, digests: Iterable[str], is_kept: Callable[[str], bool]) -> None:
        """Remove these files, and what a crash left; not those that are kept again by now. Under the store's lock.

        Their rows are gone already: a file that cannot be removed is no error, and left to the next removal.
        """
        for digest in digests:
            if _DIGEST.match(digest) and not is_kept(digest):
                with suppress(OSError):
                    self._of(digest).unlink()
        with suppress(OSError):
            for found in os.scandir(self.path):
                old = time.time() - found.stat(follow_symlinks=False).st_mtime > OLD_S
                if old and (found.name.startswith(PASSING) or (_DIGEST.match(found.name) and not is_kept(found.name))):
                    os.unlink(found.path)

    def _of(self, digest: str) -> Path:
        if not _DIGEST.match(digest):  # a stranger's journal may name a path outside of the directory
            raise JournalFailed(f"journal {self._store}: {digest!r} names no blob")
        return self.path / digest

    @contextmanager
    def _failing_clearly(self) -> Generator[None]:
        try:
            yield
        except OSError as error:
            raise JournalFailed(f"journal {self._store}: {self.path.name}: {error.strerror}; see to its disk") from None


def digest_file(file: int, size: int) -> str:
    """The digest of an open file's first bytes."""
    os.lseek(file, 0, os.SEEK_SET)
    found = hashlib.blake2b(digest_size=32)
    for chunk in _chunks(file, size):
        found.update(chunk)
    return found.hexdigest()


def _chunks(file: int, size: int) -> Generator[bytes]:
    while size and (chunk := os.read(file, min(size, CHUNK))):
        size -= len(chunk)
        yield chunk


def read_file(file: int, size: int) -> bytes:
    """An open file's first bytes."""
    os.lseek(file, 0, os.SEEK_SET)
    return b"".join(_chunks(file, size))


def write_file(file: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(file, view) :]
