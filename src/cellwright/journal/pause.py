"""Cells that wait for a person: `PauseWatch` finds the moment to end the guest, `PausedCell` says what is waited for.

A paused cell is carried on later by running it again. Nobody is asked here but by an `Asker`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from cellwright.doors import Call
from cellwright.errors import UsageError, Waiting
from cellwright.journal.questions import Asker, open_questions_in, withdraw_of_lost_cells
from cellwright.journal.replay import Replay
from cellwright.sandboxes import OnEvent, Outcome, guest_at_work
from cellwright.store import CellRow, Question, Store, off_loop

QUIET_S = 0.2  # without a call that begins or ends, before a cell is paused
PATIENCE = 25  # looks: a guest that is not told all that is recorded by then waits for something else
SLEEP = "sleep"
NAMED = 3  # questions that are named in a text


@dataclass(kw_only=True, slots=True)
class WaitingCall:
    """A call that waits. `later`: nobody in this process decides it."""

    path: str
    questions: tuple[str, ...]
    at_work: Callable[[], bool]
    later: bool = False


class PauseWatch:
    """Which calls of one guest wait for a person, and the moment at which nothing else of the cell goes on.

    `paused` comes to the ids of the questions that the cell waits for then.
    """

    def __init__(self, replay: Replay) -> None:
        self.paused: asyncio.Future[tuple[str, ...]] = asyncio.get_running_loop().create_future()
        self._replay = replay
        self._waits: dict[str, WaitingCall] = {}
        self._runs = False  # a cell that may be paused
        self._timer: asyncio.TimerHandle | None = None
        self._patience_s = self._since = 0.0
        self._seen = -1
        self._looks = 0

    def __len__(self) -> int:
        return len(self._waits)

    def begin(self, patience_s: float) -> None:
        """A new cell runs, or one that is carried on; not one that is only repeated.

        A cell that has made other calls for `patience_s` while it waits is paused between two calls, so that no limit
        ends it.
        """
        self._runs, self._patience_s = True, patience_s
        self._look_soon()

    def end(self) -> None:
        self._runs = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    @contextmanager
    def waiting(self, path: str, questions: tuple[str, ...], at_work: Callable[[], bool]) -> Generator[WaitingCall]:
        """A call waits for these. While it does not say `later`, somebody in this process may answer at any moment.

        `at_work` says whether the guest computes something.
        """
        wait = self._waits[path] = WaitingCall(path=path, questions=questions, at_work=at_work)
        try:
            yield wait
        finally:
            if self._waits.get(path) is wait:
                del self._waits[path]

    def put_off(self, wait: WaitingCall) -> None:
        """Nobody in this process decides it."""
        wait.later = True
        self._look_soon()

    async def gate(self) -> None:
        """For a call that has not begun: from the moment of a pause on, no call begins."""
        if self.paused.done():
            await asyncio.get_running_loop().create_future()

    # when nothing else goes on

    def _look_soon(self) -> None:
        if self._timer is None and self._runs and any(wait.later for wait in self._waits.values()):
            loop = asyncio.get_running_loop()
            self._seen, self._looks, self._since = self._replay.activity, 0, loop.time()
            self._timer = loop.call_later(QUIET_S, self._look)

    def _look(self) -> None:
        self._timer = None
        if not self._runs or self.paused.done() or not any(wait.later for wait in self._waits.values()):
            return
        loop = asyncio.get_running_loop()
        before, self._seen = self._seen, self._replay.activity
        quiet = before == self._seen and not next(iter(self._waits.values())).at_work()
        restless = before != self._seen and loop.time() - self._since > self._patience_s
        self._looks = self._looks + 1 if quiet else 0
        told = self._replay.live or self._looks > PATIENCE
        calls = self._replay.under_way.values()
        if (quiet or restless) and told and all(self._is_parked(call, restless=restless) for call in calls):
            ids = [one for wait in self._waits.values() for one in wait.questions]
            self.paused.set_result(tuple(dict.fromkeys(ids)))
            return
        self._timer = loop.call_later(QUIET_S, self._look)

    def _is_parked(self, call: Call, *, restless: bool) -> bool:
        """Whether nothing is lost with it: it has not begun, or is made again when the cell is carried on.

        A call whose host code waits for a function of the guest, and that for a person, can be ended only if it may be
        made again.
        """
        wait = self._waits.get(call.path)
        if wait is not None:
            return wait.later
        operation = call.about.operation
        if call.verb == SLEEP or (restless and operation.reads):
            return True
        again = operation.reads or operation.idempotent
        return again and any(path.startswith(f"{call.path}!") for path in self._waits)


class PausedCell:
    """The cell of a session that was cut off: the questions it waits for, and the words for it. It runs nothing."""

    def __init__(self, store: Store, session: str, asker: Asker) -> None:
        self._store = store
        self._session = session
        self._asker = asker
        self._ids: tuple[str, ...] = ()  # what the last pause in this process was for

    def paused(self, ids: tuple[str, ...]) -> None:
        self._ids = ids

    async def left(self, row: CellRow, tell: OnEvent | None, *, wait: bool = False) -> Sequence[Question]:
        """What the cell still waits for, after the approver of this process was asked. With `wait`, nothing is left."""
        questions = await self.open(row)
        return await self._asker.asked(questions, tell, wait=wait) if questions else ()

    async def open(self, row: CellRow) -> Sequence[Question]:
        """The questions that it waits for now. Nobody is asked."""
        questions = await off_loop(self._store, open_questions_in, self._store, self._session)
        return [q for q in questions if q.session != self._session or q.cell == row.number or q.id in self._ids]

    async def decided(self, pause: PauseWatch, path: str, ids: Sequence[str]) -> None:
        """For a call under way: until these questions, of another session, are decided. Its cell may be paused then."""
        with pause.waiting(path, tuple(ids), guest_at_work()) as wait:
            pause.put_off(wait)
            questions = await off_loop(self._store, lambda: [self._store.question(id) for id in ids])
            await asyncio.gather(*map(self._asker.decided, questions))
        await pause.gate()

    def outcome(self, row: CellRow, questions: Sequence[Question], rung: str) -> Outcome:
        """The outcome of a cell that waits. Without arguments: these are for the person who decides."""
        ids = tuple(one.id for one in questions) or self._ids
        words = "the cell was paused, and what it waited for is decided by now. It goes on when it is carried on"
        if questions:
            what = f"the cell waits for a person's yes: {_named(questions)}"
            words = f"{what}. It is not over, and goes on from there when that is decided"
        return Outcome(cell=row.number, error=Waiting(words), waiting=ids, rung=rung)

    def refuse(self, row: CellRow, questions: Sequence[Question]) -> UsageError:
        """The error that says why no other cell runs now."""
        ids = ", ".join(one.id for one in questions[:NAMED])
        return UsageError(
            f"cell {row.number} of session {self._session!r} waits for a person's yes: {_named(questions)}. Decide "
            f"it (`cellwright approve`, {ids}) and carry it on with `outcome()`, or give the cell up with `give_up()`"
        )

    async def tidy(self, why: str = "its cell was ended, or taken back") -> None:
        """Withdraw what is asked for cells that do not count any more."""
        await off_loop(self._store, withdraw_of_lost_cells, self._store, self._session, why)
        self._ids = ()


def _named(questions: Sequence[Question]) -> str:
    names = list(dict.fromkeys(one.operation for one in questions))
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
