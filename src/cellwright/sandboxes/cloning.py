"""One file's content in another: `clone` shares it where the file system can, `copy` does so or copies it."""

from __future__ import annotations

import errno
import os
import sys

if sys.platform != "win32":
    import fcntl

CHUNK = 1 << 20
FICLONE = 0x40049409  # Linux: Btrfs, XFS, ZFS, overlay on these


def clone(source: int, target: int) -> bool:
    """Give an open, empty file the content of another. False where that takes a copy."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        fcntl.ioctl(target, FICLONE, source)
    except OSError:
        return False
    return True


def copy(source: int, target: int, size: int) -> None:
    """Give an open, empty file the first `size` bytes of another. Holes stay holes, so it takes no more of the disk."""
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
    """Where the next bytes begin that are there, and where they end."""
    if not hasattr(os, "SEEK_DATA"):
        return at, size
    try:
        begin = os.lseek(file, at, os.SEEK_DATA)
        return begin, min(size, os.lseek(file, begin, os.SEEK_HOLE))
    except OSError as error:
        if error.errno == errno.ENXIO:  # nothing but a hole
            return size, size
        return at, size
