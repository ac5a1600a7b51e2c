"""`repeat`: a recorded session run again with nothing behind its doors. The same, or the first difference."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from cellwright.doors import About, Answer, Beginning, Call, GuestDoor, Host, Lineage, Made, Operation, Wrapper
from cellwright.journal.call_text import LONGEST, call_line
from cellwright.journal.divergence import Divergence, divergence_of, printed_otherwise
from cellwright.journal.guest_clock import GuestClock
from cellwright.journal.history import History
from cellwright.journal.old_files import not_repeated
from cellwright.journal.outcomes import cell_in_memory, outcome_in
from cellwright.journal.replay import Replay
from cellwright.journal.replay_deaths import GUESTS, GuestDied, replay_s, require_survived, until_told
from cellwright.journal.replayed import Replayed
from cellwright.journal.session_journal import changed_pins, with_rows
from cellwright.journal.snapshots import Snapshots
from cellwright.journal.trees import NotKept, Trees
from cellwright.journal.writer import DryWriter
from cellwright.sandboxes import GUEST_UID, Interpreter, Limits, Opening, Sandbox, Workspace, remove_leftovers
from cellwright.short_texts import counted, printable
from cellwright.store import CellRow, Row, Store, off_loop
from cellwright_guest.wire import NOTHING, Packed

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Repeated:
    """What came of running a session again: how much was run, and the first difference, if there is one.

    With `died` its guests ended, or met a limit, before that was known: the cell, and why.
    """

    session: str
    cells: int
    calls: int
    difference: Divergence | None = None
    changed: tuple[str, ...] = ()  # what the session was recorded with and does not find here
    died: str = ""

    @property
    def same(self) -> bool:
        return self.difference is None and not self.died

    def __str__(self) -> str:
        if self.died:
            return f"died: {self.died}"
        if self.difference is not None:
            because = f" ({'; '.join(self.changed)})" if self.changed else ""
            return f"different: {self.difference}{because}"
        return f"same: {counted(self.cells, 'cell')}, {counted(self.calls, 'call')}"


class _EmptyHost(Wrapper):
    """A host with nothing behind it: whatever the journal does not answer is a difference."""

    def __init__(self, inner: Host, replay: Replay, history: History) -> None:
        super().__init__(inner)
        self._replay = replay
        self._owners = {m.number: _owner(m, bound=m.number in history.beginnings) for m in history.known()}

    def open(self, guest: GuestDoor, libraries: frozenset[str], lineage: Lineage | None = None) -> Beginning:
        return Beginning(names=NOTHING)

    def about(self, verb: str, target: int, name: str, path: str = "") -> About:
        row = self._replay.host_rows.get(path)
        if row is not None:
            return About(title=row.title, operation=Operation(reads=row.reads))
        title = ".".join(filter(None, (self._owners.get(target, ""), name))) or verb
        return About(title=title[:LONGEST], operation=Operation())

    async def call(self, call: Call) -> Answer:
        row = self._replay.host_rows.get(call.path)
        if row is None:
            asked = call_line(call.about.title, call)
            self._replay.diverge(Divergence(cell=call.cell, line=call.line, recorded="no call there", asked=asked))
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
    """Run a recorded session again. `empty` is a host without names; `on_cell` hears of each cell before it runs.

    In a fresh guest where one dies, a few times.
    """
    for left in reversed(range(GUESTS)):
        try:
            return await _repeat(journal, session, sandbox, empty, limits, on_cell)
        except GuestDied as death:
            if not left:
                return Repeated(session=session, cells=0, calls=0, died=f"cell {death.cell}: {printable(death.why)}")
    raise AssertionError("unreachable")


async def _repeat(
    journal: Store,
    session: str,
    sandbox: Sandbox,
    empty: Host,
    limits: Limits | None,
    on_cell: Callable[[CellRow], None] | None,
) -> Repeated:
    history = await off_loop(journal, lambda: with_rows(History(journal, session)))
    cells, rows = history.state, history.rows_of(history.state)
    asyncio.get_running_loop().run_in_executor(None, remove_leftovers)
    workspace = await asyncio.to_thread(Workspace.create, None, GUEST_UID)
    trees = Trees(journal, session, limits)
    snapshots = Snapshots(trees, workspace)

    def invoke_again(row: Row) -> None:
        doors.invoke_again(row)

    replay = Replay(
        DryWriter(journal),
        GuestClock(),
        restore=snapshots.restore,
        adopted=lambda row: None,
        invoke_again=invoke_again,
        recorded=rows,
        strict={c.number: frozenset(c.pending) for c in cells},
        left=history.left_of(cells),
    )
    first, more = history.first, tuple(history.later_names())
    began = Beginning(names=first.names, at=first.created, seed=first.seed, more=more)
    doors = Replayed(_EmptyHost(empty, replay, history), replay, lambda _: began)
    try:
        opening = Opening(host=doors, limits=limits or Limits(), workspace=workspace, repeats=replay.repeats)
        interpreter = await sandbox.open(opening)
        try:
            calls, ends = 0, [*(float(row.before) for row in cells[1:]), math.inf]
            for done, (row, upto) in enumerate(zip(cells, ends, strict=False)):
                if on_cell is not None:
                    on_cell(row)
                try:
                    await asyncio.to_thread(trees.restore, row.tree, workspace)
                except NotKept:
                    raise not_repeated(session, row.number) from None
                difference = await _difference(interpreter, replay, row, history, upto, opening.limits.wall_s)
                calls += len(history.rows_of([row]))
                if difference is not None:
                    changed = changed_pins(history.facts.pins, await sandbox.pins())
                    return Repeated(session=session, cells=done, calls=calls, difference=difference, changed=changed)
            changed = changed_pins(history.facts.pins, await sandbox.pins())
            return Repeated(session=session, cells=len(cells), calls=calls, changed=changed)
        finally:
            await interpreter.close()
    finally:
        snapshots.close()
        await asyncio.to_thread(workspace.remove)


async def _difference(
    interpreter: Interpreter, replay: Replay, row: CellRow, history: History, upto: float, patience_s: float
) -> Divergence | None:
    """Run a cell again, and what came between it and the next; gives the first difference from its row."""
    repeat_s = replay_s(patience_s, row.duration_s)
    replay.value = None
    replay.begin(row)
    try:
        async with asyncio.timeout(repeat_s):
            outcome = await _until_different(replay, outcome_in(interpreter, row, history.seed_of(row)))
    except TimeoutError:
        raise GuestDied(row.number, f"the cell took longer than {repeat_s:g} s") from None
    if outcome is not None:
        require_survived(row, outcome, alive=interpreter.alive)
    replay.end(upto)
    await _until_different(replay, until_told(replay, interpreter, row.number, repeat_s))
    if replay.diverged.done() or outcome is None:
        return replay.diverged.result()
    row = await cell_in_memory(row)
    difference = divergence_of(row, outcome, replay.value, replay.asked, history.rows_of([row]), upto)
    return difference or printed_otherwise(row, outcome)


async def _until_different(replay: Replay, run: Coroutine[Any, Any, T]) -> T | None:
    task = asyncio.ensure_future(run)
    try:
        await asyncio.wait({task, replay.diverged, replay.writer.broken}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        if not task.done():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    if replay.writer.failed is not None:
        raise replay.writer.failed
    return None if replay.diverged.done() else task.result()
