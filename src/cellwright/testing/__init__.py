"""For tests, yours too: fakes that stand at the doors, and checks that any implementation must pass."""

from cellwright.testing.model import ScriptedModel, broken, call, code, fenced
from cellwright.testing.sandbox import check_sandbox
from cellwright.testing.store import check_store

__all__ = ["ScriptedModel", "broken", "call", "check_sandbox", "check_store", "code", "fenced"]
