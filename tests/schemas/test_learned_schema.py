"""Schemas learned from samples."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.signatures import head_of

from cellwright.schemas import LearnedSchema, Types, local_resolve


def learned(*samples: Any) -> LearnedSchema:
    made = LearnedSchema()
    for sample in samples:
        made.add(sample)
    return made


def test_nothing_is_known_before_the_first_sample() -> None:
    assert learned().schema() == {}


def test_samples_are_merged_and_the_schema_says_where_it_is_from() -> None:
    made = learned({"id": 1, "name": "a", "tags": ["x"]}, {"id": 2.5, "name": None})
    assert made.schema() == {
        "type": "object",
        "properties": {
            "id": {"type": "number"},
            "name": {"type": ["string", "null"]},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["id", "name"],
        "description": "learned from 2 responses",
    }


def test_a_learned_schema_becomes_a_record() -> None:
    types = Types(local_resolve({}))
    assert types.given(learned([{"id": 1}, {"id": 2, "more": True}]).schema(), "things")[0] == "list[Thing]"
    assert [head_of(line) for line in types.shapes()["Thing"].lines] == ["id: int", "more: bool | None"]


def test_an_object_whose_keys_are_ids_is_a_mapping() -> None:
    made = learned({"1001": {"a": 1}, "1002": {"a": 2}}).schema()
    assert made["additionalProperties"]["properties"] == {"a": {"type": "integer"}}
    wide = learned({f"key{n}": n for n in range(100)}, {f"more{n}": n for n in range(100)}).schema()
    assert "properties" not in wide
    assert wide["additionalProperties"] == {"type": "integer"}


def test_it_is_bounded_whatever_comes() -> None:
    made = LearnedSchema()
    deep: Any = 1
    for _ in range(500):
        deep = [{"in": deep}]
    for n in range(200):
        made.add({f"k{n}_{m}": deep for m in range(50)})
    assert made.count == 50
    assert len(json.dumps(made.to_plain())) < 100_000


def test_what_was_learned_is_kept_as_json() -> None:
    made = learned({"a": [1, {"b": None}]}, {"a": []})
    kept = json.loads(json.dumps(made.to_plain()))
    again = LearnedSchema.from_plain(kept)
    assert (again.count, again.schema()) == (made.count, made.schema())


@pytest.mark.parametrize(
    "damaged", [None, [], {"count": 3}, {"count": 1, "node": {"kinds": 3}}, {"count": 1, "node": 4}]
)
def test_damage_is_nothing_learned(damaged: Any) -> None:
    assert LearnedSchema.from_plain(damaged).schema() == {}
