"""Live objects for guest code: what is bound, how it crosses, what is known of each operation."""

from toolwright.scope.current import CurrentCall, current_call
from toolwright.scope.host import ScopeHost
from toolwright.scope.lent import GuestFunction, GuestIterator
from toolwright.scope.operations import Operation, operation
from toolwright.scope.recorded import handles_in
from toolwright.scope.revive import LostObject, Revivable
from toolwright.scope.scope import Scope
from toolwright.scope.stub_module import scope_stubs
from toolwright.scope.stubs import stub
from toolwright.scope.undo import Undoing

__all__ = [
    "CurrentCall",
    "GuestFunction",
    "GuestIterator",
    "LostObject",
    "Operation",
    "Revivable",
    "Scope",
    "ScopeHost",
    "Undoing",
    "current_call",
    "handles_in",
    "operation",
    "scope_stubs",
    "stub",
]
