"""The calls that one guest has under way: counted, bounded, handed to the host, and told to who listens to the cell.

It does not know how a call came or what ends a guest: it gives the answer to `send` and a breach to `kill`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from cellwright.doors import BY_GUEST, Answer, Call, Host
from cellwright.errors import CallLimit, Crashed, GuestError, ProtocolError
from cellwright.events import CallFinished, CallStarted, Event
from cellwright.sandboxes import eager, exits
from cellwright.sandboxes.base import CallRecord, Limits, OnEvent
from cellwright_guest.wire import NOTHING, WireError

IN_FLIGHT = 1000
IN_FLIGHT_BYTES = 256 << 20
LENIENCE = 1000  # calls over the limit that are refused one by one, before the guest is ended
SLEEPS = 10_000  # in a cell; they are no calls to the one who counts `host_calls`, and are told to nobody
SLEEP = "sleep"

Send = Callable[[list[Any], list[Any]], None]
Kill = Callable[[GuestError], None]


class Cell:
    """The cell that runs now."""

    def __init__(self, number: int, on_event: OnEvent | None) -> None:
        self.number = number
        self.on_event = on_event
        self.calls: list[CallRecord] = []
        self.began = time.monotonic()
        self.report: asyncio.Future[tuple[str, Any, list[Any]]] = asyncio.get_running_loop().create_future()

    def tell(self, event: Event) -> None:
        """Whoever listens must not stop the cell: what a listener raises goes to the loop's handler of exceptions."""
        if self.on_event is None:
            return
        try:
            self.on_event(event)
        except Exception as error:
            context = {"message": "cellwright: on_event failed", "exception": error}
            asyncio.get_running_loop().call_exception_handler(context)


_BESIDE: ContextVar[tuple[Cell | None, Callable[[int], None], Callable[[], bool]] | None] = ContextVar(
    "_BESIDE", default=None
)


@contextmanager
def waiting(event: Event) -> Generator[None]:
    """A call under way waits for a person: who listens to its cell is told, and the cell's wall time stands still.

    It stands still while one such call waits, whatever else the guest does meanwhile; processor time is counted on.
    """
    beside = _BESIDE.get()
    cell = None if beside is None else beside[0]
    if cell is not None:
        cell.tell(event)
    if beside is None:
        yield
        return
    waits = beside[1]
    waits(1)
    try:
        yield
    finally:
        waits(-1)


def guest_at_work() -> Callable[[], bool]:
    """What tells whether the guest whose call is served here computes something."""
    beside = _BESIDE.get()
    return beside[2] if beside is not None else lambda: False


