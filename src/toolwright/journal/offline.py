"""Offline replay: a recorded session run again with nothing behind its doors. The same, or the first difference."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from toolwright.doors import About, Answer, Beginning, Call, Guest, Host, Lineage, Operation, Wrapper
from toolwright.journal.comparing import divergence, printed_otherwise
from toolwright.journal.life import Clock, Divergence, Life
from toolwright.journal.replayed import Replayed
from toolwright.journal.rows import CellRow, Journal
from toolwright.journal.story import Story
from toolwright.journal.trees import Trees
from toolwright.journal.words import shown
from toolwright.sandboxes import GUEST_UID, Interpreter, Limits, Opening, Sandbox, Workspace
from toolwright_guest.wire import NOTHING


@dataclass(frozen=True, kw_only=True, slots=True)
class Repeated:
    """What came of running a session again: how much was run, and the first difference, if there is one."""

    session: str
    cells: int
    calls: int
    difference: Divergence | None = None

    @property
    def same(self) -> bool:
        return self.difference is None

    def __str__(self) -> str:
        if self.difference is not None:
            return f"different: {self.difference}"
        return f"same: {self.cells} cells, {self.calls} calls"


class Nothing(Wrapper):
    """A host with nothing behind it: whatever the journal does not answer is a difference."""

    def __init__(self, inner: Host, life: Life) -> None:
        super().__init__(inner)
        self._life = life

    def open(self, guest: Guest, libraries: frozenset[str], lineage: Lineage | None = None) -> Beginning:
        return Beginning(names=NOTHING)

    def about(self, call: Call) -> About:
        row = self._life.host_rows.get(call.path)
        if row is not None:
            return About(title=row.title, operation=Operation(reads=row.reads))
        return About(title=call.name or call.verb, operation=Operation())

    async def call(self, call: Call) -> Answer:
        row = self._life.host_rows.get(call.path)
        if row is None:
            asked = shown(self.about(call).title, call)
            self._life.diverge(Divergence(cell=call.cell, line=call.line, recorded="no call there", asked=asked))
        return await asyncio.get_running_loop().create_future()  # under way then, and never answered

    def drop(self, handle: int, count: int) -> None:
        return None


async def repeat(
    journal: Journal,
    session: str,
    sandbox: Sandbox,
    empty: Host,
    limits: Limits | None = None,
    on_cell: Callable[[CellRow], None] | None = None,
) -> Repeated:
    """Run a recorded session again. `empty` is a host without names; `on_cell` hears of each cell before it runs."""
    story = Story(journal, session)
    cells = story.state
    rows = story.rows_of(cells)
    life = Life(None, Clock(), recorded=rows, strict={c.number: frozenset(c.pending) for c in cells})
    later = [(packed, only) for packed, only in story.names()[1:]]
    began = Beginning(names=story.first.names, at=story.first.created, seed=story.first.seed, more=tuple(later))
    doors = Replayed(Nothing(empty, life), life, lambda _: began)
    workspace = await asyncio.to_thread(Workspace.create, None, GUEST_UID)
    try:
        if cells:
            await asyncio.to_thread(Trees(journal, session).restore, cells[0].tree, workspace)
        interpreter = await sandbox.open(Opening(host=doors, limits=limits or Limits(), workspace=workspace))
        try:
            return await _run(interpreter, story, cells, life, on_cell)
        finally:
            await interpreter.close()
    finally:
        await asyncio.to_thread(workspace.remove)


async def _run(
    interpreter: Interpreter,
    story: Story,
    cells: list[CellRow],
    life: Life,
    on_cell: Callable[[CellRow], None] | None,
) -> Repeated:
    calls = 0
    for done, row in enumerate(cells):
        if on_cell is not None:
            on_cell(row)
        rows = story.rows_of([row])
        life.value = None
        task = asyncio.ensure_future(interpreter.run(row.number, row.code, at=row.at, seed=story.seed_of(row)))
        await asyncio.wait({task, life.diverged}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        if life.diverged.done():
            found: Divergence | None = life.diverged.result()
        else:
            found = divergence(row, task.result(), life, rows) or printed_otherwise(row, task.result())
        calls += len(rows)
        if found is not None:
            return Repeated(session=story.facts.id, cells=done, calls=calls, difference=found)
    return Repeated(session=story.facts.id, cells=len(cells), calls=calls)
