"""Disk that a guest holds in files without a name: deleted, but open or mapped. No walk of the workspace sees them.

Looking into a guest takes root; any other host is told that there is nothing.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator


def held_bytes(pids: Iterable[int], device: int) -> int:
    """What these processes hold on `device`, each file once."""
    found: dict[int, int] = {}
    for pid in pids:
        for path in (*_open(pid), *_mapped(pid)):
            with contextlib.suppress(OSError):  # gone meanwhile, or not for us to see
                about = os.stat(path)
                if stat.S_ISREG(about.st_mode) and about.st_nlink == 0 and about.st_dev == device:
                    found[about.st_ino] = about.st_blocks * 512
    return sum(found.values())


def _open(pid: int) -> Iterator[str]:
    with contextlib.suppress(OSError):
        yield from (f"/proc/{pid}/fd/{name}" for name in os.listdir(f"/proc/{pid}/fd"))


def _mapped(pid: int) -> Iterator[str]:
    with contextlib.suppress(OSError), open(f"/proc/{pid}/maps", "rb") as lines:
        for line in lines:
            if line.endswith(b" (deleted)\n"):
                yield f"/proc/{pid}/map_files/{line.split(None, 1)[0].decode()}"
