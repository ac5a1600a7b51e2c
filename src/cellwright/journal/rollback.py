"""Going back to an earlier cell: `Rollback` undoes what the cells after it did, `Rewind` leaves that done.

A rollback first lists everything that cannot be undone, and does nothing without a yes to it. Then it undoes the calls,
the last first; then it puts the files back; then it marks the cells. Where it stops in between, doing it again goes on.
A rewind marks the cells that came after, and those that were marked since then count again. All entries stay: what was
left is a side branch of the session's history. Neither knows guests.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from cellwright.errors import RollbackFailed, RollbackRefused, UsageError
from cellwright.journal.effects import NotUndone, Undoer, Undone, mark_of
from cellwright.journal.history import ROLLBACK, History, checked_entry
from cellwright.journal.snapshots import Snapshots
from cellwright.journal.trees import FileChange
from cellwright.journal.writer import JournalWriter
from cellwright.short_texts import counted
from cellwright.store import CellRow, EntryChange, Note, Row, Store, TurnRow, off_loop

UNDONE = "taken back"  # the answer of a turn that was
LEFT = "the session was rewound to before this was answered"
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
    """`rows` are the session's own of the cells after `to`."""

    def __init__(
        self,
        history: History,
        to: int,
        rows: Sequence[Row],
        undoer: Undoer,
        snapshots: Snapshots,
        writer: JournalWriter,
    ) -> None:
        _check(history, to)
        self._history = history
        self._to = to
        self._undoer = undoer
        self._snapshots = snapshots
        self._writer = writer
        self._effects = undoer.effects(rows, lambda row: row.cell > to)
        touched = {effect.row.cell for effect in self._effects}
        self.cells = [c for c in history.cells if c.number > to and (not c.undone or c.number in touched)]

    async def run(self, *, yes: bool, end_guest: Callable[[], Awaitable[None]], reached: int) -> RolledBack:
        """Do it. `end_guest` is called when all is undone and the files are next."""
        async with self._undoer.alone:
            plan = await self._undoer.plan(self._effects)
            if plan.left and not yes:
                raise RollbackRefused(_refusal(self._to, plan.left), left=tuple(map(str, plan.left)))
            await self._mark("started")
            found = await self._undoer.carry_out(plan)
            if found.failed:
                raise _failure(self._to, found) from found.error
            await end_guest()
            now, then = await self._snapshots.take(), self.cells[0].tree
            await self._snapshots.restore(then)
            given_up = [mark_of(left.effect.row, "cancelled") for left in plan.left]
            await self._mark("done", *given_up, cells=_marked(self._history, self.cells, reached))
        return RolledBack(
            cells=tuple(c.number for c in self.cells),
            undone=tuple(map(str, found.undone)),
            left=tuple(map(str, found.left)),
            files=await self._snapshots.difference(now, then) if then else (),
        )

    async def _mark(self, status: Literal["started", "done"], *rows: Row, cells: Sequence[CellRow] = ()) -> None:
        mark = Row(
            cell=self.cells[0].number,
            path=ROLLBACK,
            door="undo",
            title=ROLLBACK,
            verb=ROLLBACK,
            name=str(self._to),
            status=status,
        )
        note = [await off_loop(self._writer.store, self._note)] if status == "done" else []
        await self._writer.now(*rows, *cells, mark, *note)

    def _note(self) -> Note:
        return Note(kind="rewound", about=str(self._to), text=str(self._history.entry_of(self._to)), at=time.time())


@dataclass(frozen=True, kw_only=True, slots=True)
class Rewound:
    """What a rewind did: the state is that after cell `to`. `back` are cells that count again."""

    to: int = 0
    cells: tuple[int, ...] = ()
    back: tuple[int, ...] = ()
    files: tuple[FileChange, ...] = ()

    def __str__(self) -> str:
        parts = [f"rewound to cell {self.to}", f"{counted(len(self.cells), 'cell')} left"]
        parts += [f"{counted(len(self.back), 'cell')} taken up again"] if self.back else []
        return ", ".join([*parts, f"{counted(len(self.files), 'file')} restored"])


