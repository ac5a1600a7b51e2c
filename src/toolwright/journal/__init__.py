"""The journal: what came through the doors, kept so that a session can be run again."""

from toolwright.journal.asking import Asking
from toolwright.journal.checkpoints import read_key
from toolwright.journal.continuity import Continuity
from toolwright.journal.conversations import Conversation, conversation, replies, reply_in, request_in, requests_in
from toolwright.journal.heartbeat import HEART, claimed
from toolwright.journal.life import Divergence
from toolwright.journal.mail import Mail, new_message
from toolwright.journal.models import ReplayedModel
from toolwright.journal.moments import checked_entry
from toolwright.journal.offline import Repeated, repeat
from toolwright.journal.places import (
    bring_back,
    files_of,
    known_workspace,
    lost_tree,
    remove_workspace,
    workspace_of,
)
from toolwright.journal.questions import WITHDRAWN, Asker, is_late, is_open, open_in, withdraw_of_lost_cells
from toolwright.journal.restored import Restored
from toolwright.journal.rewinding import Rewinding, Rewound
from toolwright.journal.rollback import RolledBack
from toolwright.journal.session import Fork, SessionJournal, Whose, check_id
from toolwright.journal.story import Story
from toolwright.journal.trees import EMPTY, FileChange, Trees
from toolwright.journal.turns import Turns, is_undone, taken_back
from toolwright.journal.versions import FileDiff, Versions, kept_after
from toolwright.journal.words import counted, ended_by_done, printable, shown, told_value

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
