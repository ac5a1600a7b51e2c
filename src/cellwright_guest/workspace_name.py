"""The name of the guest's workspace, and the step from its scratch to its live workspace.

In a root of its own a guest has it at `/workspace`. Without one (no mount layer) it is a directory somewhere on the
machine, which this process holds open: `/proc/self/fd/4` leads there by the kernel's own link. So its name is the same
in every session and when cells are run again on a scratch, and no parent directory needs to be open to the guest's uid.
"""

from __future__ import annotations

import os
import posix
from typing import Any

ROOTED = "/workspace"
SEEN_FD, LIVE_FD = 4, 5  # the workspace that the guest sees, a scratch at first where cells are repeated; the live one
BARE = f"/proc/self/fd/{SEEN_FD}"
DEEPEST = 256

_getcwd, _realpath = os.getcwd, os.path.realpath
_bare = False


def install_bare() -> None:
    """In a zygote without the mount layer: from here on Python gives the workspace its name, not its place outside."""
    global _bare
    _bare = True
    os.getcwd = posix.getcwd = _named_cwd
    os.getcwdb = posix.getcwdb = lambda: os.fsencode(_named_cwd())
    os.path.realpath = _named_realpath


def workspace() -> str:
    return BARE if _bare else ROOTED


def own_places() -> tuple[str, ...]:
    """The directories that a guest can write: without a root of its own there is no /tmp."""
    return (BARE,) if _bare else (ROOTED, "/tmp")


def advice(error: BaseException) -> str:
    """A line more for code that named a directory which only guests with a root of their own have."""
    name = error.filename if _bare and isinstance(error, OSError) else None
    if isinstance(name, str) and name.startswith((ROOTED, "/tmp")):
        return f"\nThis sandbox has neither {ROOTED} nor a /tmp of its own: use relative paths and tempfile."
    return ""


def _named_cwd() -> str:
    return _named(_getcwd())


def _named_realpath(filename: Any, **options: Any) -> Any:
    path = _realpath(filename, **options)
    return _named(path) if isinstance(path, str) else os.fsencode(_named(os.fsdecode(path)))


def _named(path: str) -> str:
    """The same path by the workspace's name, where it leads into the workspace."""
    try:
        top = os.readlink(BARE)
    except OSError:  # guest code has closed the descriptor
        return path
    return BARE + path[len(top) :] if path == top or path.startswith(top + "/") else path


def move_to_live() -> None:
    """Change to the same directory of the live workspace, or to its top, when the host takes the scratch away.

    Files that are open in the scratch stay open. A working directory elsewhere (in /tmp) stays.
    """
    if _bare:
        _move_bare()
        return
    try:
        os.getcwd()
        return
    except OSError:  # the working directory is on a file system without a name, and the way up ends at its top
        if os.stat(".").st_dev == os.stat("/tmp").st_dev:
            return  # a directory of /tmp that was deleted
    _change_to(os.path.join(ROOTED, *_way_down()))


def _move_bare() -> None:
    try:
        here = _named_cwd()
    except OSError:  # deleted
        here = BARE
    os.dup2(LIVE_FD, SEEN_FD, inheritable=False)
    if here == BARE or here.startswith(BARE + "/"):
        _change_to(here)


def _change_to(directory: str) -> None:
    try:
        os.chdir(directory)
    except OSError:
        os.chdir(workspace())


def _way_down() -> list[str]:
    """The names from the top of the scratch to here; none where that cannot be known."""
    names: list[str] = []
    here = -1
    try:
        here = os.open(".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        while len(names) < DEEPEST:
            above = os.open("..", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=here)
            below, here = here, above
            about = os.fstat(below)
            os.close(below)
            if os.path.samestat(about, os.fstat(here)):
                return names[::-1]
            with os.scandir(here) as entries:
                name = next((entry.name for entry in entries if entry.inode() == about.st_ino), None)
            if name is None:  # deleted
                return []
            names.append(name)
    except OSError:  # closed by its mode, or no descriptor left
        return []
    finally:
        if here >= 0:
            os.close(here)
    return []
