"""Whatever a schema holds, and whatever comes: nothing raises, nothing is lost, every text is Python."""

from __future__ import annotations

import ast
import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.signatures import head_of

from cellwright.schemas import LearnedSchema, Types, jsonable, local_resolve, mismatch, read
from cellwright.schemas.names import attribute_names
from cellwright.scope import record_class
from cellwright_guest.json_records import plain

MANY = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])

KEYS = st.sampled_from(["a", "b-c", "class", "+1", "b_c", "_via", "items", "kind", "$ref", "@odata.type", "名", "x y"])
SCALARS = st.none() | st.booleans() | st.integers(-5, 5) | st.floats() | st.sampled_from(["", "a", "b\n'\"", "cat"])
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)
REFS = st.sampled_from(["#", "#/$defs/cat", "#/$defs/dog", "#/$defs/gone", "#cat", "other.json#/x", "#/$defs/x~1y"])
TYPES = st.sampled_from(["string", "integer", "number", "boolean", "array", "object", "null", "file", "odd"])


def schemas_of(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(inner, max_size=3)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": TYPES | st.lists(TYPES, max_size=3) | SCALARS,
            "properties": st.dictionaries(KEYS, inner, max_size=4) | SCALARS,
            "required": st.lists(KEYS | SCALARS, max_size=3) | SCALARS,
            "additionalProperties": inner,
            "items": inner | several,
            "prefixItems": several | SCALARS,
            "allOf": several | SCALARS,
            "oneOf": several,
            "anyOf": several | SCALARS,
            "not": inner,
            "$ref": REFS | SCALARS,
            "enum": st.lists(VALUES, max_size=3) | SCALARS,
            "const": VALUES,
            "discriminator": st.sampled_from(["kind", {"propertyName": "kind", "mapping": {"a": "#/$defs/cat"}}, 3]),
            "nullable": SCALARS,
            "format": st.sampled_from(["binary", "byte", "date-time"]) | SCALARS,
            "pattern": st.sampled_from(["^a", "(a+)+$", "[", "(?i)A", "[[a]"]) | SCALARS,
            "minimum": SCALARS,
            "exclusiveMaximum": SCALARS,
            "multipleOf": SCALARS,
            "minLength": SCALARS,
            "maxItems": SCALARS,
            "uniqueItems": SCALARS,
            "readOnly": SCALARS,
            "writeOnly": SCALARS,
            "description": SCALARS | st.sampled_from(["An [a](b). Next.", "<p>x"]),
            "title": SCALARS,
        },
    )


SCHEMAS = st.recursive(SCALARS | REFS.map(lambda ref: {"$ref": ref}), schemas_of, max_leaves=10)
DOCUMENTS = st.fixed_dictionaries({"$defs": st.fixed_dictionaries({"cat": SCHEMAS, "dog": SCHEMAS, "x/y": SCHEMAS})})


@MANY
@given(SCHEMAS, DOCUMENTS)
def test_every_schema_has_types_and_they_are_python(schema: Any, document: Any) -> None:
    made = Types(local_resolve(document))
    texts = [made.taken(schema, "it"), made.given(schema, "it")[0]]
    shapes = made.shapes()
    texts += [line.gives for shape in shapes.values() for line in shape.lines]
    for text in texts:
        names = {node.id for node in ast.walk(ast.parse(text, mode="eval")) if isinstance(node, ast.Name)}
        known = {"str", "int", "float", "bool", "bytes", "Any", "Literal", "NotRequired", "list", "dict"}
        assert names <= known | shapes.keys()
    for shape in shapes.values():
        body = "\n".join(f"    {head_of(line)}" for line in shape.lines)
        ast.parse(f"class {shape.name}:\n{body or '    pass'}")
        assert len({line.name for line in shape.lines}) == len(shape.lines)
    assert made.records() == {name: type(plan).from_plain(plan.to_plain()) for name, plan in made.records().items()}


OBJECTS = st.dictionaries(KEYS, SCHEMAS, min_size=1).map(lambda keys: {"type": "object", "properties": keys})
LISTS = OBJECTS.map(lambda inner: {"type": "array", "items": inner})
DICTS = st.dictionaries(KEYS, VALUES, min_size=1)


@MANY
@given(OBJECTS | LISTS | SCHEMAS, DOCUMENTS, DICTS | st.lists(DICTS, max_size=3) | VALUES)
def test_reading_loses_nothing(schema: Any, document: Any, value: Any) -> None:
    made = Types(local_resolve(document))
    reading = json.loads(json.dumps(made.given(schema, "it")[1]))
    plans = made.records()
    classes = {name: record_class("p", name, fields=plan.fields) for name, plan in plans.items()}
    came = read(value, reading, lambda name: (classes[name], plans[name]), {"owner": "o"})
    assert repr(plain(came)) == repr(value)
    assert repr(jsonable(came)) == repr(value)


@MANY
@given(SCHEMAS, DOCUMENTS, VALUES)
def test_a_check_never_raises_and_tells_one_line(schema: Any, document: Any, value: Any) -> None:
    told = mismatch(value, schema, local_resolve(document))
    assert told is None or (told.startswith("body") and "\n" not in told)


@MANY
@given(st.lists(VALUES, min_size=1, max_size=5))
def test_samples_fit_the_schema_that_is_learned_from_them(samples: list[Any]) -> None:
    made = LearnedSchema()
    for sample in samples:
        made.add(sample)
    kept = LearnedSchema.from_plain(json.loads(json.dumps(made.to_plain())))
    for sample in samples:
        if "nan" not in repr(sample) and "inf" not in repr(sample):
            assert mismatch(sample, kept.schema(), local_resolve({})) is None


@MANY
@given(st.lists(st.text(max_size=6), max_size=8))
def test_attributes_of_any_keys_are_names_and_all_different(keys: list[str]) -> None:
    names = attribute_names(keys)
    assert len(set(names.values())) == len(set(keys))
    for name in names.values():
        assert ast.parse(f"x.{name}", mode="eval").body.attr == name  # type: ignore[attr-defined]
