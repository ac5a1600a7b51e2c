"""The journal: what came through the doors, kept so that a session can be run again."""

from cellwright.journal.asking import Asking
from cellwright.journal.checkpoints import read_key
from cellwright.journal.continuity import Continuity
from cellwright.journal.conversations import Conversation, conversation, replies, reply_in, request_in, requests_in
from cellwright.journal.heartbeat import HEART, claimed
from cellwright.journal.life import Divergence
from cellwright.journal.mail import Mail, new_message
from cellwright.journal.models import ReplayedModel
from cellwright.journal.moments import checked_entry
from cellwright.journal.offline import Repeated, repeat
from cellwright.journal.places import (
    bring_back,
    files_of,
    known_workspace,
    lost_tree,
    remove_workspace,
    workspace_of,
)
from cellwright.journal.questions import WITHDRAWN, Asker, is_late, is_open, open_in, withdraw_of_lost_cells
from cellwright.journal.restored import Restored
from cellwright.journal.rewinding import Rewinding, Rewound
from cellwright.journal.rollback import RolledBack
from cellwright.journal.session import Fork, SessionJournal, Whose, check_id
from cellwright.journal.story import Story
from cellwright.journal.trees import EMPTY, FileChange, Trees
from cellwright.journal.turns import Turns, is_undone, taken_back
from cellwright.journal.versions import FileDiff, Versions, kept_after
from cellwright.journal.words import counted, ended_by_done, printable, shown, told_value

__all__ = [
    "EMPTY",
    "HEART",
    "WITHDRAWN",
    "Asker",
    "Asking",
    "Continuity",
    "Conversation",
    "Divergence",
    "FileChange",
    "FileDiff",
    "Fork",
    "Mail",
    "Repeated",
    "ReplayedModel",
    "Restored",
    "Rewinding",
    "Rewound",
    "RolledBack",
    "SessionJournal",
    "Story",
    "Trees",
    "Turns",
    "Versions",
    "Whose",
    "bring_back",
    "check_id",
    "checked_entry",
    "claimed",
    "conversation",
    "counted",
    "ended_by_done",
    "files_of",
    "is_late",
    "is_open",
    "is_undone",
    "kept_after",
    "known_workspace",
    "lost_tree",
    "new_message",
    "open_in",
    "printable",
    "read_key",
    "remove_workspace",
    "repeat",
    "replies",
    "reply_in",
    "request_in",
    "requests_in",
    "shown",
    "taken_back",
    "told_value",
    "withdraw_of_lost_cells",
    "workspace_of",
]
