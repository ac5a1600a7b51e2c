"""Live objects for guest code: what is bound, how values cross, and the facts of each operation."""

from cellwright.scope.annotations import ANY, HIDDEN, Speller, Where, is_standard, names_of
from cellwright.scope.api_records import RecordMethod, find_records_with, record_class
from cellwright.scope.classes import is_typed_dict, kind_of, type_hints
from cellwright.scope.content_writer import given_frame_text
from cellwright.scope.conversions import ALIASES as CONVERTED_NAMES
from cellwright.scope.conversions import CONVERTED
from cellwright.scope.declarations import Declaration, Shape
from cellwright.scope.distributions import BroadBinding
from cellwright.scope.executor import arguments
from cellwright.scope.frames import guest_table
from cellwright.scope.guest_functions import GuestFunction, GuestIterator, given_type
from cellwright.scope.host import ScopeHost
from cellwright.scope.lost_objects import LostObject, Revivable
from cellwright.scope.members import FUNCTIONS, module_members
from cellwright.scope.members import members as public_members
from cellwright.scope.operations import Operation, operation
from cellwright.scope.packed_content import (
    ATOMS,
    KEY,
    FieldNames,
    Leaf,
    PackedContent,
    Scalar,
    content_of,
    named_arguments,
)
from cellwright.scope.parcels import handles_in
from cellwright.scope.placement import Placed
from cellwright.scope.reachable import ReachableFunction, callables, class_names, has_labels
from cellwright.scope.rules import Place
from cellwright.scope.scope import Scope
from cellwright.scope.served_call import CurrentCall, Undoing, current_call
from cellwright.scope.signatures import (
    KEYWORD_ONLY,
    POSITIONAL,
    VAR_POSITIONAL,
    Parameter,
    Signature,
    any_arguments,
    doc,
    is_untold,
    signature_of,
    signature_text,
)
from cellwright.scope.stub_module import PRELUDE, AddedName, PlacedFunction, StubModule, scope_stubs
from cellwright.scope.surfaces import NAMESPACE, SURFACE, Connector, Described, Surface, UpstreamOperation, surface_of
from cellwright.scope.syntax_tree import parse
from cellwright.scope.value_text import ValueWriter, shown
from cellwright_guest.hints import is_expression as is_type_expression
from cellwright_guest.json_records import Record

__all__ = [
    "ANY",
    "ATOMS",
    "CONVERTED",
    "CONVERTED_NAMES",
    "FUNCTIONS",
    "HIDDEN",
    "KEY",
    "KEYWORD_ONLY",
    "NAMESPACE",
    "POSITIONAL",
    "PRELUDE",
    "SURFACE",
    "VAR_POSITIONAL",
    "AddedName",
    "BroadBinding",
    "Connector",
    "CurrentCall",
    "Declaration",
    "Described",
    "FieldNames",
    "GuestFunction",
    "GuestIterator",
    "Leaf",
    "LostObject",
    "Operation",
    "PackedContent",
    "Parameter",
    "Place",
    "Placed",
    "PlacedFunction",
    "ReachableFunction",
    "Record",
    "RecordMethod",
    "Revivable",
    "Scalar",
    "Scope",
    "ScopeHost",
    "Shape",
    "Signature",
    "Speller",
    "StubModule",
    "Surface",
    "Undoing",
    "UpstreamOperation",
    "ValueWriter",
    "Where",
    "any_arguments",
    "arguments",
    "callables",
    "class_names",
    "content_of",
    "current_call",
    "doc",
    "find_records_with",
    "given_frame_text",
    "given_type",
    "guest_table",
    "handles_in",
    "has_labels",
    "is_standard",
    "is_type_expression",
    "is_typed_dict",
    "is_untold",
    "kind_of",
    "module_members",
    "named_arguments",
    "names_of",
    "operation",
    "parse",
    "public_members",
    "record_class",
    "scope_stubs",
    "shown",
    "signature_of",
    "signature_text",
    "surface_of",
    "type_hints",
]
