"""The tree that a session belongs to: its turns and cells, what was forked and spawned where, what a rewind left.

Each point has the number of the entry at which it was whole, so that it can be forked and rewound to. Reads only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from cellwright.journal import ended_by_done, is_undone
from cellwright.store import CellRow, Entry, Reading, Summary, TurnRow


@dataclass(frozen=True, kw_only=True, slots=True)
class Point:
    """A turn or a cell. `first` is its first entry, `entry` the one at which it was whole; below a turn is the rest."""

    kind: Literal["turn", "cell"]
    number: int
    text: str
    status: str
    first: int
    entry: int
    undone: bool = False
    points: tuple[Point | Left | Branch, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Left:
    """What was left when the session was rewound to `entry`: a side branch of its history."""

    entry: int
    points: tuple[Point | Left | Branch, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Branch:
    """A session with all that hangs on it. `at` is the entry of its parent where it leaves; 0: its beginning.

    `hidden` is how many sessions hang on it that are too deep to be told here: its own tree has them.
    """

    summary: Summary
    how: Literal["root", "fork", "child"] = "root"
    at: int = 0
    points: tuple[Point | Left | Branch, ...] = ()
    hidden: int = 0


Grown = Point | Left | Branch
LEVELS = 20  # of sessions that hang on each other, in one tree
ABOVE = 10  # of these, above a session that is deeper than that


def tree(store: Reading, session: str) -> Branch:
    """The whole tree of a session's root, the root first; of one that is very deep, the part that it stands in."""
    family = store.family(session)
    known = {one.id: one for one in family}
    line = [known[session]]
    while (above := known.get(line[-1].parent or line[-1].child_of)) and above not in line:
        line.append(above)
    first = family[0] if len(line) <= LEVELS else line[ABOVE]
    return _grown(store, first, family, Branch(summary=first), frozenset((first.id,)))


def _grown(
    store: Reading, summary: Summary, family: Sequence[Summary], branch: Branch, above: frozenset[str]
) -> Branch:
    entries = store.entries(summary.id)
    hanging: list[Branch] = []
    # a journal that somebody else wrote may go round in circles
    others = [one for one in family if one.id not in above and summary.id in (one.parent, one.child_of)]
    for other in others if len(above) < LEVELS else ():
        how: Literal["fork", "child"] = "fork" if other.parent == summary.id else "child"
        at = _leaves(other, entries) if how == "child" else _forked(other, entries)
        made = Branch(summary=other, how=how, at=at)
        hanging.append(_grown(store, other, family, made, above | {other.id}))
    return replace(branch, points=tuple(_points(entries, hanging)), hidden=len(others) - len(hanging))


def _leaves(child: Summary, entries: Sequence[Entry]) -> int:
    """The last entry that was written before the child began."""
    return max((entry.number for entry in entries if entry.at <= child.created), default=0)


def _forked(fork: Summary, entries: Sequence[Entry]) -> int:
    """The entry that it was forked at. One that begins before the end of what it knows was forked after a cell."""
    known = [e for e in entries if not fork.parent_entry or e.number <= fork.parent_entry]
    ended = [(e.number, e.change) for e in known if isinstance(e.change, CellRow) and e.change.status != "running"]
    if fork.parent_entry and all(cell.number <= fork.parent_cell for _, cell in ended):
        return fork.parent_entry
    return min((n for n, cell in ended if cell.number == fork.parent_cell), default=0)


def _points(entries: Sequence[Entry], hanging: Sequence[Branch]) -> list[Grown]:
    """The points of one session in order; what was left stands behind the point at which it was left."""
    made = {point.first: point for point in _whole(entries)}
    loose: list[tuple[int, Grown]] = [(branch.at, branch) for branch in hanging]
    live, sides = _lines(entries)
    for line, at in reversed(sides):  # what left last may hang on what left before
        inside = [one for one in loose if one[0] in line]
        loose = [one for one in loose if one[0] not in line]
        grown = _nested([*((number, made[number]) for number in line if number in made), *inside])
        if grown:
            loose.append((at, Left(entry=at, points=tuple(grown))))
    return _nested([*((number, made[number]) for number in live if number in made), *loose])


def _order(one: tuple[int, Grown]) -> tuple[int, bool]:
    return one[0], not isinstance(one[1], Point)


def _nested(points: Sequence[tuple[int, Grown]]) -> list[Grown]:
    """What comes after a turn's beginning stands below it."""
    found: list[Grown] = []
    for _, one in sorted(points, key=_order):
        last = found[-1] if found else None
        if not (isinstance(one, Point) and one.kind == "turn") and isinstance(last, Point) and last.kind == "turn":
            found[-1] = replace(last, points=(*last.points, one))
        else:
            found.append(one)
    return found


def _lines(entries: Sequence[Entry]) -> tuple[frozenset[int], list[tuple[frozenset[int], int]]]:
    """The entries that the last one follows; and the other lines, the oldest first, each with where it leaves."""
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


def _whole(entries: Sequence[Entry]) -> list[Point]:
    """Turns and cells as they stand now, each with its first entry and the one that made it whole."""
    found: dict[tuple[str, int], Point] = {}
    for entry in entries:
        number, change = entry.number, entry.change
        if isinstance(change, TurnRow):
            point = Point(
                kind="turn",
                number=change.number,
                text=change.task,
                status=change.status,
                first=number,
                entry=number,
                undone=is_undone(change),
            )
        elif isinstance(change, CellRow):
            point = Point(
                kind="cell",
                number=change.number,
                text=change.code,
                status="done" if ended_by_done(change) else change.status,
                first=number,
                entry=number,
                undone=change.undone,
            )
        else:
            continue
        known = found.get((point.kind, point.number))
        if known is not None:  # that it was undone, or taken up again, is told later, and is not when it was made
            under_way = known.status in ("running", "waiting") and not point.undone
            status = known.status if point.undone and point.kind == "turn" else point.status
            point = replace(point, first=known.first, entry=number if under_way else known.entry, status=status)
        found[point.kind, point.number] = point
    return list(found.values())
