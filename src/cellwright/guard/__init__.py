"""What stands between guest code and what it may do: today, a person who is asked."""

from cellwright.guard.approvals import Approved, Lasting
from cellwright.guard.deciding import Always, decide, full_arguments, open_questions
from cellwright.guard.desk import Desk
from cellwright.guard.saying import LATER, Approvals, Approve, Later, Said

__all__ = [
    "LATER",
    "Always",
    "Approvals",
    "Approve",
    "Approved",
    "Desk",
    "Lasting",
    "Later",
    "Said",
    "decide",
    "full_arguments",
    "open_questions",
]
