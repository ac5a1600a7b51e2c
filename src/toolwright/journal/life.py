"""One guest's life under a journal: what it is to be told again, in which order, and what it has been told anew.

Deliveries are numbered: answers, and calls of host code into the guest. Recorded ones come first and in their recorded
order; an answer that is new waits until the last of them is out. It does not know where answers come from.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from toolwright.doors import About, Answer, Call
from toolwright.journal.keys import key_of
from toolwright.journal.rows import Row, Status
from toolwright.journal.words import shown
from toolwright.journal.writer import Writer
from toolwright_guest.wire import Packed, WireError


class Clock:
    """The guest's time: the machine's when it began, and from then on without its jumps. Never before `floor`."""

    def __init__(self, floor: float = 0.0) -> None:
        self._began = max(time.time(), floor)
        self._monotonic = time.monotonic()

    def now(self) -> float:
        return self._began + (time.monotonic() - self._monotonic)


@dataclass(frozen=True, kw_only=True, slots=True)
class Divergence:
    """Where a run that is repeated went another way: what the journal has, and what was asked instead."""

    cell: int
    line: int
    recorded: str
    asked: str

    def __str__(self) -> str:
        where = f"cell {self.cell}" + (f", line {self.line}" if self.line else "")
        return f"{where}: recorded {self.recorded}, now {self.asked}"


class Life:
    """`recorded` are the rows of all that is to be run again; those that were delivered are told again in that order.

    `strict` holds the cells that came to their end: they ask for nothing but what is recorded, or was under way then.
    """

    def __init__(
        self,
        writer: Writer | None,
        clock: Clock,
        *,
        recorded: Iterable[Row] = (),
        delivered: int = 0,
        strict: dict[int, frozenset[str]] | None = None,
    ) -> None:
        self.writer = writer
        self.clock = clock
        self.strict = strict or {}
        self.host_rows: dict[str, Row] = {}
        self.guest_rows: dict[str, Row] = {}
        self.diverged: asyncio.Future[Divergence] = asyncio.get_running_loop().create_future()
        self.value: Packed | None = None  # what the last cell came to, as it came
        self.back: deque[tuple[int, int]] = deque()
        self.under_way: dict[int, Call] = {}
        self.last_asked = ""
        self.cell = 0  # the last one that ran
        self.invoke_again: Callable[[Row], None] = lambda row: None
        self.abouts: dict[int, About] = {}  # of the calls under way
        self._asked: set[str] = set()
        self._delivered = delivered
        self._loop = asyncio.get_running_loop()
        self._turns: dict[str, asyncio.Future[None]] = {}
        self._given_up: set[str] = set()
        self._live = asyncio.Event()
        self._prefix = self._read(recorded)
        self.pump()

    def _read(self, recorded: Iterable[Row]) -> deque[Row]:
        prefix: list[Row] = []
        for row in recorded:
            rows = self.host_rows if row.door == "host" else self.guest_rows
            rows[row.path] = row
            if row.delivered is not None:
                prefix.append(row)
        return deque(sorted(prefix, key=lambda row: row.delivered or 0))

    @property
    def live(self) -> bool:
        """Whether all that is recorded has been told."""
        return self._live.is_set()

    @property
    def delivered(self) -> int:
        return self._delivered

    # asking

    def ask(self, call: Call, about: About) -> None:
        """The guest asks. A path is asked once."""
        if not call.path or call.path in self._asked:
            raise WireError("a call without a path of its own")
        self._asked.add(call.path)
        self.under_way[call.id] = call
        self.abouts[call.id] = about
        self.last_asked = call.path
        if not self.live:
            self._loop.call_soon(self.pump)

    def leave(self, call: Call) -> None:
        """It is under way no longer."""
        self.under_way.pop(call.id, None)
        self.abouts.pop(call.id, None)

    def asked(self, path: str) -> bool:
        return path in self._asked

    def misfit(self, call: Call, title: str) -> Divergence | None:
        """Why this call is not the one that was recorded in its place."""
        row = self.host_rows.get(call.path)
        if row is None:
            pending = self.strict.get(call.cell)
            if pending is None or call.path in pending:
                return None
            return Divergence(cell=call.cell, line=call.line, recorded="no call there", asked=shown(title, call))
        if key_of(row) == key_of(call):
            return None
        was = shown(row.title, row)
        return Divergence(cell=call.cell, line=call.line, recorded=was, asked=shown(title, call))

    def diverge(self, divergence: Divergence) -> None:
        if not self.diverged.done():
            self.diverged.set_result(divergence)

    # telling

    async def turn(self, row: Row) -> None:
        """Until it is this recorded answer's turn. The caller hands it to the guest without waiting for anything."""
        if not (self._prefix and self._prefix[0] is row):
            future = self._turns[row.path] = self._loop.create_future()
            try:
                await future
            except asyncio.CancelledError:  # the guest gave it up, as it did then: what came too late is told to nobody
                self._turns.pop(row.path, None)
                self._given_up.add(row.path)
                self._loop.call_soon(self.pump)
                raise
        else:
            self._prefix.popleft()
        self._loop.call_soon(self.pump)  # after the caller has handed it over

    def pump(self) -> None:
        """Give the next recorded delivery its turn, if the guest has come that far."""
        while self._prefix:
            row = self._prefix[0]
            if row.door == "guest":
                if row.after and row.after not in self._asked:
                    return
                self._prefix.popleft()
                self.invoke_again(row)
            elif row.path in self._given_up:
                self._prefix.popleft()
            else:
                future = self._turns.pop(row.path, None)
                if future is None or future.done():
                    if future is not None:
                        self._prefix.popleft()
                        continue
                    return
                self._prefix.popleft()
                future.set_result(None)
                return
        self._live.set()

    async def caught_up(self) -> None:
        await self._live.wait()

    def number(self) -> tuple[int, float]:
        """The number and the moment of a new delivery."""
        self._delivered += 1
        return self._delivered, self.clock.now()

    def deliver(self, call: Call, about: About, answer: Answer) -> Answer:
        """A new answer on its way: numbered, written down, and what the host let go of goes along."""
        number, at = self.number()
        back = self._take_back() if self.back else ()
        if self.writer is not None:
            self.writer.soon(finished(call, about, answer, number, at, back))
        return Answer(value=answer.value, failed=answer.failed, made=answer.made, at=at, back=back)

    def _take_back(self) -> tuple[tuple[int, int], ...]:
        back: list[tuple[int, int]] = []
        while self.back:
            back.append(self.back.popleft())
        return tuple(back)


def started(call: Call, about: About, status: Status = "started") -> Row:
    """What is written down of a call that begins, or that the guest gave up."""
    return Row(
        cell=call.cell,
        path=call.path,
        title=about.title,
        verb=call.verb,
        target=call.target,
        name=call.name,
        line=call.line,
        status=status,
        reads=about.operation.reads,
        arguments=call.arguments,
    )


def finished(
    call: Call,
    about: About,
    answer: Answer,
    delivered: int | None = None,
    at: float = 0.0,
    back: tuple[tuple[int, int], ...] = (),
) -> Row:
    """What is written down of a call that came to its end. In one piece: `replace` takes longer than SQLite."""
    return Row(
        cell=call.cell,
        path=call.path,
        title=about.title,
        verb=call.verb,
        target=call.target,
        name=call.name,
        line=call.line,
        status="failed" if answer.failed else "done",
        reads=about.operation.reads,
        arguments=call.arguments,
        value=answer.value,
        delivered=delivered,
        at=at,
        back=back,
        made=answer.made,
        kept=answer.kept,
    )
