"""Rewinding a session: what is to be written so that its state is again what it was. Nothing outside is undone.

The cells that came after are marked, and those that were marked since then count again. All entries stay: what was left
is a side branch of the session's history. It knows neither guests nor where files are.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from cellwright.errors import UsageError
from cellwright.journal.moments import checked_entry
from cellwright.journal.rollback import REWIND
from cellwright.journal.story import ROLLBACK, Story
from cellwright.journal.trees import FileChange
from cellwright.journal.turns import is_undone, taken_back
from cellwright.journal.words import counted
from cellwright.store import CellRow, Kept, Note, Row, Store, TurnRow

LEFT = "the session was rewound to before this was answered"


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


class Rewinding:
    """One of them: to cell `to`, as it ended; or to the moment when `entry` was the last entry of the session."""

    def __init__(self, journal: Store, session: str, *, to: int | None = None, entry: int | None = None) -> None:
        if (to is None) == (entry is None):
            raise UsageError("rewind: give a cell, or an entry")
        self._journal = journal
        self._now = Story(journal, session)
        if to is not None:
            entry = _entry_of(self._now, to)
        assert entry is not None
        entry = checked_entry(journal, session, entry)
        self._then = Story(journal, session, to, entry=entry)
        self.entry = entry
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

    def changes(self, reached: int | None = None, who: str = "") -> Sequence[Kept]:
        """All of it, for one write. `reached` is the last answer that the guest got."""
        reached = self._now.delivered if reached is None else reached
        begins = {c.number: c.before for c in self._now.cells}
        left: list[Kept] = []
        for cell in self.cells:
            later = [before for number, before in begins.items() if number > cell.number]
            status = "ended" if cell.status == "running" else cell.status
            left.append(replace(cell, undone=True, status=status, after=min(later, default=reached)))
        note = Note(kind="rewound", about=str(self.to), text=str(self.entry), who=who, at=time.time())
        return [*left, *self._turns(), self._mark("done"), note, *self.back]

    def _turns(self) -> list[TurnRow]:
        """Those that began later are taken back. One that is not answered is not carried on by anybody."""
        session, found = self._now.facts.id, list[TurnRow]()
        then = {turn.number: turn for turn in self._journal.turns(session, self.entry)}
        for turn in self._journal.turns(session):
            wanted = then.get(turn.number)
            if wanted is None:
                found += [] if is_undone(turn) else [taken_back(turn)]
                continue
            again = wanted if is_undone(turn) and not is_undone(wanted) else turn
            if again.status in ("running", "waiting"):
                found.append(replace(again, status="cancelled", answer=LEFT))
            elif again is not turn:
                found.append(again)
        return found

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


def _entry_of(now: Story, to: int) -> int:
    if not 0 <= to <= now.last:
        raise UsageError(f"session {now.facts.id!r} has no cell {to}; its last one is {now.last}")
    entry = now.entry_of(to)
    if not entry and to > now.facts.parent_cell:
        raise UsageError(f"cell {to} of session {now.facts.id!r} has not come to its end; give an earlier one")
    return entry
