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
JsonData(…).of(value)                       the same walk, for readers who write keys and leaves another way
is_large(value)                             whether that, and checking it, is to be done beside the event loop
as_object, as_list, as_text, as_texts       a JSON value of that kind, an empty one instead of any other
parsed_object(content)                      the JSON object of a text, {} where the text is anything else
is_json(media)                              whether a media type is JSON
LearnedSchema                               a schema from samples, where nobody wrote one
class_name(text)                            a name for a class
first_sentence, plain_text                  markdown of descriptions as short plain text
"""

from cellwright.schemas.flat_schema import FlatSchema, Flattener, Resolve, anchors_of, follow, local_resolve, takes_null
from cellwright.schemas.json_values import (
    JsonData,
    as_list,
    as_object,
    as_text,
    as_texts,
    is_json,
    is_large,
    jsonable,
    parsed_object,
    record_fields,
)
from cellwright.schemas.learned_schema import LearnedSchema
from cellwright.schemas.mismatches import mismatch
from cellwright.schemas.names import class_name, regular_singular
from cellwright.schemas.python_types import Types
from cellwright.schemas.readings import Reading, RecordPlan, read
from cellwright.schemas.sentences import first_sentence, plain_text

__all__ = [
    "FlatSchema",
    "Flattener",
    "JsonData",
    "LearnedSchema",
    "Reading",
    "RecordPlan",
    "Resolve",
    "Types",
    "anchors_of",
    "as_list",
    "as_object",
    "as_text",
    "as_texts",
    "class_name",
    "first_sentence",
    "follow",
    "is_json",
    "is_large",
    "jsonable",
    "local_resolve",
    "mismatch",
    "parsed_object",
    "plain_text",
    "read",
    "record_fields",
    "regular_singular",
    "takes_null",
]