class Calls:
    """`drain` reads what the guest printed before a call, so that it is told before it."""

    def __init__(self, host: Host, limits: Limits, send: Send, drain: Callable[[], None], kill: Kill) -> None:
        self.cell: Cell | None = None
        self._host = host
        self._kinds: dict[int, str] = {}  # classes of exceptions by number, for their names
        self._limits = limits
        self._send = send
        self._drain = drain
        self._kill = kill
        self._loop = asyncio.get_running_loop()
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self.waits: Callable[[int], None] = lambda change: None  # is told of patient calls that begin and end
        self.at_work: Callable[[], bool] = lambda: False  # whether the guest computes something
        self._asked = self._cancels = self._sleeps = 0  # since the last cell began, by it or by what it left running
        self._bytes = 0  # of the calls under way

    def begin(self, cell: Cell) -> None:
        self.cell = cell
        self._asked = self._cancels = self._sleeps = 0

    @property
    def over_limit(self) -> bool:
        """Whether the cell has asked for more than it may."""
        return self._asked > self._limits.host_calls

    @property
    def under_way(self) -> list[asyncio.Task[None]]:
        return list(self._tasks.values())

    def ask(self, call: Call, size: int) -> None:
        """Begin a call whose arguments take about `size` bytes."""
        if call.id in self._tasks:
            raise WireError("a call with the number of another")
        refused = self._refused(size) if call.verb != SLEEP else self._refused_sleep(size)
        if refused is not None:
            call, size = replace(call, arguments=NOTHING, refused=CallLimit(refused)), 0
        about = self._host.about(call)
        title = about.title
        cell = self.cell if call.verb != SLEEP else None
        if cell is not None and cell.on_event is not None:
            self._drain()
            cell.tell(CallStarted(cell=cell.number, call=call.id, name=title))
        self._bytes += size
        task = eager.start(self._loop, self._serve(call, title, cell, size))
        if not task.done():
            self._tasks[call.id] = task
            if about.operation.patient:
                waits = self.waits
                waits(1)
                task.add_done_callback(lambda _: waits(-1))

    def cancel(self, number: int) -> None:
        """The guest no longer waits for this call."""
        self._cancels += 1
        if self._cancels > self._asked + self._sleeps + IN_FLIGHT:
            raise WireError("more calls cancelled than made")
        task = self._tasks.get(number)
        if task is not None:
            task.cancel(BY_GUEST)

    def stop(self) -> None:
        for task in self._tasks.values():
            task.cancel()

    async def stopped(self) -> None:
        """When the last of them has ended."""
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    def _refused(self, size: int) -> str | None:
        self._asked += 1
        over = self._asked - self._limits.host_calls
        if over > LENIENCE:
            self._kill(CallLimit(f"the cell made more than host_calls={self._limits.host_calls}. {exits.GONE}"))
        if over > 0:
            return f"the cell made more than host_calls={self._limits.host_calls}; ask for more at a time"
        if self._is_too_much(size):
            return "the arguments of the calls under way are too large together; await some first"
        if len(self._tasks) >= IN_FLIGHT:
            return f"more than {IN_FLIGHT} host calls are under way at once; await some first"
        return None

    def _is_too_much(self, size: int) -> bool:
        return self._bytes > 0 and self._bytes + size > IN_FLIGHT_BYTES

    def _refused_sleep(self, size: int) -> str | None:
        self._sleeps += 1
        if self._sleeps > SLEEPS + LENIENCE:
            self._kill(CallLimit(f"the cell slept more than {SLEEPS} times. {exits.GONE}"))
        if self._sleeps > SLEEPS or len(self._tasks) >= 2 * IN_FLIGHT or self._is_too_much(size):
            return f"a cell sleeps at most {SLEEPS} times; sleep longer, or await what you wait for"
        return None

    async def _serve(self, call: Call, title: str, cell: Cell | None, size: int) -> None:
        began = time.monotonic()
        _BESIDE.set((cell, self.waits, self.at_work))  # in the context of this task alone
        try:
            try:
                answer = await self._host.call(call)
            finally:
                self._bytes -= size
                self._tasks.pop(call.id, None)  # from here on the guest may use its number again
            message = ["a", call.id, 0 if answer.failed else 1, answer.value.tree]
            if answer.at:
                message += [answer.at, answer.back]
            self._send(message, answer.value.blobs)
        except WireError as error:
            self._kill(ProtocolError(f"the guest broke the protocol ({error}). {exits.GONE}"))
            return
        except Exception as error:  # a door that breaks its promise not to raise costs this session, and is told
            self._kill(Crashed(f"the host failed to answer a call ({type(error).__name__}). {exits.GONE}"))
            self._loop.call_exception_handler({"message": "cellwright: a host call failed", "exception": error})
            return
        if cell is not None:
            self._record(cell, call, title, time.monotonic() - began, answer)

    def _record(self, cell: Cell, call: Call, title: str, duration_s: float, answer: Answer) -> None:
        error = self._error_text(answer)
        cell.calls.append(CallRecord(name=title, duration_s=duration_s, error=error))
        if cell.on_event is not None:
            cell.tell(CallFinished(cell=cell.number, call=call.id, name=title, duration_s=duration_s, error=error))

    def _error_text(self, answer: Answer) -> str | None:
        if not answer.failed:
            return None
        about, _, _, text = answer.value.tree["E"]
        if type(about) is not str:  # a class of the developer's, which the guest is told of once
            number: int = about[0]
            described: dict[str, str] = about[1] or {}
            about = self._kinds.setdefault(number, described.get("name", "error"))
        return f"{about}: {text}"[:500]
