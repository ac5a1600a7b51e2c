"""`Replayed`: the journal's outer side. Answers from the journal what it has, and writes down what goes to the guest.

Nothing that stands outside of it may wait between its answer and the guest: the order of answers is the record.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from cellwright.doors import (
    BY_GUEST,
    About,
    Answer,
    Beginning,
    Call,
    Guest,
    Host,
    Lineage,
    Wrapper,
)
from cellwright.errors import CallLimit
from cellwright.journal.blocks import UNDO, tree_in
from cellwright.journal.life import CELL_BYTES, Life, finished, started
from cellwright.journal.returning import Returning
from cellwright.store import Row
from cellwright_guest.wire import NOTHING, Packed

_SPENT = f"the calls of this cell have filled the {CELL_BYTES >> 20} MB of journal that one may; go on in another cell"

Begin = Callable[[Beginning], Beginning]


class Replayed(Wrapper):
    """`begin` turns what the inside has to begin with into what this session began with."""

    def __init__(self, inner: Host, life: Life, begin: Begin, lineage: Lineage | None = None) -> None:
        super().__init__(inner)
        self._life = life
        self._begin = begin
        self._lineage = lineage

    def open(self, guest: Guest, libraries: frozenset[str], lineage: Lineage | None = None) -> Beginning:
        returning = Returning(guest, self._life)
        return self._begin(self.inner.open(returning, libraries, self._lineage or lineage))

    def value(self, packed: Packed) -> object:
        self._life.value = packed
        return self.inner.value(packed)

    async def call(self, call: Call) -> Answer:
        life = self._life
        about = self.inner.about(call)
        call = life.ask(call, about)
        try:
            if life.recalls:
                life.adopt(call)
                misfit = life.misfit(call, about.title)
                if misfit is not None:
                    life.diverge(misfit)
                    await _never()
            row = life.host_rows.get(call.path)
            if row is not None and row.delivered is not None and row.value is not None:
                await life.turn(row, self._first(row))
                return _again(row)
            if row is not None and row.status == "cancelled":
                await _never()
            if row is None and life.spent and call.refused is None:
                call = replace(call, arguments=NOTHING, refused=CallLimit(_SPENT))
            return await self._anew(call, about, row)
        finally:
            life.leave(call)

    async def _anew(self, call: Call, about: About, row: Row | None) -> Answer:
        life = self._life
        if row is not None and row.value is not None:  # it came to its end, and the guest was never told
            answer = _again(row)
        else:
            try:
                answer = await self.inner.call(call)
            except asyncio.CancelledError as error:
                if error.args == (BY_GUEST,) and life.writer is not None:
                    given_up = started(call, about, "cancelled", str(life.cell))
                    # what only waited for a yes has changed nothing
                    life.writer.soon(replace(given_up, reads=True) if call.path in life.never_began else given_up)
                raise
        if not life.live:
            if life.writer is not None:
                life.writer.soon(finished(call, about, answer))
            await life.caught_up()
        first = None if row is None else self._first(row)
        if first is not None:
            await first()
        return life.deliver(call, about, answer)

    def _first(self, row: Row) -> Callable[[], Awaitable[None]] | None:
        """What must be done again before the guest is told: the end of a transaction put the files back."""
        restore, tree = self._life.restore, tree_in(row) if row.verb == UNDO else ""
        return None if restore is None or not tree else lambda: restore(tree)


def _again(row: Row) -> Answer:
    assert row.value is not None
    return Answer(
        value=row.value, failed=row.status == "failed", made=row.made, kept=row.kept, at=row.at, back=row.back
    )


async def _never() -> None:
    """Until the guest is ended, or gives the call up."""
    await asyncio.get_running_loop().create_future()
