"""`History`: a session as its journal has it: the cells of its state, the rows of their calls, the lineage of objects.

Read when it is asked for, and once; a fork is read through its parents, each as it was when the fork was made. It
changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from cellwright.doors import Made
from cellwright.errors import JournalFailed, UsageError
from cellwright.journal.call_paths import is_of_request, origin_of
from cellwright.journal.checkpoint_start import CheckpointStart
from cellwright.store import CellRow, Checkpoint, DoorName, EntryChange, Facts, Note, Row, StoreReader, TurnRow
from cellwright_guest.wire import Packed, type_of

READ = 256  # entries at a time
ROLLBACK = "rollback"  # the verb of the row that says how far one is
NAMES = "names"  # the verb of a row that holds names which were bound after the session began


@dataclass(frozen=True, kw_only=True, slots=True)
class HistoryPart:
    """What one session gives to a history: what it had when `entry` was its last, of that what is up to cell `upto`."""

    facts: Facts
    upto: int | None = None
    entry: int | None = None


class History:
    """Everything up to and with cell `upto`, or all there is. With a `start`, only its cell and what comes after it.

    With `entry`, as it was when that entry was the last of the session: a cell that ran then is not part of it, and one
    that was undone later is.
    """

    def __init__(
        self,
        journal: StoreReader,
        session: str,
        upto: int | None = None,
        start: CheckpointStart | None = None,
        *,
        entry: int | None = None,
    ) -> None:
        self.facts = journal.facts(session)
        self.start = start
        self._journal = journal
        self._upto = upto
        self._entry = entry
        self.parts = _parts(journal, self.facts, upto, entry)
        self.first: Facts = self.parts[0].facts
        self._forks = [part.facts for part in self.parts[1:]]
        self._begins = 0 if start is None else start.cell

    def since(self, start: CheckpointStart | None) -> History:
        """The same, told from there on."""
        return History(self._journal, self.facts.id, self._upto, start, entry=self._entry)

    @cached_property
    def cells(self) -> list[CellRow]:
        """A fork does not carry on its parent's cell; what it says itself of a parent's cell (undone) goes first."""
        cells: list[CellRow] = []
        for part in self.parts:
            found = self._journal.cells(part.facts.id, self._begins, part.entry)
            mine = {c.number: c for c in found if part.upto is None or c.number <= part.upto}
            taken = [mine.pop(c.number, c) for c in cells] + list(mine.values())
            current = part.facts is self.facts and part.entry is None
            cells = [c for c in taken if current or c.status != "running"]
        return cells

    @cached_property
    def _read(self) -> tuple[dict[str, Row], int]:
        rows: dict[str, Row] = {}
        delivered = max((c.after for c in self.cells), default=0) if self.start is None else self.start.delivered
        for part in self.parts:
            limit, reach = part.upto, self._reach(part)
            for row in self._journal.rows(part.facts.id, self._begins, part.entry):
                delivered = max(delivered, row.delivered or 0)
                told = self._told(row, reach) if limit is None or row.cell <= limit else None
                if part.facts is not self.facts and _is_under_way(row):
                    continue
                if told is not None:
                    rows[_key(row)] = told
        return rows, delivered

    def _reach(self, part: HistoryPart) -> int | None:
        """The last answer of a part that counts: no guest of this state was told what came after its last cell."""
        if part.upto is None and part.entry is None:
            return None
        return max((c.after for c in self.cells if part.upto is None or c.number <= part.upto), default=0)

    @property
    def _rows(self) -> dict[str, Row]:
        return self._read[0]

    def through(self, door: DoorName) -> list[Row]:
        """The rows of one door."""
        return [row for row in self._rows.values() if row.door == door]

    @property
    def delivered(self) -> int:
        """The number of the last answer that any guest of this session got."""
        return self._read[1]

    @cached_property
    def checkpoints(self) -> list[tuple[str, Checkpoint]]:
        """Those that are good here, oldest first, each with the session that made it."""
        found: list[tuple[str, Checkpoint]] = []
        for part in self.parts:
            made = self._journal.checkpoints(part.facts.id)
            found += [(part.facts.id, one) for one in made if part.upto is None or one.cell <= part.upto]
        return found

    @cached_property
    def _outside(self) -> list[CellRow]:
        return [c for c in self.cells if not _in_state(c)]

    def has(self, cell: int) -> bool:
        """Whether a cell is part of the state."""
        return any(c.number == cell and _in_state(c) for c in self.cells)

    def _told(self, row: Row, reach: int | None) -> Row | None:
        """The row as this state knows it: without what only a guest of another state learned or did."""
        number = row.delivered
        given_up = int(row.after) if row.status == "cancelled" and row.after.isdecimal() else 0
        if given_up > self._begins and not self.has(given_up):
            return replace(row, status="started", after="")  # given up in a cell that does not count
        if number is None or row.door not in ("host", "guest"):
            return row
        elsewhere = any(c.before < number <= c.after for c in self._outside)
        if not elsewhere and (reach is None or number <= reach):
            return row
        return replace(row, delivered=None) if row.door == "host" else None

    @property
    def last(self) -> int:
        """The number of the last cell that was ever begun."""
        return self.cells[-1].number if self.cells else self.facts.parent_cell

    @cached_property
    def state(self) -> list[CellRow]:
        """The cells whose code makes up the state, in order: none that was ended from outside, none that was undone."""
        cells = self.cells if self.start is None else [c for c in self.cells if c.number > self._begins]
        return [c for c in cells if c.status != "running" and _in_state(c)]

    @cached_property
    def cut_off(self) -> CellRow | None:
        """The last cell, where its process died under it."""
        last = self.cells[-1] if self.cells else None
        return last if last is not None and last.status == "running" else None

    @property
    def last_entry(self) -> int:
        """The number of the last entry of the session that it has: what a fork of it is to know."""
        return self._journal.summary(self.facts.id).entries if self._entry is None else self._entry

    @property
    def branching(self) -> tuple[str, int]:
        """The session and the entry of it that a fork of this leaves at: of one that had nothing yet, its parent's."""
        entry, facts = self.last_entry, self.facts
        return (facts.parent, facts.parent_entry) if facts.parent and not entry else (facts.id, entry)

    @property
    def standing(self) -> int:
        """The last cell that was not undone; its effects and files are those that are there. 0 for none."""
        return max((c.number for c in self.cells if not c.undone and c.status != "running"), default=0)

    @property
    def tree(self) -> str:
        """The files after that cell, or as the next one found them where none were taken then. "" where none were."""
        last = self.standing
        if taken := next((c.tree_after for c in self.cells if c.number == last), ""):
            return taken
        for part in reversed(self.parts):
            later = next((c for c in self._journal.cells(part.facts.id, last + 1) if c.number > last), None)
            if later is not None and later.tree:
                return later.tree
            if last > part.facts.parent_cell:  # it is this session's own cell
                break
        return ""

    @property
    def is_cut_short(self) -> bool:
        """Whether its parent had gone on when it was forked: then it knows more of what was said than is its own."""
        facts = self.facts
        if not facts.parent or not facts.parent_entry:
            return bool(facts.parent)
        later = self._journal.cells(facts.parent, facts.parent_cell + 1, facts.parent_entry)
        return any(c.status != "running" for c in later)

    def entry_of(self, cell: int) -> int:
        """The number of the entry that tells how a cell ended; 0 where it is not this session's own cell."""
        if cell <= self.facts.parent_cell:
            return 0
        entries = (e for e in self._journal.entries(self.facts.id) if isinstance(e.change, CellRow))
        told = ((e.number, e.change) for e in entries if isinstance(e.change, CellRow) and e.change.number == cell)
        return max((number for number, c in told if c.status != "running" and not c.undone), default=0)

    @property
    def rows(self) -> Sequence[Row]:
        return list(self._rows.values())

    def rows_of(self, cells: Sequence[CellRow]) -> list[Row]:
        """The rows of calls that these cells made."""
        numbers = {c.number for c in cells}
        rows = (r for r in self._rows.values() if r.cell in numbers and r.door in ("host", "guest"))
        return [r for r in rows if not _is_names(r)]

    @property
    def requests(self) -> list[tuple[str, Packed]]:
        """The operations and arguments of calls that came as requests over the guest's network."""
        return [(row.name, row.arguments) for row in self.rows_of(self.state) if is_of_request(row.path)]

    def recorded(self, cells: Sequence[CellRow]) -> list[Row]:
        """What is to be told while these cells run again; also what was told between the start and the first."""
        rows = self.rows_of(cells)
        if self.start is None:
            return rows
        rows = [*self.between, *rows]
        asked = {r.path for r in rows if r.door == "host"}
        return [r if r.after in asked or r.door == "host" else replace(r, after="") for r in rows]

    @cached_property
    def between(self) -> list[Row]:
        """The rows of calls between the start and the next cell: into the guest, and those that these made."""
        start = self.start
        if start is None or not start.complete:  # else they are of tasks that are not there any more
            return []
        rows = (r for r in self._rows.values() if r.cell == start.cell and r.door in ("host", "guest"))
        return [r for r in rows if not _is_names(r) and (r.delivered is None or r.delivered > start.delivered)]

    def taken(self, recorded: Sequence[Row]) -> set[str]:
        """The paths of calls that were made before a start, in its cell: they are told no more, nor made again."""
        if self.start is None:
            return set()
        return {r.path for r in self._rows.values() if r.cell == self.start.cell} - {r.path for r in recorded}

    def left_of(self, cells: Sequence[CellRow]) -> list[Row]:
        """The rows of calls that tasks of these cells made while a cell ran that was ended from outside."""
        numbers = {c.number for c in cells}
        ended = {c.number for c in self.cells if c.status == "ended" and not c.undone}
        rows = (r for r in self._rows.values() if r.cell in ended and r.door == "host")
        return [r for r in rows if origin_of(r.path)[0] in numbers]

    @cached_property
    def clock(self) -> float:
        """The latest moment that a guest of this session has seen."""
        times = [self.first.created, *(c.at for c in self.cells), *(r.at for r in self._rows.values())]
        return max(times)

    def later_names(self) -> list[tuple[Packed, tuple[str, ...], int]]:
        """What was bound when a resumed session had new names: which ones, and after which cell."""
        return list(self._later_names)

    @cached_property
    def _later_names(self) -> list[tuple[Packed, tuple[str, ...], int]]:
        known = frozenset[str]() if self.start is None else frozenset(self.start.names)
        rows = [(r.value, tuple(r.name.split(",")), r.cell) for r in self._rows.values() if _is_names(r) and r.value]
        return [(value, only, cell) for value, only, cell in rows if not known.issuperset(only)]

    @property
    def bound(self) -> tuple[str, ...]:
        """All names that were ever bound."""
        before = names_of(self.first.names) if self.start is None else self.start.names
        return (*before, *(name for _, only, _ in self._later_names for name in only))

    @property
    def times_bound(self) -> int:
        """How often names were bound after the session had begun."""
        return len(self._later_names) + (0 if self.start is None else self.start.later)

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
        return own or (self.first.seed if self.forgets(number) else b"")

    def forgets(self, number: int) -> bool:
        """Whether there is a cell before this one that is not part of the state."""
        before = self.start is not None and self.start.forgotten
        return before or any(c.number < number for c in self._outside)

    # for `JournalLineage`

    def known(self) -> Sequence[Made]:
        before = self.first.made if self.start is None else self.start.made
        return [*before, *(m for r in self._rows.values() for m in r.made)]

    @cached_property
    def beginnings(self) -> frozenset[int]:
        """The numbers of what no call made: the guest began with it, or was given it as a new name."""
        first = {made.number for made in self.first.made} if self.start is None else self.start.began
        return frozenset(first) | {m.number for r in self._rows.values() if _is_names(r) for m in r.made}

    @cached_property
    def ever(self) -> Sequence[Row]:
        """All rows; those before the start are read when they are asked for, the others are as they were."""
        before = [] if self.start is None else [r for r in self.since(None).rows if r.cell < self._begins]
        return [*before, *self._rows.values()]


