"""Tasks of a journaled session: sets of them have the same order on every run, which addresses would not give.

`asyncio.wait`, task groups and `asyncio.run` keep their tasks in sets, and code walks over what they give.
"""

from __future__ import annotations

import asyncio
from typing import Any

from cellwright_guest.paths import Path

_as_completed: Any = asyncio.as_completed


class Task(asyncio.Task[Any]):
    """asyncio's, whose hash is that of its path."""

    def __init__(self, coro: Any, *, path: Path, **options: Any) -> None:
        self._path_hash = hash(path.prefix)
        super().__init__(coro, **options)

    def __hash__(self) -> int:
        return self._path_hash


def install() -> None:
    asyncio.__dict__["as_completed"] = asyncio.tasks.__dict__["as_completed"] = as_completed


def as_completed(fs: Any, *, timeout: float | None = None) -> Any:
    """`asyncio.as_completed`, which makes its tasks in the order of a set."""
    if not asyncio.isfuture(fs) and not asyncio.iscoroutine(fs):
        fs = [asyncio.ensure_future(one) for one in dict.fromkeys(fs)]
    return _as_completed(fs, timeout=timeout)
