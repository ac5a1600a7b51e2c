"""`Files`: the workspace's files, in and out, from the host's side (`rt.files`), within its quota.

A path is relative, has no `..`, and is walked from the workspace's descriptor one name at a time without following a
symlink; what is read is a regular file. The guest may swap anything meanwhile: it can spoil its own files, no others.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import secrets
import stat
import sys
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePath

from cellwright.errors import PlatformError, UsageError
from cellwright.sandboxes import directory_tree
from cellwright.sandboxes.directory_tree import DiskUsage
from cellwright.sandboxes.workspace import Workspace
from cellwright.sandboxes.workspace_reader import CHUNK, READ, chunks

if sys.platform != "win32":
    import fcntl

MOST_BYTES = 256 << 20
MEASURED_S = 1.0  # how long a measured size counts; what is written here is added to it
DEEPEST = 256
_FICLONE = 0x40049409  # Linux: Btrfs, XFS, ZFS, overlay on these

REFUSED = {
    errno.ELOOP: "is, or goes through, a symlink; none is followed",
    errno.ENOTDIR: "goes through a symlink or a file; give a path whose parents are directories",
    errno.EISDIR: "is a directory; give a file",
    errno.EEXIST: "is a directory; give a file",
    errno.ENOTEMPTY: "is a directory; give a file",
    errno.ENAMETOOLONG: "has a name that is too long; give a shorter one",
    errno.ENXIO: "is no regular file; only files and directories can be used",
    errno.EAGAIN: "is held by the guest; try again when the cell has ended",
    errno.EACCES: "is closed by its mode; change it from guest code with `os.chmod`",
    errno.EPERM: "is closed by its mode; change it from guest code with `os.chmod`",
}


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class FileEntry:
    """A file or directory of the workspace. `size` is 0 for a directory."""

    path: str
    size: int
    is_dir: bool


WorkspaceListing = list[FileEntry]  # inside `Files` the word `list` is its method


class Files:
    """Read, write and copy the workspace's files. An absent one raises `FileNotFoundError`, a bad path `UsageError`.

    `most_bytes` bounds what `read` gives of one file; `put` and `take` are not bounded by it. What does not fit into
    `quota` any more is refused before anything is written.
    """

    def __init__(self, workspace: Workspace, *, most_bytes: int = MOST_BYTES, quota: DiskUsage | None = None) -> None:
        self._workspace = workspace
        self._most_bytes = most_bytes
        self._quota = quota
        self._used: DiskUsage | None = None
        self._measured = 0.0

    async def write(self, path: str | PurePath, data: bytes | str) -> None:
        """Make or replace a file, whole or not at all. Absent parents are made."""
        content = data.encode() if isinstance(data, str) else data
        await asyncio.to_thread(self._write, path, len(content), lambda file: _write_all(file, content))

    async def read(self, path: str | PurePath) -> bytes:
        return await asyncio.to_thread(self._read, path)

    async def read_text(self, path: str | PurePath) -> str:
        """The file as UTF-8."""
        content = await self.read(path)
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            raise UsageError(f"`{path}` is not UTF-8 (byte {error.start}); use `read` for its bytes") from None

    async def list(self, under: str | PurePath = "", *, most: int = 10_000) -> WorkspaceListing:
        """The files and directories below `under`, sorted by path. Left out are symlinks and the like, and what lies
        more than 32 directories deep. More than `most` raises `UsageError`."""
        return await asyncio.to_thread(self.listed, under, most=most)

    async def delete(self, path: str | PurePath) -> None:
        """Remove a file, or a directory with all that is in it."""
        await asyncio.to_thread(self._delete, path)

    async def put(self, local: str | Path, path: str | PurePath) -> None:
        """Copy a file of the host into the workspace; where the file system can, the two share their blocks."""
        await asyncio.to_thread(self.put_now, Path(local), path)

    async def take(self, path: str | PurePath, local: str | Path) -> None:
        """Copy a file of the workspace to the host, as `local`; they share blocks where the file system can."""
        await asyncio.to_thread(self.take_now, path, Path(local))

    def _write(self, path: str | PurePath, size: int, fill: Callable[[int], None]) -> None:
        parts = _parts(path)
        with _explained(path):
            self._make_room(path, size)
            with (
                self._directory(parts[:-1], make=True) as parent,
                directory_tree.replacing(parts[-1], parent) as file,
            ):
                fill(file)
                os.fchmod(file, 0o644)
                self._workspace.hand_over(file)

    def _make_room(self, path: str | PurePath, size: int) -> None:
        """Refuse what the quota or the disk has no room for. A replaced file counts until the new one is complete."""
        free = self._workspace.free_bytes()
        if size > free:
            raise PlatformError(f"`{path}` has {size:,} bytes and the disk of the workspace has {free:,} left")
        if self._quota is None:
            return
        used = self._used
        if used is None or time.monotonic() - self._measured > MEASURED_S or not _fits(used, size, self._quota):
            used = self._workspace.size(self._quota)
            self._measured = time.monotonic()
        if not _fits(used, size, self._quota):
            raise UsageError(
                f"`{path}` has {size:,} bytes, and the workspace holds {used.bytes:,} of {self._quota.bytes:,} in "
                f"{used.files:,} of {self._quota.files:,} files; delete some, or give more `Limits(workspace_mb=…)`"
            )
        self._used = DiskUsage(bytes=used.bytes + size, files=used.files + 1)

    def put_now(self, local: Path, path: str | PurePath) -> None:
        """`put`, blocking."""
        if not local.is_file():
            raise UsageError(f"{local} is no file of this machine; give the path of one to copy in")
        try:
            source = os.open(local, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise UsageError(f"{local} cannot be read ({error.strerror}); give a file that you may read") from None
        try:
            size = os.fstat(source).st_size
            self._write(path, size, lambda file: copy(source, file, size))
        finally:
            os.close(source)

    def take_now(self, path: str | PurePath, local: Path) -> None:
        """`take`, blocking."""
        if local.is_dir() or not local.parent.is_dir():
            raise UsageError(f"{local} cannot be written; give the name of a file in a directory that exists")
        with self._opened(path) as (source, size):
            needed, disk = os.fstat(source).st_blocks * 512, os.statvfs(local.parent)
            if needed > disk.f_bavail * disk.f_frsize:
                raise PlatformError(f"`{path}` takes {needed:,} bytes, more than the disk of {local.parent} has left")
            passing = local.with_name(f".{secrets.token_hex(12)}")
            try:
                with passing.open("xb") as file:
                    copy(source, file.fileno(), size)
                passing.replace(local)
            finally:
                passing.unlink(missing_ok=True)

    def _read(self, path: str | PurePath) -> bytes:
        with self._opened(path) as (fd, size):
            if size > self._most_bytes:
                raise UsageError(
                    f"`{path}` has {size:,} bytes; at most {self._most_bytes:,} are read, so `take` it as a file"
                )
            return b"".join(chunks(fd, size))

    @contextlib.contextmanager
    def _opened(self, path: str | PurePath) -> Generator[tuple[int, int]]:
        """A regular file, open, and its size at that moment: a file that keeps growing is not read for ever."""
        parts = _parts(path)
        with _explained(path):
            with self._directory(parts[:-1]) as parent:
                fd = os.open(parts[-1], READ, dir_fd=parent)
            try:
                found = os.fstat(fd)
                if not stat.S_ISREG(found.st_mode):
                    raise UsageError(f"`{path}` is no regular file; only regular files can be read")
                yield fd, found.st_size
            finally:
                os.close(fd)

    def listed(self, under: str | PurePath = "", *, most: int = 10_000) -> WorkspaceListing:
        """`list`, blocking."""
        parts = _parts(str(under).removesuffix("/") or "/") if str(under) not in ("", ".") else ()
        with _explained(under), self._directory(parts) as top:
            prefix = "".join(f"{part}/" for part in parts)
            found = [
                FileEntry(
                    path=name, size=kind.st_size if stat.S_ISREG(kind.st_mode) else 0, is_dir=stat.S_ISDIR(kind.st_mode)
                )
                for name, kind in islice(directory_tree.entries(top, prefix), most + 1)
            ]
        if len(found) > most:
            raise UsageError(f"more than {most:,} entries below `{under}`; list a directory of it, or raise `most`")
        return sorted(found)

    def _delete(self, path: str | PurePath) -> None:
        parts = _parts(path)
        with _explained(path), self._directory(parts[:-1]) as parent:
            try:
                os.unlink(parts[-1], dir_fd=parent)
                return
            except (IsADirectoryError, PermissionError):  # macOS says EPERM of a directory
                below = directory_tree.open_directory(parts[-1], parent)
            try:
                directory_tree.empty(below, wait_s=60)
            finally:
                os.close(below)
            os.rmdir(parts[-1], dir_fd=parent)

    @contextlib.contextmanager
    def _directory(self, parts: tuple[str, ...], *, make: bool = False) -> Generator[int]:
        """The directory at the end of `parts`, open for the time of the block."""
        here = self._workspace.open()
        try:
            for part in parts:
                below = self._step(here, part, make)
                os.close(here)
                here = below
            yield here
        finally:
            os.close(here)

    def _step(self, here: int, name: str, make: bool) -> int:
        try:
            return os.open(name, directory_tree.DIRECTORY, dir_fd=here)
        except FileNotFoundError:
            if not make:
                raise
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, 0o755, dir_fd=here)
        below = os.open(name, directory_tree.DIRECTORY, dir_fd=here)
        try:
            self._workspace.hand_over(below)
        except OSError:
            os.close(below)
            raise
        return below


def _parts(path: str | PurePath) -> tuple[str, ...]:
    text = str(path)
    parts = tuple(part for part in text.split("/") if part not in ("", "."))
    if text.startswith("/") or ".." in parts or "\0" in text:
        raise UsageError(
            f"{text!r} is no path in the workspace; give a relative one without `..`, such as 'out/report.csv'"
        )
    if not parts or text.endswith("/"):
        raise UsageError(f"{text!r} names no file; give a relative path, such as 'out/report.csv'")
    if len(parts) > DEEPEST:
        raise UsageError(f"a path of {len(parts)} names is too deep; give one of at most {DEEPEST}")
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        raise UsageError(f"{text!r} cannot be a file name; give plain text") from None
    return parts


@contextlib.contextmanager
def _explained(path: str | PurePath) -> Generator[None]:
    """Turn the system's error about a path into one that the developer or the operator can act on."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.ENOENT:
            raise FileNotFoundError(errno.ENOENT, "not in the workspace", str(path)) from None
        if error.errno in REFUSED:
            raise UsageError(f"`{path}` {REFUSED[error.errno]}") from None
        raise PlatformError(f"`{path}`: {error.strerror}; see to the disk of the workspace") from None


