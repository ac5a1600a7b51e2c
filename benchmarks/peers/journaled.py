"""Cellwright with a journal: calls and answers are rows in SQLite; a session is brought back by running it again."""

from __future__ import annotations

import asyncio
import time
import uuid
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.journal_file import journaled
from benchmarks.peers import cells
from benchmarks.peers.contestant import directory, serve
from cellwright import Limits, Runtime, operation
from cellwright.errors import Fenced

runner = asyncio.Runner()
FILE = Path(directory()) / "journal.db"
STORE = f"sqlite:///{FILE}"
LIMITS = Limits(host_calls=10**6)


class Desk:
    """Notes when it was called. Once told to, it lets the call stand at which `cells.suspended` stops."""

    def __init__(self, *, hold: bool = False) -> None:
        self.times: list[float] = []
        self.held: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self.go_on = asyncio.Event()
        self._hold = hold

    @operation(idempotent=True)  # else the call that stands would be in doubt, and not be made again
    async def add(self, a: int, b: int) -> int:
        self.times.append(time.perf_counter())
        if self._hold and (a, b) == cells.HELD:
            self.held.set_result(self.times[-1])
            await self.go_on.wait()
        return cells.add(a, b)

    def options(self, session: str) -> dict[str, Any]:
        return {"scope": {"add": self.add}, "store": STORE, "session": session, "limits": LIMITS}


async def kept_calls(times: int) -> list[float]:
    """Seconds from each call to the next."""
    desk, before = Desk(), journaled(FILE)[0] if FILE.exists() else 0
    async with Runtime(**desk.options(uuid.uuid4().hex)) as rt:
        outcome = await rt.execute(f"total = 0\nfor _ in range({times}):\n    total = await add(total, 1)\ntotal")
    assert outcome.unwrap() == times
    assert journaled(FILE)[0] - before == times
    return [later - sooner for sooner, later in pairwise(desk.times)]


async def suspended(times: int) -> list[float]:
    """Seconds from asking for a session that stands at a host call until a fresh guest stands at the same.

    The one before is still there and does not know: taking the session over is what a resume does after a crash.
    """
    took: list[float] = []
    session, desk = uuid.uuid4().hex, Desk(hold=True)
    rt = await Runtime(**desk.options(session)).__aenter__()
    cell = asyncio.ensure_future(rt.execute(cells.suspended("await add({})")))
    await desk.held
    for _ in range(times):
        again = Desk(hold=True)
        began = time.perf_counter()
        resumed = await Runtime.resume(take_over=True, **again.options(session)).__aenter__()
        carried_on = asyncio.ensure_future(resumed.outcome())
        took.append(await again.held - began)
        assert len(again.times) == 1, "only the call that stands is made again"
        await _abandon(rt, cell)
        rt, cell, desk = resumed, carried_on, again
    desk.go_on.set()
    assert (await cell).unwrap() == cells.TOTAL
    await rt.close()
    return took


async def _abandon(rt: Runtime, cell: asyncio.Future[Any]) -> None:
    cell.cancel()
    await asyncio.gather(cell, return_exceptions=True)
    with suppress(Fenced):
        await rt.close()


async def brought_back(count: int) -> list[float]:
    """Seconds from asking for a session that has run so many cells to a fresh guest that has its names."""
    session, desk, last = uuid.uuid4().hex, Desk(), count - 1
    async with Runtime(**desk.options(session)) as rt:
        for i in range(count):
            assert (await rt.execute(cells.numbered("await add({})", i))).value == i + 1
    desk = Desk()
    began = time.perf_counter()
    async with Runtime.resume(**desk.options(session)) as rt:
        assert (await rt.execute(f"x{last}[3]")).value == last
        took = time.perf_counter() - began
    assert not desk.times
    return [took]


serve(
    "cellwright",
    {
        "kept_call": lambda times: runner.run(kept_calls(times)),
        "suspend": lambda times: runner.run(suspended(times)),
        "bring_back": lambda count: runner.run(brought_back(count)),
    },
)
