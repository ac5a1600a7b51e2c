"""`Recorded`: the journal's inner side. Writes down that a call starts, immediately before its effect.

A call that had started when the process died is in doubt: it is made again where that does no harm, with the same
idempotency key, and otherwise answered with `OutcomeUnknown`.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from cellwright.doors import Answer, Call, Host, Wrapper
from cellwright.errors import Fenced, JournalFailed, OutcomeUnknown
from cellwright.journal.life import Life, started
from cellwright.journal.words import shown


class Recorded(Wrapper):
    """Calls that only read are not written down before they are made: one would make them again anyway."""

    def __init__(self, inner: Host, life: Life) -> None:
        super().__init__(inner)
        self._life = life

    async def call(self, call: Call) -> Answer:
        life = self._life
        about = life.abouts[call.id]
        if about.operation.reads or call.refused is not None:
            return await self.inner.call(call)
        earlier = life.host_rows.get(call.path)
        if earlier is not None and earlier.status == "started" and not about.operation.idempotent:
            return await self.inner.call(replace(call, refused=OutcomeUnknown(_unknown(about.title, call))))
        if life.writer is not None:
            try:
                life.writer.now(started(call, about))
            except (Fenced, JournalFailed):  # kept by the writer, which tells the one who runs the cell
                await asyncio.get_running_loop().create_future()
        return await self.inner.call(call)


def _unknown(title: str, call: Call) -> str:
    where = f"cell {call.cell}" + (f", line {call.line}" if call.line else "")
    return (
        f"{shown(title, call)} had begun when the process died ({where}), and what came of it was not kept: it may "
        "have happened or not. Find out before you call it again"
    )
