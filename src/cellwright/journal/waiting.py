"""`Waits`: what a cell that was cut off waits for, and what is told of it. It asks by an `Asker`, and runs nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from cellwright.errors import UsageError, Waiting
from cellwright.journal.questions import Asker, open_in, withdraw_of_lost_cells
from cellwright.journal.session import SessionJournal
from cellwright.sandboxes import OnEvent, Outcome, guest_at_work
from cellwright.store import CellRow, Question

NAMED = 3  # questions that are named in a text


class Waits:
    """Of one session. `asker` is None where the session asks nobody."""

    def __init__(self, session: SessionJournal, asker: Asker | None) -> None:
        self._session = session
        self._asker = asker
        self._ids: tuple[str, ...] = ()  # what the last pause in this process was for

    def paused(self, ids: tuple[str, ...]) -> None:
        self._ids = ids

    async def left(self, row: CellRow, tell: OnEvent | None, *, wait: bool = False) -> Sequence[Question]:
        """What the cell still waits for, after who is here was asked for it. With `wait`, nothing, in time."""
        found = await self.open(row)
        if found and self._asker is not None:
            return await self._asker.asked(found, tell, wait=wait)
        return found

    async def open(self, row: CellRow) -> Sequence[Question]:
        """What it waits for now. Nobody is asked."""
        found = await asyncio.to_thread(open_in, self._session.journal, self._session.id)
        mine = self._session.id
        return [one for one in found if one.session != mine or one.cell == row.number or one.id in self._ids]

    async def decided(self, path: str, ids: Sequence[str]) -> None:
        """For a call under way: until these questions, of another session, are decided. Its cell may be paused then."""
        pausing, store = self._session.pausing, self._session.journal
        assert pausing is not None
        assert self._asker is not None
        with pausing.waiting(path, tuple(ids), guest_at_work()) as wait:
            pausing.put_off(wait)
            questions = [store.question(id) for id in ids]
            await asyncio.gather(*map(self._asker.decided, questions))
        await pausing.gate()
        if self._session.writer is not None:
            self._session.writer.now()  # who was overtaken meanwhile must not take the child from its new owner

    async def outcome(self, row: CellRow, rung: str) -> Outcome:
        """Of a cell that was paused just now."""
        return self.told(row, await self.open(row), rung)

    def told(self, row: CellRow, questions: Sequence[Question], rung: str) -> Outcome:
        """The outcome of a cell that waits. No arguments: they are for the one who decides."""
        ids = tuple(one.id for one in questions) or self._ids
        words = "the cell was paused, and what it waited for is decided by now. It goes on when it is carried on"
        if questions:
            what = f"the cell waits for a person's yes: {_named(questions)}"
            words = f"{what}. It is not over, and goes on from there when that is decided"
        return Outcome(cell=row.number, error=Waiting(words), waiting=ids, rung=rung)

    def refuse(self, row: CellRow, questions: Sequence[Question]) -> UsageError:
        """Why no other cell runs now."""
        ids = ", ".join(one.id for one in questions[:NAMED])
        return UsageError(
            f"cell {row.number} of session {self._session.id!r} waits for a person's yes: {_named(questions)}. Decide "
            f"it (`cellwright approve`, {ids}) and carry it on with `outcome()`, or give the cell up with `give_up()`"
        )

    def tidy(self, why: str = "its cell was ended, or taken back") -> None:
        """Withdraw what is asked for cells that do not count any more."""
        withdraw_of_lost_cells(self._session.journal, self._session.id, why)
        self._ids = ()


def _named(questions: Sequence[Question]) -> str:
    names = list(dict.fromkeys(one.operation for one in questions))
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
