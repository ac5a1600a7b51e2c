"""Which entries of a session are moments that it can be forked at, and rewound to. Reads only."""

from __future__ import annotations

from cellwright.errors import UsageError
from cellwright.store import CellRow, Kept, Note, Reading, Row, TurnRow

READ = 256  # entries at a time


def checked_entry(journal: Reading, session: str, entry: int) -> int:
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


def _is_rewinding(change: Kept) -> bool:
    """Whether it may be one of the entries that make up a rewind or a rollback: none of them is a moment by itself."""
    return change.door == "undo" if isinstance(change, Row) else isinstance(change, CellRow) and change.undone
