"""The interpreters of a gateway's clients: one for each, opened on first use, closed when it was idle for too long.

It knows the keys of clients, and not how they are made.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from cellwright.errors import PlatformError, UsageError
from cellwright.events import ApprovalWanted
from cellwright.gateway.cell_answers import CellAnswer, CutOutputs, cell_answer
from cellwright.gateway.client_cells import ClientCell
from cellwright.guard import FlowGuard
from cellwright.runtime import Runtime
from cellwright.sandboxes import Outcome

Make = Callable[["ClientSession"], Runtime]
WAITING = 100  # cells of one client that run or wait for their turn


@dataclass(frozen=True, kw_only=True, slots=True)
class Client:
    """Who calls. `owner`: a client that may have several interpreters, None if it is not known; `user`: its name."""

    owner: Hashable = None
    user: str = ""


@dataclass(kw_only=True, eq=False)
class ClientSession:
    """One client's interpreter. Its cells run one after another."""

    outputs: CutOutputs
    client: Client = field(default_factory=lambda: Client())
    runtime: Runtime | None = None
    closed: bool = False
    used: float = field(default_factory=time.monotonic)
    waiting: int = 0  # cells that run or wait for their turn
    cells: int = 0
    current: ClientCell | None = None
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def approve(self, wanted: ApprovalWanted) -> bool | str:
        return "the cell has ended" if self.current is None else await self.current.approve(wanted)

    async def open(self, make: Make) -> Runtime:
        """The interpreter. The caller holds `turn`."""
        if self.runtime is None and not self.closed:
            self.runtime = await make(self).__aenter__()
        if self.runtime is None or self.closed:
            raise UsageError("the session was closed")
        return self.runtime

    async def close(self) -> None:
        self.closed = True
        if self.current is not None:
            await self.current.end()
        async with self.turn:  # cells that wait for it, or open it, see that it is closed
            runtime, self.runtime = self.runtime, None
            if runtime is not None:
                await runtime.close()


class ClientSessions:
    """At most `most` sessions are open, and of one owner at most half of these.

    A new session closes an idle one if there is no room: of the owner with the most sessions, the one idle longest.
    """

    def __init__(self, make: Make, *, most: int, idle_s: float, limit: int) -> None:
        self._make = make
        self._most = most
        self._idle_s = idle_s
        self._limit = limit
        self._live: dict[Hashable, ClientSession] = {}
        self._reached: dict[Hashable, set[tuple[str, str]]] = {}  # labels that reached an owner, with their sources
        self._closing: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False

    def __len__(self) -> int:
        return len(self._live)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._live

    async def run(
        self, key: Hashable, code: str, cell: ClientCell, client: Client | None = None
    ) -> tuple[int, Outcome]:
        """Run a cell in a client's interpreter; returns its number there and its outcome."""
        live = self._find(key, client or Client())
        if live.waiting >= WAITING:
            raise UsageError(f"{WAITING} calls of execute run or wait in this session; wait until some are done")
        live.waiting += 1
        try:
            async with live.turn:
                runtime = await live.open(self._make)
                live.current = cell
                live.cells += 1
                try:
                    self._share_labels(live.client, runtime.flow)
                    return live.cells, await runtime.execute(code, on_event=cell.hear)
                finally:
                    live.current = None
                    self._share_labels(live.client, runtime.flow)
        finally:
            live.waiting -= 1
            live.used = time.monotonic()
            if self._timer is None and not self._closed:
                self._timer = asyncio.get_running_loop().call_later(self._idle_s, self._look)

    def _share_labels(self, client: Client, flow: FlowGuard) -> None:
        """One model reads what all interpreters of a client show, also those that were closed. Who has no token is one
        client here: a model may name another session, or connect anew.
        """
        reached, known = flow.state.reached_from, self._reached.setdefault(client.owner, set())
        for label, source in sorted(known - reached):
            flow.reach(label, source)
        known |= reached

    def running(self) -> list[ClientCell]:
        """The cells that are running now."""
        return [live.current for live in self._live.values() if live.current is not None]

    def told(self, key: Hashable, number: int, outcome: Outcome) -> CellAnswer:
        live = self._live.get(key)
        if live is None:
            return cell_answer(number, outcome, CutOutputs(self._limit))
        mark = "" if live.runtime is None else live.runtime.flow.state.mark
        return cell_answer(number, outcome, live.outputs, mark)

    async def warm(self, key: Hashable) -> None:
        """Open a client's interpreter before its first cell."""
        live = self._find(key, Client())
        async with live.turn:
            await live.open(self._make)

    async def drop(self, key: Hashable) -> None:
        """Close the session of a client that has left."""
        live = self._live.pop(key, None)
        if live is not None:
            await live.close()

    async def close(self) -> None:
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        await asyncio.gather(*(self.drop(key) for key in list(self._live)), *self._closing)

    def _find(self, key: Hashable, client: Client) -> ClientSession:
        if self._closed:
            raise UsageError("this gateway is closed")
        live = self._live.get(key)
        if live is None:
            self._make_room(client.owner)
            live = self._live[key] = ClientSession(outputs=CutOutputs(self._limit), client=client)
        live.used = time.monotonic()
        return live

    def _make_room(self, owner: Hashable) -> None:
        counts = Counter(live.client.owner for live in self._live.values() if live.client.owner is not None)
        share = (self._most + 1) // 2
        full = owner is not None and counts[owner] >= share
        if not full and len(self._live) < self._most:
            return
        idle = [
            (-counts[live.client.owner], live.used, number, key)
            for number, (key, live) in enumerate(self._live.items())
            if not live.waiting and (not full or live.client.owner == owner)
        ]
        if not idle:
            busy = f"all {share} sessions that one client may have" if full else f"all {self._most} sessions"
            raise PlatformError(f"{busy} are busy; try again later, or raise --sessions")
        self._forget(min(idle)[3])

    def _forget(self, key: Hashable) -> None:
        live = self._live.pop(key)
        closing = asyncio.ensure_future(live.close())
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    def _look(self) -> None:
        """Close the sessions that were idle for too long, and look again when the next one may be."""
        self._timer = None
        now = time.monotonic()
        for key, live in list(self._live.items()):
            if not live.waiting and now - live.used >= self._idle_s:
                self._forget(key)
        if self._live and not self._closed:
            oldest = min(live.used for live in self._live.values())
            delay = max(oldest + self._idle_s - now, self._idle_s / 10)
            self._timer = asyncio.get_running_loop().call_later(delay, self._look)
