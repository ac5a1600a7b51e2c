"""What stands between guest code and what it may do: today, a person who is asked."""

from cellwright.guard.approval_desk import ApprovalDesk, decide, full_arguments, open_questions
from cellwright.guard.approvals import Approved, StoredApproval
from cellwright.guard.approver import LATER, Approvals, Approve, ApproverReply

__all__ = [
    "LATER",
    "ApprovalDesk",
    "Approvals",
    "Approve",
    "Approved",
    "ApproverReply",
    "StoredApproval",
    "decide",
    "full_arguments",
    "open_questions",
]
