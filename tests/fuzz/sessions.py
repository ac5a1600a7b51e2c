"""A session of the real host with nobody in it: frames go in as if a guest had sent them."""

from __future__ import annotations

import asyncio
import enum
import os
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from cellwright import Limits, Outcome, Scope
from cellwright.doors import Call, Host, Made
from cellwright.errors import CellwrightError, Crashed
from cellwright.journal import History, SessionJournal, Trees
from cellwright.journal.live_guest import GuestDoors, guest_doors
from cellwright.journal.session_journal import with_rows
from cellwright.journal.snapshots import Snapshots
from cellwright.sandboxes.base import Opening
from cellwright.sandboxes.interpreter import ProcessInterpreter
from cellwright.sandboxes.workspace import Workspace
from cellwright.sandboxes.zygotes import Child
from cellwright.scope import ScopeHost
from cellwright.store import CellRow, MemoryStore
from cellwright_guest.framing import FrameReader, frame, parse
from cellwright_guest.wire import Bounds, Packed, WireError

KILLED = 9
LIMITS = Limits(wall_s=3600, cpu_s=36000, host_calls=10_000)


@dataclass
class Note:
    title: str
    rows: list[list[str]]
    stars: int = 0


class Colour(enum.Enum):
    RED = "red"


class Shop:
    """Has one of everything."""

    def __init__(self) -> None:
        self.name = "shop"
        self.api_key = self._secret = "SECRET"

    def echo(self, *args: Any, **kwargs: Any) -> Any:
        return [args, kwargs]

    def call(self, f: Callable[..., Any], *args: Any) -> Any:
        return f(*args)

    async def later(self, seconds: Any) -> Any:
        await asyncio.sleep(0)
        return seconds

    def note(self, note: Note) -> Note:
        return note

    def notes(self, notes: list[Note], more: bool = False) -> list[Note]:
        return notes

    def paint(self, colour: Colour) -> Colour:
        return colour

    def each(self, count: int) -> Iterator[int]:
        yield from range(count)

    def pay(self, amount: Any) -> Any:
        return amount

    def fail(self, text: str) -> None:
        raise LookupError(text, self)

    def hidden(self) -> str:
        return self._secret

    def __len__(self) -> int:
        return 3

    def __getitem__(self, i: Any) -> Any:
        numbers: Any = [1, 2, 3]
        return numbers[i]

    def __add__(self, other: int) -> int:
        return 3 + other


def _unpaid(amount: Any) -> None:
    return None


def scope() -> Scope:
    made = Scope({"shop": Shop(), "double": lambda x: x * 2, "Note": Note, "Colour": Colour})  # pyright: ignore[reportUnknownLambdaType]
    made.declare("shop.*", hide=["hidden"])
    made.declare("shop.pay", undo=_unpaid)
    made.declare("shop.echo", reads=True)
    made.declare("shop.later", idempotent=True)
    return made


class Sink:
    """In the place of a line: what the host says must be a frame, and goes nowhere."""

    def __init__(self) -> None:
        self.said: list[bytes] = []

    def send(self, message: list[Any], blobs: list[Any]) -> None:
        self.said.append(b"".join(frame(message, blobs)))
        del self.said[:-100]

    def drain(self) -> None:
        return None

    def close(self) -> None:
        return None


class Session:
    """One interpreter after another, each until a frame ends it."""

    def __init__(self, workspace: Workspace) -> None:
        self.host = ScopeHost(scope())
        self.ended = 0
        self.heard = 0
        self.sink = Sink()
        self._workspace = workspace
        self._reader = FrameReader(Bounds())
        self._open()

    def _open(self) -> None:
        self._conn, self._peer = socket.socketpair()
        printed, self._out = os.pipe()
        child: Child = Child(1, lambda _: child.tell({"exit": KILLED}), lambda _: child.tell({"revealed": ""}))
        child.tell({"pid": os.getpid()})
        opening = Opening(host=self._doors(), limits=LIMITS, workspace=self._workspace)
        libraries = frozenset(("numpy",))
        self.interpreter: Any = ProcessInterpreter(child, self._conn, printed, opening, libraries, None, "process")
        self.interpreter._line.close()
        self.interpreter._line = self.sink
        self._child = child
        self._reader = FrameReader(Bounds())
        self.run: asyncio.Task[Outcome] = asyncio.create_task(self.interpreter.run(1, "a cell that nobody runs"))

    def _doors(self) -> Host:
        return self.host

    async def feed(self, data: bytes, piece: int) -> None:
        """Bytes of a guest, in pieces, as `Line` takes them."""
        if self.interpreter._calls.cell is None:
            await asyncio.sleep(0)  # the cell begins
        try:
            for at in range(0, len(data), piece):
                for header, blobs in self._reader.feed(data[at : at + piece]):
                    self.interpreter._hear(*parse(header, blobs, Bounds()), len(data))
                    self.heard += 1
        except WireError as error:
            self.interpreter._hung_up(f"protocol: {error}")
        await asyncio.sleep(0)
        if self.run.done() or not self.interpreter.alive or len(self.interpreter._calls.under_way) > 40:
            await self.reopen()

    async def settle(self) -> None:
        """Until every call is answered, save those that wait for a guest function."""
        tasks = self.interpreter._calls.under_way
        if tasks:
            await asyncio.wait(tasks, timeout=0.02)

    async def reopen(self) -> None:
        reason = self.interpreter.reason
        assert reason is None or isinstance(reason, CellwrightError), reason
        assert not isinstance(reason, Crashed), f"the host failed: {reason}"
        await asyncio.wait_for(self.interpreter.close(), 10)
        outcome = await asyncio.wait_for(self.run, 10)
        assert "SECRET" not in repr(outcome)
        assert not any(b"SECRET" in said for said in self.sink.said)
        self._peer.close()
        os.close(self._out)
        self.ended += 1
        self._open()
        await asyncio.sleep(0)  # the cell begins

    async def close(self) -> None:
        await self.reopen()
        await self.interpreter.close()
        await asyncio.wait_for(self.run, 10)
        self._peer.close()
        os.close(self._out)
        self.host.close()


