"""The session's directory, as the host holds it: `Workspace`, and `watch`, which notices that it grows too large.

The guest owns what is inside and may change it at any moment; the host reaches it only from the one descriptor that it
opened first. This module does not know how a guest sees the directory.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import functools
import os
import re
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from cellwright.errors import PlatformError, UsageError
from cellwright.sandboxes import directory_tree
from cellwright.sandboxes.directory_tree import DiskUsage
from cellwright.sandboxes.guest_uid import guest_uid
from cellwright.sandboxes.process_tree import living_task

PREFIX = "cellwright-ws-"
_MADE = re.compile(rf"{PREFIX}[a-z0-9_]{{8}}")  # by `mkdtemp`
REMOVE_S = 10.0
LEFT_S = 60.0  # older ones that nobody holds were left
SHORTEST_S = 0.05
LONGEST_S = 1.0
RESTS = 20  # times as long as the count took
PARTIAL_COUNTS = 3  # in a row: a tree that changes during every count is then taken for too large


class Workspace:
    """One directory that host and guest share. `fresh` tells that it was made here, so may be removed on close."""

    def __init__(self, path: Path, owner_uid: int | None, *, fresh: bool) -> None:
        self.path = path
        self.owner_uid = None if owner_uid is None or guest_uid() is None else owner_uid
        self.fresh = fresh
        self.guests: Callable[[], Iterable[int]] = tuple  # the processes that may hold deleted files of it open
        self.closing: list[Callable[[], None]] = []  # called when it is closed
        self._lock = threading.Lock()
        self._fd = os.open(path, directory_tree.DIRECTORY)

    @classmethod
    def create(cls, base: Path | None = None, owner_uid: int | None = None) -> Workspace:
        """A new directory of mode 0700 in `base` (the temporary directory when None), owned by the guest's uid."""
        base = base or temporary_directory()
        try:
            path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=base)).resolve()
        except OSError as error:
            raise PlatformError(
                f"no workspace can be made in {base} ({error.strerror}); give another directory"
            ) from None
        workspace = cls(path, owner_uid, fresh=True)
        with contextlib.suppress(OSError):  # a file system without locks: then nobody can lock it to remove it
            workspace.lock(fcntl.LOCK_SH)  # as long as this process lives: see `remove_leftovers`
        workspace.hand_over(workspace._fd)
        return workspace

    @classmethod
    def at(cls, path: Path, owner_uid: int | None = None) -> Workspace:
        """A directory that is there already. Guest code gets all that is in it."""
        try:
            real = path.expanduser().resolve(strict=True)
            if Path(os.path.expanduser("~")).is_relative_to(real):  # "~" itself where this user has no home
                raise UsageError(f"workspace {path}: guest code would get all of it; give a directory of its own")
            workspace = cls(real, owner_uid, fresh=False)
        except (FileNotFoundError, NotADirectoryError):
            raise UsageError(f"workspace {path} is no directory; make it with `mkdir -p {path}`") from None
        except OSError as error:
            raise UsageError(f"workspace {path} cannot be opened ({error.strerror}); give one that you own") from None
        try:
            workspace._check_volume()
            workspace._adopt()
        except (UsageError, PlatformError):
            workspace.close()
            raise
        return workspace

    def _check_volume(self) -> None:
        disk = os.fstatvfs(self._fd)
        if disk.f_flag & os.ST_RDONLY:
            raise UsageError(f"workspace {self.path} is on a read-only volume; mount it writable, or give another")
        if disk.f_blocks and not disk.f_bavail:
            raise PlatformError(f"workspace {self.path} is on a volume without free space; free some, or give another")
        if self.owner_uid is None and not os.access(self.path, os.W_OK | os.X_OK, effective_ids=True):
            raise UsageError(
                f"workspace {self.path} cannot be written by uid {os.geteuid()}, as which guests run: make it the "
                "owner (Kubernetes: securityContext.fsGroup), or give another"
            )

    def _adopt(self) -> None:
        uid = os.fstat(self._fd).st_uid
        if self.owner_uid is None or uid == self.owner_uid:
            return
        if uid != 0 or os.listdir(self._fd):
            change = f"chown -R {self.owner_uid}:{self.owner_uid} {self.path}"
            raise UsageError(
                f"workspace {self.path} belongs to uid {uid} and the guest runs as uid {self.owner_uid}: "
                f"run `{change}`, or give an empty directory"
            )
        self.hand_over(self._fd)

    def hand_over(self, fd: int) -> None:
        """Make the guest the owner of an open file or directory. Does nothing where guests have the host's uid."""
        if self.owner_uid is not None:
            os.fchown(fd, self.owner_uid, self.owner_uid)

    def lock(self, how: int) -> None:
        """`flock` the directory, until it is closed or this process ends."""
        fcntl.flock(self._fd, how)

    def open(self) -> int:
        """A new descriptor of the directory itself, with a position of its own. The caller closes it."""
        with self._lock:
            self._check_open()
            mode = stat.S_IMODE(os.fstat(self._fd).st_mode)
            if mode & 0o700 != 0o700:  # the guest owns it and can close it to a host of the same uid
                with contextlib.suppress(PermissionError):
                    os.fchmod(self._fd, mode | 0o700)
            return os.open(".", directory_tree.DIRECTORY, dir_fd=self._fd)

    def _check_open(self) -> None:
        if self._fd < 0:
            raise UsageError(f"workspace {self.path} is closed; open another session")

    def size(self, enough: DiskUsage = directory_tree.ENOUGH) -> DiskUsage:
        """What is in it, in bytes of disk and entries; counting stops where it is more than `enough`."""
        device = self.device
        usage = directory_tree.measure(self.open(), enough)
        hidden = held_bytes(self.guests(), device)
        return replace(usage, bytes=usage.bytes + hidden) if hidden else usage

    @property
    def device(self) -> int:
        """The number of the file system that it lies on."""
        with self._lock:
            self._check_open()
            return os.fstat(self._fd).st_dev

    def free_bytes(self) -> int:
        """Bytes that the file system has left."""
        with self._lock:
            self._check_open()
            disk = os.fstatvfs(self._fd)
        return disk.f_bavail * disk.f_frsize

    def close(self) -> None:
        """Let go of the directory and leave it where it is."""
        while self.closing:
            self.closing.pop()()
        with self._lock:
            if self._fd >= 0:
                os.close(self._fd)
                self._fd = -1

    def remove(self, wait_s: float = 120.0) -> None:
        """Delete the directory with everything in it, and close. End the guest first: while it goes on writing, this
        raises `PlatformError` after `wait_s`."""
        if self._fd < 0:
            return
        root = self.open()
        try:
            directory_tree.empty(root, wait_s=wait_s)
            os.rmdir(self.path)
        except FileNotFoundError:
            pass  # someone was faster
        except OSError as error:
            raise PlatformError(
                f"workspace {self.path} cannot be removed ({error.strerror}); end its guest first"
            ) from None
        finally:
            os.close(root)
        self.close()


