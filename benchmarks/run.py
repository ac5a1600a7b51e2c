"""One run: how much of everything, and its progress on standard error."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator, Sequence
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from toolwright.sandboxes import environment
from toolwright.settings import Settings


class Run:
    """A context manager. `quick` takes the smaller of two counts everywhere: enough to see that it works."""

    def __init__(self, *, quick: bool) -> None:
        self.quick = quick
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

    def count(self, full: int, quick: int) -> int:
        return quick if self.quick else full

    def rounds(self, title: str, full: int, quick: int) -> Iterator[int]:
        """Numbers from 0, with a bar."""
        total = self.count(full, quick)
        task = self._progress.add_task(title, total=total)
        for number in range(total):
            yield number
            self._progress.advance(task)

    async def python(self) -> str:
        """The interpreter that guests run on, the one below the virtual environment."""
        return str((await environment(None, cache=self.cache)).python)


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def started(*argv: str) -> float:
    """Seconds from asking the kernel for a program until it ended. `subprocess.run` takes longer by its own work."""
    began = time.perf_counter()
    pid = os.posix_spawn(argv[0], argv, os.environ)
    _, status = os.waitpid(pid, 0)
    took = time.perf_counter() - began
    if status:
        raise RuntimeError(f"{' '.join(argv)} ended with status {status}")
    return took
