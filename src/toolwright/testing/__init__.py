"""For your own tests: what an implementation of Toolwright's contracts must pass."""

from toolwright.testing.sandbox import check_sandbox

__all__ = ["check_sandbox"]
