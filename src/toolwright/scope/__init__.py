"""Live objects for guest code: what is bound, how it crosses, what is known of each operation."""

from toolwright.scope.annotations import Speller, Where, is_standard, names_of
from toolwright.scope.classes import kind_of
from toolwright.scope.current import CurrentCall, current_call
from toolwright.scope.host import ScopeHost
from toolwright.scope.lent import GuestFunction, GuestIterator, given_type
from toolwright.scope.members import FUNCTIONS, module_members
from toolwright.scope.members import members as public_members
from toolwright.scope.operations import Operation, operation
from toolwright.scope.parsing import parse
from toolwright.scope.placing import Placed
from toolwright.scope.reachable import Reachable, callables, class_names
from toolwright.scope.recorded import handles_in
from toolwright.scope.revive import LostObject, Revivable
from toolwright.scope.rules import Place
from toolwright.scope.running import arguments
from toolwright.scope.scope import Scope
from toolwright.scope.showing import shown
from toolwright.scope.signatures import default_text, doc, signature_text
from toolwright.scope.stub_module import StubModule, scope_stubs
from toolwright.scope.stubs import stub
from toolwright.scope.undo import Undoing
from toolwright_guest.hints import is_expression as is_type_expression

__all__ = [
    "FUNCTIONS",
    "CurrentCall",
    "GuestFunction",
    "GuestIterator",
    "LostObject",
    "Operation",
    "Place",
    "Placed",
    "Reachable",
    "Revivable",
    "Scope",
    "ScopeHost",
    "Speller",
    "StubModule",
    "Undoing",
    "Where",
    "arguments",
    "callables",
    "class_names",
    "current_call",
    "default_text",
    "doc",
    "given_type",
    "handles_in",
    "is_standard",
    "is_type_expression",
    "kind_of",
    "module_members",
    "names_of",
    "operation",
    "parse",
    "public_members",
    "scope_stubs",
    "shown",
    "signature_text",
    "stub",
]
