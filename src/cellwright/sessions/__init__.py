"""Sessions as a tree: listed, shown, searched, forked, rewound, named, exported, imported and removed."""

from cellwright.sessions.branches import RemovedSessions
from cellwright.sessions.searcher import SEARCH_HINT, Searcher, SearchPolicy, check_policy
from cellwright.sessions.session_history import SessionHistory, ShownCell, ShownNote, ShownTurn
from cellwright.sessions.session_import import ImportedSession
from cellwright.sessions.session_tree import Branch, LeftBranch, TreePoint
from cellwright.sessions.sessions import Sessions

__all__ = [
    "SEARCH_HINT",
    "Branch",
    "ImportedSession",
    "LeftBranch",
    "RemovedSessions",
    "SearchPolicy",
    "Searcher",
    "SessionHistory",
    "Sessions",
    "ShownCell",
    "ShownNote",
    "ShownTurn",
    "TreePoint",
    "check_policy",
]