def temporary_directory() -> Path:
    """Where new workspaces are. Raises `PlatformError` where no such directory can be written."""
    try:
        return Path(tempfile.gettempdir())
    except FileNotFoundError:
        raise PlatformError(
            "no writable temporary directory: mount one (a container: --tmpfs /tmp), or set TMPDIR"
        ) from None


@functools.cache
def remove_leftovers(base: Path | None = None) -> None:
    """Delete the directories that `Workspace.create` made for processes which were killed. Once in a process."""
    for path in (base or temporary_directory()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError, PlatformError):  # another process is faster, or has it, or it is not ours
            if _MADE.fullmatch(path.name) and time.time() - path.lstat().st_mtime > LEFT_S and not path.is_symlink():
                left = Workspace(path, None, fresh=True)
                try:
                    left.lock(fcntl.LOCK_EX | fcntl.LOCK_NB)
                    left.remove(REMOVE_S)
                finally:
                    left.close()


class MeasuredWorkspace(Protocol):
    """A workspace, or several that are measured as one."""

    def size(self, enough: DiskUsage) -> DiskUsage: ...
    def free_bytes(self) -> int: ...


async def watch(
    workspace: MeasuredWorkspace, limit_bytes: int, limit_files: int, on_exceeded: Callable[[DiskUsage], None]
) -> None:
    """Measure the workspace until it is beyond a limit; then call `on_exceeded` once and return. Cancel it to stop.

    Between two counts it rests twenty times as long as the count took, within 0.05 and 1 s, or less when the disk
    lost as much space as the workspace had left. A file that is deleted and still open is seen by a host that is root.
    """
    enough = DiskUsage(bytes=limit_bytes, files=limit_files)
    partial = 0
    while True:
        free = workspace.free_bytes()
        began = time.monotonic()
        usage = await asyncio.to_thread(workspace.size, enough)
        took = time.monotonic() - began
        partial = partial + 1 if usage.partial else 0
        if usage.bytes > limit_bytes or usage.files > limit_files or partial >= PARTIAL_COUNTS:
            on_exceeded(usage)
            return
        await _rest(workspace, free - (limit_bytes - usage.bytes), took)


async def _rest(workspace: MeasuredWorkspace, least_free: int, took: float) -> None:
    began = time.monotonic()
    pause = min(LONGEST_S, max(SHORTEST_S, RESTS * took))
    early = max(SHORTEST_S, 4 * took)  # others may be filling the disk: count early, but not all the time
    while (passed := time.monotonic() - began) < pause:
        if passed >= early and workspace.free_bytes() < least_free:
            return
        await asyncio.sleep(SHORTEST_S)


def held_bytes(pids: Iterable[int], device: int) -> int:
    """The disk that these processes hold on `device` in files without a name: deleted, but open or mapped.

    No walk of the workspace sees such files. Looking into a guest takes root; for any other host the answer is 0.
    """
    blocks: dict[int, int] = {}  # by inode: each file counts once
    for pid in pids:
        task = living_task(pid)
        for path in (*_open_files(task), *_mapped_files(task)):
            with contextlib.suppress(OSError):  # gone meanwhile, or not for us to see
                about = os.stat(path)
                if stat.S_ISREG(about.st_mode) and about.st_nlink == 0 and about.st_dev == device:
                    blocks[about.st_ino] = about.st_blocks * 512
    return sum(blocks.values())


def _open_files(pid: int) -> Iterator[str]:
    with contextlib.suppress(OSError):
        yield from (f"/proc/{pid}/fd/{name}" for name in os.listdir(f"/proc/{pid}/fd"))


def _mapped_files(pid: int) -> Iterator[str]:
    with contextlib.suppress(OSError), open(f"/proc/{pid}/maps", "rb") as lines:
        for line in lines:
            if line.endswith(b" (deleted)\n"):
                yield f"/proc/{pid}/map_files/{line.split(None, 1)[0].decode()}"
