"""`CheckpointSchedule`: when a checkpoint is made. After a cell, in the background, and at the close."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import replace

from cellwright.errors import Fenced, JournalFailed
from cellwright.journal.replay import Replay
from cellwright.journal.reversible import Reversible
from cellwright.journal.session_journal import SessionJournal
from cellwright.sandboxes import Interpreter
from cellwright.store import CellRow, off_loop

CELLS = 8  # after so many a cheap one is made, whatever they took
CHEAP_S = 0.02
QUIET_S = 5.0  # to wait for callbacks that host code makes between cells
WORTH = 10  # times what one takes: then those cells are worth one
FIRST_S = 0.2  # the same while nobody knows what one takes
LONGEST_S = 10.0
PATIENCE = 4  # doublings of both while the state cannot be kept whole


class CheckpointSchedule:
    """The checkpoints of one guest. Whoever uses the guest waits first until none is being made."""

    def __init__(
        self, session: SessionJournal, interpreter: Interpreter, replay: Replay, reversible: Reversible, cell: int
    ) -> None:
        self._session = session
        self._interpreter = interpreter
        self._replay = replay
        self._reversible = reversible
        self._cell = cell  # the last one that the guest has run
        self._cells = 0  # since the last checkpoint
        self._spent_s = 0.0
        self._takes_s: float | None = None
        self._in_vain = 0
        self._task: asyncio.Task[None] | None = None

    def ran(self, row: CellRow) -> None:
        """The guest ran a cell, and is alive."""
        self._cell = row.number
        self._cells += 1
        self._spent_s += row.duration_s
        if self._due():
            self._task = asyncio.get_running_loop().create_task(self._save())
            self._task.add_done_callback(_heard)

    def _due(self) -> bool:
        if self._session.checkpoints.wanted:
            return True
        patience = 1 << min(self._in_vain, PATIENCE)
        if self._takes_s is None:
            return self._cells >= CELLS or self._spent_s > FIRST_S
        cheap = self._takes_s < CHEAP_S and self._cells >= CELLS * patience
        return cheap or self._spent_s > WORTH * patience * self._takes_s

    async def wait(self) -> None:
        """Until no checkpoint is being made. To stop waiting does not stop it."""
        if self._task is not None:
            await asyncio.shield(self._task)
            self._task = None

    async def finish(self) -> None:
        """A checkpoint of all that ran since the last one. Not of a guest that takes too long: it is about to end."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LONGEST_S):
                await self.wait()
                if self._cells:
                    await self._save()

    async def stop(self) -> None:
        """The guest has ended: until nothing is made of it any more."""
        if self._task is not None:
            await asyncio.wait((self._task,))

    async def _save(self) -> None:
        session, replay = self._session, self._replay
        if not session.checkpoints.possible:
            return
        await replay.quiet(QUIET_S)  # a callback that is under way is told more, which the checkpoint would not count
        if replay.callbacks or not replay.live:
            return
        self._cells, self._spent_s, began = 0, 0.0, time.monotonic()
        session.checkpoints.wanted = False
        cell, delivered, missing = self._cell, replay.delivered, self._missing()
        with suppress(Fenced, JournalFailed):  # the next to write is told; a checkpoint may be missing
            saved = await self._interpreter.save()
            if saved is not None:
                saved = replace(saved, missing=(*saved.missing, *missing))
                history = await session.history()
                changes = await off_loop(session.store, session.checkpoints.changes, history, cell, delivered, saved)
                await off_loop(session.store, session.store.write, session.writer.claim, *changes)
            self._in_vain = self._in_vain + 1 if saved is None or saved.missing else 0
        took = time.monotonic() - began
        self._takes_s = took if self._takes_s is None else min(took, 2 * self._takes_s)  # one may be slow by chance

    def _missing(self) -> list[str]:
        """What the host knows to be unfinished."""
        missing: list[str] = []
        if self._replay.under_way:
            missing.append("a host call that is under way")
        if self._reversible.has_open:
            missing.append("a transaction that is open")
        return missing


def _heard(task: asyncio.Task[None]) -> None:
    """What went wrong with a checkpoint is for the next user of the guest; where there is none, it does no harm."""
    if not task.cancelled():
        task.exception()
