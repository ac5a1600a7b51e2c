"""`TurnRecord`: the row of a turn in the journal, written when the task is set and again when the turn ends.

A process that dies in between leaves a row that says "running". It knows rows and errors; not how a turn is run.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import Any

from cellwright.errors import Fenced, JournalFailed, RestoreFailed, TurnCancelled, TurnWaiting
from cellwright.journal import Turns
from cellwright.scope import shown
from cellwright.short_texts import cut, named_error
from cellwright.store import TurnRow, TurnStatus

ANSWER = 2000  # characters of it that the row has
REPLACED = "another task was set in its place"


class TurnRecord:
    """A context manager round one turn. `turns` is None for a session without a store: then nothing is written.

    A `BaseException` that is neither an `Exception` nor a cancellation counts as the death of the process: the row
    stays as it is, and the turn can be carried on. So it does where the guest could not be brought back.
    """

    def __init__(self, turns: Turns | None, row: TurnRow) -> None:
        self.row = row
        self._turns = turns
        self._answer = ""

    def __enter__(self) -> TurnRecord:
        if self._turns is not None:
            last = self._turns.last()
            if last is not None and last.number < self.row.number and last.status in ("running", "waiting"):
                self._turns.write(replace(last, status="cancelled", answer=REPLACED))
            begun = replace(self.row, status="running", answer="")
            if last != begun:
                self.row = self._turns.write(begun)
        return self

    def came_to(self, value: Any) -> None:
        """The turn has its answer."""
        self._answer = cut(value if isinstance(value, str) else shown(value, ANSWER), ANSWER)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._turns is None or isinstance(error, Fenced | JournalFailed | RestoreFailed):
            return
        if error is None:
            self._turns.write(replace(self.row, status="done", answer=self._answer))
            return
        status = _status(error)
        if status is not None:
            with suppress(Fenced, JournalFailed):  # what ended the turn is told
                self._turns.write(replace(self.row, status=status, answer=cut(_words(error), ANSWER)))


def _status(error: BaseException) -> TurnStatus | None:
    if isinstance(error, TurnWaiting):
        return "waiting"
    if isinstance(error, asyncio.CancelledError | TurnCancelled):
        return "cancelled"
    return "failed" if isinstance(error, Exception) else None


def _words(error: BaseException) -> str:
    if isinstance(error, asyncio.CancelledError):
        return "cancelled"
    return named_error(error)
