"""JSON schemas as Python: types, records, and what does not fit.

types = Types(resolve)                      one for each source; `resolve(ref, base)` -> (id, schema, base)
types.taken(schema, "body")                 type text of what code gives: `str | None`, `IssueInput`
types.given(schema, "issue")                type text of a result, and its Reading: `Issue`, ["record", "Issue"]
types.shapes(), types.records()             the classes that those texts name, and a RecordPlan for each record
types.missing                               the `$ref`s that led nowhere, with the reason; each became `Any`
read(value, reading, record, via)           JSON -> records; what does not fit its schema stays as it came
mismatch(value, schema, resolve)            the first thing that does not fit, in one line, or None
takes_null(schema, key, resolve)            whether a key of an object may be null
jsonable(value)                             what code gives as plain JSON; WrongArguments where it has none
is_large(value)                             whether that, and checking it, is to be done beside the event loop
Learned                                     a schema from samples, where nobody wrote one
attribute_name, attribute_names, class_name names for keys and classes
first_sentence, plain_text                  markdown of descriptions as short plain text
"""

from cellwright.schemas.checking import mismatch
from cellwright.schemas.giving import is_large, jsonable
from cellwright.schemas.learning import Learned
from cellwright.schemas.names import attribute_name, attribute_names, class_name
from cellwright.schemas.nulls import takes_null
from cellwright.schemas.readings import Reading, RecordOf, RecordPlan, read
from cellwright.schemas.resolving import Resolve, local_resolve
from cellwright.schemas.sentences import first_sentence, plain_text
from cellwright.schemas.spelling import Types

__all__ = [
    "Learned",
    "Reading",
    "RecordOf",
    "RecordPlan",
    "Resolve",
    "Types",
    "attribute_name",
    "attribute_names",
    "class_name",
    "first_sentence",
    "is_large",
    "jsonable",
    "local_resolve",
    "mismatch",
    "plain_text",
    "read",
    "takes_null",
]
