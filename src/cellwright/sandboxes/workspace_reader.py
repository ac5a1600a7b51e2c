"""The walk that reads a workspace, or a part of it: `Reading`.

The guest may change everything meanwhile. Each step goes from an open directory to a name in it, follows no symlink,
and opens regular files only. The walk is bounded, and records what it left out. It does not know where contents are
kept.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Protocol

from cellwright.errors import PlatformError
from cellwright.sandboxes import directory_tree
from cellwright.sandboxes.workspace_index import Key, Kind, WorkspaceEntry, WorkspaceIndex

READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
CHUNK = 1 << 20
LARGE = 1 << 20  # files of so many bytes are not read into memory where they can be kept without
MODE = 0o777  # set-id bits are not kept
DEEPEST = 64
FILES = 100_000
PATHS = 64 << 20  # characters of all paths together
TRIES = 3  # for a file that changes while it is read
RECENT_NS = 100_000_000  # a change within this of the last one may leave the same times on a file
# what a guest can cause: such an entry is left out; anything else is the machine's trouble
ITS_OWN = {errno.EACCES, errno.EPERM, errno.EAGAIN, errno.ELOOP, errno.ENXIO, errno.ENOTDIR, errno.EISDIR, errno.EINVAL}


class Contents(Protocol):
    """Where contents are kept, by names that it gives."""

    def keep(self, content: bytes) -> str: ...
    def keep_file(self, file: int, size: int) -> tuple[str, int]: ...  # its first `size` bytes
    def write(self, name: str, file: int, size: int) -> bool: ...  # False: it has not that size, and is not written
    def equals(self, name: str, file: int, size: int) -> bool: ...


class WorkspaceReader:
    """Reads into `nodes`. `known` has the names of contents by the keys that files had last time.

    A second link to a file counts as another file. A file that is written through a shared mapping has changed when the
    kernel says so, which is when the mapping is flushed; a file whose inode is in `afresh` is read in any case. `enter`
    is called with each open directory before it is listed.
    """

    def __init__(
        self,
        nodes: WorkspaceIndex,
        contents: Contents,
        known: Mapping[Key, str],
        *,
        most_bytes: int,
        enter: Callable[[int, str], None] | None = None,
    ) -> None:
        self.nodes = nodes
        self.afresh: set[int] = set()
        self._contents = contents
        self._before = known
        self._most_bytes = most_bytes
        self._on_enter = enter

    def walk(self, root: int) -> None:
        """Read the whole workspace. Raises `PlatformError` where the machine fails. Closes `root`."""
        with reading():
            try:
                self._directory(root, "")
            finally:
                os.close(root)

    def part(self, parent: int, prefix: str, name: str, about: os.stat_result) -> None:
        """Read one entry of an open directory and everything below it. `prefix` is "" or ends with a slash."""
        if self._is_full:
            self._leave(prefix.removesuffix("/"))
            return
        with self._leaving_out(prefix + name):
            self._add(parent, prefix, name, about)
            if stat.S_ISDIR(about.st_mode):
                self._enter(parent, prefix, name, about, prefix.count("/"))

    def same_directory(self, path: str, about: os.stat_result) -> None:
        """A directory that is known; its mode or time may have changed."""
        self._entry(path, "dir", about)

    @property
    def _is_full(self) -> bool:
        return len(self.nodes) + len(self.nodes.left) >= FILES or self.nodes.letters >= PATHS

    def _directory(self, fd: int, prefix: str, depth: int = 0) -> None:
        if self._on_enter is not None:
            self._on_enter(fd, prefix.removesuffix("/"))
        below: list[tuple[str, os.stat_result]] = []
        with os.scandir(fd) as entries:
            for entry in entries:
                if self._is_full:
                    self._leave(prefix.removesuffix("/"))
                    break
                with self._leaving_out(prefix + entry.name):
                    about = entry.stat(follow_symlinks=False)
                    self._add(fd, prefix, entry.name, about)
                    if stat.S_ISDIR(about.st_mode):
                        below.append((entry.name, about))
        for name, about in below:
            with self._leaving_out(prefix + name):
                self._enter(fd, prefix, name, about, depth)

    def _enter(self, fd: int, prefix: str, name: str, about: os.stat_result, depth: int) -> None:
        if depth >= DEEPEST:
            self._leave(prefix + name)
            return
        child = directory_tree.open_directory(name, fd)
        try:
            self._directory(child, f"{prefix}{name}/", depth + 1)
            if about.st_mode & 0o700 != 0o700:  # it was opened up to be read
                os.fchmod(child, stat.S_IMODE(about.st_mode))
        finally:
            os.close(child)

    def _leave(self, path: str) -> None:
        self.nodes.whole = False
        self.nodes.leave(path)

    @contextlib.contextmanager
    def _leaving_out(self, path: str) -> Generator[None]:
        try:
            yield
        except FileNotFoundError:
            return  # gone meanwhile
        except OSError as error:
            if error.errno not in ITS_OWN:
                raise
            self._leave(path)

    def _add(self, fd: int, prefix: str, name: str, about: os.stat_result) -> None:
        path = prefix + name
        if stat.S_ISDIR(about.st_mode):
            self._entry(path, "dir", about)
        elif stat.S_ISLNK(about.st_mode):
            self._entry(path, "link", about, content=os.readlink(name, dir_fd=fd))
        elif stat.S_ISREG(about.st_mode):
            self._file(fd, name, path, about)
        else:
            self.nodes.leave(path)

    def _entry(self, path: str, kind: Kind, about: os.stat_result, *, content: str = "") -> None:
        mode = about.st_mode & MODE
        entry = WorkspaceEntry(path=path, kind=kind, mode=mode, mtime_ns=about.st_mtime_ns, content=content)
        self.nodes.put(entry, about, key_of(about))

    def _file(self, fd: int, name: str, path: str, about: os.stat_result) -> None:
        room = self._most_bytes - self.nodes.size
        if about.st_size > room:
            self._leave(path)
            return
        key, size = key_of(about), about.st_size
        held = about.st_ino in self.afresh  # its times say nothing, also after it is unmapped
        digest = None if held else self.nodes.digests.get(key) or self._before.get(key)
        steady = digest is not None
        if digest is None:
            began = time.time_ns()
            digest, size, about = self._content(fd, name, room)
            key = key_of(about)
            recent = began - max(about.st_ctime_ns, about.st_mtime_ns) <= RECENT_NS
            steady = size == about.st_size and not recent and not held
        mode, mtime_ns = about.st_mode & MODE, about.st_mtime_ns
        entry = WorkspaceEntry(path=path, kind="file", mode=mode, mtime_ns=mtime_ns, size=size, content=digest)
        self.nodes.put(entry, about, key, steady=steady)

    def _content(self, parent: int, name: str, room: int) -> tuple[str, int, os.stat_result]:
        """Keep the bytes that the file had when it was opened, read again if it changed meanwhile. Gives their name."""
        tries = TRIES
        while True:
            tries -= 1
            fd = open_file(name, parent)
            try:
                before = os.fstat(fd)
                if before.st_size > room:
                    raise OSError(errno.EINVAL, "grown beyond what there is room for")
                kept: bytes | tuple[str, int]
                if before.st_size >= LARGE:
                    kept = self._contents.keep_file(fd, before.st_size)
                else:
                    kept = b"".join(chunks(fd, before.st_size))
                after = os.fstat(fd)
            finally:
                os.close(fd)
            if not tries or key_of(before) == key_of(after):
                digest, size = (self._contents.keep(kept), len(kept)) if isinstance(kept, bytes) else kept
                return digest, size, after


@contextlib.contextmanager
def reading() -> Generator[None]:
    """Turn the machine's error into one that the operator can act on."""
    try:
        yield
    except OSError as error:
        raise PlatformError(f"the workspace cannot be read ({error.strerror}); see to its disk") from None


def key_of(about: os.stat_result) -> Key:
    """Equal as long as the file was not written to."""
    return about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns


def open_file(name: str, parent: int) -> int:
    """Open a regular file for reading, also one whose mode forbids that to its owner. Raises OSError otherwise."""
    try:
        fd = os.open(name, READ, dir_fd=parent)
    except PermissionError:
        fd = _open_closed(name, parent)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "no regular file")
    return fd


def _open_closed(name: str, parent: int) -> int:
    if not hasattr(os, "O_PATH"):  # macOS
        raise PermissionError(errno.EACCES, "closed by its mode")
    path = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        mode = os.fstat(path).st_mode
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "no regular file")
        this = f"/proc/self/fd/{path}"  # this very file, whatever its name is by now
        os.chmod(this, stat.S_IMODE(mode) | 0o400)
        try:
            return os.open(this, READ & ~os.O_NOFOLLOW)
        finally:
            os.chmod(this, stat.S_IMODE(mode))
    finally:
        os.close(path)


def chunks(fd: int, size: int) -> Iterator[bytes]:
    """The first `size` bytes, or as many as there are: a file that keeps growing is not read for ever."""
    while size and (chunk := os.read(fd, min(size, CHUNK))):
        size -= len(chunk)
        yield chunk
