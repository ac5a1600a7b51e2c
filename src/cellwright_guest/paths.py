"""Where a call of guest code comes from: the cell, the task or thread in it, and the count there.

A path is the same each time the same code is run, whatever the order in which answers came, so it is the name of a call
for ever. Used only where the session is journaled; it does not know what a call asks, or who keeps its answer.

    3#1         the first call of cell 3         3~1#1    of the first thread that cell 3 started
    3.2#1       of the second task it made       3+1#1    of its first block
    3:timer#1   the first wait of its loop       3!.1#1   of what the garbage collector woke
"""

from __future__ import annotations

import hashlib
import itertools
import sys
import threading
from collections.abc import Generator
from concurrent.futures import thread as executors
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

LONGEST = 200  # characters of a prefix; what follows its last block is then a hash

_threads: dict[int, Any] = vars(threading)["_active"]
_start = threading.Thread.start
_submit = executors.ThreadPoolExecutor.submit
_worker: Any = vars(executors)["_worker"]


class Path:
    """Where calls come from, with its counters. Counting is safe in any thread."""

    __slots__ = ("_blocks", "_calls", "_tasks", "_threads", "_waits", "line", "prefix")

    def __init__(self, prefix: str, line: int = 0) -> None:
        self.prefix = prefix if len(prefix) <= LONGEST else _shortened(prefix)
        self.line = line  # of the cell, where it was made
        self._calls = itertools.count(1)
        self._tasks = itertools.count(1)
        self._threads = itertools.count(1)
        self._blocks = itertools.count(1)
        self._waits = itertools.count(1)

    def call(self) -> str:
        return f"{self.prefix}#{next(self._calls)}"

    def wait(self) -> str:
        """For a wait of the loop itself: counted apart, so that it moves no other call's number."""
        return f"{self.prefix}:timer#{next(self._waits)}"

    def task(self) -> Path:
        return Path(f"{self.prefix}.{next(self._tasks)}", line())

    def thread(self) -> Path:
        return Path(f"{self.prefix}~{next(self._threads)}", line())

    def block(self) -> Path:
        return Path(f"{self.prefix}+{next(self._blocks)}", self.line)


_path: ContextVar[Path] = ContextVar("cellwright_path")
_root = Path("0")
_collected = Path("0!")


def begin() -> None:
    """From here on threads have paths too: by the order in which they were started, not by their names."""
    threading.Thread.start = _start_thread
    executors.ThreadPoolExecutor.submit = _submit_work
    enter(0)


def enter(cell: int) -> None:
    """What this thread does from here on belongs to `cell`. What earlier cells left running keeps its own path."""
    global _root, _collected
    _root, _collected = Path(str(cell)), Path(f"{cell}!")
    _path.set(_root)


def current() -> Path:
    """The path of the code that runs now; there is always a path."""
    path = _path.get(None)
    if path is not None:
        return path
    thread = _threads.get(threading.get_ident())
    if thread is None or thread is threading.main_thread():
        return _root  # a context that was made empty, or a thread that Python did not start
    return thread.__dict__.setdefault("_cellwright_path", Path(f"{_root.prefix}~{_plain(thread.name)}"))


def assign(path: Path) -> None:
    """Make it the path of this context."""
    _path.set(path)


def collected() -> Path:
    """The path of code that the garbage collector runs, at any moment: it must not change other calls' numbers."""
    return _collected


@contextmanager
def under(prefix: str) -> Generator[None]:
    """What runs inside has this path: a call of the host into the guest came with it."""
    with _within(Path(prefix)):
        yield


@contextmanager
def _within(path: Path) -> Generator[None]:
    token = _path.set(path)
    try:
        yield
    finally:
        _path.reset(token)


class PathBlock:
    """Calls, tasks and threads that begin until it is closed have its prefix."""

    def __init__(self) -> None:
        self._outer = current()
        path = self._outer.block()
        self.prefix = path.prefix
        self._token = _path.set(path)

    def close(self) -> None:
        try:
            _path.reset(self._token)
        except (ValueError, RuntimeError):  # closed in another context than it was opened in, or twice
            _path.set(self._outer)


def block() -> PathBlock:
    """Open a block in the current path."""
    return PathBlock()


def line() -> int:
    """The line of the cell that runs now: of its innermost function, else where the task was made; 0 for none."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]  `inspect` would build a list of them all
    while frame is not None:
        if frame.f_code.co_filename.startswith("<cell "):
            return frame.f_lineno or 0
        frame = frame.f_back
    path = _path.get(None)
    return 0 if path is None else path.line


def _start_thread(self: threading.Thread) -> None:
    # How many workers an executor starts depends on how fast they are: its work is counted, and they are not.
    if self.__dict__.get("_target") is not _worker:
        self.__dict__["_cellwright_path"] = current().thread()
    _start(self)


def _submit_work(self: Any, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
    return _submit(self, _work, current().thread(), fn, args, kwargs)


def _work(path: Path, fn: Any, args: Any, kwargs: Any) -> Any:
    with _within(path):
        return fn(*args, **kwargs)


def _shortened(prefix: str) -> str:
    """The innermost block stays readable: calls of a block are known by its prefix."""
    block = prefix.rfind("+")
    end = block + 1
    while 0 <= block and end < len(prefix) and prefix[end].isdigit():
        end += 1
    if block >= 0 and end == len(prefix):
        return prefix  # a block itself; what lies between two of them is short
    head = prefix[:end] if block >= 0 else prefix[:20]
    return f"{head}*{hashlib.sha256(prefix.encode()).hexdigest()[:40]}"


def _plain(name: str) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in name)[:50]
