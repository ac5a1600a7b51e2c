"""`ProcessInterpreter`: one jailed guest seen from the host. Runs its cells, hears what it says, ends it at its limits.

`guest_calls` keeps the open calls of both directions.
"""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Callable
from typing import Any

from cellwright.doors import Answer, Beginning, Call
from cellwright.errors import (
    CallLimit,
    Cancelled,
    GuestError,
    LimitExceeded,
    OutputLimit,
    ProtocolError,
    SandboxDied,
    UsageError,
)
from cellwright.events import Printed
from cellwright.sandboxes import exit_errors, memory_watch
from cellwright.sandboxes.base import GuestValue, OnEvent, Opening, Outcome, SavedState
from cellwright.sandboxes.cgroup import Cgroup
from cellwright.sandboxes.guest_calls import Callbacks, GuestCalls, RunningCell
from cellwright.sandboxes.guest_socket import GuestOutput, GuestSocket
from cellwright.sandboxes.limit_watch import CellWatch, DiskGauge, IdleWatch, at_work
from cellwright.sandboxes.outer_limits import OuterLimits
from cellwright.sandboxes.process_tree import family
from cellwright.sandboxes.request_calls import RequestCalls
from cellwright.sandboxes.state_transfer import StateTransfer
from cellwright.sandboxes.workspace_stack import WorkspaceStack
from cellwright.sandboxes.zygotes import SETUP_FAILED, Child
from cellwright.short_texts import named_error
from cellwright_guest.wire import Bounds, Packed, WireError, is_large, type_of

