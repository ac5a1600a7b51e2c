"""The tree that a session belongs to: turns and cells, forks, children, and what a rewind left. Reads only.

Each point has the number of the entry that ended it, by which a session can be forked or rewound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from cellwright.journal import ended_by_done, is_undone
from cellwright.store import CellRow, JournalEntry, StoreReader, Summary, TurnRow


@dataclass(frozen=True, kw_only=True, slots=True)
class TreePoint:
    """A turn or a cell. `first` is its first entry, `entry` the one that ended it. `points` are below a turn."""

    kind: Literal["turn", "cell"]
    number: int
    text: str
    status: str
    first: int
    entry: int
    undone: bool = False
    points: tuple[TreePoint | LeftBranch | Branch, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class LeftBranch:
    """What a rewind to `entry` left: a side branch of the session's history."""

    entry: int
    points: tuple[TreePoint | LeftBranch | Branch, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Branch:
    """A session with its forks and children. `at` is the entry of its parent where it begins, or 0.

    `hidden` is how many forks and children are left out because they are too deep: the tree of this session has them.
    """

    summary: Summary
    how: Literal["root", "fork", "child"] = "root"
    at: int = 0
    points: tuple[TreePoint | LeftBranch | Branch, ...] = ()
    hidden: int = 0


Grown = TreePoint | LeftBranch | Branch
LEVELS = 20  # of forks and children in one tree
ABOVE = 10  # of these levels, above a session that is deeper


def tree(store: StoreReader, session: str) -> Branch:
    """The whole tree from the root of a session's family; of a very deep tree, the part that has the session."""
    family = store.family(session)
    known = {one.id: one for one in family}
    line = [known[session]]
    while (above := known.get(line[-1].parent or line[-1].child_of)) and above not in line:
        line.append(above)
    first = family[0] if len(line) <= LEVELS else line[ABOVE]
    return _grown(store, first, family, Branch(summary=first), frozenset((first.id,)))


def _grown(
    store: StoreReader, summary: Summary, family: Sequence[Summary], branch: Branch, above: frozenset[str]
) -> Branch:
    entries = store.entries(summary.id)
    hanging: list[Branch] = []
    # in a stranger's journal, sessions may be each other's parents
    others = [one for one in family if one.id not in above and summary.id in (one.parent, one.child_of)]
    for other in others if len(above) < LEVELS else ():
        how: Literal["fork", "child"] = "fork" if other.parent == summary.id else "child"
        before = (entry.number for entry in entries if entry.at <= other.created)  # written before a child began
        at = max(before, default=0) if how == "child" else _forked(other, entries)
        made = Branch(summary=other, how=how, at=at)
        hanging.append(_grown(store, other, family, made, above | {other.id}))
    return replace(branch, points=tuple(_points(entries, hanging)), hidden=len(others) - len(hanging))


def _forked(fork: Summary, entries: Sequence[JournalEntry]) -> int:
    """The entry that it was forked at; for a fork after a cell, the entry that ended the cell."""
    known = [e for e in entries if not fork.parent_entry or e.number <= fork.parent_entry]
    ended = [(e.number, e.change) for e in known if isinstance(e.change, CellRow) and e.change.status != "running"]
    if fork.parent_entry and all(cell.number <= fork.parent_cell for _, cell in ended):
        return fork.parent_entry
    return min((n for n, cell in ended if cell.number == fork.parent_cell), default=0)


def _points(entries: Sequence[JournalEntry], hanging: Sequence[Branch]) -> list[Grown]:
    """The points of one session in order; a side branch comes after the point where it was left."""
    made = {point.first: point for point in _whole(entries)}
    loose: list[tuple[int, Grown]] = [(branch.at, branch) for branch in hanging]
    live, sides = _lines(entries)
    for line, at in reversed(sides):  # a later side branch may be a branch of an earlier one
        inside = [one for one in loose if one[0] in line]
        loose = [one for one in loose if one[0] not in line]
        grown = _nested([*((number, made[number]) for number in line if number in made), *inside])
        if grown:
            loose.append((at, LeftBranch(entry=at, points=tuple(grown))))
    return _nested([*((number, made[number]) for number in live if number in made), *loose])


def _is_turn(point: Grown) -> bool:
    return isinstance(point, TreePoint) and point.kind == "turn"


def _nested(points: Sequence[tuple[int, Grown]]) -> list[Grown]:
    """What comes after the beginning of a turn is put below it."""
    found: list[Grown] = []
    for _, one in sorted(points, key=lambda placed: (placed[0], not isinstance(placed[1], TreePoint))):
        last = found[-1] if found else None
        if not _is_turn(one) and isinstance(last, TreePoint) and _is_turn(last):
            found[-1] = replace(last, points=(*last.points, one))
        else:
            found.append(one)
    return found


def _lines(entries: Sequence[JournalEntry]) -> tuple[frozenset[int], list[tuple[frozenset[int], int]]]:
    """The entries that the last one follows; and the side lines, the oldest first, each with where it begins."""
    parents = {entry.number: entry.parent for entry in entries}
    live: set[int] = set()
    at = entries[-1].number if entries else 0
    while at in parents and at not in live:
        live.add(at)
        at = parents[at]
    sides: list[tuple[set[int], int]] = []
    ends: dict[int, set[int]] = {}  # the lines that may go on, by their last entry
    for number in sorted(parents.keys() - live):
        line = ends.pop(parents[number], None)
        if line is None:
            line = set[int]()
            sides.append((line, parents[number]))
        line.add(number)
        ends[number] = line
    return frozenset(live), [(frozenset(line), at) for line, at in sides]


def _whole(entries: Sequence[JournalEntry]) -> list[TreePoint]:
    """Turns and cells as they are now, each with its first entry and the entry that ended it."""
    found: dict[tuple[str, int], TreePoint] = {}
    for entry in entries:
        at, change = entry.number, entry.change
        kind: Literal["turn", "cell"] = "turn" if isinstance(change, TurnRow) else "cell"
        if isinstance(change, TurnRow):
            text, status, undone = change.task, change.status, is_undone(change)
        elif isinstance(change, CellRow):
            text, status, undone = change.code, "done" if ended_by_done(change) else change.status, change.undone
        else:
            continue
        point = TreePoint(kind=kind, number=change.number, text=text, status=status, first=at, entry=at, undone=undone)
        known = found.get((point.kind, point.number))
        if known is not None:  # an entry that undoes it, or takes it up again, is not the one that ended it
            under_way = known.status in ("running", "waiting") and not point.undone
            status = known.status if point.undone and point.kind == "turn" else point.status
            point = replace(point, first=known.first, entry=at if under_way else known.entry, status=status)
        found[point.kind, point.number] = point
    return list(found.values())
