"""The journal at the door: `Replayed`, its outer side, and `Recorded`, its inner side.

`Replayed` answers from the journal what it has, and writes down what goes to the guest. Nothing outside of it may wait
between its answer and the guest: the order of answers is the record. `Recorded` writes down that a call starts,
immediately before its effect.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace

from cellwright.doors import BY_GUEST, Answer, Beginning, Call, GuestDoor, Host, Lineage, Wrapper
from cellwright.errors import CallLimit, Fenced, JournalFailed, OutcomeUnknown
from cellwright.journal.blocks import UNDO, tree_in
from cellwright.journal.call_rows import call_of, finished, in_memory, is_made_alike, started
from cellwright.journal.call_text import call_line
from cellwright.journal.callbacks import ReplayedCallbacks
from cellwright.journal.effects import is_effect
from cellwright.journal.replay import CELL_BYTES, Replay
from cellwright.store import Row, StoredPacked
from cellwright_guest.wire import NOTHING, Packed

_SPENT = f"the calls of this cell have filled the {CELL_BYTES >> 20} MB of journal that one may; go on in another cell"

Begin = Callable[[Beginning], Beginning]


class Replayed(Wrapper):
    """`begin` turns what the inside has to begin with into what this session began with."""

    def __init__(self, inner: Host, replay: Replay, begin: Begin, lineage: Lineage | None = None) -> None:
        super().__init__(inner)
        self._replay = replay
        self._begin = begin
        self._lineage = lineage

    def open(self, guest: GuestDoor, libraries: frozenset[str], lineage: Lineage | None = None) -> Beginning:
        self._callbacks = ReplayedCallbacks(guest, self._replay)
        return self._begin(self.inner.open(self._callbacks, libraries, self._lineage or lineage))

    def invoke_again(self, row: Row) -> None:
        """Make a recorded call of host code into the guest once more."""
        self._callbacks.invoke_again(row)

    def value(self, packed: Packed) -> object:
        self._replay.value = packed
        return self.inner.value(packed)

    async def call(self, call: Call) -> Answer:
        replay = self._replay
        call = replay.ask(call)
        try:
            if replay.recalls:
                replay.adopt(call)
                misfit = replay.misfit(call)
                if misfit is not None:
                    replay.diverge(misfit)
                    await _never()
            row = replay.host_rows.get(call.path)
            if row is not None and row.delivered is not None and row.value is not None:
                return await self._recorded(row, row.value)
            if row is not None and row.status == "cancelled":
                await _never()
            if row is None and replay.spent and call.refused is None:
                call = replace(call, arguments=NOTHING, refused=CallLimit(_SPENT))
            return await self._anew(call, row)
        except JournalFailed as error:  # a large value cannot be read
            return await replay.writer.stop(error)
        finally:
            replay.leave(call)

    async def _recorded(self, row: Row, value: Packed) -> Answer:
        """The recorded answer, at its turn. A large one is read only then: many may wait for theirs."""
        first = self._first(row)
        if not isinstance(value, StoredPacked):
            await self._replay.turn(row, first)
            return _again(row, value)
        read: Packed | None = None

        async def before() -> None:
            nonlocal read
            if first is not None:
                await first()
            read = await self._replay.recorded_value(row)

        await self._replay.turn(row, before)
        return _again(row, value if read is None else read)

    async def _anew(self, call: Call, row: Row | None) -> Answer:
        replay = self._replay
        if row is not None and row.value is not None:  # it came to its end, and the guest was never told
            answer = _again(row, await in_memory(row.value))
        else:
            try:
                if replay.writer.is_behind:  # a call does nothing before what the guest was told is on disk
                    await _written(replay, call)
                answer = await self.inner.call(call)
            except asyncio.CancelledError as error:
                if error.args == (BY_GUEST,):
                    given_up = started(call, "cancelled", str(replay.cell))
                    # what only waited for a yes, or was on its way to ask for one, has changed nothing
                    replay.writer.soon(replace(given_up, reads=True) if self._is_unmade(call, row) else given_up)
                raise
        if not replay.live:
            replay.writer.soon(finished(call, answer))
            await replay.caught_up()
        first = None if row is None else self._first(row)
        if first is not None:
            await first()
        return replay.deliver(call, answer)

    def _is_unmade(self, call: Call, row: Row | None) -> bool:
        if call.path in self._replay.never_began:
            return True
        began = call.path in self._replay.began or (row is not None and row.status == "started")
        return not began and is_effect(call.verb, call.name, call.about.operation)

    def _first(self, row: Row) -> Callable[[], Awaitable[None]] | None:
        """What must be done again before the guest is told: the end of a transaction put the files back."""
        tree = tree_in(row) if row.verb == UNDO else ""
        return (lambda: self._replay.restore(tree)) if tree else None


class Recorded(Wrapper):
    """A call that had started when the process died is in doubt: it may have happened or not.

    It is made again where that does no harm, with the same idempotency key, and otherwise answered with
    `OutcomeUnknown`. Calls that only read are not written down before they are made: they would be made again anyway.
    """

    def __init__(self, inner: Host, replay: Replay) -> None:
        super().__init__(inner)
        self._replay = replay

    async def call(self, call: Call) -> Answer:
        operation = call.about.operation
        if operation.reads or call.refused is not None:
            return await self.inner.call(call)
        earlier = self._replay.host_rows.get(call.path)
        if earlier is not None and earlier.status == "started":
            begun = call_of(earlier)
            if not operation.idempotent or not is_made_alike(earlier, call):
                return await self.inner.call(replace(call, refused=OutcomeUnknown(_unknown(call, begun))))
        try:
            await self._replay.writer.now(started(call))
        except (Fenced, JournalFailed):  # kept by the writer, which tells whoever runs the cell
            await _never()
        except asyncio.CancelledError:
            _never_began(self._replay, call)
            raise
        self._replay.began.add(call.path)
        return await self.inner.call(call)


def _unknown(call: Call, begun: Call) -> str:
    where = f"cell {call.cell}" + (f", line {call.line}" if call.line else "")
    return (
        f"{call_line(call.about.title, begun)} had begun when the process died ({where}), and what came of it was not "
        "kept: it may have happened or not. Find out before you call it again"
    )


def _again(row: Row, value: Packed) -> Answer:
    return Answer(
        value=value,
        failed=row.status == "failed",
        made=row.made,
        kept=row.kept,
        at=row.at,
        back=row.back,
        labels=row.labels,
        sent=row.sent,
    )


async def _written(replay: Replay, call: Call) -> None:
    """Until all that the guest was told is on disk. Where that cannot be, the cell is ended; a read does no harm."""
    try:
        with suppress(Fenced, JournalFailed):  # the writer tells whoever runs the cell
            await replay.writer.caught_up()
    except asyncio.CancelledError:
        _never_began(replay, call)
        raise


def _never_began(replay: Replay, call: Call) -> None:
    """It was given up before it was made; but an earlier guest may have begun it."""
    earlier = replay.host_rows.get(call.path)
    if earlier is None or earlier.status != "started":
        replay.never_began.add(call.path)


async def _never() -> None:
    """Until the guest is ended, or gives the call up."""
    await asyncio.get_running_loop().create_future()