NAME = 1000  # characters of the longest name that a guest asks for
LINES = 1 << 31
_KINDS_OF_A_CALL = (int, int, str, int, str, list)
DROPS = 100_000  # as many as it can hold
DROPS_AT_ONCE = 2000  # before the loop serves others
TEXT = 60_000
EXIT_S = 10.0


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
        rung: str,
        *,
        bare: bool = False,
        warm: int = 0,
    ) -> None:
        self.on_end: Callable[[ProcessInterpreter], None] = lambda _: None
        self._child = child
        self._rung = rung
        self._host = opening.host
        self._limits = opening.limits
        self._repeats = opening.repeats
        guests = self._guests if group is None else group.pids
        self._stack = WorkspaceStack(opening, child, guests, self._send, self.kill, covered=not bare)
        self._bare = bare
        self._gauge = DiskGauge(self._stack, opening.limits)
        self._idle: IdleWatch | None = None
        self._unwatch: Callable[[], None] | None = None
        self._group = group
        self._loop = asyncio.get_running_loop()
        self._reason: GuestError | None = None
        self._line = GuestSocket(conn, Bounds(), self._hear, self._hung_up)
        self._printing = GuestOutput(printed, self._printed, self._printed_too_much)
        self._calls = GuestCalls(opening.host, opening.limits, self._send, self._printing.drain, self.kill)
        self._calls.at_work = lambda: at_work(guests())
        self._invokes = Callbacks(opening.limits.wall_s, self._send, self.kill, opening.repeats)
        self._state = StateTransfer(opening.limits.wall_s, self._send_in_turn, self.kill)
        self._ended = False
        self._outer = OuterLimits()
        self._confined = self._out_of_memory = False
        child.exited.add_done_callback(lambda _: self._exited())
        try:
            beginning = opening.host.open(self._invokes, libraries)
        except BaseException:
            child.kill()  # its end closes both lines
            raise
        self.requests = RequestCalls(opening.host, self._calls, self._invokes, lambda: self.alive, bool(beginning.seed))
        if group is None and warm:
            self._unwatch = memory_watch.watch(child, opening.limits, warm, self.kill)
        if group is None:
            self._begin(beginning)
        else:
            self._joining = self._loop.create_task(self._join_group(group, beginning))

    def _guests(self) -> list[int]:
        """Its processes, where no group counts them."""
        running = self._child.running()
        return [one for pid in running for one in family(pid)] if self._limits.processes else running

    async def _join_group(self, group: Cgroup, beginning: Beginning) -> None:
        # The guest reads nothing, and so runs nothing, before it is in its group.
        try:
            group.add(await self._child.pid())
        except (SandboxDied, OSError):
            return self._child.kill()  # it has ended: whoever waits for the guest hears that
        self._begin(beginning)

    def _begin(self, beginning: Beginning) -> None:
        journaled = {"seed": beginning.seed.hex(), "at": beginning.at} if beginning.seed else None
        self._send(["b", beginning.names.tree, journaled], beginning.names.blobs)
        for names, only, after in beginning.more:
            self._send(["b", names.tree, None, only, after], names.blobs)

    def _send(self, message: list[Any], blobs: list[Any]) -> None:
        self._line.send(message, blobs)

    @property
    def alive(self) -> bool:
        return self._reason is None and not self._ended and not self._child.exited.done()

    @property
    def reason(self) -> GuestError | None:
        return self._reason

    # cells

    async def run(
        self, cell: int, code: str, on_event: OnEvent | None = None, *, at: float = 0.0, seed: bytes = b""
    ) -> Outcome:
        if self._calls.cell is not None:
            raise UsageError("a cell is running; await it before the next")
        if not self.alive:
            raise UsageError("this interpreter has ended; open another")
        running = RunningCell(cell, on_event)
        self._calls.begin(running)
        self._invokes.in_cell = True
        self._printing.begin(self._limits.output_kb << 10)
        if self._idle is not None:
            self._idle.stop()
        self._send_in_turn(["x", cell, code, at, seed.hex()], [])
        watchers = CellWatch(
            self._limits,
            self._gauge,
            self._child,
            self._group,
            self.kill,
            self._repeats,
            seen_s=self._idle.start_s if self._idle is not None else 0.0,
            threads=self._bare,
        )
        self._calls.waits = watchers.waits
        try:
            verdict, tree, blobs = await running.report
            watchers.stop()
            outcome = await self._outcome(running, verdict, tree, blobs)
            if self.alive:
                self._idle = IdleWatch(
                    await self._child.pid(), self._group, self._limits, self._gauge, self.kill, threads=self._bare
                )
            return outcome
        except asyncio.CancelledError:
            self.kill(Cancelled(f"the cell was cancelled. {exit_errors.GONE}"))
            raise
        finally:
            watchers.stop()
            self._calls.cell = None
            self._invokes.in_cell = False

    def _send_in_turn(self, message: list[Any], blobs: list[Any]) -> None:
        """Send after the names, which wait until the guest is in its group."""
        joining: asyncio.Task[None] | None = getattr(self, "_joining", None)
        if joining is None or joining.done():
            self._send(message, blobs)
        else:
            joining.add_done_callback(lambda _: self._send(message, blobs))

    async def _outcome(self, cell: RunningCell, verdict: str, tree: Any, blobs: list[Any]) -> Outcome:
        error: GuestError | None = None
        value: Any = None
        if self._reason is not None or verdict == "ended":
            await self._wait_for_exit()
        printed = self._printing.take()
        if self._reason is not None or verdict == "ended":
            error = self._end_error(printed)
        elif verdict == "value":
            packed = Packed(tree, blobs)
            try:
                value = await asyncio.to_thread(self._value, packed) if is_large(packed) else self._value(packed)
            except WireError as broken:
                self.kill(ProtocolError(f"{broken}. {exit_errors.GONE}"))
                error = self._reason
        else:
            error = exit_errors.of_report(tree, self._limits, self._outer)
            if getattr(error, "type", "") == "CallLimit" and self._calls.over_limit:
                error = CallLimit(str(error))
        return Outcome(
            cell=cell.number,
            value=value,
            stdout=printed,
            error=error or (await self._gauge.after_cell() if self.alive else None),
            calls=tuple(cell.calls),
            rung=self._rung,
            duration_s=time.monotonic() - cell.began,
        )

    def _value(self, packed: Packed) -> Any:
        tree = packed.tree
        if type_of(tree) is dict and len(tree) == 1 and "stays" in tree:
            stays = tree["stays"]
            kind, text = stays if type_of(stays) is list and len(stays) == 2 else ("?", "?")
            return GuestValue(type=str(kind)[:200], text=str(text)[:TEXT])
        try:
            return self._host.value(packed)
        except WireError:
            raise
        except Exception as refused:  # the record's class does not accept it: the value stays text
            return GuestValue(type="refused", text=named_error(refused)[:TEXT])

    async def reveal(self) -> None:
        if not self.alive:
            raise UsageError("this interpreter has ended; open another")
        await self._stack.reveal()
        self._gauge.begin_anew()

    async def save(self) -> SavedState | None:
        saved = await self._state.save()
        if self._state.gone:
            await self._wait_for_exit()
        return saved

    async def load(self, content: bytes) -> None:
        await self._state.load(content)

    # what the guest says

    def _hear(self, message: list[Any], blobs: list[Any], size: int) -> None:
        if self._reason is not None:
            return  # it is being ended: nothing more is done for it
        try:
            match message:
                case ["c", _, _, _, _, _, _, _] | ["c", _, _, _, _, _, _, _, str(), int()]:
                    self._ask(message, blobs, size)
                case ["d", int(cell), ("value" | "error") as verdict, drops, tree]:
                    self._drop(drops)
                    running = self._calls.cell
                    if running is None or running.number != cell or running.report.done():
                        raise WireError("a report of a cell that does not run")
                    running.report.set_result((verdict, tree, blobs))
                case ["r"]:
                    self._confined = True
                    self._stack.confined()
                case ["w"] if self._stack.moved():
                    pass
                case ["p" | "l", _] if self._state.answer(message, blobs):
                    pass
                case ["k", int(number)]:
                    self._calls.cancel(number)
                case ["v", int(number), (0 | 1) as fine, tree]:
                    self._invokes.answer(number, Answer(value=Packed(tree, blobs), failed=not fine))
                case _:
                    raise WireError("a message of no known kind")
        except WireError as error:
            self.kill(ProtocolError(f"the guest broke the protocol ({error}). {exit_errors.GONE}"))

    def _ask(self, message: list[Any], blobs: list[Any], size: int) -> None:
        _, number, cell, verb, target, name, drops, tree, *more = message
        if _KINDS_OF_A_CALL != tuple(map(type, message[1:7])):
            raise WireError("a message of no known kind")
        path, line = more or ("", 0)
        if len(name) > NAME or len(verb) > NAME or len(path) > NAME:
            raise WireError(f"a name of more than {NAME} characters")
        if type_of(line) is not int or not 0 <= line < LINES:
            raise WireError("a call of no line")
        if drops:
            self._drop(drops)
        call = Call(
            id=number,
            cell=cell,
            verb=verb,
            target=target,
            name=name,
            arguments=Packed(tree, blobs),
            path=path,
            line=line,
            about=self._host.about(verb, target, name, path),
        )
        self._calls.ask(call, size)

    def _drop(self, drops: Any) -> None:
        if type_of(drops) is not list:
            raise WireError("a message of no known kind")
        if len(drops) > DROPS:
            raise WireError("more drops than there can be objects")
        for drop in drops[:DROPS_AT_ONCE]:
            match drop:
                case [int(handle), int(count)] if count > 0:
                    self._host.drop(handle, count)
                case _:
                    raise WireError("an invalid drop message")
        if len(drops) > DROPS_AT_ONCE:
            self._loop.call_soon(self._drop_more, drops[DROPS_AT_ONCE:])

    def _drop_more(self, drops: list[Any]) -> None:
        if not self.alive:
            return  # another guest may have these numbers
        try:
            self._drop(drops)
        except WireError as error:
            self.kill(ProtocolError(f"the guest broke the protocol ({error}). {exit_errors.GONE}"))

    def _printed(self, text: str) -> None:
        cell = self._calls.cell
        if cell is not None and cell.on_event is not None:
            cell.tell(Printed(cell=cell.number, text=text))

    def _printed_too_much(self) -> None:
        self.kill(OutputLimit(f"the cell printed more than output_kb={self._limits.output_kb}. {exit_errors.GONE}"))

    # the end

    def kill(self, reason: GuestError) -> None:
        """End the guest now, for this reason; the first reason stands."""
        if self._reason is None and not self._ended:
            self._reason = reason
        self._child.kill()
        self._settle()

    def _hung_up(self, why: str) -> None:
        if why.startswith("protocol: "):
            self.kill(ProtocolError(f"the guest broke the protocol ({why[10:]}). {exit_errors.GONE}"))
        else:
            self._child.kill()  # closed its connection: whatever is left of it has nobody to talk to
            self._settle()

    def _exited(self) -> None:
        self._ended = True
        if self._idle is not None:
            self._idle.stop()
        if self._unwatch is not None:
            self._unwatch()
        if not self._confined:
            self._line.drain()
        self._line.close()
        self._settle()
        self._release()

    def _settle(self) -> None:
        """Cancel the guest's open calls, and wake those who wait for the guest."""
        self._calls.stop()
        self._invokes.stop()
        self._state.stop()
        cell = self._calls.cell
        if cell is not None and not cell.report.done():
            cell.report.set_result(("ended", None, []))

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
            return exit_errors.of_report({"limit": "memory", "type": "MemoryLimit"}, self._limits)
        if self._reason is None and self._child.refusal:
            raise SandboxDied(self._outer.explained(self._child.refusal))
        return self._reason or exit_errors.of_status(status, printed, self._limits, self._outer)

    async def close(self) -> None:
        """End the guest and wait until it is gone."""
        if self._reason is None:
            self._reason = Cancelled("the session was closed")
        self._settle()
        await self._wait_for_exit()
        await self._calls.stopped()
        await self._stack.stopped()

    def _release(self) -> None:
        self._loop.call_soon(self._printing.close)
        if self._group is not None:
            self._out_of_memory = self._group.out_of_memory()  # read now: nothing is left of the group afterwards
            self._group.remove()
        self.on_end(self)
