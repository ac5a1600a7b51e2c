"""What does not fit a schema, told in one line."""

from __future__ import annotations

import datetime
import decimal
import enum
import pathlib
import uuid
from typing import Any

import pytest

from cellwright.schemas import local_resolve, mismatch
from cellwright.scope import record_class


def wrong(value: Any, schema: Any, **schemas: Any) -> str | None:
    return mismatch(value, schema, local_resolve({"$defs": schemas}))


def ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/$defs/{name}"}


ISSUE = {
    "type": "object",
    "required": ["title", "id"],
    "properties": {
        "id": {"type": "integer", "readOnly": True},
        "title": {"type": "string", "maxLength": 5},
        "labels": {"type": "array", "items": {"type": "string"}},
        "x-y": {"type": "integer"},
    },
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("value", "schema", "told"),
    [
        ({"title": "t", "labels": [3]}, ISSUE, "body.labels[0]: 3 is no string"),
        ({"title": "t", "x-y": "a"}, ISSUE, "body['x-y']: 'a' is no integer"),
        ({}, ISSUE, "body: 'title' is missing"),
        ({"titel": "t", "title": "t"}, ISSUE, "body: it has no key 'titel'; did you mean 'title'?"),
        ({"title": "longer"}, ISSUE, "body.title: 6 characters are too many, it takes 5 or fewer"),
        ([], ISSUE, "body: [] is no object"),
        (None, {"type": "string"}, "body: None is no string"),
        (True, {"type": "integer"}, "body: True is no integer"),
        (1.5, {"type": "integer"}, "body: 1.5 is no integer"),
        (float("nan"), {"type": "number"}, "body: nan is no number"),
        (1, {"type": "boolean"}, "body: 1 is no boolean"),
        (1, {"type": ["string", "null", "array"]}, "body: 1 is no string and no list"),
        (b"x", {"type": "string"}, "body: b'x' is no string"),
        (decimal.Decimal("1.5"), {"type": "number"}, "body: Decimal('1.5') is no number; give float(…)"),
        ("opn", {"enum": ["open", "closed"]}, "body: 'opn' is none of 'open', 'closed'; did you mean 'open'?"),
        (True, {"enum": [1, 2]}, "body: True is none of 1, 2"),
        ("b", {"const": "a"}, "body: 'b' is not 'a'"),
        (0, {"minimum": 1}, "body: 0 is less than the minimum, 1"),
        (11, {"maximum": 10}, "body: 11 is more than the maximum, 10"),
        (1, {"minimum": 1, "exclusiveMinimum": True}, "body: 1 is not more than 1"),
        (9, {"exclusiveMaximum": 9}, "body: 9 is not less than 9"),
        (7, {"multipleOf": 2}, "body: 7 is no multiple of 2"),
        ("", {"minLength": 1}, "body: 0 characters are too few, it takes 1 or more"),
        ("x1", {"pattern": "^[a-z]+$"}, "body: 'x1' does not match ^[a-z]+$"),
        ([], {"minItems": 1}, "body: 0 items are too few, it takes 1 or more"),
        ([1, 1], {"uniqueItems": True}, "body: it has the same item twice"),
        ({"a": 1}, {"maxProperties": 0}, "body: 1 keys are too many, it takes 0 or fewer"),
        (["a", "b"], {"prefixItems": [{"type": "string"}, {"type": "integer"}]}, "body[1]: 'b' is no integer"),
        (["a", "b"], {"items": [{"type": "string"}, {"type": "integer"}]}, "body[1]: 'b' is no integer"),
        ({"a": "x"}, {"additionalProperties": {"type": "integer"}}, "body.a: 'x' is no integer"),
        ({}, {"allOf": [{"required": ["a"]}, {"required": ["b"]}]}, "body: 'a' is missing"),
        (3, {"anyOf": [{"type": "string"}, {"type": "array"}]}, "body: 3 is no string; 3 is no list"),
        ({"a": 1}, {"not": {"required": ["a"]}}, "body: {'a': 1} is excluded by `not`"),
        (1, False, "body: 1 may not be given"),
        (object, {"type": "string"}, "body: <class 'object'> is no string"),
    ],
)
def test_the_first_thing_that_does_not_fit_is_told(value: Any, schema: Any, told: str) -> None:
    assert wrong(value, schema) == told


class Mood(enum.Enum):
    GOOD = "good"


