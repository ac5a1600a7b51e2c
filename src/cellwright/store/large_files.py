"""Contents too large for a row, as files by digest in a directory beside the store's file: `LargeFiles`.

A file gets its name when it is whole; the row that tells of it is written after that, under the store's lock. So a row
has its file, and what a crash leaves is a file without a row, which the next removal takes away. It knows no sessions.
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
from cellwright.store.encoding import digest_of

LARGE = 1 << 20  # bytes from which a content is a file
CHUNK = 1 << 20
PASSING = ".passing-"
OLD_S = 3600.0  # a file without a row that is younger may be about to get one
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
CREATE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_DIGEST = re.compile(r"[0-9a-f]{64}\Z")


@runtime_checkable
class BlobFiles(Protocol):
    """What a store may have besides `Blobs`: many contents at once, and contents of open files, not through memory.

    `keep_file` keeps the first `size` bytes of a file, or what there is of them, and says how many. `copy_to` writes a
    content to a file: False, and nothing written, where it has not this size; `KeyError` where there is none.
    """

    def digest(self, content: bytes) -> str: ...
    def digest_file(self, file: int, size: int) -> str: ...
    def keep_all(self, session: str, contents: Sequence[bytes]) -> None: ...
    def keep_file(self, session: str, file: int, size: int) -> tuple[str, int]: ...
    def copy_to(self, digest: str, file: int, size: int) -> bool: ...


class LargeFiles:
    """The directory of one store. `durable`: a file is on the disk before its row is."""

    def __init__(self, store: Path, *, durable: bool) -> None:
        base = store.resolve()
        self.path = base.with_name(f"{base.name}.blobs")
        self._store = store
        self._durable = durable

    # writing

    def wrote(self, content: bytes) -> Path:
        """A file with this content, which has a passing name until it is `named`."""
        with self._telling(), self._passing() as (path, target):
            _write(target, content)
        return path

    def took(self, source: int, size: int) -> tuple[Path, str, int]:
        """The same of an open file's first bytes; with their digest, and how many there were."""
        with self._telling(), self._passing() as (path, target):
            if clone(source, target):
                os.truncate(target, min(size, os.fstat(target).st_size))
                source = target
            os.lseek(source, 0, os.SEEK_SET)
            digest, count = hashlib.blake2b(digest_size=32), 0
            for chunk in _chunks(source, size):
                digest.update(chunk)
                count += len(chunk)
                if source != target:
                    _write(target, chunk)
        return path, digest.hexdigest(), count

    def named(self, path: Path, digest: str) -> None:
        """Give it its name; call this under the lock of the store."""
        with self._telling():
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
        """A file that got no name by the end is removed."""
        try:
            yield
        finally:
            with suppress(OSError):
                path.unlink()

    # reading

    def read(self, digest: str, size: int) -> bytes:
        with self._opened(digest, size) as fd:
            content = b"".join(_chunks(fd, size))
        if digest_of(content) != digest:
            raise self._damaged(digest)
        return content

    def copy(self, digest: str, size: int, target: int) -> None:
        """To an open, empty file."""
        with self._opened(digest, size) as fd:
            shared = clone(fd, target)
            found = hashlib.blake2b(digest_size=32)
            for chunk in _chunks(fd, size):
                found.update(chunk)
                if not shared:
                    _write(target, chunk)
        if found.hexdigest() != digest:
            raise self._damaged(digest)

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
                raise self._damaged(digest)
            yield fd
        finally:
            os.close(fd)

    def _damaged(self, digest: str) -> JournalFailed:
        return JournalFailed(f"blob {digest} of the journal is damaged: its content is not what was written")

    def has(self, digest: str, size: int) -> bool:
        """Whether it is there whole, as far as its size tells: a disk that lost its power may have cut it."""
        path = self._of(digest)
        return path.is_file() and path.stat().st_size == size

    # removing

    def remove(self, digests: Iterable[str], is_kept: Callable[[str], bool]) -> None:
        """Remove these files, and what a crash left; not those that somebody keeps again. Under the store's lock.

        Their rows are gone: one that cannot be removed is no failure of that, and left to the next removal.
        """
        for digest in digests:
            if _DIGEST.match(digest) and not is_kept(digest):
                with suppress(OSError):
                    self._of(digest).unlink()
        with suppress(OSError):
            for found in os.scandir(self.path):
                old = time.time() - found.stat(follow_symlinks=False).st_mtime > OLD_S
                ours = found.name.startswith(PASSING) or (_DIGEST.match(found.name) and not is_kept(found.name))
                if old and ours:
                    os.unlink(found.path)

    def _of(self, digest: str) -> Path:
        if not _DIGEST.match(digest):  # of a stranger's journal: it would lead out of the directory
            raise JournalFailed(f"journal {self._store}: {digest!r} names no blob")
        return self.path / digest

    @contextmanager
    def _telling(self) -> Generator[None]:
        try:
            yield
        except OSError as error:
            raise JournalFailed(f"journal {self._store}: {self.path.name}: {error.strerror}; see to its disk") from None


def digest_file(file: int, size: int) -> str:
    """That of an open file's first bytes."""
    os.lseek(file, 0, os.SEEK_SET)
    found = hashlib.blake2b(digest_size=32)
    for chunk in _chunks(file, size):
        found.update(chunk)
    return found.hexdigest()


def _chunks(file: int, size: int) -> Generator[bytes]:
    while size and (chunk := os.read(file, min(size, CHUNK))):
        size -= len(chunk)
        yield chunk


def _write(file: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(file, view) :]
