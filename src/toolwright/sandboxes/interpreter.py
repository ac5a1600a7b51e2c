"""`ProcessInterpreter`: one jailed guest seen from the host. Runs its cells, answers its calls, ends it at its limits."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

from toolwright.doors import Answer, Call
from toolwright.errors import (
    CallLimit,
    Cancelled,
    Crashed,
    GuestError,
    GuestGone,
    LimitExceeded,
    OutputLimit,
    ProtocolError,
    SandboxDied,
    TimeLimit,
    UsageError,
)
from toolwright.events import CallFinished, CallStarted, Printed
from toolwright.sandboxes import exits
from toolwright.sandboxes.base import CallRecord, GuestValue, OnEvent, Opening, Outcome
from toolwright.sandboxes.cgroup import Cgroup
from toolwright.sandboxes.line import Line
from toolwright.sandboxes.printed import Printing
from toolwright.sandboxes.watchers import Gauge, Idle, Watchers
from toolwright.sandboxes.zygotes import SETUP_FAILED, Child
from toolwright_guest.wire import NOTHING, Bounds, Packed, WireError, is_large

IN_FLIGHT = 1000
IN_FLIGHT_BYTES = 256 << 20
NAME = 1000  # characters of the longest name that a guest asks for
DROPS = 100_000  # as many as it can hold
TEXT = 60_000
LENIENCE = 1000  # calls over the limit that are refused one by one, before the guest is ended
EXIT_S = 10.0


class _Cell:
    """The cell that runs now."""

    def __init__(self, number: int, on_event: OnEvent | None) -> None:
        self.number = number
        self.on_event = on_event
        self.calls: list[CallRecord] = []
        self.began = time.monotonic()
        self.report: asyncio.Future[tuple[str, Any, list[Any]]] = asyncio.get_running_loop().create_future()


class ProcessInterpreter:
    """See `Interpreter` for what it promises."""

    def __init__(
        self,
        child: Child,
        conn: socket.socket,
        printed: int,
        opening: Opening,
        libraries: frozenset[str],
        group: Cgroup | None,
    ) -> None:
        self.on_end: Callable[[ProcessInterpreter], None] = lambda _: None
        self._child = child
        self._host = opening.host
        self._limits = opening.limits
        self._gauge = Gauge(opening.workspace, opening.limits)
        opening.workspace.guests = child.running if group is None else group.pids
        self._idle: Idle | None = None
        self._group = group
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._cell: _Cell | None = None
        self._reason: GuestError | None = None
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._invokes: dict[int, Future[Answer]] = {}
        self._numbers = 0
        self._asked = self._cancels = 0  # since the last cell began, by it or by what it left running
        self._bytes = 0  # of the calls under way
        self._line = Line(conn, Bounds(), self._hear, self._hung_up)
        self._printing = Printing(printed, self._printed, self._printed_too_much)
        self._ended = False
        self._confined = self._out_of_memory = False
        child.exited.add_done_callback(lambda _: self._exited())
        names = opening.host.open(self, libraries)
        if group is None:
            self._line.send(["b", names.tree], names.blobs)
        else:
            self._joining = self._loop.create_task(self._join_group(group, names))

    async def _join_group(self, group: Cgroup, names: Packed) -> None:
        # The guest reads nothing, and so runs nothing, before it is in its group.
        group.add(await self._child.pid())
        self._line.send(["b", names.tree], names.blobs)

    @property
    def alive(self) -> bool:
        return self._reason is None and not self._ended

    @property
    def reason(self) -> GuestError | None:
        return self._reason

    # cells

    async def run(self, cell: int, code: str, on_event: OnEvent | None = None) -> Outcome:
        if self._cell is not None:
            raise UsageError("a cell is running; await it before the next")
        if not self.alive:
            raise UsageError("this interpreter has ended; open another")
        running = self._cell = _Cell(cell, on_event)
        self._asked = self._cancels = 0
        self._printing.begin(self._limits.output_kb << 10)
        if self._idle is not None:
            self._idle.stop()
        self._send_code(cell, code)
        watchers = Watchers(self._limits, self._gauge, self._child, self._group, self.kill)
        try:
            verdict, told, blobs = await running.report
            watchers.stop()
            outcome = await self._outcome(running, verdict, told, blobs)
            if self.alive:
                self._idle = Idle(await self._child.pid(), self._group, self._limits, self._gauge, self.kill)
            return outcome
        except asyncio.CancelledError:
            self.kill(Cancelled(f"the cell was cancelled. {exits.GONE}"))
            raise
        finally:
            watchers.stop()
            self._cell = None

    def _send_code(self, cell: int, code: str) -> None:
        joining: asyncio.Task[None] | None = getattr(self, "_joining", None)
        if joining is None or joining.done():
            self._line.send(["x", cell, code], [])
        else:
            joining.add_done_callback(lambda _: self._line.send(["x", cell, code], []))

    async def _outcome(self, cell: _Cell, verdict: str, told: Any, blobs: list[Any]) -> Outcome:
        error: GuestError | None = None
        value: Any = None
        if self._reason is not None or verdict == "ended":
            await self._wait_for_exit()
        printed = self._printing.take()
        if self._reason is not None or verdict == "ended":
            error = self._end_error(printed)
        elif verdict == "value":
            packed = Packed(told, blobs)
            try:
                value = await asyncio.to_thread(self._value, packed) if is_large(packed) else self._value(packed)
            except WireError as broken:
                self.kill(ProtocolError(f"{broken}. {exits.GONE}"))
                error = self._reason
        else:
            error = exits.of_report(told, self._limits)
            if getattr(error, "type", "") == "CallLimit" and self._asked > self._limits.host_calls:
                error = CallLimit(str(error))
        return Outcome(
            cell=cell.number,
            value=value,
            stdout=printed,
            error=error or (await self._gauge.after_cell() if self.alive else None),
            calls=tuple(cell.calls),
            rung="process",
            duration_s=time.monotonic() - cell.began,
        )

    def _value(self, packed: Packed) -> Any:
        tree = packed.tree
        if type(tree) is dict and len(tree) == 1 and "stays" in tree:
            kind, text = tree["stays"] if type(tree["stays"]) is list and len(tree["stays"]) == 2 else ("?", "?")
            return GuestValue(type=str(kind)[:200], text=str(text)[:TEXT])
        try:
            return self._host.value(packed)
        except WireError:
            raise
        except Exception as refused:  # a record that its class does not accept: the value is told, not built
            return GuestValue(type="refused", text=f"{type(refused).__name__}: {refused}")

    # what the guest says

    def _hear(self, message: list[Any], blobs: list[Any], size: int) -> None:
        if self._reason is not None:
            return  # it is being ended: nothing more is done for it
        try:
            match message:
                case ["c", int(number), int(cell), str(verb), int(target), str(name), list(drops), tree]:
                    if len(name) > NAME or len(verb) > NAME:
                        raise WireError(f"a name of more than {NAME} characters")
                    self._drop(drops)
                    call = Call(id=number, cell=cell, verb=verb, target=target, name=name, arguments=Packed(tree, blobs))
                    self._called(call, size)
                case ["d", int(cell), ("value" | "error") as verdict, list(drops), tree]:
                    self._drop(drops)
                    if self._cell is None or self._cell.number != cell or self._cell.report.done():
                        raise WireError("a report of a cell that does not run")
                    self._cell.report.set_result((verdict, tree, blobs))
                case ["r"]:
                    self._confined = True
                case ["k", int(number)]:
                    self._cancels += 1
                    if self._cancels > self._asked + IN_FLIGHT:
                        raise WireError("more calls cancelled than made")
                    task = self._tasks.get(number)
                    if task is not None:
                        task.cancel()
                case ["v", int(number), (0 | 1) as fine, tree]:
                    invoke = self._invokes.pop(number, None)
                    if invoke is None:
                        raise WireError("an answer to no call")
                    invoke.set_result(Answer(value=Packed(tree, blobs), failed=not fine))
                case _:
                    raise WireError("a message of no known kind")
        except WireError as error:
            self.kill(ProtocolError(f"the guest broke the protocol ({error}). {exits.GONE}"))

    def _drop(self, drops: list[Any]) -> None:
        if len(drops) > DROPS:
            raise WireError("more drops than there can be objects")
        for drop in drops:
            match drop:
                case [int(handle), int(count)] if count > 0:
                    self._host.drop(handle, count)
                case _:
                    raise WireError("a drop that is none")

    def _called(self, call: Call, size: int) -> None:
        if call.id in self._tasks:
            raise WireError("a call with the number of another")
        refused = self._over_limit(size)
        if refused is not None:
            call, size = replace(call, arguments=NOTHING), 0
        title = self._host.title(call)
        cell = self._cell
        if cell is not None and cell.on_event is not None:
            self._printing.drain()  # what was printed before the call is told before it
            cell.on_event(CallStarted(cell=cell.number, call=call.id, name=title))
        work = self._serve(call, title, cell, refused)
        task = self._tasks[call.id] = self._loop.create_task(work)
        self._bytes += size
        task.add_done_callback(lambda done: self._served(call.id, size, done))

    def _over_limit(self, size: int) -> str | None:
        self._asked += 1
        over = self._asked - self._limits.host_calls
        if over > LENIENCE:
            self.kill(CallLimit(f"the cell made more than host_calls={self._limits.host_calls}. {exits.GONE}"))
        if over > 0:
            return f"the cell made more than host_calls={self._limits.host_calls}; ask for more at a time"
        if self._bytes and self._bytes + size > IN_FLIGHT_BYTES:
            return "the arguments of the calls under way are too large together; await some first"
        if len(self._tasks) >= IN_FLIGHT:
            return f"more than {IN_FLIGHT} host calls are under way at once; await some first"
        return None

    async def _serve(self, call: Call, title: str, cell: _Cell | None, refused: str | None) -> None:
        began = time.monotonic()
        if refused is not None:
            answer = self._host.refusal(CallLimit(refused))
        else:
            answer = await self._host.call(call)
        self._line.send(["a", call.id, 0 if answer.failed else 1, answer.value.tree], answer.value.blobs)
        if cell is None:
            return
        record = CallRecord(name=title, duration_s=time.monotonic() - began, error=_error_text(answer))
        cell.calls.append(record)
        if cell.on_event is not None:
            finished = CallFinished(
                cell=cell.number, call=call.id, name=title, duration_s=record.duration_s, error=record.error
            )
            cell.on_event(finished)

    def _served(self, number: int, size: int, task: asyncio.Task[None]) -> None:
        self._tasks.pop(number, None)
        self._bytes -= size
        if not task.cancelled() and (error := task.exception()) is not None:
            if isinstance(error, WireError):
                self.kill(ProtocolError(f"the guest broke the protocol ({error}). {exits.GONE}"))
            else:
                self.kill(Crashed(f"the host failed to answer a call ({type(error).__name__}). {exits.GONE}"))
                self._loop.call_exception_handler({"message": "toolwright: a host call failed", "exception": error})

    def _printed(self, text: str) -> None:
        if self._cell is not None and self._cell.on_event is not None:
            self._cell.on_event(Printed(cell=self._cell.number, text=text))

    def _printed_too_much(self) -> None:
        self.kill(OutputLimit(f"the cell printed more than output_kb={self._limits.output_kb}. {exits.GONE}"))

    # calls into the guest

    def invoke(self, lent: int, parent: int, arguments: Packed) -> Future[Answer]:
        future: Future[Answer] = Future()
        future.set_running_or_notify_cancel()  # who stops waiting for it does not undo the guest's answer
        self._on_loop(self._invoke, lent, parent, arguments, future)
        return future

    def _invoke(self, lent: int, parent: int, arguments: Packed, future: Future[Answer]) -> None:
        if not self.alive:
            future.set_exception(GuestGone("the guest of this function has ended"))
            return
        self._numbers += 1
        self._invokes[self._numbers] = future
        if self._cell is None:  # no cell whose deadline it could inherit
            timer = self._loop.call_later(self._limits.wall_s, self._overdue, future)
            future.add_done_callback(lambda _: timer.cancel())
        self._line.send(["i", self._numbers, parent, lent, arguments.tree], arguments.blobs)

    def _overdue(self, future: Future[Answer]) -> None:
        if not future.done():
            words = f"a guest function, called between cells, ran longer than wall_s={self._limits.wall_s:g}"
            self.kill(TimeLimit(f"{words}. {exits.GONE}"))

    def give_back(self, lent: int, count: int) -> None:
        if self.alive and not self._loop.is_closed():  # never at once: the collector may run in the middle of a send
            self._loop.call_soon_threadsafe(self._line.send, ["u", lent, count], [])

    def _on_loop(self, call: Any, *args: Any) -> None:
        if threading.get_ident() == self._thread:
            call(*args)
        elif not self._loop.is_closed():
            self._loop.call_soon_threadsafe(call, *args)

    # the end

    def kill(self, reason: GuestError) -> None:
        """End the guest now, for this reason; the first reason stands."""
        if self._reason is None and not self._ended:
            self._reason = reason
        self._child.kill()
        self._settle()

    def _hung_up(self, why: str) -> None:
        if why.startswith("protocol: "):
            self.kill(ProtocolError(f"the guest broke the protocol ({why[10:]}). {exits.GONE}"))
        else:
            self._child.kill()  # closed its connection: whatever is left of it has nobody to talk to
            self._settle()

    def _exited(self) -> None:
        self._ended = True
        if self._idle is not None:
            self._idle.stop()
        if not self._confined:
            self._line.drain()
        self._line.close()
        self._settle()
        self._release()

    def _settle(self) -> None:
        """Cancel what was under way for the guest, and wake who waits for it."""
        for task in self._tasks.values():
            task.cancel()
        invokes, self._invokes = self._invokes, {}
        for invoke in invokes.values():
            if not invoke.done():
                invoke.set_exception(GuestGone("the guest of this function has ended"))
        if self._cell is not None and not self._cell.report.done():
            self._cell.report.set_result(("ended", None, []))

    async def _wait_for_exit(self) -> None:
        self._child.kill()
        try:
            await asyncio.wait_for(asyncio.shield(self._child.exited), EXIT_S)
        except TimeoutError:
            raise SandboxDied(f"a killed guest did not end within {EXIT_S:g} s") from None

    def _end_error(self, printed: str) -> GuestError:
        if self._reason is not None and not isinstance(self._reason, LimitExceeded):
            return self._reason
        status = self._child.exited.result()
        if not self._confined and os.WIFEXITED(status) and os.WEXITSTATUS(status) == SETUP_FAILED:
            raise SandboxDied(f"the guest could not be confined: {printed.strip() or 'no reason given'}")
        if self._out_of_memory:
            return exits.of_report({"limit": "memory", "type": "MemoryLimit"}, self._limits)
        return self._reason or exits.of_status(status, printed, self._limits)

    async def close(self) -> None:
        """End the guest and wait until it is gone."""
        if self._reason is None:
            self._reason = Cancelled("the session was closed")
        self._settle()
        await self._wait_for_exit()
        tasks = list(self._tasks.values())
        await asyncio.gather(*tasks, return_exceptions=True)

    def _release(self) -> None:
        self._loop.call_soon(self._printing.close)
        if self._group is not None:
            self._out_of_memory = self._group.out_of_memory()  # read now: nothing is left of the group afterwards
            self._group.remove()
        self.on_end(self)


def _error_text(answer: Answer) -> str | None:
    if not answer.failed:
        return None
    tree = answer.value.tree
    about, _, _, text = tree["E"]
    name = about if isinstance(about, str) else (about[1] or {}).get("name", "error")
    return f"{name}: {text}"[:500]