class JournaledSession(Session):
    """The same under a journal, which is read after each interpreter; some of them are then run again."""

    AGAIN = 4  # of so many interpreters one is run again, with the frames that the first was sent

    def __init__(self, workspace: Workspace) -> None:
        self.journal = MemoryStore()
        self.repeated = self._fresh = 0
        self._frames: list[tuple[bytes, int]] = []
        self._again: History | None = None
        self._again_of: History | None = None  # what the interpreter that is open now repeats
        self._kept: SessionJournal | None = None
        super().__init__(workspace)

    def _doors(self) -> Host:
        if self._again is not None and self._kept is not None:
            history, self._again = self._again, None
            doors = guest_doors(self._kept, self.host, self._snapshots, history=history, cells=history.cells)
        else:
            self._kept = SessionJournal(self.journal, f"s{self.ended}", pins={})
            self._snapshots = Snapshots(Trees(self.journal, self._kept.id), self._workspace)
            doors = guest_doors(self._kept, self.host, self._snapshots)
        self._guest: GuestDoors = doors
        return doors.host

    def _open(self) -> None:
        again = self._again
        super()._open()
        assert self._kept is not None
        replay = self._guest.replay
        replay.begin(self._first_cell(self._kept) if again is None else again.cells[-1])
        self._frames = []

    def _first_cell(self, kept: SessionJournal) -> CellRow:
        assert kept.facts is not None
        kept.writer.hold(self.journal.create(kept.facts))
        try:
            kept.begin("a cell that nobody runs", self._guest.replay.delivered).send(None)
        except StopIteration as done:
            return done.value
        raise AssertionError("a store in memory is written at once")

    async def feed(self, data: bytes, piece: int) -> None:
        self._frames.append((data, piece))
        await super().feed(data, piece)

    async def reopen(self) -> None:
        assert self._kept is not None
        kept, frames = self._kept, self._frames
        history = await kept.history(read=with_rows)  # what was written can be read
        self._fresh += self._again_of is None
        repeats = self._again_of is None and self._fresh % self.AGAIN == 0
        assert all(row.cell <= 1 for row in history.rows), [row for row in history.rows if row.cell > 1]
        assert history.later_names() == []
        self._again = self._again_of = history if repeats else None
        await super().reopen()
        if not repeats:
            self.journal.forget(kept.id)
            return
        self.repeated += 1
        for data, piece in frames:
            if self._kept is not kept:
                return  # it has ended, as it did then or otherwise
            await self.feed(data, piece)
        await self.reopen()


class Bystander:
    """Another session's host, which must answer all the while."""

    def __init__(self) -> None:
        self._host = ScopeHost(scope())
        self._host.open(_Nobody(), frozenset())
        self._number = 0

    async def asks(self) -> None:
        self._number += 1
        tree = {"t": [self._number]}
        call = Call(id=self._number, cell=1, verb="call", target=1, name="echo", arguments=Packed(tree, []))
        answer = await asyncio.wait_for(self._host.call(call), 10)
        assert not answer.failed
        assert answer.value.tree == [{"t": [self._number]}, {"m": {}}]

    def close(self) -> None:
        self._host.close()


class _Nobody:
    def invoke(
        self,
        lent: int,
        parent: int,
        arguments: Packed,
        path: str = "",
        at: float = 0.0,
        made: tuple[Made, ...] = (),
    ) -> Any:
        raise AssertionError("nothing was lent")

    def give_back(self, lent: int, count: int) -> None:
        return None
