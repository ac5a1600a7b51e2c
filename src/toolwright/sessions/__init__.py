"""Sessions as a tree: listed, shown, searched, forked, rewound, named, exported, imported and removed."""

from toolwright.sessions.exporting import Exported
from toolwright.sessions.files import SessionFiles
from toolwright.sessions.history import CallShown, CellShown, History, NoteShown, TurnShown
from toolwright.sessions.importing import Imported
from toolwright.sessions.removing import Removed
from toolwright.sessions.searching import SEARCHING, Policy, Searcher, SessionHit, check_policy
from toolwright.sessions.sessions import Sessions
from toolwright.sessions.tree import Branch, Left, Point

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
