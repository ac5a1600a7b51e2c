"""Live objects for guest code: what is bound, how it crosses, what is known of each operation."""

from cellwright.scope.annotations import Speller, Where, is_standard, names_of
from cellwright.scope.api_records import Finder, RecordMethod, find_records_with, record_class
from cellwright.scope.classes import kind_of
from cellwright.scope.current import CurrentCall, current_call
from cellwright.scope.heads import signature_of as head_signature
from cellwright.scope.host import ScopeHost
from cellwright.scope.lent import GuestFunction, GuestIterator, given_type
from cellwright.scope.lines import Line, Shape, ShapeKind
from cellwright.scope.members import FUNCTIONS, module_members
from cellwright.scope.members import members as public_members
from cellwright.scope.operations import Operation, operation
from cellwright.scope.parsing import parse
from cellwright.scope.placing import Placed
from cellwright.scope.reachable import Reachable, callables, class_names
from cellwright.scope.recorded import handles_in
from cellwright.scope.revive import LostObject, Revivable
from cellwright.scope.rules import Place
from cellwright.scope.running import arguments
from cellwright.scope.scope import Scope
from cellwright.scope.showing import shown
from cellwright.scope.signatures import default_text, doc, signature_text
from cellwright.scope.stub_module import PRELUDE, StubModule, scope_stubs
from cellwright.scope.stubs import stub
from cellwright.scope.surfaces import NAMESPACE, SURFACE, Connector, Offered, Surface, surface_of
from cellwright.scope.undo import Undoing
from cellwright_guest.hints import is_expression as is_type_expression
from cellwright_guest.objects import Record

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
