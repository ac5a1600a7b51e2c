"""A workspace's entries as values, and the walk that reads them: `Entry`, `Listing`, `Reading`.

The guest may change everything meanwhile. Each step goes from an open directory to a name in it, follows no symlink,
and opens regular files only. What it gets at is bounded, and what was left out is told. Where contents are kept is
not known here.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Literal

from toolwright.errors import PlatformError
from toolwright.sandboxes import tree

READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
CHUNK = 1 << 20
MODE = 0o777  # set-id bits are nobody's to keep
DEEPEST = 64
FILES = 100_000
PATHS = 64 << 20  # characters of all paths together
TRIES = 3  # for a file that changes while it is read
RECENT_NS = 100_000_000  # a change within this of the last one may leave the same times on a file
# what a guest can cause: such an entry is left out; anything else is the machine's trouble
ITS_OWN = {errno.EACCES, errno.EPERM, errno.EAGAIN, errno.ELOOP, errno.ENXIO, errno.ENOTDIR, errno.EISDIR, errno.EINVAL}

Kind = Literal["file", "dir", "link"]
Key = tuple[int, int, int, int, int]  # device, inode, size, time of the content's change, of any change


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One file, directory or symlink. `content` names a file's bytes, and is a symlink's target."""

    path: str
    kind: Kind
    mode: int
    mtime_ns: int
    size: int = 0
    content: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Listing:
    """All of a workspace, by path. `left` names what is not in it, and directories of which not all is in it."""

    entries: tuple[Entry, ...] = ()
    left: tuple[str, ...] = ()


class Reading:
    """One walk. `keep` takes a file's bytes and names them; `known` are the names of files as they were last time.

    A second link to a file is a file of its own. A file that is written through a shared mapping counts as changed when
    the kernel says so, which is when the mapping is flushed.
    """

    def __init__(self, keep: Callable[[bytes], str], known: dict[Key, str], *, most_bytes: int) -> None:
        self.known: dict[Key, str] = {}
        self._keep = keep
        self._before = known
        self._room = most_bytes
        self._paths = PATHS
        self._entries: list[Entry] = []
        self._left: list[str] = []

    def walk(self, root: int) -> Listing:
        """Raises `PlatformError` where the machine fails. Closes `root`."""
        try:
            self._directory(root, "")
        except OSError as error:
            raise PlatformError(f"the workspace cannot be read ({error.strerror}); see to its disk") from None
        finally:
            os.close(root)
        return Listing(
            entries=tuple(sorted(self._entries, key=lambda entry: entry.path)), left=tuple(sorted(self._left))
        )

    def _directory(self, fd: int, prefix: str, depth: int = 0) -> None:
        below: list[tuple[str, os.stat_result]] = []
        with os.scandir(fd) as found:
            for one in found:
                if len(self._entries) + len(self._left) >= FILES or self._paths <= 0:
                    self._leave(prefix.removesuffix("/"))
                    break
                with self._leaving_out(prefix + one.name):
                    about = one.stat(follow_symlinks=False)
                    self._add(fd, prefix, one.name, about)
                    if stat.S_ISDIR(about.st_mode):
                        below.append((one.name, about))
        for name, about in below:
            with self._leaving_out(prefix + name):
                if depth >= DEEPEST:
                    self._leave(prefix + name)
                else:
                    self._enter(fd, prefix, name, about, depth)

    def _enter(self, fd: int, prefix: str, name: str, about: os.stat_result, depth: int) -> None:
        child = tree.open_directory(name, fd)
        try:
            self._directory(child, f"{prefix}{name}/", depth + 1)
            if about.st_mode & 0o700 != 0o700:  # it was opened up to be read
                os.fchmod(child, stat.S_IMODE(about.st_mode))
        finally:
            os.close(child)

    def _leave(self, path: str) -> None:
        self._paths -= len(path)
        self._left.append(path)

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
            self._leave(path)

    def _entry(self, path: str, kind: Kind, about: os.stat_result, *, size: int = 0, content: str = "") -> None:
        self._paths -= len(path) + len(content)
        mode = about.st_mode & MODE
        entry = Entry(path=path, kind=kind, mode=mode, mtime_ns=about.st_mtime_ns, size=size, content=content)
        self._entries.append(entry)

    def _file(self, fd: int, name: str, path: str, about: os.stat_result) -> None:
        if about.st_size > self._room:
            self._leave(path)
            return
        digest, size = self.known.get(key_of(about)) or self._before.get(key_of(about)), about.st_size
        steady = digest is not None
        if digest is None:
            began = time.time_ns()
            content, about = self._content(fd, name)
            digest, size = self._keep(content), len(content)
            steady = size == about.st_size and began - max(about.st_ctime_ns, about.st_mtime_ns) > RECENT_NS
        if steady:
            self.known[key_of(about)] = digest
        self._room -= size
        self._entry(path, "file", about, size=size, content=digest)

    def _content(self, parent: int, name: str) -> tuple[bytes, os.stat_result]:
        """As many bytes as it had when it was opened, the same twice where that can be had."""
        tries = TRIES
        while True:
            tries -= 1
            fd = open_file(name, parent)
            try:
                before = os.fstat(fd)
                if before.st_size > self._room:
                    raise OSError(errno.EINVAL, "grown beyond what there is room for")
                content = b"".join(chunks(fd, before.st_size))
                after = os.fstat(fd)
            finally:
                os.close(fd)
            if not tries or key_of(before) == key_of(after):
                return content, after


def key_of(about: os.stat_result) -> Key:
    """Equal as long as the file was not written to."""
    return about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns


def open_file(name: str, parent: int) -> int:
    """Open a regular file for reading, also one that its owner closed to himself. Raises OSError for all else."""
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
    """The first `size` bytes, or what there is of them: one that grows meanwhile does not keep us."""
    while size and (chunk := os.read(fd, min(size, CHUNK))):
        size -= len(chunk)
        yield chunk
