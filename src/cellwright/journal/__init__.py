"""The journal: what came through the doors, kept so that a session can be run again."""

from cellwright.journal.blocks import VERBS as TRANSACTION_VERBS
from cellwright.journal.blocks import origins_of, trees_of
from cellwright.journal.call_text import call_line, ended_by_done, value_text
from cellwright.journal.checkpoints import read_key
from cellwright.journal.conversations import Conversation, conversation, replies, reply_in, request_in, requests_in
from cellwright.journal.divergence import Divergence
from cellwright.journal.effects import WITHHELD, is_effect
from cellwright.journal.heartbeat import HEART, claim_session, claimed, release_session
from cellwright.journal.history import History, HistoryPart, checked_entry
from cellwright.journal.kept_session import KeptSession
from cellwright.journal.mail import LONGEST_MESSAGE, Mail, new_message
from cellwright.journal.offline_replay import Repeated, repeat
from cellwright.journal.old_files import require_files
from cellwright.journal.pause import PauseWatch
from cellwright.journal.questions import (
    WITHDRAWN,
    CallQuestions,
    is_late,
    is_open,
    open_questions_in,
    withdraw_of_lost_cells,
)
from cellwright.journal.replayed_model import ReplayedModel
from cellwright.journal.restoration import Restored
from cellwright.journal.rollback import Rewind, Rewound, RolledBack, is_undone, taken_back
from cellwright.journal.session_journal import ForkPoint, SessionJournal, SessionOwner, check_id
from cellwright.journal.session_workspaces import (
    existing_workspace,
    files_of,
    lost_tree,
    remove_workspace,
    workspace_from_tree,
    workspace_of,
)
from cellwright.journal.snapshots import FileDiff, Versions, kept_after
from cellwright.journal.trees import EMPTY, FileChange, Trees
from cellwright.journal.turns import Turns
from cellwright.journal.writer import JournalWriter

__all__ = [
    "EMPTY",
    "HEART",
    "LONGEST_MESSAGE",
    "TRANSACTION_VERBS",
    "WITHDRAWN",
    "WITHHELD",
    "CallQuestions",
    "Conversation",
    "Divergence",
    "FileChange",
    "FileDiff",
    "ForkPoint",
    "History",
    "HistoryPart",
    "JournalWriter",
    "KeptSession",
    "Mail",
    "PauseWatch",
    "Repeated",
    "ReplayedModel",
    "Restored",
    "Rewind",
    "Rewound",
    "RolledBack",
    "SessionJournal",
    "SessionOwner",
    "Trees",
    "Turns",
    "Versions",
    "call_line",
    "check_id",
    "checked_entry",
    "claim_session",
    "claimed",
    "conversation",
    "ended_by_done",
    "existing_workspace",
    "files_of",
    "is_effect",
    "is_late",
    "is_open",
    "is_undone",
    "kept_after",
    "lost_tree",
    "new_message",
    "open_questions_in",
    "origins_of",
    "read_key",
    "release_session",
    "remove_workspace",
    "repeat",
    "replies",
    "reply_in",
    "request_in",
    "requests_in",
    "require_files",
    "taken_back",
    "trees_of",
    "value_text",
    "withdraw_of_lost_cells",
    "workspace_from_tree",
    "workspace_of",
]