FITS: list[tuple[Any, Any]] = [
    ({"title": "t", "id": "unchecked"}, ISSUE),
    (None, {"type": "string", "nullable": True}),
    (None, {"type": "string", "enum": ["a"], "x-nullable": True}),
    (None, {"type": ["string", "null"]}),
    (3.0, {"type": "integer"}),
    (3, {"type": "number"}),
    (0.3, {"multipleOf": 0.1}),
    (datetime.datetime(2026, 1, 2), {"type": "string", "format": "date-time"}),
    (datetime.date(2026, 1, 2), {"type": "string"}),
    (uuid.UUID(int=1), {"type": "string", "format": "uuid"}),
    (decimal.Decimal("1.50"), {"type": "string"}),
    (pathlib.PurePosixPath("a/b"), {"type": "string"}),
    (b"x", {"type": "string", "format": "binary"}),
    (b"x", {"type": "file"}),
    (Mood.GOOD, {"type": "string", "enum": ["good"]}),
    ((1, 2), {"type": "array", "items": {"type": "integer"}}),
    ({1, 2}, {"type": "array", "items": {"type": "integer"}}),
    ("not a date", {"type": "string", "format": "date-time"}),
    ("1", {"type": "string", "enum": [1, 2]}),
    ("yes", {"type": "string", "enum": [True, False]}),
    (1, {"oneOf": [{"type": "integer"}, {"type": "number"}]}),
    ("x", {"pattern": "(?<bad"}),
    ("x", {"pattern": r"\p{L}+$"}),
    ("a" * 40 + "!", {"pattern": "^(a+)+$"}),
    ("a" * 5000 + "!", {"pattern": "^a*a*a*a*$"}),
    ({"anything": 1}, {"type": "object"}),
    ({"a": 1, "b": 2}, {"allOf": [{"properties": {"a": {}}, "additionalProperties": False}, {}]}),
    ({"displayName": "x"}, {"required": ["@odata.type"], "properties": {"@odata.type": {"type": "string"}}}),
    ("x", {"$ref": "#/nowhere"}),
    ("x", True),
    ("x", None),
    ("x", {"type": 3, "enum": 4, "required": "x", "properties": [], "minimum": "1", "pattern": 3}),
]


@pytest.mark.parametrize(("value", "schema"), FITS)
def test_what_fits_or_cannot_be_judged_passes(value: Any, schema: Any) -> None:
    assert wrong(value, schema) is None


def test_a_record_is_checked_by_its_own_keys() -> None:
    made = record_class("test", "Reaction", fields={"plus_1": "+1"})._of({"+1": "x"})  # pyright: ignore[reportPrivateUsage]
    assert wrong(made, {"properties": {"+1": {"type": "integer"}}}) == "body['+1']: 'x' is no integer"


def test_a_union_tells_what_is_wrong_with_the_member_that_is_meant() -> None:
    cat = {"properties": {"kind": {"type": "string"}, "lives": {"type": "integer"}}}
    dog = {"properties": {"kind": {"type": "string"}, "bark": {"type": "string"}}, "required": ["bark"]}
    union = {"oneOf": [ref("cat"), ref("dog")], "discriminator": {"propertyName": "kind"}}
    assert wrong({"kind": "dog", "lives": "x"}, union, cat=cat, dog=dog) == "body: 'bark' is missing"
    assert wrong({"lives": "x"}, union, cat=cat, dog=dog) == "body.lives: 'x' is no integer"


def test_a_nullable_object_in_a_union_is_no_way_round_the_others() -> None:
    union = {"anyOf": [ref("user"), {"type": "object", "nullable": True}]}
    user = {"properties": {"age": {"type": "integer"}}}
    assert wrong({"age": "x"}, union, user=user) == "body.age: 'x' is no integer"
    assert wrong(None, union, user=user) is None


def test_circular_schemas_are_checked_as_deep_as_the_value_goes() -> None:
    node = {"properties": {"next": ref("node"), "value": {"type": "integer"}}}
    assert (
        wrong({"next": {"next": {"value": "x"}}}, ref("node"), node=node) == "body.next.next.value: 'x' is no integer"
    )
    assert wrong({}, ref("a"), a=ref("b"), b={"allOf": [ref("a")]}) is None


def test_choices_within_choices_do_not_multiply() -> None:
    tree = {"properties": {"in": {"oneOf": [ref("tree")] * 4}, "leaf": {"type": "string"}}}
    value: dict[str, Any] = {"leaf": 1}
    for _ in range(20):
        value = {"in": value}
    told = wrong(value, ref("tree"), tree=tree)
    assert told is not None
    assert told.endswith(".leaf: 1 is no string")


def test_a_value_that_holds_itself_is_told() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert "holds itself" in (wrong(loop, {"type": "array"}) or "")


def test_a_message_stays_one_short_line() -> None:
    told = wrong({"title": "x" * 9000, "k": 1}, ISSUE) or ""
    assert len(told) < 200
    told = wrong("a\nb" * 100, {"type": "integer"}) or ""
    assert len(told) < 200
    assert "\n" not in told
