"""Live objects for guest code: what is bound, how it crosses, what is known of each operation."""

from toolwright.scope.annotations import Speller, Where, is_standard, names_of
from toolwright.scope.api_records import Finder, RecordMethod, find_records_with, record_class
from toolwright.scope.classes import kind_of
from toolwright.scope.current import CurrentCall, current_call
from toolwright.scope.heads import signature_of as head_signature
from toolwright.scope.host import ScopeHost
from toolwright.scope.lent import GuestFunction, GuestIterator, given_type
from toolwright.scope.lines import Line, Shape, ShapeKind
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
from toolwright.scope.stub_module import PRELUDE, StubModule, scope_stubs
from toolwright.scope.stubs import stub
from toolwright.scope.surfaces import NAMESPACE, SURFACE, Connector, Offered, Surface, surface_of
from toolwright.scope.undo import Undoing
from toolwright_guest.hints import is_expression as is_type_expression
from toolwright_guest.objects import Record

__all__ = [
    "FUNCTIONS",
    "NAMESPACE",
    "PRELUDE",
    "SURFACE",
    "Connector",
    "CurrentCall",
    "Finder",
    "GuestFunction",
    "GuestIterator",
    "Line",
    "LostObject",
    "Offered",
    "Operation",
    "Place",
    "Placed",
    "Reachable",
    "Record",
    "RecordMethod",
    "Revivable",
    "Scope",
    "ScopeHost",
    "Shape",
    "ShapeKind",
    "Speller",
    "StubModule",
    "Surface",
    "Undoing",
    "Where",
    "arguments",
    "callables",
    "class_names",
    "current_call",
    "default_text",
    "doc",
    "find_records_with",
    "given_type",
    "handles_in",
    "head_signature",
    "is_standard",
    "is_type_expression",
    "kind_of",
    "module_members",
    "names_of",
    "operation",
    "parse",
    "public_members",
    "record_class",
    "scope_stubs",
    "shown",
    "signature_text",
    "stub",
    "surface_of",
]
