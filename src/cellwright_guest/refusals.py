"""What a jailed interpreter cannot do, said clearly where Python would fail obscurely.

The kernel refuses these anyway; these words are for the agent that reads the error.
"""

from __future__ import annotations

import builtins
import functools
import multiprocessing.process as process
import os
import sys
import types
from typing import Any


class NotSupported(RuntimeError):
    """Python that this sandbox refuses."""


NotSupported.__module__ = "cellwright"


def install() -> None:
    """Put the clear words in place of what no guest can do."""
    builtins.input = _input
    _refuse_multiprocessing()


def refuse_processes() -> None:
    """The same for processes, where the limits allow none."""
    sys.addaudithook(_audit)


def refuse_kernel_randomness() -> None:
    """In a journaled session: bytes of these files are others when a cell is run again."""
    sys.addaudithook(_audit_open)


def look_before_pretending() -> None:
    """Without a root of its own: `chmod` and `utime` are answered and not done, but a file must be there for them.

    `Path.touch` makes a file where `utime` finds none.
    """
    for name in ("chmod", "utime"):
        usual = getattr(os, name)
        looking = _looking(usual)
        for group in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks):
            if usual in group:
                group.add(looking)
        setattr(os, name, looking)


def _looking(usual: Any) -> Any:
    def change(path: Any, *args: Any, dir_fd: int | None = None, follow_symlinks: bool = True, **options: Any) -> None:
        os.stat(path, dir_fd=dir_fd, follow_symlinks=follow_symlinks)
        usual(path, *args, dir_fd=dir_fd, follow_symlinks=follow_symlinks, **options)

    return functools.wraps(usual)(change)


def _audit_open(event: str, args: Any) -> None:
    if event == "open" and isinstance(args[0], str | bytes | os.PathLike):
        path = os.path.normpath(os.fsdecode(args[0]))
        if path in ("/dev/urandom", "/dev/random"):
            raise NotSupported(
                f"{path} cannot be opened in a journaled session, because its bytes cannot be repeated; use "
                "os.urandom, secrets or random, which follow from the journal's seed"
            )


def _input(prompt: object = "", /) -> str:
    raise NotSupported(
        "input() is refused: nobody is at this terminal; pass the value in the code, or ask in your reply"
    )


_NO_PROCESSES = (
    "{} is refused: this session may not start processes; use threads or asyncio, or have the operator set "
    "Limits(processes=…)"
)
_PROCESS_EVENTS = {
    "subprocess.Popen": "subprocess",
    "os.system": "os.system",
    "os.fork": "os.fork",
    "os.forkpty": "os.forkpty",
    "os.exec": "os.exec",
    "os.posix_spawn": "os.posix_spawn",
    "os.spawn": "os.spawn",
    "pty.spawn": "pty.spawn",
}


def _audit(event: str, args: Any) -> None:
    name = _PROCESS_EVENTS.get(event)
    if name is not None:
        raise NotSupported(_NO_PROCESSES.format(name))


def _refuse_multiprocessing() -> None:
    words = "multiprocessing is refused in this sandbox; use threads (ThreadPoolExecutor) or asyncio"

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise NotSupported(words)

    class SemLock:
        SEM_VALUE_MAX = 2**31 - 1
        __init__ = refuse
        _rebuild = staticmethod(refuse)

    process.BaseProcess.start = refuse
    stand_in = types.ModuleType("_multiprocessing")
    stand_in.__dict__.update(SemLock=SemLock, sem_unlink=refuse, flags={})
    sys.modules["_multiprocessing"] = stand_in
