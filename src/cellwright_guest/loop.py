"""The guest's event loop: asyncio's own, with the door instead of the network.

It admits one message at a time and runs everything that woke before it looks for the next, so the order in which
answers arrive is the only thing that decides the order in which code runs. Where the session is journaled, timers are
calls to the host as well, and nothing is ever looked for without waiting for it: the machine's time decides nothing.
"""

from __future__ import annotations

import asyncio
import contextvars
import selectors
import threading
from asyncio import events
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from cellwright_guest import clock, paths
from cellwright_guest.door import Door, Mailbox

# Code that spins on `sleep(0)` until an answer comes must still get it.
SPINS = 64
# In a journaled session looking for it is a call to the host: the longer nothing comes, the more turns go before it.
MOST_SPINS = 4096

RESPONSE_S = 0.1  # at most, from the word that a response comes until it is there
LOOK_S = 0.01  # between two looks at its own descriptors, while another thread reads the door

MOST_TIMERS = 8  # under way at once; then the longest is given up

# takes a message, and the loop that it came to
Deliver = Callable[[Any, "GuestLoop | None"], None]

_asyncio_run = asyncio.run
_as_completed: Any = asyncio.as_completed
_threads: dict[int, Any] = vars(threading)["_active"]  # `threading.active_count` would take a lock each time


class HostTimers:
    """The waits of one event loop, as calls to the host: in a journaled session no timer looks at the machine's clock.

    The answer to a wait only moves the clock. A wait that is no longer needed is left to end: the loop looks around and
    waits again. Answers come to `mailbox`.
    """

    def __init__(self, door: Door, mailbox: Mailbox) -> None:
        self._door = door
        self._mailbox = mailbox
        self._due: dict[int, int] = {}  # number of the call → the moment, on the guest's clock

    def ask(self, seconds: float) -> None:
        """See to it that a message comes within `seconds`."""
        due = clock.after(seconds)
        if not any(earlier <= due for earlier in self._due.values()):
            self._start(clock.until(due), due)

    def look(self) -> None:
        """See to it that a message comes at once."""
        self._start(0, clock.after(0))

    def _start(self, seconds: float, due: int) -> None:
        if len(self._due) >= MOST_TIMERS:
            self._cancel(max(self._due, key=lambda number: self._due[number]))
        length = {"t": [seconds]}
        number = self._door.start(self._mailbox, "sleep", 0, "", length, [], paths.current().wait())
        self._due[number] = due

    def over(self, number: int) -> bool:
        """Whether that call was one of these waits. If so, the clock moves to the end of the wait."""
        due = self._due.pop(number, None)
        if due is not None:
            clock.reach(due)
        return due is not None

    def __contains__(self, number: int) -> bool:
        return number in self._due

    def give_up(self) -> None:
        """Nothing needs them any more."""
        for number in list(self._due):
            self._cancel(number)

    def _cancel(self, number: int) -> None:
        del self._due[number]
        self._door.cancel(number)


class Task(asyncio.Task[Any]):
    """asyncio's task, with the hash of its path.

    `asyncio.wait`, task groups and `asyncio.run` keep tasks in sets: with this hash the sets have the same order on
    every run, which addresses would not give.
    """

    def __init__(self, coro: Any, *, path: paths.Path, **options: Any) -> None:
        self._path_hash = hash(path.prefix)
        super().__init__(coro, **options)

    def __hash__(self) -> int:
        return self._path_hash


