"""`Pausing`: which calls of a guest wait for a person, and the moment at which nothing else of the cell goes on.

It knows calls under way, and nothing of questions or who is asked: it says when the guest can be ended, and the cell be
carried on later by running it again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass

from cellwright.doors import Call
from cellwright.journal.life import Life

QUIET_S = 0.2  # without a call that begins or ends, before a cell is paused
PATIENCE = 25  # looks: a guest that is not told all that is recorded by then waits for something else
SLEEP = "sleep"


@dataclass(kw_only=True, slots=True)
class Wait:
    """A call that waits. `later`: nobody here decides it."""

    path: str
    questions: tuple[str, ...]
    at_work: Callable[[], bool]
    later: bool = False


class Pausing:
    """Of one guest's life. `paused` comes to the ids of the questions that the cell waits for."""

    def __init__(self, life: Life) -> None:
        self.paused: asyncio.Future[tuple[str, ...]] = asyncio.get_running_loop().create_future()
        self._life = life
        self._waits: dict[str, Wait] = {}
        self._runs = False  # a cell that may be paused
        self._timer: asyncio.TimerHandle | None = None
        self._patience_s = self._since = 0.0
        self._seen = -1
        self._looks = 0

    def __len__(self) -> int:
        return len(self._waits)

    def begin(self, patience_s: float) -> None:
        """A new cell runs, or one that is carried on; not one that is only repeated.

        If it has called for other things so long while it waits, it is paused between two calls: no limit ends it then.
        """
        self._runs, self._patience_s = True, patience_s
        self._look_soon()

    def end(self) -> None:
        self._runs = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    @contextmanager
    def waiting(self, path: str, questions: tuple[str, ...], at_work: Callable[[], bool]) -> Generator[Wait]:
        """A call waits for these. While it does not say `later`, somebody here may answer at any moment.

        `at_work` says whether the guest computes something.
        """
        wait = self._waits[path] = Wait(path=path, questions=questions, at_work=at_work)
        try:
            yield wait
        finally:
            if self._waits.get(path) is wait:
                del self._waits[path]

    def put_off(self, wait: Wait) -> None:
        """Nobody here decides it."""
        wait.later = True
        self._look_soon()

    async def gate(self) -> None:
        """For a call that has not begun: none does from the moment of a pause on."""
        if self.paused.done():
            await asyncio.get_running_loop().create_future()

    # when nothing else goes on

    def _look_soon(self) -> None:
        if self._timer is None and self._runs and any(wait.later for wait in self._waits.values()):
            loop = asyncio.get_running_loop()
            self._seen, self._looks, self._since = self._life.activity, 0, loop.time()
            self._timer = loop.call_later(QUIET_S, self._look)

    def _look(self) -> None:
        self._timer = None
        if not self._runs or self.paused.done() or not any(wait.later for wait in self._waits.values()):
            return
        loop = asyncio.get_running_loop()
        before, self._seen = self._seen, self._life.activity
        quiet = before == self._seen and not next(iter(self._waits.values())).at_work()
        restless = before != self._seen and loop.time() - self._since > self._patience_s
        self._looks = self._looks + 1 if quiet else 0
        told = self._life.live or self._looks > PATIENCE
        calls = self._life.under_way.values()
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
        about = self._life.abouts.get(call.id)
        if call.verb == SLEEP or about is None:
            return True
        if restless and about.operation.reads:
            return True
        again = about.operation.reads or about.operation.idempotent
        return again and any(path.startswith(f"{call.path}!") for path in self._waits)
