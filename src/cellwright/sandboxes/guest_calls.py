"""Calls between one guest and the host: those that the guest makes (`GuestCalls`), and those into it (`Callbacks`).

A guest's calls are counted, limited, handed to the host, and reported to the cell's listener. It does not know how a
message travels or what ends a guest: messages go to `send`, a broken limit goes to `kill`.
"""

from __future__ import annotations

import asyncio
import contextvars
import sys
import threading
import time
from asyncio import futures, tasks
from collections.abc import Callable, Coroutine, Generator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import Context, ContextVar
from dataclasses import dataclass, replace
from typing import Any

from cellwright.doors import BY_GUEST, Answer, Call, Host, Made
from cellwright.errors import CallLimit, Crashed, GuestError, GuestGone, ProtocolError, TimeLimit
from cellwright.events import CallFinished, CallStarted, Event, tell
from cellwright.sandboxes import exit_errors
from cellwright.sandboxes.base import WALL_S, CallRecord, Limits, OnEvent
from cellwright_guest.wire import NOTHING, Packed, WireError

IN_FLIGHT = 1000
IN_FLIGHT_BYTES = 256 << 20
LENIENCE = 1000  # calls over the limit that are refused one by one, before the guest is ended
SLEEPS = 10_000  # in a cell; sleeps do not count as `host_calls`, and listeners do not hear of them
SLEEP = "sleep"
STOP_S = 10.0  # for cancelled calls to end: a spawned agent closes its session

Send = Callable[[list[Any], list[Any]], None]
Kill = Callable[[GuestError], None]
Deliver = Callable[[Call, Answer], None]


class RunningCell:
    """The cell that runs now."""

    def __init__(self, number: int, on_event: OnEvent | None) -> None:
        self.number = number
        self.on_event = on_event
        self.calls: list[CallRecord] = []
        self.began = time.monotonic()
        self.report: asyncio.Future[tuple[str, Any, list[Any]]] = asyncio.get_running_loop().create_future()

    def tell(self, event: Event) -> None:
        if self.on_event is not None:
            tell(self.on_event, event)


@dataclass(frozen=True, slots=True)
class _Served:
    """A call that is served: its cell, the cell's clock, whether its guest computes; and the call around it.

    Host code that serves a call may run an agent, whose guest makes calls of its own: these are served within it.
    """

    cell: RunningCell | None
    waits: Callable[[int], None]
    at_work: Callable[[], bool]
    counts_agents: bool
    within: _Served | None


_SERVING: ContextVar[_Served | None] = ContextVar("_SERVING", default=None)


@contextmanager
def waiting(event: Event | None = None) -> Generator[None]:
    """While a call waits for a person, the cell's wall time stands still. The cell's listener hears `event`.

    The wall time stands still as long as one such call waits, whatever else the guest does; processor time is counted.
    So does that of the cells that wait for an agent whose call it is.
    """
    served = _SERVING.get()
    if served is not None and served.cell is not None and event is not None:
        served.cell.tell(event)
    clocks: list[Callable[[int], None]] = []
    while served is not None:
        clocks.append(served.waits)
        served = served.within
    with _standing_still(clocks):
        yield


@contextmanager
def waiting_for_agent() -> Generator[None]:
    """While a call waits for an agent, the cell's wall time stands still, unless the developer set a `wall_s`."""
    served = _SERVING.get()
    with _standing_still([] if served is None or served.counts_agents else [served.waits]):
        yield


@contextmanager
def _standing_still(clocks: Sequence[Callable[[int], None]]) -> Generator[None]:
    for waits in clocks:
        waits(1)
    try:
        yield
    finally:
        for waits in clocks:
            waits(-1)


def guest_at_work() -> Callable[[], bool]:
    """A function that says whether the guest whose call is served here is computing."""
    served = _SERVING.get()
    return served.at_work if served is not None else lambda: False


