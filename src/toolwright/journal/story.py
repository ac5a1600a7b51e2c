"""A session as its journal tells it: the cells that make up its state, the rows of their calls, the lineage of objects.

Read once, when a guest is to be brought back; a fork is read through its parents. It changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from toolwright.doors import Call, Made, Origin
from toolwright.journal.rows import CellRow, Checkpoint, Facts, Reading, Row
from toolwright_guest.wire import Packed, type_of

_ROOT = re.compile(r"\d*")
NAMES = "names"  # the verb of a row that holds names which were bound after the session began


class Story:
    """Everything up to and with cell `upto`, or all there is."""

    def __init__(self, journal: Reading, session: str, upto: int | None = None) -> None:
        self.facts = journal.facts(session)
        self.cells: list[CellRow] = []
        self._rows: dict[str, Row] = {}
        chain = _chain(journal, self.facts)
        self.first: Facts = chain[0][0]
        self._forks = [facts for facts, _ in chain[1:]]
        self.delivered = 0  # the number of the last answer that any guest of this session got
        for facts, last in chain:
            limit = last if upto is None else upto if last is None else min(last, upto)
            self._take_cells(journal.cells(facts.id), limit, cut_off_too=facts is self.facts)
            reach = None if limit is None else self.cells[-1].after if self.cells else 0
            for row in journal.rows(facts.id):
                self.delivered = max(self.delivered, row.delivered or 0)
                told = self._told(row, reach) if limit is None or row.cell <= limit else None
                if told is not None:
                    self._rows[_key(row)] = told
        self.checkpoints = _checkpoints(journal, chain, upto)

    def _take_cells(self, found: Sequence[CellRow], limit: int | None, *, cut_off_too: bool) -> None:
        """A fork does not carry on its parent's cell; what it says itself of a parent's cell (undone) goes first."""
        mine = {c.number: c for c in found if limit is None or c.number <= limit}
        taken = [mine.pop(c.number, c) for c in self.cells] + list(mine.values())
        self.cells = [c for c in taken if cut_off_too or c.status != "running"]

    def _told(self, row: Row, reach: int | None) -> Row | None:
        """The row, as this state knows it: without what only a guest learned or did that is none of this state's."""
        number = row.delivered
        if row.status == "cancelled" and row.after.isdecimal() and not self._has(int(row.after)):
            return replace(row, status="started", after="")  # given up in a cell that does not count
        if number is None or row.door not in ("host", "guest"):
            return row
        elsewhere = any(c.before < number <= c.after for c in self.cells if not _in_state(c))
        if not elsewhere and (reach is None or number <= reach):
            return row
        return replace(row, delivered=None) if row.door == "host" else None

    def _has(self, cell: int) -> bool:
        return any(c.number == cell and _in_state(c) for c in self.cells)

    @property
    def last(self) -> int:
        """The number of the last cell that was ever begun."""
        return self.cells[-1].number if self.cells else self.facts.parent_cell

    @cached_property
    def state(self) -> list[CellRow]:
        """The cells whose code makes up the state, in order: none that was ended from outside, none that was undone."""
        return [c for c in self.cells if c.status != "running" and _in_state(c)]

    @cached_property
    def cut_off(self) -> CellRow | None:
        """The last cell, where its process died under it."""
        last = self.cells[-1] if self.cells else None
        return last if last is not None and last.status == "running" else None

    @property
    def rows(self) -> Sequence[Row]:
        return list(self._rows.values())

    def rows_of(self, cells: Sequence[CellRow]) -> list[Row]:
        """The rows of calls that these cells made."""
        numbers = {c.number for c in cells}
        return [r for r in self._rows.values() if r.cell in numbers and r.door in ("host", "guest") and r.verb != NAMES]

    def left_of(self, cells: Sequence[CellRow]) -> list[Row]:
        """The rows of calls that tasks of these cells made while a cell ran that was ended from outside."""
        numbers = {str(c.number) for c in cells}
        ended = {c.number for c in self.cells if c.status == "ended" and not c.undone}
        rows = (r for r in self._rows.values() if r.cell in ended and r.door == "host")
        return [r for r in rows if _ROOT.match(r.path).group() in numbers]  # pyright: ignore[reportOptionalMemberAccess]

    @cached_property
    def clock(self) -> float:
        """The latest moment that a guest of this session has seen."""
        times = [self.first.created, *(c.at for c in self.cells), *(r.at for r in self._rows.values())]
        return max(times)

    def names(self) -> list[tuple[Packed, tuple[str, ...]]]:
        """What was bound, and under which names: at the beginning, and when a resumed session had new ones."""
        later = [(r.value, tuple(r.name.split(","))) for r in self._rows.values() if r.verb == NAMES and r.value]
        return [(self.first.names, names_of(self.first.names)), *later]

    def seed_of(self, cell: CellRow) -> bytes:
        """What a cell draws its randomness from, if not from what the guest began with.

        So that no id is made twice: not by two forks, and not by a cell that comes after one whose effects stay but
        whose draws are forgotten.
        """
        return self._seed(cell.number)

    @property
    def seed_after(self) -> bytes:
        """The same for new cells."""
        return self._seed(self.last + 1)

    def _seed(self, number: int) -> bytes:
        own = next((f.seed for f in reversed(self._forks) if number > f.parent_cell), b"")
        forgotten = any(c.number < number and not _in_state(c) for c in self.cells)
        return own or (self.first.seed if forgotten else b"")

    # lineage: see `toolwright.doors.Lineage`

    def known(self) -> Sequence[Made]:
        return [*self.first.made, *(m for r in self._rows.values() for m in r.made)]

    def origin(self, handle: int) -> Origin | None:
        for row in self._rows.values():
            if any(m.number == handle for m in row.made):
                if row.verb == NAMES:
                    return None
                return Origin(
                    call=_call(row),
                    title=row.title,
                    alone=sum(m.number > 0 for m in row.made) == 1,
                    touched=any(r.target == handle and not r.reads for r in self._rows.values()),
                    kept=row.kept,
                )
        return None


