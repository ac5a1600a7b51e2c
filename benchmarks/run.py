"""One run: how much of everything, and its progress on standard error."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from cellwright.sandboxes import environment
from cellwright.settings import Settings


class Run:
    """A context manager. `quick` takes the smaller of two counts everywhere: enough to see that it works."""

    def __init__(self, *, quick: bool) -> None:
        self.quick = quick
        self.remarks: list[str] = []
        self.cache = Settings.from_environment().cache_dir
        self._progress = Progress(
            TextColumn("{task.description:<44}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=Console(stderr=True),
        )

    def __enter__(self) -> Run:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def say(self, line: str) -> None:
        self._progress.console.print(line, style="dim", highlight=False, markup=False)

    def remark(self, line: str) -> None:
        """Says what could not be measured, and keeps it for the report."""
        self.say(line)
        self.remarks.append(line)

    def count(self, full: int, quick: int) -> int:
        return quick if self.quick else full

    def rounds(self, title: str, full: int, quick: int) -> Iterator[int]:
        """Numbers from 0, with a bar."""
        total = self.count(full, quick)
        task = self._progress.add_task(title, total=total)
        for number in range(total):
            yield number
            self._progress.advance(task)

    @contextmanager
    def directory(self) -> Generator[Path]:
        """A directory for databases, removed at the end. Below the cache: `/tmp` is memory on many machines."""
        base = self.cache / "benchmarks"
        base.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix="files-", dir=base, ignore_cleanup_errors=True) as path:
            yield Path(path)

    async def python(self) -> str:
        """The interpreter that guests run on, the one below the virtual environment."""
        return str((await environment(None, cache=self.cache)).python)


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def file_system(path: Path) -> str:
    """The kind of file system that a path is on, as the kernel names it."""
    place = str(path.resolve())
    found: tuple[str, str] = "", "unknown"
    with open("/proc/self/mounts", encoding="utf-8", errors="replace") as mounts:
        for line in mounts:
            _, where, kind, *_ = line.split()
            if place == where or place.startswith(f"{where.rstrip('/')}/"):
                found = max(found, (where, kind), key=lambda each: len(each[0]))
    return found[1]


def started(*argv: str) -> float:
    """Seconds from asking the kernel for a program until it ended. `subprocess.run` takes longer by its own work."""
    began = time.perf_counter()
    pid = os.posix_spawn(argv[0], argv, os.environ)
    _, status = os.waitpid(pid, 0)
    took = time.perf_counter() - began
    if status:
        raise RuntimeError(f"{' '.join(argv)} ended with status {status}")
    return took
