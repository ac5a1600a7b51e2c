"""For tests, yours too: fakes that stand at the doors, and checks that any implementation must pass."""

from toolwright.testing.model import ScriptedModel, broken, call, code, fenced
from toolwright.testing.sandbox import check_sandbox
from toolwright.testing.store import check_store

__all__ = ["ScriptedModel", "broken", "call", "check_sandbox", "check_store", "code", "fenced"]