def _is_under_way(row: Row) -> bool:
    """Whether it says that a rollback or a rewind was begun; in a parent, it is the parent's to finish."""
    return row.door == "undo" and row.verb == ROLLBACK and row.status == "started"


def _is_names(row: Row) -> bool:
    """By its path too: a guest says any verb, and has no such path."""
    return row.verb == NAMES and row.path.startswith(f"{NAMES}#")


def _in_state(cell: CellRow) -> bool:
    return cell.status != "ended" and not cell.undone


def names_of(packed: Packed) -> tuple[str, ...]:
    """The names in a packed set of names."""
    tree: Any = packed.tree
    return tuple(tree["m"]) if type_of(tree) is dict and type_of(tree.get("m")) is dict else ()


def _key(row: Row) -> str:
    # what says how far a rollback is has the same path each time
    return f"{row.door} {row.path}" if row.door != "undo" else f"{row.door} {row.cell} {row.path}"


def _parts(journal: StoreReader, facts: Facts, upto: int | None, entry: int | None) -> list[HistoryPart]:
    """The session and those it was forked from, oldest first, each with the last cell that counts."""
    parts = [HistoryPart(facts=facts, upto=upto, entry=entry)]
    while parts[0].facts.parent:
        young = parts[0]
        if any(part.facts.id == young.facts.parent for part in parts):
            raise JournalFailed(f"session {young.facts.parent!r} is a fork of itself; the journal is damaged")
        last = young.facts.parent_cell  # a grandparent counts no further than the fork of its child
        parent = journal.facts(young.facts.parent)
        upto = last if young.upto is None else min(last, young.upto)
        parts.insert(0, HistoryPart(facts=parent, upto=upto, entry=young.facts.parent_entry or None))
    return parts


def checked_entry(journal: StoreReader, session: str, entry: int) -> int:
    """`UsageError` where a session has no such entry; 0 is its beginning. One in a rewind stands for that one's end."""
    last = journal.summary(session).entries
    if not 0 <= entry <= last:
        raise UsageError(f"session {session!r} has no entry {entry}; its last one is {last}")
    for at in range(entry, last + 1 if entry else 0, READ):
        for one in journal.entries(session, at, at + READ - 1):
            if isinstance(one.change, Note) and one.change.kind == "rewound":
                return one.number
            if not _is_rewinding(one.change) and (one.number == entry or not isinstance(one.change, TurnRow)):
                return entry
    return entry


def _is_rewinding(change: EntryChange) -> bool:
    """Whether it may be one of the entries that make up a rewind or a rollback: none of them is a moment by itself."""
    return change.door == "undo" if isinstance(change, Row) else isinstance(change, CellRow) and change.undone
