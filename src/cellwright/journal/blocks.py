"""The transactions of a session: which calls lie in which block, and what became of each.

A block is known by the prefix of its calls' paths. Knows nothing of how one is undone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from cellwright.journal.call_paths import origin_of
from cellwright.store import CellRow, EntryChange, Row
from cellwright_guest.wire import type_of

BEGIN, COMMIT, UNDO = "begin", "commit", "undo"  # what guest code says of a block, as verbs
VERBS = frozenset((BEGIN, COMMIT, UNDO))
ENDED = "transaction"  # the verb of a row that says: undone from outside, because its cell was ended
_AFTER = frozenset("#.~+!:*")  # what may follow a prefix in a path


@dataclass(kw_only=True, slots=True)
class TransactionBlock:
    """`tree` is the workspace when it began. `anyway`: what cannot be undone may run in it.

    `used`: something may have been done in it.
    """

    prefix: str
    cell: int
    tree: str
    anyway: bool
    used: bool = True
    state: Literal["open", "committed", "undoing", "undone", "failed"] = "open"


def lies_in(path: str, prefix: str) -> bool:
    """Whether the call or the block of that path belongs to the block."""
    return path.startswith(prefix) and path[len(prefix) : len(prefix) + 1] in _AFTER and bool(prefix)


def prefixes_of(path: str) -> Iterator[str]:
    """What a block may be called that this path lies in, the outermost first."""
    return (path[:at] for at, letter in enumerate(path) if letter in _AFTER)


class TransactionBlocks:
    """By prefix, in the order in which they began."""

    def __init__(self) -> None:
        self._known: dict[str, TransactionBlock] = {}

    @staticmethod
    def told_by(rows: Iterable[Row]) -> TransactionBlocks:
        """What these rows say of blocks."""
        blocks = TransactionBlocks()
        for row in sorted(rows, key=lambda row: (row.delivered is None, row.delivered or 0)):
            blocks.hear(row)
        return blocks

    def hear(self, row: Row) -> None:
        """What a row says of a block, if it says something."""
        said = row.verb in VERBS if row.door == "host" else row.door == "undo" and row.verb == ENDED
        block = self.find(row.name)
        if not said or row.status != "done":
            return
        if row.verb == BEGIN:
            self.begin(row.name, row.cell, tree_in(row), anyway_in(row.arguments.tree) is True)
        elif block is not None and row.verb == COMMIT:
            block.state = "committed"
        elif block is not None and (row.verb == ENDED or tree_in(row)):
            self.undone(block)
        elif block is not None:
            block.state = "failed"

    def __len__(self) -> int:
        return len(self._known)

    def begin(self, prefix: str, cell: int, tree: str, anyway: bool) -> TransactionBlock:
        block = self._known[prefix] = TransactionBlock(prefix=prefix, cell=cell, tree=tree, anyway=anyway)
        return block

    def forget(self, prefix: str) -> None:
        self._known.pop(prefix, None)

    def find(self, prefix: str) -> TransactionBlock | None:
        return self._known.get(prefix)

    def around(self, path: str) -> list[TransactionBlock]:
        """The blocks that a call lies in, the outermost first."""
        found = (self._known.get(prefix) for prefix in prefixes_of(path))
        return [block for block in found if block is not None]

    def open(self) -> list[TransactionBlock]:
        return [block for block in self._known.values() if block.state in ("open", "undoing")]

    def undone(self, block: TransactionBlock) -> None:
        """It, and with it those inside; the files that others began with later are gone as well."""
        block.state = "undone"
        later = False
        for other in self._known.values():
            later = later or other is block
            if lies_in(other.prefix, block.prefix):
                other.state = "undone"
            elif later:
                other.tree = block.tree


def origins_of(row: Row) -> tuple[int, int]:
    """The last cell, and the last callback that host code made on its own, of which a row speaks."""
    says = row.verb == ENDED or (row.door == "host" and row.verb in VERBS)
    cells, callbacks = zip(*map(origin_of, (row.path, row.name) if says else (row.path,)), strict=True)
    return max(row.cell, *cells), max(callbacks)


def tree_in(row: Row) -> str:
    """The tree that an answer to `begin` names, or that `undo` brought back; "" for none."""
    told: Any = None if row.value is None else row.value.tree
    if row.verb != BEGIN:
        told = told["m"].get("tree") if type_of(told) is dict and "m" in told else None
    return told if type_of(told) is str else ""


def trees_of(change: EntryChange) -> tuple[str, ...]:
    """The trees that an entry names: before and after a cell, or where a transaction of guest code began."""
    match change:
        case CellRow():
            return tuple(filter(None, dict.fromkeys((change.tree, change.tree_after))))
        case Row(door="host", status="done") if change.verb in (BEGIN, UNDO):
            return tuple(filter(None, (tree_in(change),)))
        case _:
            return ()


def anyway_in(arguments: Any) -> bool | None:
    """The one argument of `begin`; None where it is something else."""
    match arguments:
        case {"t": [bool(anyway)]}:
            return anyway
        case _:
            return None
