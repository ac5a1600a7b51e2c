"""A process beside the test that does what it is told to a directory: each line is a JSON list, answered when done.

python other_process.py DIRECTORY
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import shutil
import sys
from collections.abc import Callable

held: dict[str, mmap.mmap] = {}
open_files: dict[str, int] = {}


def without_waiting(path: str, flags: int) -> int:
    """A fifo that nobody reads would keep us."""
    return os.open(path, flags | os.O_NONBLOCK, 0o644)


def write(path: str, text: str) -> None:
    with open(path, "w", opener=without_waiting) as file:
        file.write(text)


def append(path: str, text: str) -> None:
    with open(path, "a", opener=without_waiting) as file:
        file.write(text)


def write_in_place(path: str, text: str) -> None:
    """The same size and times as before, where that can be had."""
    about = os.stat(path)
    fd = without_waiting(path, os.O_WRONLY)
    os.pwrite(fd, text[: about.st_size].encode(), 0)
    os.utime(fd, ns=(about.st_atime_ns, about.st_mtime_ns))
    os.close(fd)


def hold(path: str) -> None:
    """Keep it open, and mapped."""
    fd = os.open(path, os.O_RDWR)
    held[path] = mmap.mmap(fd, 0)
    os.close(fd)


def poke(text: str) -> None:
    for mapping in list(held.values()):
        most = min(len(mapping), mapping.size(), len(text))  # a file that was cut meanwhile has no pages there
        mapping[:most] = text.encode()[:most]


def let_go() -> None:
    while held:
        held.popitem()[1].close()
    while open_files:
        os.close(open_files.popitem()[1])


def keep_open(path: str, text: str) -> None:
    if path not in open_files:
        open_files[path] = without_waiting(path, os.O_WRONLY | os.O_APPEND)
    os.write(open_files[path], text.encode())


def remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)


def build(path: str, count: int) -> None:
    for i in range(count):
        os.makedirs(f"{path}/{i}/deep")
        write(f"{path}/{i}/deep/f", str(i))


def touch(path: str, ns: int) -> None:
    os.utime(path, ns=(ns, ns))


ACTS: dict[str, Callable[..., None]] = {
    "write": write,
    "append": append,
    "write_in_place": write_in_place,
    "keep_open": keep_open,
    "hold": hold,
    "poke": poke,
    "let_go": let_go,
    "mkdir": os.mkdir,
    "build": build,
    "remove": remove,
    "rename": os.rename,
    "link": os.link,
    "symlink": os.symlink,
    "fifo": os.mkfifo,
    "chmod": os.chmod,
    "touch": touch,
    "truncate": os.truncate,
}


def main() -> None:
    os.chdir(sys.argv[1])
    for line in sys.stdin:
        act, *arguments = json.loads(line)
        with contextlib.suppress(OSError, ValueError, shutil.Error):
            ACTS[act](*arguments)
        print("done", flush=True)


if __name__ == "__main__":
    main()
