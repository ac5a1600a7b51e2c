"""A death without a process: a journal that fails at a chosen write and from then on, before or after it is made.

To the runtime it is the end of all writing; with the objects of the desk dead as well, nothing happens after it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from toolwright.errors import JournalFailed
from toolwright.journal import CellRow, Change, Checkpoint, Claim, Facts, Journal, Row

T = TypeVar("T")


class Mortal:
    """A `Journal` that lives for a number of writes. `points` counts moments: before and after each write are two.

    `path` is where a session's workspace is kept, as with a journal that is a file.
    """

    def __init__(self, inner: Journal, path: Path | None = None) -> None:
        self._inner = inner
        self.path = path
        self.points = 0
        self.die_at: int | None = None
        self.dead = False

    def live_until(self, point: int | None) -> None:
        """From here on a new life, which ends at that moment."""
        self.points, self.die_at, self.dead = 0, point, False

    def _moment(self) -> None:
        if self.die_at is not None and self.points >= self.die_at:
            self.dead = True
        self.points += 1
        if self.dead:
            raise JournalFailed("this life is over")

    def _write(self, write: Callable[[], T]) -> T:
        self._moment()
        result = write()
        self._moment()
        return result

    def create(self, facts: Facts) -> Claim:
        return self._write(lambda: self._inner.create(facts))

    def claim(self, session: str) -> Claim:
        return self._write(lambda: self._inner.claim(session))

    def write(self, claim: Claim, *changes: Change) -> int:
        return self._write(lambda: self._inner.write(claim, *changes)) if changes else 0

    def keep(self, session: str, content: bytes) -> str:
        return self._write(lambda: self._inner.keep(session, content))

    def forget(self, session: str) -> None:
        self._write(lambda: self._inner.forget(session))

    # reading

    def sessions(self) -> Sequence[str]:
        return self._inner.sessions()

    def facts(self, session: str) -> Facts:
        return self._inner.facts(session)

    def cells(self, session: str, first: int = 0) -> Sequence[CellRow]:
        return self._inner.cells(session, first)

    def rows(self, session: str, first_cell: int = 0) -> Sequence[Row]:
        return self._inner.rows(session, first_cell)

    def checkpoints(self, session: str) -> Sequence[Checkpoint]:
        return self._inner.checkpoints(session)

    def blob(self, digest: str) -> bytes:
        return self._inner.blob(digest)

    def close(self) -> None:
        """The one inside outlives many of these."""
