"""`Replay`: what one guest of a kept session is told again, in which order, and what it has been told anew.

Deliveries are numbered: answers, and calls of host code into the guest. Recorded ones come first, in their recorded
order and in the cell, or between the cells, where they came then; a new answer waits until the last of them is out. It
does not know where answers come from.
"""

from __future__ import annotations

import asyncio
import itertools
import math
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import Future
from dataclasses import replace

from cellwright.doors import Answer, Call
from cellwright.errors import JournalFailed
from cellwright.journal.call_paths import CallPaths, is_of_cell, is_of_request, is_of_timer, is_timely
from cellwright.journal.call_rows import finished, has_short_answer, in_memory, is_same_call
from cellwright.journal.call_text import call_line
from cellwright.journal.divergence import Divergence
from cellwright.journal.guest_clock import GuestClock
from cellwright.journal.writer import JournalWriter
from cellwright.store import CellRow, Row, StoredPacked
from cellwright_guest.wire import Packed

READ_AHEAD = 16  # answers of some kilobytes
REQUEST_S = 0.002  # in which the guest reads a response, which comes by another way than other answers do
CELL_BYTES = 1 << 30  # that the calls of one cell may add to the journal


class Replay:
    """`recorded` are the rows of all that is to be run again; those that were delivered are told again in that order.

    strict        the cells that came to their end: they ask for nothing but what is recorded, or was under way then
    left          rows of cells that were ended from outside, whose calls an older task may make once more
    taken         paths that no call of this guest has
    restore       puts the guest's files back to a tree
    adopted       is told of each row of `left` that a call of this guest took over
    invoke_again  makes a recorded call of host code into the guest once more
    """

    def __init__(
        self,
        writer: JournalWriter,
        clock: GuestClock,
        *,
        restore: Callable[[str], Awaitable[None]],
        adopted: Callable[[Row], None],
        invoke_again: Callable[[Row], None],
        recorded: Iterable[Row] | None = None,
        delivered: int = 0,
        strict: dict[int, frozenset[str]] | None = None,
        left: Iterable[Row] = (),
        taken: Iterable[str] = (),
    ) -> None:
        self.writer = writer
        self.clock = clock
        self.strict = strict or {}
        self.host_rows: dict[str, Row] = {}
        self.guest_rows: dict[str, Row] = {}
        self.diverged: asyncio.Future[Divergence] = asyncio.get_running_loop().create_future()
        self.repeats: asyncio.Future[None] = asyncio.get_running_loop().create_future()  # until the guest does new work
        self.value: Packed | None = None  # what the last cell came to, as it came
        self.back: deque[tuple[int, int]] = deque()
        self.under_way: dict[int, Call] = {}
        self.callbacks: set[Future[Answer]] = set()  # by host code on its own, for no call
        self.last_asked = ""
        self.began: set[str] = set()  # paths of calls under way that may have done something
        self.never_began: set[str] = set()  # paths of calls that the guest gave up before they were made
        self.activity = 0  # calls that began or ended, without those that only wait for a time
        self.cell = self._before = 0  # the last one that began, and the one before it
        self.restore = restore
        self._adopted = adopted
        self._invoke_again = invoke_again
        self._paths = CallPaths(delivered, taken)
        self._delivered = delivered
        self._written = 0  # bytes of the journal, when the cell began
        self._loop = asyncio.get_running_loop()
        self._turns: dict[str, asyncio.Future[None]] = {}
        self._given_up: set[str] = set()
        self._handing = False  # an answer has its turn, and is not with the guest yet
        self._reading: asyncio.Task[None] | None = None  # of a call into the guest, whose arguments are large
        self._running = 0  # the cell that runs now
        self._within = 0  # the last delivery in it, when it was recorded
        self._beginning = False  # its code is not with the guest yet
        self._upto = math.inf if recorded is None else 0.0  # the last delivery whose place the run has reached
        self._told = asyncio.Event()
        self._live = asyncio.Event()
        self._unasked: set[str] = set()  # calls of the cell that was cut off, which it has not made again yet
        self._left = {row.path: row for row in left}
        self._ahead: dict[str, Packed | None] = {}  # values that were read with an earlier one
        self._requesting: set[int] = set()  # cells whose code made requests over its network
        self._prefix = self._read(recorded or ())
        self.pump()

    def _read(self, recorded: Iterable[Row]) -> deque[Row]:
        prefix: list[Row] = []
        for row in recorded:
            rows = self.host_rows if row.door == "host" else self.guest_rows
            rows[row.path] = row
            if is_of_request(row.path):
                self._requesting.add(row.cell)
            if row.delivered is not None and (row.value is not None or row.door == "guest"):
                prefix.append(row)
        return deque(sorted(prefix, key=lambda row: row.delivered or 0))

    @property
    def live(self) -> bool:
        """Whether all that is recorded has been told."""
        return self._live.is_set()

    @property
    def recalls(self) -> bool:
        """Whether there is anything that a call may have to be compared with."""
        return bool(self.host_rows or self.strict or self._left)

    @property
    def delivered(self) -> int:
        return self._delivered

    @property
    def spent(self) -> bool:
        """Whether the calls of this cell have filled as much of the journal as a cell may."""
        return self.writer.written - self._written > CELL_BYTES

    # where the run is

    def begin(self, cell: CellRow) -> None:
        """A cell begins: the caller runs it next, without waiting for anything. Nothing is told before its code is.

        What the guest was told after the end of one that is run again waits for that end.
        """
        self._before, self.cell, self._running = self.cell, cell.number, cell.number
        self._within = 0 if cell.status == "running" else cell.after
        self._paths.begin(cell.number)
        self._written = self.writer.written
        self._beginning = True
        self._live.clear()
        if cell.status == "running" and not self.repeats.done():
            mine = (row.path for row in self.host_rows.values() if row.cell == cell.number)
            self._unasked = {path for path in mine if is_of_cell(path, self.cell)}
        # in the next turn of the loop the code is sent, and in the one after it this is called
        self._loop.call_soon(self._loop.call_soon, self._begun, math.inf if cell.status == "running" else cell.after)

    def _begun(self, upto: float) -> None:
        self._beginning = False
        self._reach(upto)

    def end(self, upto: float = math.inf) -> None:
        """A cell is over; the next begins after delivery `upto`, or is a new one."""
        self._running = 0
        self._reach(upto)

    def over(self) -> None:
        """A cell that was cut off came to its end: all that it had been told was told before."""
        self._within = self._delivered
        self.end()

    def _reach(self, upto: float) -> None:
        self._upto = upto
        self._told.clear()
        self.pump()

    async def quiet(self, timeout_s: float) -> None:
        """Until the guest is done with what host code called it for between cells, or so long."""
        try:
            async with asyncio.timeout(timeout_s):
                while self.callbacks:
                    waiting = [asyncio.wrap_future(callback) for callback in self.callbacks]
                    for future in waiting:  # that the guest ended is told to the host code that called it
                        future.add_done_callback(lambda done: done.cancelled() or done.exception())
                    await asyncio.wait(waiting)
        except TimeoutError:
            return

    async def told(self, timeout_s: float) -> bool:
        """Until all is told that was told up to here, or so long; gives whether it is."""
        try:
            async with asyncio.timeout(timeout_s):
                return await self._told.wait()
        except TimeoutError:
            return False

    # asking

    def ask(self, call: Call) -> Call:
        """The guest asks. A path is asked once, and what is asked while a cell runs is that cell's.

        But for what a callback asks that host code made on its own: it may have been made in the cell before.
        """
        alone = call.path.startswith("!")
        recorded = call.path in self.host_rows or (alone and _callback(call.path) in self.guest_rows)
        self._paths.add(call.path, self._delivered, recorded=recorded)
        if call.cell != self.cell and not (alone and call.cell == self._before):
            call = replace(call, cell=self.cell)  # the code of this cell is on its way to the guest, or the guest lies
        self.under_way[call.id] = call
        self.last_asked = call.path
        self.activity += call.verb != "sleep"
        if not self.live:
            self._loop.call_soon(self.pump)
        if not self.repeats.done():
            self._follow(call.path)
        return call

    def _follow(self, path: str) -> None:
        """The guest does again what it did until it has made each recorded call, or the first that is new."""
        if path in self._unasked:
            self._unasked.discard(path)
        elif self.live and path not in self.host_rows and is_of_cell(path, self.cell):
            self._unasked.clear()
        self._finish_repeat()

    def _finish_repeat(self) -> None:
        if self.live and not self._unasked and not self.repeats.done():
            self.repeats.set_result(None)

    def leave(self, call: Call) -> None:
        """It is under way no longer."""
        self.under_way.pop(call.id, None)
        self.began.discard(call.path)
        self.activity += call.verb != "sleep"

    def asked(self, path: str) -> bool:
        return self._paths.has(path)

    def misfit(self, call: Call) -> Divergence | None:
        """Why this call is not the one that was recorded in its place."""
        row = self.host_rows.get(call.path)
        waits = call.verb == "sleep" and is_of_timer(call.path) and (row is None or row.verb == "sleep")
        if waits and call.cell in self._requesting:
            return None  # how long a loop waits, and how often, depends on when its sockets were ready
        if row is None:
            pending = self.strict.get(call.cell)
            if pending is None or call.path in pending or call.cell != self._running or call.path.startswith("!"):
                return None  # "!": of a callback that host code made on its own, maybe when the cell was just over
            return Divergence(
                cell=call.cell, line=call.line, recorded="no call there", asked=call_line(call.about.title, call)
            )
        if is_same_call(row, call):
            return None
        was, now = call_line(row.title, row), call_line(call.about.title, call)
        now = now if now != was else f"{now} with other contents"
        return Divergence(cell=call.cell, line=call.line, recorded=was, asked=now)

    def adopt(self, call: Call) -> None:
        """What is known of the same call from a cell that was ended: it began there, and is not made again."""
        row = self._left.get(call.path)
        if row is not None and call.path not in self.host_rows and is_same_call(row, call):
            self.host_rows[call.path] = row
            self._adopted(row)

    def diverge(self, divergence: Divergence) -> None:
        if not self.diverged.done():
            self.diverged.set_result(divergence)

    # telling

    async def turn(self, row: Row, first: Callable[[], Awaitable[None]] | None = None) -> None:
        """Until it is this recorded answer's turn. The caller hands it to the guest without waiting for anything.

        What must be done before the guest has it is done `first`; no other answer goes out meanwhile.
        """
        if self._is_next(row) and not self._handing:
            self._prefix.popleft()
        else:
            future = self._turns[row.path] = self._loop.create_future()
            try:
                await future
            except asyncio.CancelledError:  # the guest gave it up, as it did then: what came too late is told to nobody
                self._turns.pop(row.path, None)
                self._given_up.add(row.path)
                if not future.cancelled():  # it was its turn
                    self._handing = False
                self._loop.call_soon(self.pump)
                raise
        self._handing = True
        try:
            if first is not None:
                await first()
        finally:
            if is_of_request(row.path):
                self._loop.call_later(REQUEST_S, self._handed)
            else:
                self._loop.call_soon(self._handed)

    def _is_next(self, row: Row) -> bool:
        return bool(self._prefix) and self._prefix[0] is row and (row.delivered or 0) <= self._upto

    def _handed(self) -> None:
        self._handing = False
        self.pump()

    def pump(self) -> None:
        """Give the next recorded delivery its turn, if the guest has come that far. One at a time: none overtakes."""
        while self._prefix and not self._handing and self._is_next(row := self._prefix[0]):
            if row.door == "guest":
                if row.after and not self._paths.has(row.after):
                    return
                self._prefix.popleft()
                if isinstance(row.arguments, StoredPacked):
                    self._handing = True
                    self._reading = self._loop.create_task(self._invoke_read(row))
                else:
                    self._invoke_again(row)
            elif row.path in self._given_up:
                self._prefix.popleft()
            else:
                future = self._turns.pop(row.path, None)
                if future is None:
                    if self._is_left_out(row):
                        self._told.set()
                    return
                self._prefix.popleft()
                if not future.done():
                    self._handing = True
                    future.set_result(None)
        if not self._handing and not self._beginning:
            self._told.set()
            if not self._prefix and self._upto == math.inf:
                self._live.set()
                self._finish_repeat()

    async def recorded_value(self, row: Row) -> Packed | None:
        """The value of a row whose turn it is. With one of some kilobytes, those of the next answers are read."""
        if row.path not in self._ahead:
            near = [one for one in itertools.islice(self._prefix, READ_AHEAD) if has_short_answer(one)]
            rows = [row, *near] if has_short_answer(row) else [row]
            self._ahead = await asyncio.to_thread(lambda: {one.path: one.value and Packed(*one.value) for one in rows})
        return self._ahead.pop(row.path)

    async def _invoke_read(self, row: Row) -> None:
        """Call the guest again with large arguments, which are read first. No answer goes out meanwhile."""
        try:
            self._invoke_again(replace(row, arguments=await in_memory(row.arguments)))
        except JournalFailed as error:
            self.writer.fail(error)
        finally:
            self._handed()

    def _is_left_out(self, row: Row) -> bool:
        """Whether nobody will ask for it: its cell is over. Threads and what the collector woke still may."""
        over = not self._running and (row.delivered or 0) <= self._within
        return over and not self._paths.has(row.path) and is_timely(row.path)

    def untold(self) -> Divergence | None:
        """What was told up to here and is not told now, because the guest did not ask for it."""
        row = self._prefix[0] if self._prefix else None
        if row is None or (row.delivered or 0) > self._upto:
            return None
        recorded = call_line(row.title, row) if row.door == "host" else "a call of host code into the guest"
        return Divergence(cell=row.cell, line=row.line, recorded=recorded, asked="nothing")

    async def caught_up(self) -> None:
        await self._live.wait()

    def number(self) -> tuple[int, float]:
        """The number and the moment of a new delivery."""
        self._delivered += 1
        return self._delivered, self.clock.now()

    def deliver(self, call: Call, answer: Answer) -> Answer:
        """A new answer on its way: numbered, written down, and what the host let go of goes along."""
        number, at = self.number()
        back = self._take_back() if self.back else ()
        self.writer.soon(finished(call, answer, number, at, back))
        return Answer(value=answer.value, failed=answer.failed, made=answer.made, at=at, back=back)

    def _take_back(self) -> tuple[tuple[int, int], ...]:
        back: list[tuple[int, int]] = []
        while self.back:
            back.append(self.back.popleft())
        return tuple(back)


def _callback(path: str) -> str:
    """The path of the callback that a call with such a path comes from."""
    return "!" + "".join(itertools.takewhile(str.isdecimal, path[1:]))
