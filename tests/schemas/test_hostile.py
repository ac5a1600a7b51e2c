"""Schemas that are small and would cost much, and values that are."""

from __future__ import annotations

from typing import Any

import pytest

from cellwright.schemas import Types, is_large, local_resolve
from cellwright.schemas.constraints import matches
from cellwright.schemas.names import ClassNames


def test_types_that_double_at_each_step_end_as_any() -> None:
    schemas: dict[str, Any] = {"A0": {"type": "string"}}
    for n in range(1, 60):
        inner = {"$ref": f"#/$defs/A{n - 1}"}
        schemas[f"A{n}"] = {"anyOf": [{"type": "array", "items": inner}, {"additionalProperties": inner}]}
    types = Types(local_resolve({"$defs": schemas}))
    texts = [types.taken({"$ref": f"#/$defs/A{n}"}, "x") for n in range(60)]
    assert texts[2] == "list[list[str] | dict[str, str]] | dict[str, list[str] | dict[str, str]]"
    assert max(map(len, texts)) < 10_000


@pytest.mark.parametrize(
    ("pattern", "text"),
    [("^x|a*b", "a" * 200_000), (r"^(.*)\1$", "a" * 200_000 + "b"), ("(a+)+$", "a" * 50 + "b")],
)
def test_a_pattern_that_could_take_for_ever_is_not_run(pattern: str, text: str) -> None:
    assert matches(pattern, text)


def test_a_pattern_with_choices_is_run_on_a_short_text() -> None:
    assert not matches("^(?:a|b)$", "c")
    assert matches("^(?:a|b)$", "b")


def test_a_thousand_classes_of_one_name_are_numbered_in_order() -> None:
    names = ClassNames()
    assert [names.free(("A",)) for _ in range(3)] == ["A", "A2", "A3"]
    assert len({names.free(("A",)) for _ in range(5000)}) == 5000


def test_a_list_that_is_shared_counts_in_each_place() -> None:
    shared: Any = "x"
    for _ in range(40):
        shared = [shared, shared]
    assert is_large({"a": shared})
    assert not is_large({"a": [1, {"b": (2, 3)}]})