def _in_state(cell: CellRow) -> bool:
    return cell.status != "ended" and not cell.undone


def names_of(packed: Packed) -> tuple[str, ...]:
    """The names in a packed set of names."""
    tree: Any = packed.tree
    return tuple(tree["m"]) if type_of(tree) is dict and "m" in tree else ()


def call_of(row: Row) -> Call:
    """The call that a row tells of."""
    return _call(row)


def _call(row: Row) -> Call:
    return Call(
        id=0,
        cell=row.cell,
        verb=row.verb,
        target=row.target,
        name=row.name,
        arguments=row.arguments,
        path=row.path,
        line=row.line,
    )


def _key(row: Row) -> str:
    return f"{row.door} {row.path}"


def _chain(journal: Reading, facts: Facts) -> list[tuple[Facts, int | None]]:
    """The session and those it was forked from, oldest first, each with the last cell that counts."""
    chain: list[tuple[Facts, int | None]] = [(facts, None)]
    while chain[0][0].parent:
        young = chain[0][0]
        chain.insert(0, (journal.facts(young.parent), young.parent_cell))
    last: int | None = None
    for i in range(len(chain) - 1, -1, -1):  # a grandparent counts no further than the fork of its child
        limit = chain[i][1]
        last = limit if last is None else last if limit is None else min(last, limit)
        chain[i] = (chain[i][0], last)
    return chain


def _checkpoints(
    journal: Reading, chain: list[tuple[Facts, int | None]], upto: int | None
) -> list[tuple[str, Checkpoint]]:
    """The checkpoints that are good here, oldest first, each with the session that made it."""
    found: list[tuple[str, Checkpoint]] = []
    for facts, last in chain:
        for one in journal.checkpoints(facts.id):
            if (last is None or one.cell <= last) and (upto is None or one.cell <= upto):
                found.append((facts.id, one))
    return found