def _fits(used: DiskUsage, size: int, quota: DiskUsage) -> bool:
    return used.bytes + size <= quota.bytes and used.files < quota.files


def _write_all(fd: int, chunk: bytes) -> None:
    view = memoryview(chunk)
    while view:
        view = view[os.write(fd, view) :]


def clone(source: int, target: int) -> bool:
    """Give an open, empty file the content of another by sharing blocks. False where the file system cannot."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        fcntl.ioctl(target, _FICLONE, source)
    except OSError:
        return False
    return True


def copy(source: int, target: int, size: int) -> None:
    """Give an open, empty file the first `size` bytes of another: shared blocks or a copy. Holes stay holes."""
    if clone(source, target):
        return
    at = 0
    while at < size:
        at, end = _next_data(source, at, size)
        while at < end and (chunk := os.pread(source, min(end - at, CHUNK), at)):
            view = memoryview(chunk)
            while view:
                written = os.pwrite(target, view, at)
                view, at = view[written:], at + written
        if at < end:  # it has become shorter
            break
    os.ftruncate(target, min(size, os.fstat(source).st_size))


def _next_data(file: int, at: int, size: int) -> tuple[int, int]:
    """The begin and the end of the next range that is no hole."""
    if not hasattr(os, "SEEK_DATA"):
        return at, size
    try:
        begin = os.lseek(file, at, os.SEEK_DATA)
        return begin, min(size, os.lseek(file, begin, os.SEEK_HOLE))
    except OSError as error:
        if error.errno == errno.ENXIO:  # nothing but a hole
            return size, size
        return at, size
