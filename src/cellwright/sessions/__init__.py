"""Sessions as a tree: listed, shown, searched, forked, rewound, named, exported, imported and removed."""

from cellwright.sessions.exporting import Exported
from cellwright.sessions.files import SessionFiles
from cellwright.sessions.history import CallShown, CellShown, History, NoteShown, TurnShown
from cellwright.sessions.importing import Imported
from cellwright.sessions.removing import Removed
from cellwright.sessions.searching import SEARCHING, Policy, Searcher, SessionHit, check_policy
from cellwright.sessions.sessions import Sessions
from cellwright.sessions.tree import Branch, Left, Point

__all__ = [
    "SEARCHING",
    "Branch",
    "CallShown",
    "CellShown",
    "Exported",
    "History",
    "Imported",
    "Left",
    "NoteShown",
    "Point",
    "Policy",
    "Removed",
    "Searcher",
    "SessionFiles",
    "SessionHit",
    "Sessions",
    "TurnShown",
    "check_policy",
]
