"""Offline replay: a recorded session run again with nothing behind its doors. The same, or the first difference."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from cellwright.doors import About, Answer, Beginning, Call, Guest, Host, Lineage, Made, Operation, Wrapper
from cellwright.journal.comparing import divergence, printed_otherwise
from cellwright.journal.life import Clock, Divergence, Life
from cellwright.journal.outcomes import outcome_in
from cellwright.journal.replayed import Replayed
from cellwright.journal.session import changed
from cellwright.journal.snapshots import Snapshots
from cellwright.journal.story import Story
from cellwright.journal.trees import Trees
from cellwright.journal.words import LONGEST, counted, shown
from cellwright.sandboxes import GUEST_UID, Interpreter, Limits, Opening, Sandbox, Workspace
from cellwright.store import CellRow, Store
from cellwright_guest.wire import NOTHING, Packed

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Repeated:
    """What came of running a session again: how much was run, and the first difference, if there is one."""

    session: str
    cells: int
    calls: int
    difference: Divergence | None = None
    changed: tuple[str, ...] = ()  # what the session was recorded with and does not find here

    @property
    def same(self) -> bool:
        return self.difference is None

    def __str__(self) -> str:
        if self.difference is not None:
            because = f" ({'; '.join(self.changed)})" if self.changed else ""
            return f"different: {self.difference}{because}"
        return f"same: {counted(self.cells, 'cell')}, {counted(self.calls, 'call')}"


class Nothing(Wrapper):
    """A host with nothing behind it: whatever the journal does not answer is a difference."""

    def __init__(self, inner: Host, life: Life, story: Story) -> None:
        super().__init__(inner)
        self._life = life
        self._owners = {m.number: _owner(m, bound=m.number in story.beginnings) for m in story.known()}

    def open(self, guest: Guest, libraries: frozenset[str], lineage: Lineage | None = None) -> Beginning:
        return Beginning(names=NOTHING)

    def about(self, call: Call) -> About:
        row = self._life.host_rows.get(call.path)
        if row is not None:
            return About(title=row.title, operation=Operation(reads=row.reads))
        owner = self._owners.get(call.target, "")
        title = ".".join(filter(None, (owner, call.name))) or call.verb
        return About(title=title[:LONGEST], operation=Operation())

    async def call(self, call: Call) -> Answer:
        row = self._life.host_rows.get(call.path)
        if row is None:
            asked = shown(self.about(call).title, call)
            self._life.diverge(Divergence(cell=call.cell, line=call.line, recorded="no call there", asked=asked))
        return await asyncio.get_running_loop().create_future()  # under way then, and never answered

    def value(self, packed: Packed) -> object:
        return None  # compared as it came: there is nothing behind its handles

    def drop(self, handle: int, count: int) -> None:
        return None


def _owner(made: Made, *, bound: bool) -> str:
    return made.path if bound else f"{made.kind.rpartition(':')[2].rpartition('.')[2]}#{made.number}"


async def repeat(
    journal: Store,
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
    strict = {c.number: frozenset(c.pending) for c in cells}
    life = Life(None, Clock(), recorded=rows, strict=strict, left=story.left_of(cells))
    later = story.later_names()
    began = Beginning(names=story.first.names, at=story.first.created, seed=story.first.seed, more=tuple(later))
    doors = Replayed(Nothing(empty, life, story), life, lambda _: began)
    workspace = await asyncio.to_thread(Workspace.create, None, GUEST_UID)
    trees = Trees(journal, session, limits)
    life.restore = Snapshots(trees, workspace).restore
    try:
        opening = Opening(host=doors, limits=limits or Limits(), workspace=workspace)
        interpreter = await sandbox.open(opening)
        repeating = _Repeating(story, life, interpreter, opening, trees)
        try:
            found = await repeating.run(cells, on_cell)
            return replace(found, changed=changed(story.facts.pins, await sandbox.pins()))
        finally:
            await interpreter.close()
    finally:
        await asyncio.to_thread(workspace.remove)


class _Repeating:
    """The cells of a session, one after the other."""

    def __init__(self, story: Story, life: Life, interpreter: Interpreter, opening: Opening, trees: Trees) -> None:
        self._story = story
        self._life = life
        self._interpreter = interpreter
        self._opening = opening
        self._trees = trees

    async def run(self, cells: Sequence[CellRow], on_cell: Callable[[CellRow], None] | None) -> Repeated:
        session, calls = self._story.facts.id, 0
        ends = [float(row.before) for row in cells[1:]] + [math.inf]
        for done, (row, upto) in enumerate(zip(cells, ends, strict=False)):
            if on_cell is not None:
                on_cell(row)
            await asyncio.to_thread(self._trees.restore, row.tree, self._opening.workspace)
            found = await self._cell(row, upto)
            calls += len(self._story.rows_of([row]))
            if found is not None:
                return Repeated(session=session, cells=done, calls=calls, difference=found)
        return Repeated(session=session, cells=len(cells), calls=calls)

    async def _cell(self, row: CellRow, upto: float) -> Divergence | None:
        life = self._life
        life.value = None
        life.begin(row)
        outcome = await self._until_different(outcome_in(self._interpreter, row, self._story.seed_of(row)))
        life.end(upto)
        await self._until_different(life.told(self._opening.limits.wall_s))
        if life.diverged.done() or outcome is None:
            return life.diverged.result()
        return divergence(row, outcome, life, self._story.rows_of([row]), upto) or printed_otherwise(row, outcome)

    async def _until_different(self, run: Coroutine[Any, Any, T]) -> T | None:
        task = asyncio.ensure_future(run)
        await asyncio.wait({task, self._life.diverged}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        return None if self._life.diverged.done() else task.result()