class GuestCalls:
    """The calls of one guest. `drain` reads what the guest printed before a call, so that listeners hear it first."""

    def __init__(self, host: Host, limits: Limits, send: Send, drain: Callable[[], None], kill: Kill) -> None:
        self.cell: RunningCell | None = None
        self._host = host
        self._within = _SERVING.get()
        self._kinds: dict[int, str] = {}  # classes of exceptions by number, for their names
        self._limits = limits
        self._send = send
        self._drain = drain
        self._kill = kill
        self._loop = asyncio.get_running_loop()
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self.waits: Callable[[int], None] = lambda change: None  # called when a patient call begins (1) and ends (-1)
        self.at_work: Callable[[], bool] = lambda: False  # whether the guest is computing
        self._asked = self._cancels = self._sleeps = 0  # since the last cell began
        self._bytes = 0  # of the calls under way

    def begin(self, cell: RunningCell) -> None:
        self.cell = cell
        self._asked = self._cancels = self._sleeps = 0

    @property
    def over_limit(self) -> bool:
        """Whether the cell made more calls than `host_calls`."""
        return self._asked > self._limits.host_calls

    @property
    def under_way(self) -> list[asyncio.Task[None]]:
        return list(self._tasks.values())

    def ask(self, call: Call, size: int, deliver: Deliver | None = None) -> asyncio.Task[None]:
        """Begin a call whose arguments take about `size` bytes. The answer goes to `deliver`, else to the guest."""
        if call.id in self._tasks:
            raise WireError("a call with the number of another")
        refused = self._refused(size) if call.verb != SLEEP else self._refused_sleep(size)
        if refused is not None:
            call, size = replace(call, arguments=NOTHING, refused=CallLimit(refused)), 0
        title = call.about.title
        cell = self.cell if call.verb != SLEEP else None
        if cell is not None and cell.on_event is not None:
            self._drain()
            cell.tell(CallStarted(cell=cell.number, call=call.id, name=title))
        self._bytes += size
        task = start_now(self._loop, self._serve(call, title, cell, size, deliver or self._reply))
        if not task.done():
            self._tasks[call.id] = task
            if call.about.operation.patient:
                waits = self.waits
                waits(1)
                task.add_done_callback(lambda _: waits(-1))
        return task

    def cancel(self, number: int) -> None:
        """The guest no longer waits for this call."""
        self._cancels += 1
        if self._cancels > self._asked + self._sleeps + IN_FLIGHT:
            raise WireError("more calls cancelled than made")
        task = self._tasks.get(number)
        if task is not None:
            task.cancel(BY_GUEST)

    def announce(self) -> None:
        """Tell the guest, in the order of its answers, that one goes over its network."""
        self._send(["n"], [])

    def stop(self) -> None:
        for task in self._tasks.values():
            task.cancel()

    async def stopped(self) -> None:
        """Wait until the last call has ended; one that ignores its cancellation is left to itself after a while."""
        if self._tasks:
            await asyncio.wait(self._tasks.values(), timeout=STOP_S)

    def _refused(self, size: int) -> str | None:
        self._asked += 1
        over = self._asked - self._limits.host_calls
        if over > LENIENCE:
            self._kill(CallLimit(f"the cell made more than host_calls={self._limits.host_calls}. {exit_errors.GONE}"))
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
            self._kill(CallLimit(f"the cell slept more than {SLEEPS} times. {exit_errors.GONE}"))
        if self._sleeps > SLEEPS or len(self._tasks) >= 2 * IN_FLIGHT or self._is_too_much(size):
            return f"a cell sleeps at most {SLEEPS} times; sleep longer, or await what you wait for"
        return None

    def _reply(self, call: Call, answer: Answer) -> None:
        message = ["a", call.id, 0 if answer.failed else 1, answer.value.tree]
        if answer.at:
            message += [answer.at, answer.back]
        self._send(message, answer.value.blobs)

    async def _serve(self, call: Call, title: str, cell: RunningCell | None, size: int, deliver: Deliver) -> None:
        began = time.monotonic()
        served = _Served(cell, self.waits, self.at_work, self._limits.wall_s != WALL_S, self._within)
        _SERVING.set(served)  # in the context of this task alone
        try:
            try:
                answer = await self._host.call(call)
            finally:
                self._bytes -= size
                self._tasks.pop(call.id, None)  # from here on the guest may use its number again
            deliver(call, answer)
        except WireError as error:
            self._kill(ProtocolError(f"the guest broke the protocol ({error}). {exit_errors.GONE}"))
            return
        except Exception as error:  # a door must not raise: this ends the session, and the loop is told
            self._kill(Crashed(f"the host failed to answer a call ({type(error).__name__}). {exit_errors.GONE}"))
            self._loop.call_exception_handler({"message": "cellwright: a host call failed", "exception": error})
            return
        if cell is not None:
            self._record(cell, call, title, time.monotonic() - began, answer)

    def _record(self, cell: RunningCell, call: Call, title: str, duration_s: float, answer: Answer) -> None:
        error = self._error_text(answer)
        cell.calls.append(CallRecord(name=title, duration_s=duration_s, error=error))
        if cell.on_event is not None:
            cell.tell(CallFinished(cell=cell.number, call=call.id, name=title, duration_s=duration_s, error=error))

    def _error_text(self, answer: Answer) -> str | None:
        if not answer.failed:
            return None
        kind, _, _, text = answer.value.tree["E"]
        if type(kind) is not str:  # a class of the developer's; its description is sent once
            number: int = kind[0]
            described: dict[str, str] = kind[1] or {}
            kind = self._kinds.setdefault(number, described.get("name", "error"))
        return f"{kind}: {text}"[:500]


