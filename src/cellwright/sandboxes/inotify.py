"""The kernel's reports of changes in directories (Linux, inotify): `DirectoryWatch`. It knows watches, and no paths.

Only changes are watched: reading a file causes no report and costs nothing. A write through a shared mapping is
reported when the last holder unmaps the file; `mapped` says which files are mapped that way.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import struct
import sys
from collections.abc import Iterable
from typing import Any

from cellwright.sandboxes.process_tree import living_task

if sys.platform != "win32":
    import fcntl

MODIFY, ATTRIB, CLOSE_WRITE, MOVED_FROM, MOVED_TO, CREATE, DELETE = 0x2, 0x4, 0x8, 0x40, 0x80, 0x100, 0x200
UNMOUNT, OVERFLOW, IGNORED, IS_DIR = 0x2000, 0x4000, 0x8000, 0x40000000
ONLY_DIR = 0x01000000
APPEARED = MOVED_TO | CREATE
NAMES = APPEARED | MOVED_FROM | DELETE  # what also changes the time of the directory
WATCHED = NAMES | MODIFY | ATTRIB | CLOSE_WRITE | ONLY_DIR
BUFFER = 1 << 16
READS = 256  # of a full buffer: the kernel's queue is shorter, so a guest is filling it as we read
HEAD = struct.Struct("iIII")
QUERY = struct.Struct("=9Q4I2Q")  # struct procmap_query
PROCMAP_QUERY, SHARED_FILES = 0xC0686611, 0x08 | 0x10 | 0x20  # shared; this one or the next; of a file
# Where every change is made by this kernel: ext2-4, XFS, Btrfs, tmpfs, F2FS, overlay, ZFS, bcachefs
LOCAL = {0xEF53, 0x58465342, 0x9123683E, 0x01021994, 0xF2F52010, 0x794C7630, 0x2FC12FC1, 0xCA451A4E}

Change = tuple[int, int, str]  # watch, what happened, the name in its directory; "" is the directory itself


class DirectoryWatch:
    """One inotify queue of the kernel. Raises `OSError` where the system gives no queue, or no further watch."""

    def __init__(self) -> None:
        self._libc = _libc()
        fd: int = self._libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        if fd < 0:
            raise _failure()
        self._fd = fd

    def add(self, directory: int) -> int:
        """Watch an open directory from now on. Its number stays the same while it is watched, whatever its path."""
        watch: int = self._libc.inotify_add_watch(self._fd, f"/proc/self/fd/{directory}".encode(), WATCHED)
        if watch < 0:
            raise _failure()
        return watch

    def remove(self, watch: int) -> None:
        self._libc.inotify_rm_watch(self._fd, watch)  # fails where the watch is gone already, which is fine

    def drain(self) -> list[Change] | None:
        """All changes since the last call, in order; None where the kernel lost some."""
        changes: list[Change] = []
        for _ in range(READS):
            try:
                events = os.read(self._fd, BUFFER)
            except BlockingIOError:
                return changes
            at = 0
            while at < len(events):
                watch, what, _, length = HEAD.unpack_from(events, at)
                at += HEAD.size + length
                if what & (OVERFLOW | UNMOUNT):
                    self._throw_away()
                    return None
                name = events[at - length : at].partition(b"\0")[0]
                changes.append((watch, what, os.fsdecode(name)))
        return None

    def _throw_away(self) -> None:
        for _ in range(READS):
            try:
                os.read(self._fd, BUFFER)
            except BlockingIOError:
                return

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def is_local(fd: int) -> bool:
    """Whether the file system of an open file is changed through this kernel only, as far as is known."""
    about = ctypes.create_string_buffer(512)
    if _libc().fstatfs(fd, about) != 0:
        return False
    (kind,) = struct.unpack_from("l", about)
    return kind & 0xFFFFFFFF in LOCAL


def mapped(pids: Iterable[int]) -> set[int]:
    """The inodes that these processes have in a shared mapping. Raises `PermissionError` where we may not look."""
    inodes: set[int] = set()
    for pid in pids:
        try:
            with open(f"/proc/{living_task(pid)}/maps", "rb", buffering=BUFFER) as maps:
                queried = _queried(maps.fileno())
                inodes |= queried if queried is not None else _listed(maps)
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended
    return inodes - {0}


def _queried(maps: int) -> set[int] | None:
    """Shared mappings of files by PROCMAP_QUERY, from Linux 6.11 on; None where the kernel does not know it."""
    inodes: set[int] = set()
    at = 0
    while True:
        query = bytearray(QUERY.pack(QUERY.size, SHARED_FILES, at, *[0] * 12))
        try:
            fcntl.ioctl(maps, PROCMAP_QUERY, query)
        except OSError as error:
            return inodes if error.errno in (errno.ENOENT, errno.ESRCH) else None
        answer = QUERY.unpack(query)
        at, inode = answer[4], answer[8]
        inodes.add(inode)


def _listed(maps: Iterable[bytes]) -> set[int]:
    lines = (line.split(None, 5) for line in maps)
    return {int(words[4]) for words in lines if words[1].endswith(b"s")}


@functools.cache
def _libc() -> Any:
    libc: Any = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "inotify_init1"):  # macOS
        raise OSError(errno.ENOSYS, "this system has no inotify")
    return libc


def _failure() -> OSError:
    code = ctypes.get_errno()
    return OSError(code, os.strerror(code))
