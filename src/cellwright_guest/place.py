"""Where the guest stands in its workspace, when the host has taken the scratch away that covered the live one.

The working directory is then a directory of a file system that has no name any more: `os.getcwd` fails there, and the
way up ends at its top. Files that are open there stay open there.
"""

from __future__ import annotations

import os

WORKSPACE = "/workspace"
DEEPEST = 256


def move() -> None:
    """To the same directory of the live workspace, or to its top. Who stands elsewhere (in /tmp) stays."""
    try:
        os.getcwd()
        return
    except OSError:
        if os.stat(".").st_dev == os.stat("/tmp").st_dev:
            return  # a directory of /tmp that was deleted
    try:
        os.chdir(os.path.join(WORKSPACE, *_way_down()))
    except OSError:
        os.chdir(WORKSPACE)


def _way_down() -> list[str]:
    """The names from the top of the scratch to here; none where that cannot be told."""
    names: list[str] = []
    here = -1
    try:
        here = os.open(".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        while len(names) < DEEPEST:
            above = os.open("..", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=here)
            below, here = here, above
            found = os.fstat(below)
            os.close(below)
            if os.path.samestat(found, os.fstat(here)):
                return names[::-1]
            with os.scandir(here) as entries:
                name = next((one.name for one in entries if one.inode() == found.st_ino), None)
            if name is None:  # deleted
                return []
            names.append(name)
    except OSError:  # closed by its mode, or no descriptor left
        return []
    finally:
        if here >= 0:
            os.close(here)
    return []