class Callbacks:
    """The guest as host code calls it: see `GuestDoor`. Messages to the guest go to `send`."""

    def __init__(self, wall_s: float, send: Send, kill: Kill, repeats: asyncio.Future[None] | None = None) -> None:
        self.in_cell = False  # a cell runs; its deadline holds for callbacks too
        self._wall_s = wall_s
        self._repeats = repeats
        self._send = send
        self._kill = kill
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._waiting: dict[int, Future[Answer]] = {}
        self._numbers = 0
        self._gone = False

    def invoke(
        self,
        lent: int,
        parent: int,
        arguments: Packed,
        path: str = "",
        at: float = 0.0,
        made: tuple[Made, ...] = (),  # for the journal: the guest has it in the arguments
    ) -> Future[Answer]:
        message = ["i", 0, parent, lent, arguments.tree]
        if path:
            message += [path, at, []]
        future: Future[Answer] = Future()
        future.set_running_or_notify_cancel()  # a caller that stops waiting does not cancel the guest's answer
        if threading.get_ident() == self._thread:
            self._invoke(message, arguments.blobs, future)
        elif not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._invoke, message, arguments.blobs, future)
        return future

    def _invoke(self, message: list[Any], blobs: list[Any], future: Future[Answer]) -> None:
        if self._gone:
            future.set_exception(GuestGone("the guest of this function has ended"))
            return
        self._numbers += 1
        message[1] = self._numbers
        self._waiting[self._numbers] = future
        if not self.in_cell and (self._repeats is None or self._repeats.done()):
            timer = self._loop.call_later(self._wall_s, self._overdue, future, context=Context())
            future.add_done_callback(lambda _: timer.cancel())
        self._send(message, blobs)

    def _overdue(self, future: Future[Answer]) -> None:
        if not future.done():
            words = f"a guest function, called between cells, ran longer than wall_s={self._wall_s:g}"
            self._kill(TimeLimit(f"{words}. {exit_errors.GONE}"))

    def give_back(self, lent: int, count: int) -> None:
        if not self._gone and not self._loop.is_closed():
            nothing: list[Any] = []
            # never at once: the collector may run in the middle of a send
            self._loop.call_soon_threadsafe(self._send, ["u", lent, count], nothing)

    def answer(self, number: int, answer: Answer) -> None:
        """The guest's answer to callback `number`."""
        future = self._waiting.pop(number, None)
        if future is None:
            raise WireError("an answer to no call")
        future.set_result(answer)

    def stop(self) -> None:
        """The guest has ended or is about to: fail the callbacks that still wait."""
        self._gone = True
        waiting, self._waiting = self._waiting, {}
        for future in waiting.values():
            if not future.done():
                future.set_exception(GuestGone("the guest of this function has ended"))


# A task that begins at once: the first step of a call runs where the call was read, not one turn of the loop later.
# Most host calls end in their first step, and a turn costs as much as the call. Python 3.12 has such tasks; for 3.11
# one is made from the task that asyncio keeps in plain Python.

if sys.version_info >= (3, 12):

    def start_now(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """A task whose first step has run when this returns."""
        return asyncio.Task(work, loop=loop, eager_start=True)

else:
    _PyTask: Any = getattr(tasks, "_PyTask")  # noqa: B009  no public name
    _PyFuture: Any = getattr(futures, "_PyFuture")  # noqa: B009
    _register: Any = getattr(tasks, "_register_task")  # noqa: B009
    _enter: Any = getattr(tasks, "_enter_task")  # noqa: B009
    _leave: Any = getattr(tasks, "_leave_task")  # noqa: B009

    class _EagerTask(_PyTask):
        def __init__(self, work: Coroutine[Any, Any, None], loop: asyncio.AbstractEventLoop) -> None:
            # What the parent's own __init__ does, but for the last line, which would put the step off.
            _PyFuture.__init__(self, loop=loop)
            self._num_cancels_requested = 0
            self._must_cancel = False
            self._fut_waiter = None
            self._name = "cellwright-call"
            self._coro = work
            self._context = contextvars.copy_context()
            self._context.run(self._Task__step)
            if not self.done():  # one that is done is not waited for
                _register(self)

    def start_now(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """A task whose first step has run when this returns."""
        outer = asyncio.current_task(loop)
        if outer is None:
            return _EagerTask(work, loop)
        _leave(loop, outer)  # a step within a step: the outer one stands aside, as in 3.12
        try:
            return _EagerTask(work, loop)
        finally:
            _enter(loop, outer)