class DoorSelector(selectors.PollSelector):
    """A selector that waits for the door as well as for its own descriptors."""

    _selector: Any  # CPython's own two, which typeshed leaves out
    _fd_to_key: dict[int, selectors.SelectorKey]

    def __init__(self, door: Door, deliver: Callable[[Any], None], before_waiting: Callable[[], None]) -> None:
        super().__init__()
        self._door = door
        self._deliver = deliver
        self._before_waiting = before_waiting
        self._fd = -1
        self._found: list[Any] = []
        self._spins, self._patience = 0, SPINS
        self.pipe = -1  # by which other threads wake the loop
        self.mailbox = Mailbox()
        self.ready: Any = ()  # what its loop is about to run
        self.timers = HostTimers(door, self.mailbox)

    @property
    def busy(self) -> bool:
        return bool(self._fd_to_key)

    def select(self, timeout: float | None = None) -> list[Any]:
        if self._door.journaled:
            return self._select_by_messages(timeout)
        if timeout is not None and timeout <= 0:
            self._spins += 1
            if self._spins < SPINS:
                return []
        self._spins = 0
        self._found = []
        if len(_threads) > 1 or (timeout is None and not self._door.asking):
            self._before_waiting()  # with nothing asked, a thread that Python does not know of may be what wakes it
        waits = timeout is None or timeout > 0
        message = self._receive(timeout, self.ready if waits else ())
        if message is not None:
            self._deliver(message)
        return self._found

    def _receive(self, timeout: float | None, ready: Any) -> Any:
        sockets = len(self._fd_to_key) > (self.pipe in self._fd_to_key)
        beside_s = LOOK_S if sockets and len(_threads) > 1 else None
        message = self._door.receive(self.mailbox, self._poll, timeout, ready=ready, beside_s=beside_s)
        if message is None and beside_s is not None and not self._found:
            self._poll(0)
        if message is not None and message[0][0] == "n":
            if sockets:
                self._poll_sockets()
            return None
        return message

    def _poll_sockets(self) -> None:
        """A response comes by one of them: take it up before the next message, as the host sent them."""
        if self._fd >= 0:
            self._selector.modify(self._fd, 0)
        self._poll(RESPONSE_S)
        self._selector.modify(self._fd, 1)

    def _select_by_messages(self, timeout: float | None) -> list[Any]:
        if timeout is None:
            self.woken()
        elif timeout > 0:
            self.woken()
            self.timers.ask(timeout)
        else:
            self._spins += 1
            if self._spins < self._patience:
                return []
            self._spins, self._patience = 0, min(self._patience * 2, MOST_SPINS)
            self.timers.look()
        self._found = []
        if len(_threads) > 1 or not self._door.asking:
            self._before_waiting()
        waits = timeout is None or timeout > 0
        message = self._receive(None, self.ready if waits else ())
        if message is not None:
            if message[0][0] != "a" or message[0][1] not in self.timers:
                self.woken()
            self._deliver(message)
        return self._found

    def woken(self) -> None:
        """The loop does not spin: a message came, or it waits for one."""
        self._spins, self._patience = 0, SPINS

    def settle(self, waiting: bool) -> None:
        """A cell is over; `waiting`: timers are left. Else the next begins as it would in a guest that was restored."""
        self.woken()
        if not waiting:
            self.timers.give_up()

    def _poll(self, timeout: float | None) -> bool:
        if timeout is None and not self._fd_to_key and len(_threads) == 1:
            return True  # nothing else to wait for: the read itself may block
        poller = self._selector
        if self._fd < 0:
            self._fd = self._door.conn.fileno()
            poller.register(self._fd, 1)
        ready = poller.poll(None if timeout is None else max(0, -int(-timeout * 1000 // 1)))
        door = False
        for fd, event in ready:
            if fd == self._fd:
                door = True
                continue
            key = self._fd_to_key.get(fd)
            if key:
                mask = (event & ~1 and selectors.EVENT_WRITE) | (event & ~4 and selectors.EVENT_READ)
                self._found.append((key, mask & key.events))
        if door and self._door.journaled:
            self._found = []  # in the order in which the host sent them: sockets are looked at again
        return door


class GuestLoop(asyncio.SelectorEventLoop):
    """asyncio's loop on a `DoorSelector`. May run inside another, as code written for a plain script expects."""

    _ready: Any  # CPython's own, which typeshed leaves out
    _scheduled: Any

    def __init__(self, door: Door, deliver: Deliver) -> None:
        self._door = door
        self.selector = DoorSelector(door, lambda message: deliver(message, self), self._open_self_pipe)
        super().__init__(self.selector)
        self.selector.ready = self._ready
        self.__dict__["time"] = clock.machine_seconds
        self._own: Any = None
        if door.journaled:
            self.journal()

    def journal(self) -> None:
        """From here on timers follow the guest's clock, and tasks have paths."""
        self.__dict__.update(time=clock.seconds, create_task=self._create_task)

    def _create_task(self, coro: Any, **options: Any) -> Any:
        path = paths.current()
        if coro is not self._own:
            path = path.task()
            if options.get("context") is None:
                options["context"] = contextvars.copy_context()
            with suppress(RuntimeError):  # a context that is entered already keeps its path
                options["context"].run(paths.assign, path)
        if options.get("name") is None:
            options["name"] = f"Task-{path.prefix}"
        if self.get_task_factory() is not None:
            return super().create_task(coro, **options)
        if self.is_closed():
            raise RuntimeError("Event loop is closed")
        return Task(coro, path=path, loop=self, **options)

    def create_own_task(self, coro: Any) -> Any:
        """A task with the path that is current, and not one below it."""
        self._own = coro
        try:
            return self.create_task(coro)
        finally:
            self._own = None

    def run_own(self, coro: Any) -> Any:
        """The same, run to its end."""
        self._own = coro
        try:
            return self.run_until_complete(coro)
        finally:
            self._own = None

    def _asyncgen_finalizer_hook(self, agen: Any) -> None:
        if self._door.journaled:
            contextvars.copy_context().run(self._finalize, agen)
        else:
            self._close_asyncgen(agen)

    def _finalize(self, agen: Any) -> None:
        paths.assign(paths.collected())
        self._close_asyncgen(agen)

    def _close_asyncgen(self, agen: Any) -> None:
        super()._asyncgen_finalizer_hook(agen)  # pyright: ignore[reportUnknownMemberType, reportAttributeAccessIssue]  not in typeshed

    def settle(self) -> None:
        """A cell is over."""
        if self._door.journaled:
            self.selector.settle(self.has_timers())

    def has_timers(self) -> bool:
        return any(not handle.cancelled() for handle in self._scheduled)

    def close(self) -> None:
        if not self.is_running():
            self.selector.timers.give_up()
        super().close()

    # Other threads wake a loop through a pair of sockets. Most guests have no other threads, and a loop that is made in
    # the zygote must not share its sockets with the guests that are forked from it: so it is made when it is needed.

    def _make_self_pipe(self) -> None:
        self._ssock = self._csock = None

    def _open_self_pipe(self) -> None:
        if self._ssock is None:
            super()._make_self_pipe()  # pyright: ignore[reportUnknownMemberType, reportAttributeAccessIssue]  not in typeshed
            self.selector.pipe = self.__dict__["_ssock"].fileno()

    def _close_self_pipe(self) -> None:
        if self._ssock is not None:
            super()._close_self_pipe()  # pyright: ignore[reportUnknownMemberType, reportAttributeAccessIssue]  not in typeshed

    def add_signal_handler(self, sig: int, callback: Any, *args: Any) -> None:
        self._open_self_pipe()
        super().add_signal_handler(sig, callback, *args)

    def _check_running(self) -> None:
        if self.is_running():
            raise RuntimeError("This event loop is already running")

    def run_forever(self) -> None:
        outer = events._get_running_loop()
        events._set_running_loop(None)
        self._door.enter(self.selector.mailbox)
        try:
            super().run_forever()
        finally:
            self._door.leave(self.selector.mailbox)
            events._set_running_loop(outer)

    def has_nothing_else(self) -> bool:
        """Whether only a message of the host can make anything run here."""
        if self.get_task_factory() is not None:  # it may start tasks eagerly: then the creating task waits too
            return False
        return not (self._ready or self._scheduled or self.selector.busy or len(_threads) > 1)

    def run_within(self, program: Any, names: dict[str, Any]) -> Any:
        """Run code that does not await, with this loop there for the tasks that it starts: each gets its first turn."""
        events._set_running_loop(self)
        try:
            value = eval(program, names)
        finally:
            events._set_running_loop(None)
        if self._ready:
            self.call_soon(self.stop)
            self.run_forever()
        return value

    def call_soon_threadsafe(self, callback: Any, *args: Any, context: Any = None) -> Any:
        handle = super().call_soon_threadsafe(callback, *args, context=context)
        self._door.wake()
        return handle


class GuestPolicy(asyncio.DefaultEventLoopPolicy):
    """New loops are guest loops, also those that `asyncio.run` makes."""

    def __init__(self, door: Door, deliver: Deliver) -> None:
        super().__init__()
        self._make = lambda: GuestLoop(door, deliver)

    def new_event_loop(self) -> GuestLoop:
        return self._make()


def run(main: Any, **options: Any) -> Any:
    """`asyncio.run`, allowed inside a cell although a loop is running there."""
    outer = events._get_running_loop()
    events._set_running_loop(None)
    try:
        return _asyncio_run(main, **options)
    finally:
        events._set_running_loop(outer)


def install(door: Door, deliver: Deliver) -> GuestLoop:
    """Make ours the loop of this process; gives the loop that runs the cells."""
    asyncio.set_event_loop_policy(GuestPolicy(door, deliver))  # pyright: ignore[reportDeprecated]  there is no other way
    asyncio.run = run
    loop = GuestLoop(door, deliver)
    asyncio.set_event_loop(loop)
    return loop


def install_tasks() -> None:
    asyncio.__dict__["as_completed"] = asyncio.tasks.__dict__["as_completed"] = as_completed


def as_completed(fs: Any, *, timeout: float | None = None) -> Any:
    """`asyncio.as_completed`, which makes its tasks in the order of a set."""
    if not asyncio.isfuture(fs) and not asyncio.iscoroutine(fs):
        fs = [asyncio.ensure_future(future) for future in dict.fromkeys(fs)]
    return _as_completed(fs, timeout=timeout)
