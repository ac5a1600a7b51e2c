"""For tests, yours too: fakes that stand at the doors, and checks that any implementation must pass."""

from toolwright.testing.journal import check_journal
from toolwright.testing.model import ScriptedModel, broken, call, code, fenced
from toolwright.testing.sandbox import check_sandbox

__all__ = ["ScriptedModel", "broken", "call", "check_journal", "check_sandbox", "code", "fenced"]
