"""Rolling a session back to an earlier cell: which cells go with it, what can be undone, and the order of things.

First everything that cannot be undone is listed, and nothing is done without a yes to it. Then calls are undone, the
last first; then the files are put back; then the cells are marked. Where it stops in between, doing it again goes on.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from cellwright.errors import RollbackFailed, RollbackRefused, UsageError
from cellwright.journal.effects import Left, Undoer, Undone, mark_of
from cellwright.journal.snapshots import Snapshots
from cellwright.journal.story import ROLLBACK, Story
from cellwright.journal.trees import FileChange
from cellwright.journal.words import counted
from cellwright.journal.writer import Writer
from cellwright.store import CellRow, Note, Row

REWIND = "rewind"  # before the cell in the name of such a row, where nothing outside is undone


@dataclass(frozen=True, kw_only=True, slots=True)
class RolledBack:
    """What a rollback did. `left` could not be undone, and stays as it is."""

    cells: tuple[int, ...] = ()
    undone: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    files: tuple[FileChange, ...] = ()

    def __str__(self) -> str:
        cells, calls, files = len(self.cells), len(self.undone), len(self.files)
        count = f"{counted(cells, 'cell')} rolled back, {counted(calls, 'call')} undone, "
        count += f"{counted(files, 'file')} restored"
        return "\n".join([count, *(f"not undone: {one}" for one in self.left)])


class Rollback:
    """One of them. `reached` is the number of the last answer that the guest got."""

    def __init__(self, story: Story, to: int, undoer: Undoer, snapshots: Snapshots, writer: Writer) -> None:
        _check(story, to)
        self._story = story
        self._to = to
        self._undoer = undoer
        self._snapshots = snapshots
        self._writer = writer
        rows = undoer.rows(to + 1)
        self._effects = undoer.effects(rows, lambda row: row.cell > to)
        touched = {effect.row.cell for effect in self._effects}
        self.cells = [c for c in story.cells if c.number > to and (not c.undone or c.number in touched)]

    async def run(self, *, yes: bool, end_guest: Callable[[], Awaitable[None]], reached: int) -> RolledBack:
        """Do it. `end_guest` is called when all is undone and the files are next."""
        async with self._undoer.alone:
            plan = await self._undoer.plan(self._effects)
            if plan.left and not yes:
                raise RollbackRefused(_refusal(self._to, plan.left), left=tuple(map(str, plan.left)))
            self._mark("started")
            found = await self._undoer.carry_out(plan)
            if found.failed:
                raise _failure(self._to, found) from found.error
            await end_guest()
            now, then = await self._snapshots.take(), self.cells[0].tree
            await self._snapshots.restore(then)
            given_up = [mark_of(left.effect.row, "cancelled") for left in plan.left]
            self._mark("done", *given_up, cells=self._undone(reached))
        return RolledBack(
            cells=tuple(c.number for c in self.cells),
            undone=tuple(map(str, found.undone)),
            left=tuple(map(str, found.left)),
            files=await self._snapshots.difference(now, then) if then else (),
        )

    def _mark(self, status: str, *rows: Row, cells: Sequence[CellRow] = ()) -> None:
        mark = Row(
            cell=self.cells[0].number,
            path=ROLLBACK,
            door="undo",
            title=ROLLBACK,
            verb=ROLLBACK,
            name=str(self._to),
            status="done" if status == "done" else "started",
        )
        self._writer.now(*rows, *cells, mark, *([self._note()] if status == "done" else []))

    def _note(self) -> Note:
        return Note(kind="rewound", about=str(self._to), text=str(self._story.entry_of(self._to)), at=time.time())

    def _undone(self, reached: int) -> list[CellRow]:
        """What was told to the guest up to the next cell goes with the cell: no guest of this state was told it."""
        begins = {c.number: c.before for c in self._story.cells}
        found: list[CellRow] = []
        for cell in self.cells:
            later = [before for number, before in begins.items() if number > cell.number]
            status = "ended" if cell.status == "running" else cell.status
            found.append(replace(cell, undone=True, status=status, after=min(later, default=reached)))
        return found


def unfinished(story: Story) -> str:
    """What to say of a rollback that was not carried to its end; "" where there is none."""
    to = rollback_under_way(story)
    what = REWIND if to.startswith(REWIND) else ROLLBACK
    to = to.removeprefix(REWIND).strip()
    return f"a {what} to cell {to} was not finished; call {what}(to={to}) again" if to else ""


def rollback_under_way(story: Story) -> str:
    """The cell that a rollback leads to which was not carried to its end; "" for none."""
    rows = [r for r in story.rows if r.door == "undo" and r.verb == ROLLBACK]
    if rows:
        return rows[-1].name if rows[-1].status == "started" else ""
    return story.start.rollback if story.start is not None else ""


def _check(story: Story, to: int) -> None:
    begins = story.facts.parent_cell
    if to < begins:
        raise UsageError(
            f"rollback(to={to}): session {story.facts.id!r} is a fork that begins after cell {begins} of "
            f"{story.facts.parent!r}, and what that did is not its to undo; give {begins} or more"
        )
    cell = next((c for c in story.cells if c.number == to), None)
    if to != begins and cell is None:
        raise UsageError(f"rollback(to={to}): session {story.facts.id!r} has no cell {to}")
    if to != begins and cell is not None and cell.undone:
        raise UsageError(f"rollback(to={to}): cell {to} was rolled back itself; give an earlier one")


def _refusal(to: int, left: Sequence[Left]) -> str:
    lines = "\n".join(f"  {one}" for one in left)
    return f"rolling back to cell {to} cannot undo this; nothing was done. Say yes=True to undo the rest:\n{lines}"


def _failure(to: int, found: Undone) -> RollbackFailed:
    text = (
        f"rolling back to cell {to} stopped at an undo that failed; files and names are as they were. What is undone "
        f"is not undone again when you call rollback(to={to}) once more.\n{found.text()}"
    )
    undone, rest = tuple(map(str, found.undone)), tuple(map(str, found.not_tried))
    return RollbackFailed(text, undone=undone, failed=f"{found.failed} ({found.why})", not_tried=rest)
