"""Directory trees that a hostile process changes while the host walks them: `measure`, `empty`, `entries`, `replacing`.

Every step goes from an open directory to a name in it and follows no symlink. A `..` is taken only below the root, and
only to the directory that the walk came from, so no rename leads out. A directory that its owner cannot list gets
u+rwx back: what cannot be counted cannot be limited. Entries may vanish or change kind at any moment.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass

from cellwright.errors import PlatformError

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
HELD = 16  # directories held open on the way down; a guest's nesting must not use up the host's descriptors
LISTED = 32  # levels that `entries` goes down
NO_ROOM = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)
IDLE_PASSES = 20  # passes of `empty` that removed nothing before it gives up


@dataclass(frozen=True, kw_only=True, slots=True)
class DiskUsage:
    """What a tree takes: bytes of disk, and entries of every kind. A hard-linked file counts once.

    `partial`: the count is too low, because directories deeper than `HELD` were moved meanwhile, or the host had no
    descriptor left.
    """

    bytes: int
    files: int
    partial: bool = False


ENOUGH = DiskUsage(bytes=2**62, files=2_000_000)


def open_directory(name: str, parent: int) -> int:
    """Open the directory `name` in `parent` such that it can be listed, searched and written."""
    try:
        fd = os.open(name, DIRECTORY, dir_fd=parent)
    except PermissionError:
        _give_back(name, parent)
        fd = os.open(name, DIRECTORY, dir_fd=parent)
    mode = stat.S_IMODE(os.fstat(fd).st_mode)
    if mode & 0o700 != 0o700:
        with contextlib.suppress(PermissionError):
            os.fchmod(fd, mode | 0o700)
    return fd


@contextlib.contextmanager
def replacing(name: str, parent: int) -> Generator[int]:
    """A new file, open for writing, that takes the place of `name` in `parent` when the block ends without an error.

    It is written under a temporary name and renamed, so it is there whole or not at all, and nothing is written to a
    file that was there before.
    """
    temporary = f".{secrets.token_hex(12)}"
    file = os.open(temporary, CREATE, 0o600, dir_fd=parent)
    try:
        try:
            yield file
        finally:
            os.close(file)
        os.rename(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=parent)
        raise


def _give_back(name: str, parent: int) -> None:
    if not hasattr(os, "O_PATH"):  # macOS, where chmod itself can refuse to follow
        os.chmod(name, 0o700, dir_fd=parent, follow_symlinks=False)
        return
    fd = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        os.chmod(f"/proc/self/fd/{fd}", 0o700)  # this very directory, whatever its name is by now
    finally:
        os.close(fd)


@dataclass(slots=True)
class _Level:
    fd: int | None
    key: tuple[int, int]
    names: list[str]


class _Count:
    """One walk of a tree. Below `HELD` levels only the deepest directory is open, and the way up is `..`, checked."""

    def __init__(self, enough: DiskUsage) -> None:
        self.bytes = 0
        self.partial = False
        self._enough = enough
        self._seen: set[tuple[int, int]] = set()
        self._levels: list[_Level] = []

    @property
    def files(self) -> int:
        return len(self._seen)

    def walk(self, root: int) -> None:
        """Count what is below `root`, which this closes."""
        self._enter(root)
        try:
            while self._levels:
                level = self._levels[-1]
                if self.bytes > self._enough.bytes or self.files > self._enough.files:
                    return
                if not level.names:
                    self._leave()
                    continue
                assert level.fd is not None  # the deepest level is always open
                try:
                    self._enter(open_directory(level.names.pop(), level.fd))
                except OSError as error:  # gone, or no directory any more
                    self.partial = self.partial or error.errno in NO_ROOM
        finally:
            self._drop(0)

    def _enter(self, fd: int) -> None:
        if len(self._levels) > HELD:
            self._shut(self._levels[-1])
        level = _Level(fd, _key(os.fstat(fd)), [])
        self._levels.append(level)
        with contextlib.suppress(OSError), os.scandir(fd) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    self._add(level, entry)
                if self.files > self._enough.files:
                    return

    def _add(self, level: _Level, entry: os.DirEntry[str]) -> None:
        found = entry.stat(follow_symlinks=False)
        key = _key(found)
        if key in self._seen:  # a second link, or moved here from where it was counted
            return
        self._seen.add(key)
        self.bytes += found.st_blocks * 512
        if stat.S_ISDIR(found.st_mode):
            level.names.append(entry.name)

    def _leave(self) -> None:
        left = self._levels.pop()
        if self._levels and self._levels[-1].fd is None:
            assert left.fd is not None
            above = self._levels[-1]
            with contextlib.suppress(OSError):
                above.fd = open_directory("..", left.fd)
                if _key(os.fstat(above.fd)) != above.key:
                    self._shut(above)
            if above.fd is None:
                self.partial = True
                self._drop(HELD)
        self._shut(left)

    def _drop(self, to: int) -> None:
        for level in self._levels[to:]:
            self._shut(level)
        del self._levels[to:]

    @staticmethod
    def _shut(level: _Level) -> None:
        if level.fd is not None:
            os.close(level.fd)
            level.fd = None


def _key(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


def measure(root: int, enough: DiskUsage = ENOUGH) -> DiskUsage:
    """What the tree below `root` takes, counted until it is more than `enough`. Closes `root`."""
    count = _Count(enough)
    count.walk(root)
    return DiskUsage(bytes=count.bytes, files=count.files, partial=count.partial)


class _Sweep:
    """One pass that removes what it can. What lies deeper than `HELD` is moved up to the root, for the next pass."""

    def __init__(self, root: int, until: float) -> None:
        self.root = root
        self.until = until
        self.removed = 0
        self.error: OSError | None = None

    def clear(self, fd: int, depth: int = 0) -> None:
        with os.scandir(fd) as entries:
            for entry in entries:
                if time.monotonic() > self.until:
                    return
                try:
                    self._remove(fd, entry, depth)
                    self.removed += 1
                except OSError as error:  # changed under us, or not ours to remove: the next pass tells
                    self.error = error

    def _remove(self, fd: int, entry: os.DirEntry[str], depth: int) -> None:
        if not entry.is_dir(follow_symlinks=False):
            os.unlink(entry.name, dir_fd=fd)
            return
        child = open_directory(entry.name, fd)
        try:
            if depth >= HELD:
                os.rename(entry.name, f".{secrets.token_hex(12)}", src_dir_fd=fd, dst_dir_fd=self.root)
                return
            self.clear(child, depth + 1)
        finally:
            os.close(child)
        os.rmdir(entry.name, dir_fd=fd)


def empty(root: int, *, wait_s: float) -> None:
    """Remove all that is below `root`, or raise `PlatformError` when that did not end within `wait_s`."""
    until = time.monotonic() + wait_s
    idle = 0
    while not _is_empty(root):
        sweep = _Sweep(root, until)
        sweep.clear(root)
        idle = 0 if sweep.removed else idle + 1
        if idle > IDLE_PASSES or time.monotonic() > until:
            why = sweep.error.strerror if sweep.error else "files keep appearing"
            raise PlatformError(
                f"a directory could not be emptied ({why}); end what still writes to it, then try again"
            )


def _is_empty(fd: int) -> bool:
    with os.scandir(fd) as entries:
        return next(entries, None) is None


def entries(fd: int, prefix: str = "", depth: int = 0) -> Iterator[tuple[str, os.stat_result]]:
    """The regular files and directories below `fd`, down to `LISTED` levels, each with its path and what it is."""
    with os.scandir(fd) as found:
        for entry in found:
            try:
                kind = entry.stat(follow_symlinks=False)
            except OSError:  # gone, or its directory is closed to us
                continue
            if stat.S_ISREG(kind.st_mode):
                yield prefix + entry.name, kind
            elif stat.S_ISDIR(kind.st_mode):
                yield prefix + entry.name, kind
                if depth < LISTED:
                    yield from _below(fd, entry.name, prefix, depth)


def _below(fd: int, name: str, prefix: str, depth: int) -> Iterator[tuple[str, os.stat_result]]:
    try:
        child = os.open(name, DIRECTORY, dir_fd=fd)
    except OSError:  # gone, swapped for something else, or closed by its owner
        return
    try:
        yield from entries(child, f"{prefix}{name}/", depth + 1)
    finally:
        os.close(child)
