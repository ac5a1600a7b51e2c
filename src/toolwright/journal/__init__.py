"""The journal: what came through the doors, kept so that a session can be run again."""

from toolwright.journal.checkpoints import read_key
from toolwright.journal.continuity import Continuity
from toolwright.journal.conversations import Conversation, conversation, replies
from toolwright.journal.life import Divergence
from toolwright.journal.memory import MemoryJournal
from toolwright.journal.models import ReplayedModel
from toolwright.journal.offline import Repeated, repeat
from toolwright.journal.places import workspace_of
from toolwright.journal.restored import Restored
from toolwright.journal.rollback import RolledBack
from toolwright.journal.rows import (
    Blobs,
    CellRow,
    CellStatus,
    Change,
    Checkpoint,
    Claim,
    DoorName,
    Dropped,
    Facts,
    Journal,
    Reading,
    Row,
    Status,
    Writing,
)
from toolwright.journal.session import Fork, SessionJournal, check_id
from toolwright.journal.sqlite import SqliteJournal
from toolwright.journal.story import Story
from toolwright.journal.trees import Trees
from toolwright.journal.turns import Turns
from toolwright.journal.urls import open_journal
from toolwright.journal.words import printable

__all__ = [
    "Blobs",
    "CellRow",
    "CellStatus",
    "Change",
    "Checkpoint",
    "Claim",
    "Continuity",
    "Conversation",
    "Divergence",
    "DoorName",
    "Dropped",
    "Facts",
    "Fork",
    "Journal",
    "MemoryJournal",
    "Reading",
    "Repeated",
    "ReplayedModel",
    "Restored",
    "RolledBack",
    "Row",
    "SessionJournal",
    "SqliteJournal",
    "Status",
    "Story",
    "Trees",
    "Turns",
    "Writing",
    "check_id",
    "conversation",
    "open_journal",
    "printable",
    "read_key",
    "repeat",
    "replies",
    "workspace_of",
]
