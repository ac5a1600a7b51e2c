"""What stands between guest code and what it may do: today, a person who is asked."""

from toolwright.guard.approvals import Approve, Approved

__all__ = ["Approve", "Approved"]
