"""Writes for one session, in order. What must be known before an effect is written at once; the rest a moment later.

A row written `soon` is on disk before the guest's next message is heard, and before anything written `now`: so it costs
the guest no time, and order is kept.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from cellwright.errors import Fenced, JournalFailed
from cellwright.store import Change, Claim, Writing, fenced


class Writer:
    """After the first failure nothing is written any more: `failed` says why, and `broken` wakes who waits for it."""

    def __init__(self, journal: Writing, claim: Claim) -> None:
        self.claim = claim
        self.written = 0  # bytes
        self.failed: Fenced | JournalFailed | None = None
        self.broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._journal = journal
        self._loop = asyncio.get_running_loop()
        self._soon: list[Change] = []

    def now(self, *changes: Change) -> None:
        """Write what waits and then these. Raises what the journal raises."""
        if self.failed is not None:
            raise self.failed
        waiting, self._soon = self._soon, []
        try:
            self.written += self._journal.write(self.claim, *waiting, *changes)
        except (Fenced, JournalFailed) as error:
            self.fail(error)
            raise

    def fail(self, error: Fenced | JournalFailed) -> None:
        """Something that belongs to the session could not be kept or read: nothing more is written."""
        self.failed = self.failed or error
        if not self.broken.done():
            self.broken.set_result(None)

    def lose(self) -> None:
        """The claim was found to be another's. May be called from any thread."""
        with suppress(RuntimeError):  # of a loop that is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self.fail, fenced(self.claim))

    def soon(self, change: Change) -> None:
        """Write it before anything else is heard or written."""
        if not self._soon:
            self._loop.call_soon(self._flush)
        self._soon.append(change)

    def _flush(self) -> None:
        if self._soon and self.failed is None:
            try:
                self.now()
            except (Fenced, JournalFailed):
                return  # kept in `failed`, and `broken` tells the one who runs the cell
