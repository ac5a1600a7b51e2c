"""For tests, yours too: fakes that stand at the doors, and checks that any implementation must pass."""

from toolwright.testing.sandbox import check_sandbox

__all__ = ["check_sandbox"]
