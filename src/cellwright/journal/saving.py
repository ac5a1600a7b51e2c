"""When a checkpoint is made: in the background after a cell, where it is worth its price, and when a session closes."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import replace

from cellwright.errors import Fenced, JournalFailed
from cellwright.journal.session import SessionJournal
from cellwright.sandboxes import Interpreter
from cellwright.store import CellRow

CELLS = 8  # after so many a cheap one is made, whatever they took
CHEAP_S = 0.02
QUIET_S = 5.0  # to wait for callbacks that host code makes between cells
WORTH = 10  # times what one takes: then those cells are worth one
FIRST_S = 0.2  # the same while nobody knows what one takes
LONGEST_S = 10.0
PATIENCE = 4  # doublings of both while the state cannot be kept whole


class Saving:
    """The checkpoints of one guest. Whoever uses the guest waits first until none is being made."""

    def __init__(self, session: SessionJournal, interpreter: Interpreter, cell: int) -> None:
        self._session = session
        self._interpreter = interpreter
        self._cell = cell  # the last one that the guest has run
        self._cells = 0  # since the last checkpoint
        self._spent_s = 0.0
        self._takes_s: float | None = None
        self._in_vain = 0
        self._task: asyncio.Task[None] | None = None

    def ran(self, row: CellRow) -> None:
        """The guest ran a cell, and lives."""
        self._cell = row.number
        self._cells += 1
        self._spent_s += row.duration_s
        if self._due():
            self._task = asyncio.get_running_loop().create_task(self._save())

    def _due(self) -> bool:
        patience = 1 << min(self._in_vain, PATIENCE)
        if self._takes_s is None:
            return self._cells >= CELLS or self._spent_s > FIRST_S
        cheap = self._takes_s < CHEAP_S and self._cells >= CELLS * patience
        return cheap or self._spent_s > WORTH * patience * self._takes_s

    async def wait(self) -> None:
        """Until none is being made. Who stops waiting does not stop it."""
        if self._task is not None:
            await asyncio.shield(self._task)
            self._task = None

    async def finish(self) -> None:
        """One for all that ran since the last. A guest that takes too long over it is let be: it is about to end."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LONGEST_S):
                await self.wait()
                if self._cells:
                    await self._save()

    async def _save(self) -> None:
        session, life, writer = self._session, self._session.life, self._session.writer
        if life is None or writer is None or not session.checkpoints.possible:
            return
        await life.quiet(QUIET_S)  # a callback that is under way is told more, which the checkpoint would not count
        if life.callbacks or not life.live:
            return
        self._cells, self._spent_s, began = 0, 0.0, time.monotonic()
        cell, delivered, missing = self._cell, life.delivered, self._missing()
        with suppress(Fenced, JournalFailed):  # the next to write is told; a checkpoint may be missing
            saved = await self._interpreter.save()
            if saved is not None:
                saved = replace(saved, missing=(*saved.missing, *missing))
                story = session.story()
                changes = await asyncio.to_thread(session.checkpoints.changes, story, cell, delivered, saved)
                await asyncio.to_thread(session.journal.write, writer.claim, *changes)
            self._in_vain = self._in_vain + 1 if saved is None or saved.missing else 0
        took = time.monotonic() - began
        self._takes_s = took if self._takes_s is None else min(took, 2 * self._takes_s)  # once slow is not yet dear

    def _missing(self) -> list[str]:
        """What the host knows to be unfinished."""
        found: list[str] = []
        if self._session.life is not None and self._session.life.under_way:
            found.append("a host call that is under way")
        if self._session.reversible is not None and self._session.reversible.has_open:
            found.append("a transaction that is open")
        return found
