"""Schemas as type texts, shapes and record plans."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from tests.signatures import head_of

from cellwright.schemas import Types, local_resolve

Node = dict[str, Any]


def types(**schemas: Any) -> Types:
    return Types(local_resolve({"components": {"schemas": schemas}}))


def ref(name: str) -> Node:
    return {"$ref": f"#/components/schemas/{name}"}


def heads(made: Types, name: str) -> list[str]:
    return [head_of(line) for line in made.shapes()[name].lines]


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "string"}, "str"),
        ({"type": "integer"}, "int"),
        ({"type": "number"}, "float"),
        ({"type": "boolean"}, "bool"),
        ({"type": "null"}, "None"),
        ({"type": "string", "nullable": True}, "str | None"),
        ({"type": "string", "x-nullable": True}, "str | None"),
        ({"type": ["string", "null"]}, "str | None"),
        ({"type": ["null", "integer", "string"]}, "int | str | None"),
        ({"type": ["integer", "number"]}, "float"),
        ({"type": "array", "items": {"type": "string"}}, "list[str]"),
        ({"type": "array"}, "list[Any]"),
        ({"items": {"type": "integer"}}, "list[int]"),
        ({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]}, "list[str | int]"),
        ({"type": "array", "items": [{"type": "string"}, {"type": "integer"}]}, "list[str | int]"),
        ({"type": "object"}, "dict[str, Any]"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "dict[str, int]"),
        ({"type": "object", "additionalProperties": True}, "dict[str, Any]"),
        ({"type": "object", "additionalProperties": False}, "dict[str, Any]"),
        ({"patternProperties": {"^x": {"type": "string"}}}, "dict[str, str]"),
        ({"enum": ["a", 1, None]}, "Literal['a', 1] | None"),
        ({"type": "integer", "enum": [1, 2]}, "Literal[1, 2]"),
        ({"type": "string", "enum": [1, 2]}, "Literal['1', '2']"),
        ({"type": "string", "enum": [True, False]}, "str"),
        ({"enum": [1.5, 2.5]}, "float"),
        ({"type": "string", "enum": [str(n) for n in range(99)]}, "str"),
        ({"const": "x"}, "Literal['x']"),
        ({"oneOf": [{"const": "a"}, {"const": "b"}]}, "Literal['a', 'b']"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "str | None"),
        ({"anyOf": [{"type": "string"}, {"type": "object", "nullable": True}]}, "str | None"),
        ({"type": "string", "anyOf": [{"format": "date"}, {"format": "uuid"}]}, "str"),
        ({"allOf": [{"type": "string"}, {"maxLength": 3}]}, "str"),
        ({"type": "string", "format": "date-time"}, "str"),
        ({"type": "string", "format": "binary"}, "bytes"),
        ({"type": "file"}, "bytes"),
        ({"oneOf": [{"type": "array", "items": {"const": n}} for n in range(12)]}, "Any"),
        ({}, "Any"),
        (True, "Any"),
        (False, "Any"),
        (None, "Any"),
        ("string", "Any"),
        ({"type": "strange"}, "Any"),
        ({"type": {"a": 1}}, "Any"),
        ({"$ref": "#/nowhere"}, "Any"),
        ({"$ref": 3}, "Any"),
    ],
)
def test_a_schema_has_the_same_type_both_ways(schema: Any, text: str) -> None:
    assert types().taken(schema, "x") == text
    assert types().given(schema, "x") == (text, None)


def test_base64_is_text_in_a_result_and_may_be_bytes_where_code_gives_it() -> None:
    for schema in ({"type": "string", "format": "byte"}, {"type": "string", "contentEncoding": "base64"}):
        assert types().taken(schema, "x") == "str | bytes"
        assert types().given(schema, "x") == ("str", None)


def test_a_result_with_keys_is_a_record() -> None:
    made = types(
        issue={
            "description": "An issue. It is tracked.",
            "required": ["number", "title", "+1"],
            "properties": {
                "number": {
                    "type": "integer",
                    "description": "Counted [per repo](https://x.y/z), e.g. 3. Never reused.",
                },
                "title": {"type": "string", "nullable": True},
                "+1": {"type": "integer"},
                "user": ref("simple-user"),
                "labels": {"type": "array", "items": {"properties": {"name": {"type": "string"}}}},
                "secret": {"type": "string", "writeOnly": True},
            },
        },
        **{"simple-user": {"type": "object", "properties": {"login": {"type": "string"}}}},
    )
    assert made.given({"type": "array", "items": ref("issue")}, "issues list") == (
        "list[Issue]",
        ["list", ["record", "Issue"]],
    )
    assert heads(made, "Issue") == [
        "number: int",
        "title: str | None",
        "plus_1: int",
        "user: SimpleUser | None",
        "labels: list[IssueLabel] | None",
    ]
    shape, plan = made.shapes()["Issue"], made.records()["Issue"]
    assert (shape.kind, shape.doc) == ("record", "An issue.")
    assert shape.lines[0].doc == "Counted per repo, e.g. 3."
    assert plan.fields["plus_1"] == "+1"
    assert plan.reads == {"user": ["record", "SimpleUser"], "labels": ["list", ["record", "IssueLabel"]]}
    assert type(plan).from_plain(plan.to_plain()) == plan


def test_what_code_gives_is_a_typed_dict_beside_the_record_of_the_same_schema() -> None:
    made = types(
        pet={
            "required": ["name"],
            "properties": {
                "id": {"type": "integer", "readOnly": True},
                "name": {"type": "string"},
                "tag": {"type": "string", "nullable": True},
                "owner": ref("owner"),
            },
        },
        owner={"properties": {"email": {"type": "string"}}},
    )
    assert made.taken(ref("pet"), "body") == "PetInput"
    assert made.given(ref("pet"), "result")[0] == "Pet"
    assert made.shapes()["PetInput"].kind == "dict"
    assert heads(made, "PetInput") == ["name: str", "tag: NotRequired[str | None]", "owner: NotRequired[OwnerInput]"]
    assert heads(made, "Pet")[0] == "id: int | None"


def test_a_typed_dict_that_cannot_have_all_keys_takes_any_dict_as_well() -> None:
    made = types()
    assert made.taken({"properties": {"a": {}}, "additionalProperties": True}, "open") == "OpenInput | dict[str, Any]"
    assert made.taken({"properties": {"a": {}, "b-c": {}}}, "dashed") == "DashedInput | dict[str, Any]"
    assert made.taken({"properties": {"b-c": {}}}, "none") == "dict[str, Any]"
    assert heads(made, "DashedInput") == ["a: NotRequired[Any]"]


def test_all_of_is_one_class_with_the_keys_of_all() -> None:
    made = types(
        animal={"type": "object", "required": ["kind"], "properties": {"kind": {"type": "string"}, "age": {}}},
        cat={"allOf": [ref("animal"), {"properties": {"age": {"type": "integer"}, "lives": {"type": "integer"}}}]},
    )
    assert made.given(ref("cat"), "x")[0] == "Cat"
    assert heads(made, "Cat") == ["kind: str", "age: int | None", "lives: int | None"]
    assert list(made.shapes()) == ["Cat"]


def test_all_of_with_one_ref_and_notes_is_that_ref() -> None:
    made = types(user={"properties": {"id": {"type": "integer"}}})
    for schema in ({"allOf": [ref("user")], "nullable": True}, {**ref("user"), "nullable": True, "description": "Who"}):
        assert made.given(schema, "x") == ("User | None", ["record", "User"])


def test_keys_beside_a_ref_are_added_to_it() -> None:
    made = types(user={"properties": {"id": {"type": "integer"}}})
    made.given({**ref("user"), "properties": {"more": {"type": "string"}}}, "wide user")
    assert heads(made, "WideUser") == ["id: int | None", "more: str | None"]


def test_a_choice_beside_keys_is_one_class_with_optional_keys() -> None:
    made = types()
    made.taken(
        {
            "properties": {"a": {"type": "string"}},
            "required": ["a"],
            "oneOf": [{"properties": {"b": {"type": "integer"}}}, {"properties": {"b": {"type": "string"}, "a": {}}}],
            "anyOf": [{"required": ["b"]}, {"required": ["c"]}],
        },
        "x",
    )
    assert heads(made, "XInput") == ["a: str", "b: NotRequired[int | str]"]


def test_circles_come_to_an_end() -> None:
    made = types(
        node={"properties": {"next": ref("node"), "all": {"type": "array", "items": ref("node")}}},
        json={"anyOf": [{"type": "string"}, {"type": "array", "items": ref("json")}]},
        self=ref("self"),
        a=ref("b"),
        b=ref("a"),
        inherits={"allOf": [ref("inherits"), {"properties": {"x": {}}}]},
    )
    assert made.given(ref("node"), "x")[0] == "Node"
    assert heads(made, "Node") == ["next: Node | None", "all: list[Node] | None"]
    assert made.given(ref("json"), "x")[0] == "str | list[Any]"
    assert made.given(ref("self"), "x")[0] == made.given(ref("a"), "x")[0] == "Any"
    assert made.given(ref("inherits"), "x")[0] == "Inherits"


def test_a_deep_schema_ends_in_any() -> None:
    schema: Node = {"type": "string"}
    for _ in range(3000):
        schema = {"type": "array", "items": schema}
    text = types().given(schema, "x")[0]
    assert text.startswith("list[list[")
    assert "Any" in text


def test_a_ref_that_leads_nowhere_is_any_and_listed() -> None:
    made = types()
    assert made.given({"properties": {"a": ref("gone")}}, "x")[0] == "X"
    assert heads(made, "X") == ["a: Any"]
    assert made.missing == {"#/components/schemas/gone": "nothing at #/components/schemas/gone"}


def test_the_same_schema_is_one_class_wherever_it_is_met() -> None:
    made = types()
    inline = {"properties": {"ok": {"type": "boolean"}}}
    assert made.given(inline, "first")[0] == made.given(inline, "second")[0] == "First"


def test_names_are_the_same_in_every_run_and_never_clash() -> None:
    schemas: Node = {
        name: {"properties": {"v": {"type": "integer"}}} for name in ("a.v1.Pod", "b.v1.Pod", "list", "Exception")
    }
    runs = [[made.given(ref(name), "x")[0] for name in schemas] for made in (types(**schemas), types(**schemas))]
    assert runs[0] == runs[1] == ["Pod", "BV1Pod", "ListObject", "ExceptionObject"]
    assert Types(local_resolve({"$defs": {"Issue": {"properties": {"a": {}}}}}), taken=["Issue"]).given(
        {"$ref": "#/$defs/Issue"}, "x"
    ) == ("Issue2", ["record", "Issue2"])


def test_a_union_of_records_is_told_apart_by_its_discriminator() -> None:
    made = types(
        cat={"properties": {"kind": {"type": "string"}}},
        dog={"properties": {"kind": {"type": "string"}}},
    )
    schema = {
        "oneOf": [ref("cat"), ref("dog")],
        "discriminator": {"propertyName": "kind", "mapping": {"hound": "#/components/schemas/dog"}},
    }
    assert made.given(schema, "x") == (
        "Cat | Dog",
        ["union", [["record", "Cat"], ["record", "Dog"]], {"by": "kind", "map": {"cat": 0, "dog": 1, "hound": 1}}],
    )
    assert made.given({**schema, "discriminator": "kind"}, "x")[1][2]["map"] == {"cat": 0, "dog": 1}


def test_a_union_without_a_discriminator_is_told_apart_by_constants() -> None:
    made = types()
    members = [{"properties": {"object": {"enum": [kind]}}, "title": kind} for kind in ("card", "bank")]
    assert made.given({"anyOf": [*members, {"type": "string"}]}, "source")[0] == "SourceCard | SourceBank | str"
    assert made.given({"anyOf": members}, "pay")[1] == [
        "union",
        [["record", "SourceCard"], ["record", "SourceBank"]],
        {"by": "object", "map": {"card": 0, "bank": 1}},
    ]


def test_other_keys_of_a_record_are_read_by_their_schema() -> None:
    made = types()
    made.given({"properties": {"a": {}}, "additionalProperties": {"properties": {"b": {}}}}, "bag")
    assert made.records()["Bag"].rest == ["record", "BagOther"]


def test_every_text_is_python() -> None:
    made = types()
    texts = [made.taken({"enum": ["it's", 'a "b"', "new\nline", "]"]}, "x")]
    texts += [head_of(line) for shape in made.shapes().values() for line in shape.lines]
    for text in texts:
        ast.parse(text)
