"""A None that code gives: null where the schema says so, and otherwise nothing."""

from __future__ import annotations

from typing import Any

import pytest

from cellwright.schemas import local_resolve, takes_null

DOCUMENT: Any = {
    "components": {
        "schemas": {
            "Issue": {"allOf": [{"properties": {"closed": {"type": "boolean", "nullable": True}}}]},
            "Maybe": {"type": ["string", "null"]},
        }
    }
}


@pytest.mark.parametrize(
    ("schema", "null"),
    [
        ({"properties": {"closed": {"type": ["string", "null"]}}}, True),
        ({"properties": {"closed": {"type": "string", "nullable": True}}}, True),
        ({"properties": {"closed": {"enum": ["a", None]}}}, True),
        ({"properties": {"closed": {"anyOf": [{"type": "string"}, {"type": "null"}]}}}, True),
        ({"properties": {"closed": {"$ref": "#/components/schemas/Maybe"}}}, True),
        ({"$ref": "#/components/schemas/Issue"}, True),
        ({"properties": {"closed": {"type": "string"}}}, False),
        ({"properties": {"closed": {}}}, False),
        ({"properties": {}}, False),
        ("no schema", False),
    ],
)
def test_a_key_takes_null_where_its_schema_says_so(schema: Any, null: bool) -> None:
    assert takes_null(schema, "closed", local_resolve(DOCUMENT)) is null
