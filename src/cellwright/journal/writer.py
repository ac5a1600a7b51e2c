"""Writes for one session, in order. What must be known before an effect is written at once; the rest a moment later.

A row written `soon` is on disk before the guest's next message is heard, and before anything written `now`. So it costs
the guest no time, and the order is kept.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from cellwright.errors import Fenced, JournalFailed, UsageError
from cellwright.journal.heartbeat import HEART
from cellwright.store import Change, Claim, Store, fenced


class JournalWriter:
    """Writes under the claim that `hold` was given, which it keeps alive until `release`.

    After the first failure nothing is written any more: `failed` says why, and `broken` wakes whoever waits for it.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.written = 0  # bytes
        self.failed: Fenced | JournalFailed | None = None
        self.broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._claim: Claim | None = None
        self._loop = asyncio.get_running_loop()
        self._soon: list[Change] = []

    @property
    def claim(self) -> Claim:
        if self._claim is None:
            raise UsageError("nothing can be written to a session that was not begun")
        return self._claim

    @property
    def can_write(self) -> bool:
        return self._claim is not None and self.failed is None

    def hold(self, claim: Claim) -> None:
        """Write under this claim from now on."""
        self._claim = claim
        HEART.add(self.store, claim, self.lose)

    def release(self) -> None:
        """Write no more: another process may claim the session at once."""
        if self._claim is not None:
            HEART.remove(self.store, self._claim)
            with suppress(Fenced, JournalFailed):  # the lease runs out by itself
                self.store.release(self._claim)

    def now(self, *changes: Change) -> None:
        """Write what waits and then these. Raises what the store raises."""
        if self.failed is not None:
            raise self.failed
        waiting, self._soon = self._soon, []
        try:
            self.written += self.store.write(self.claim, *waiting, *changes)
        except (Fenced, JournalFailed) as error:
            self.fail(error)
            raise
        except UsageError:  # about these changes: what waited was not written with them, and is written next
            self._soon = [*waiting, *self._soon]
            raise

    def soon(self, change: Change) -> None:
        """Write it before anything else is heard or written."""
        if not self._soon:
            self._loop.call_soon(self._flush)
        self._soon.append(change)

    def _flush(self) -> None:
        if self._soon and self.failed is None:
            try:
                self.now()
            except UsageError as error:  # a row that cannot be written: nobody waits for it here
                self.fail(JournalFailed(str(error)))
            except (Fenced, JournalFailed):
                return  # kept in `failed`, and `broken` tells whoever runs the cell

    def fail(self, error: Fenced | JournalFailed) -> None:
        """Something that belongs to the session could not be kept or read: nothing more is written."""
        self.failed = self.failed or error
        if not self.broken.done():
            self.broken.set_result(None)

    async def stop(self, error: Fenced | JournalFailed) -> Any:
        """For a call that cannot be answered any more: whoever runs the cell is told, and ends the guest."""
        self.fail(error)
        return await self._loop.create_future()

    def lose(self) -> None:
        """Another process has the claim. May be called from any thread."""
        with suppress(RuntimeError):  # of a loop that is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self.fail, fenced(self.claim))


class DryWriter(JournalWriter):
    """Writes nothing: of a session that is only compared with its journal."""

    def now(self, *changes: Change) -> None:
        return None

    def soon(self, change: Change) -> None:
        return None
