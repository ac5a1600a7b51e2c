"""Live objects for guest code: what is bound, how it crosses, what is known of each operation."""

from toolwright.scope.host import ScopeHost
from toolwright.scope.lent import GuestFunction, GuestIterator
from toolwright.scope.operations import Operation, operation
from toolwright.scope.scope import Scope
from toolwright.scope.stubs import stub

__all__ = ["GuestFunction", "GuestIterator", "Operation", "Scope", "ScopeHost", "operation", "stub"]