class Rewind:
    """To cell `to`, as it ended; or to the moment when `entry` was the last entry of the session."""

    def __init__(self, journal: Store, session: str, *, to: int | None = None, entry: int | None = None) -> None:
        if (to is None) == (entry is None):
            raise UsageError("rewind: give a cell, or an entry")
        self._journal = journal
        self._now = History(journal, session)
        self.entry = checked_entry(journal, session, _entry_of(self._now, to) if to is not None else entry or 0)
        self._then = History(journal, session, to, entry=self.entry)
        self.to = self._then.standing
        self._wanted = {c.number: c for c in self._then.cells}
        self._mark_path = f"{REWIND}@{journal.summary(session).entries}"  # the same when it begins and when it is done

    @property
    def tree(self) -> str:
        """The files as they were."""
        return self._then.tree

    @property
    def cells(self) -> list[CellRow]:
        """Those that count no more."""
        return [c for c in self._now.cells if not c.undone and not self._counts(c)]

    @property
    def back(self) -> list[CellRow]:
        """Those that count again, as they were."""
        return [self._wanted[c.number] for c in self._now.cells if c.undone and self._counts(c)]

    @property
    def is_needed(self) -> bool:
        """Whether anything came after that moment."""
        return bool(self.cells or self.back or self._turns())

    def _counts(self, cell: CellRow) -> bool:
        wanted = self._wanted.get(cell.number)
        return wanted is not None and not wanted.undone

    def begun(self) -> Row:
        """Written before the files are put back: who finds only this knows that it was not carried to its end."""
        return self._mark("started")

    def changes(self, reached: int | None = None, who: str = "") -> Sequence[EntryChange]:
        """All of it, for one write. `reached` is the last answer that the guest got."""
        reached = self._now.delivered if reached is None else reached
        note = Note(kind="rewound", about=str(self.to), text=str(self.entry), who=who, at=time.time())
        return [*_marked(self._now, self.cells, reached), *self._turns(), self._mark("done"), note, *self.back]

    def _turns(self) -> list[TurnRow]:
        """Those that began later are taken back. One that is not answered is not carried on by anybody."""
        session, turns = self._now.facts.id, list[TurnRow]()
        then = {turn.number: turn for turn in self._journal.turns(session, self.entry)}
        for turn in self._journal.turns(session):
            wanted = then.get(turn.number)
            if wanted is None:
                turns += [] if is_undone(turn) else [taken_back(turn)]
                continue
            again = wanted if is_undone(turn) and not is_undone(wanted) else turn
            if again.status in ("running", "waiting"):
                turns.append(replace(again, status="cancelled", answer=LEFT))
            elif again is not turn:
                turns.append(again)
        return turns

    def _mark(self, status: Literal["started", "done"]) -> Row:
        return Row(
            cell=self._now.last,
            path=self._mark_path,
            door="undo",
            title=REWIND,
            verb=ROLLBACK,
            name=f"{REWIND} {self.to}",
            status=status,
        )

    def told(self, files: Sequence[FileChange]) -> Rewound:
        return Rewound(
            to=self.to,
            cells=tuple(c.number for c in self.cells),
            back=tuple(c.number for c in self.back),
            files=tuple(files),
        )


def unfinished(history: History) -> str:
    """What to say of a rollback that was not carried to its end; "" where there is none."""
    to = rollback_under_way(history)
    what = REWIND if to.startswith(REWIND) else ROLLBACK
    to = to.removeprefix(REWIND).strip()
    return f"a {what} to cell {to} was not finished; call {what}(to={to}) again" if to else ""


def rollback_under_way(history: History) -> str:
    """The cell that a rollback leads to which was not carried to its end; "" for none."""
    rows = [r for r in history.rows if r.door == "undo" and r.verb == ROLLBACK]
    if rows:
        return rows[-1].name if rows[-1].status == "started" else ""
    return history.start.rollback if history.start is not None else ""


def _check(history: History, to: int) -> None:
    begins = history.facts.parent_cell
    if to < begins:
        raise UsageError(
            f"rollback(to={to}): session {history.facts.id!r} is a fork that begins after cell {begins} of "
            f"{history.facts.parent!r}, and what that did is not its to undo; give {begins} or more"
        )
    cell = next((c for c in history.cells if c.number == to), None)
    if to != begins and cell is None:
        raise UsageError(f"rollback(to={to}): session {history.facts.id!r} has no cell {to}")
    if to != begins and cell is not None and cell.undone:
        raise UsageError(f"rollback(to={to}): cell {to} was rolled back itself; give an earlier one")


def _refusal(to: int, left: Sequence[NotUndone]) -> str:
    lines = "\n".join(f"  {one}" for one in left)
    return f"rolling back to cell {to} cannot undo this; nothing was done. Say yes=True to undo the rest:\n{lines}"


def _failure(to: int, found: Undone) -> RollbackFailed:
    text = (
        f"rolling back to cell {to} stopped at an undo that failed; files and names are as they were. What is undone "
        f"is not undone again when you call rollback(to={to}) once more.\n{found.text()}"
    )
    undone, rest = tuple(map(str, found.undone)), tuple(map(str, found.not_tried))
    return RollbackFailed(text, undone=undone, failed=f"{found.failed} ({found.why})", not_tried=rest)


def _entry_of(now: History, to: int) -> int:
    if not 0 <= to <= now.last:
        raise UsageError(f"session {now.facts.id!r} has no cell {to}; its last one is {now.last}")
    entry = now.entry_of(to)
    if not entry and to > now.facts.parent_cell:
        raise UsageError(f"cell {to} of session {now.facts.id!r} has not come to its end; give an earlier one")
    return entry


def taken_back(row: TurnRow) -> TurnRow:
    """The row of a turn that was taken back."""
    return replace(row, status="cancelled", answer=UNDONE)


def is_undone(row: TurnRow) -> bool:
    return row.status == "cancelled" and row.answer == UNDONE


def _marked(history: History, cells: Sequence[CellRow], reached: int) -> list[CellRow]:
    """These cells as undone. What was told to the guest up to the next cell goes with the cell before it."""
    begins = {c.number: c.before for c in history.cells}
    marked: list[CellRow] = []
    for cell in cells:
        later = [before for number, before in begins.items() if number > cell.number]
        status = "ended" if cell.status == "running" else cell.status
        marked.append(replace(cell, undone=True, status=status, after=min(later, default=reached)))
    return marked
