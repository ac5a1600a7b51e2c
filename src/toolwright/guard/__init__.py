"""What stands between guest code and what it may do: today, a person who is asked."""

from toolwright.guard.approvals import Approved, Lasting
from toolwright.guard.deciding import Always, decide, full_arguments, open_questions
from toolwright.guard.desk import Desk
from toolwright.guard.saying import LATER, Approvals, Approve, Later, Said

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
