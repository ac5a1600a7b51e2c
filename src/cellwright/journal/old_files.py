"""`OldFiles`: what the trees of a session take in its store has a bound, and contents of the oldest are dropped.

A tree is kept while all its contents are in the store; nothing else says so. These stay, however large they are:
- the trees of the cells from the newest complete checkpoint on, which a resume runs again, and those that each
  complete checkpoint and each fork begins with;
- what came into the workspace from outside, what an undone transaction put back, and what was new after a cell that
  called host objects, which may have written it: cells that are run again do not make that anew. What other cells wrote
  they make again, so a session can be run again from its first cell.

Everything here blocks; call it in a thread, while no cell runs.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from cellwright.errors import RestoreFailed, UsageError
from cellwright.journal.blocks import BEGIN, trees_of
from cellwright.journal.history import READ, History
from cellwright.journal.trees import Trees
from cellwright.store import BoundedFiles, CellRow, Claim, Row, Store, StoreReader

PART = 8  # of the bound: so much is dropped below it, and so much is written before the store is asked again
SHORT_S, REST = 1.0, 20  # looking for old contents for longer: so many times that passes until the next
Contents = dict[str, str]  # the digests of the files of a tree, by path
Forks = set[tuple[str, int, int | None]]  # of whom, after which cell, at which entry


@dataclass(kw_only=True, slots=True)
class _CellTrees:
    """The trees of one cell, as all its rows tell them.

    `follows` is the cell whose state it began with; 0 for none of this session. `after` is the tree when it ended,
    which is not what came into the workspace later.
    """

    number: int
    follows: int
    tree: str = ""
    after: str = ""
    ends: set[str] = field(default_factory=set[str])
    begun: set[str] = field(default_factory=set[str])  # by transactions
    is_repeated: bool = False

    @property
    def names(self) -> set[str]:
        return {self.tree, *self.ends, *self.begun}


class OldFiles:
    """Of one session. `start` gives the cell of its newest complete checkpoint that can be used here, 0 for none."""

    def __init__(self, store: Store, session: str, trees: Trees, start: Callable[[], int]) -> None:
        self._store = store if isinstance(store, BoundedFiles) else None
        self._reader: StoreReader = store
        self._session = session
        self._trees = trees
        self._start = start
        self._most = store.snapshots_mb << 20 if isinstance(store, BoundedFiles) else 0
        self._seen = 0  # bytes that had been given to the store when it was asked last
        self._next = self._most // PART
        self._rests_until = 0.0

    @property
    def is_due(self) -> bool:
        """Whether so much was written that there may be too much; not while looking would take all the time."""
        return self._store is not None and self._trees.kept > self._next and time.monotonic() > self._rests_until

    @property
    def is_unknown(self) -> bool:
        """Whether anything was written since the store was asked."""
        return self._store is not None and self._trees.kept > self._seen

    def drop(self, claim: Claim) -> bool:
        """Drop contents where there are too many. False where that is not enough."""
        store = self._store
        if store is None:
            return True
        began = time.monotonic()
        held = store.held(self._session)
        if held > self._most:
            kept = store.contents(self._session)
            forks = self._forks()
            dropped = self._oldest(kept, held - self._most + self._most // PART, forks)
            if self._forks() != forks:
                return False  # one that was made meanwhile may begin with what would be dropped; the next try sees it
            if dropped:
                store.drop(claim, dropped)
            held -= sum(kept[digest] for digest in dropped)
        self._seen = self._trees.kept
        self._next = self._seen + max(self._most - held, self._most // PART)
        took_s = time.monotonic() - began
        self._rests_until = began + REST * took_s if took_s > SHORT_S else 0.0
        return held <= self._most

    def _oldest(self, kept: Mapping[str, int], excess: int, forks: Forks) -> list[str]:
        """What may be dropped of what is kept: that of the oldest cells, until it is enough."""
        last = self._start()
        told = _Told(self._reader, self._session)
        old = [cell for number, cell in sorted(told.cells.items()) if number <= last]
        if not old:
            return []
        contents = lru_cache(4)(self._contents)
        found: dict[str, int] = {}  # the last of these cells that has it
        needed: set[str] = set()
        for cell in old:
            for name in cell.names - {""}:
                needed |= {name, *self._trees.parts(name)}
                found |= dict.fromkeys(contents(name).values(), cell.number)
        for name in self._whole(told, last, forks):
            needed |= {name, *self._trees.parts(name), *contents(name).values()}
        for cell in old:
            if cell.is_repeated and cell.tree:
                before = told.cells.get(cell.follows)
                made = contents(before.after) if before is not None and before.after else Contents()
                needed |= {one for path, one in contents(cell.tree).items() if made.get(path) != one}
            if cell.number in told.calling and cell.after:
                had = contents(cell.tree) if cell.tree else Contents()
                needed |= {one for path, one in contents(cell.after).items() if had.get(path) != one}
        dropped: list[str] = []
        for digest in sorted((kept.keys() & found.keys()) - needed, key=found.__getitem__):
            if excess <= 0:
                break
            dropped.append(digest)
            excess -= kept[digest]
        return dropped

    def _whole(self, told: _Told, last: int, forks: Forks) -> set[str]:
        """The trees of which nothing may be dropped."""
        store = self._reader
        names = {History(store, self._session).tree, *self._trees.current, *told.put_back}
        for cell in told.cells.values():
            if cell.number >= last:
                names |= cell.names
        starts = {one.cell for one in store.checkpoints(self._session) if not one.missing}
        names |= {cell.tree for cell in told.cells.values() if cell.follows in starts}
        names |= {History(store, parent, cell, entry=entry).tree for parent, cell, entry in forks}
        return names - {""}

    def _forks(self) -> Forks:
        family = self._reader.family(self._session)
        return {(one.parent, one.parent_cell, one.parent_entry or None) for one in family if one.parent}

    def _contents(self, name: str) -> Contents:
        entries = self._trees.entries(name).values()
        return {entry.path: entry.content for entry in entries if entry.kind == "file"}


class _Told:
    """What the entries of a session say of trees. `put_back` are those that an undo of guest code restored, `calling`
    are the cells that called host objects."""

    def __init__(self, store: StoreReader, session: str) -> None:
        self.cells: dict[int, _CellTrees] = {}
        self.calling: set[int] = set()
        self.put_back: set[str] = set()
        self._counts: dict[int, bool] = {}  # whether a cell is part of the state, at that entry
        begun: defaultdict[int, set[str]] = defaultdict(set)
        for change in _changes(store, session):
            if isinstance(change, CellRow):
                self._hear(change)
            else:
                self.calling.add(change.cell)
                (begun[change.cell] if change.verb == BEGIN else self.put_back).update(trees_of(change))
        for number, names in begun.items():
            if number in self.cells:
                self.cells[number].begun |= names

    def _hear(self, row: CellRow) -> None:
        number, counts = row.number, self._counts
        if number not in self.cells:
            follows = next((n for n in range(number - 1, 0, -1) if counts.get(n)), 0)
            self.cells[number] = _CellTrees(number=number, follows=follows)
        cell = self.cells[number]
        counts[number] = row.status in ("done", "failed") and not row.undone
        cell.is_repeated |= counts[number]
        cell.tree = row.tree
        cell.ends.add(row.tree_after)
        cell.after = cell.after or row.tree_after


def _changes(store: StoreReader, session: str) -> Iterator[CellRow | Row]:
    last = store.summary(session).entries
    for first in range(1, last + 1, READ):
        for entry in store.entries(session, first, first + READ - 1):
            if isinstance(entry.change, CellRow | Row):
                yield entry.change


def not_repeated(session: str, cell: int) -> RestoreFailed:
    """The error for whoever wanted cells run again, where one of them finds no files that it needs."""
    return RestoreFailed(
        f"session {session!r} was not brought back: its files as they were before cell {cell} are no longer kept, and "
        "the cells before it did not write them again. Nothing was written to its journal. Resume it where its newest "
        "checkpoint can be used: on the machine and with the Python and the packages that it ran with last; if it was "
        "rewound since, rewind it to that later entry",
        session=session,
        cell=cell,
    )


def require_files(store: StoreReader, session: str, trees: Trees, tree: str, cell: int) -> None:
    """`UsageError` where contents of this tree, the files after `cell`, were dropped. It says which cells have all."""
    if not trees.lacking(tree):
        return
    later = [one for one in store.cells(session) if one.number > cell and one.tree_after]
    at = bisect_left(later, True, key=lambda one: not trees.lacking(one.tree_after))
    hint = f"those after cell {later[at].number} and later cells are" if at < len(later) else "the newest are"
    raise UsageError(
        f"session {session!r}: its files as they were after cell {cell} are no longer kept; {hint}. A larger "
        "snapshots_mb of the store keeps more"
    )
