"""Descriptions with junk in any place: they are compiled as far as they can be, or refused in one line."""

from __future__ import annotations

import ast
import contextlib
import copy
import functools
import operator
from collections.abc import Iterator
from typing import Any, cast

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.openapi.specs import NUMBER, TEXT, array, compiled, gives, query, spec, takes, thing
from tests.signatures import head_of

from cellwright.errors import SpecError

PET = {"$ref": "#/components/schemas/Pet"}
WHOLE: dict[str, Any] = spec(
    {
        "/pets": {
            "parameters": [query("page", NUMBER), {"$ref": "#/components/parameters/limit"}],
            "get": {
                "operationId": "pets/list",
                "tags": ["pets"],
                "responses": gives(thing(data=array(PET), next=TEXT)),
            },
            "post": {"requestBody": takes({"oneOf": [PET, array(PET)]}, required=True), "responses": gives(PET, "201")},
        },
        "/pets/{id}": {
            "get": {"operationId": "getPet", "summary": "Get", "responses": gives(PET), "security": [{"key": []}]},
            "delete": {"operationId": "deletePet", "servers": [{"url": "https://{a}.test", "variables": {"a": {}}}]},
        },
    },
    tags=[{"name": "pets", "description": "Pets."}],
    servers=[{"url": "/v1"}],
    components={
        "parameters": {"limit": query("limit", {"type": "integer", "default": 3})},
        "schemas": {
            "Pet": {"allOf": [thing("id", id=TEXT), {"properties": {"mother": PET, "kind": {"enum": ["a", 1]}}}]}
        },
        "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
    },
)
ODD: list[Any] = [None, True, 0, -1.5, "", "x", "#/paths", [], [None], {}, {"": {}}, {"$ref": "#"}, {"$ref": 3}, PET]
JUNK = st.sampled_from(ODD)


def places(node: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inside: Any = ()
    if isinstance(node, dict):
        inside = cast("dict[str, Any]", node).items()
    elif isinstance(node, list):
        inside = enumerate(cast("list[Any]", node))
    for key, value in inside:
        yield (*at, key)
        yield from places(value, (*at, key))


PLACES = [place for place in places(WHOLE) if place != ("openapi",)]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(PLACES), JUNK), min_size=1, max_size=4))
def test_junk_anywhere_costs_no_more_than_its_place(changes: list[tuple[tuple[Any, ...], Any]]) -> None:
    described = copy.deepcopy(WHOLE)
    for place, junk in changes:
        with contextlib.suppress(LookupError, TypeError):  # what an earlier change took away
            holder: Any = functools.reduce(operator.getitem, place[:-1], described)
            holder[place[-1]] = copy.deepcopy(junk)
    found = compiled(described)
    for offered in found.listed():
        assert ast.parse(head_of(offered.line) + ": ...")
        assert found.plan(offered.path) is not None
    if not any("paths" in place[:1] for place, _ in changes):
        assert len(found) == 4


def test_a_path_that_is_no_object_is_told() -> None:
    found = compiled(spec({"/pets": {"get": {"responses": {}}}, "/odd": "what", "/empty": None}))
    assert len(found) == 1
    assert [(one.where, one.reason) for one in found.skipped] == [("/odd", "it is str, no object")]


@settings(max_examples=30, deadline=None)
@given(st.text(max_size=60))
def test_any_text_is_a_description_or_is_refused_in_one_line(text: str) -> None:
    said = ""
    try:
        compiled(f"openapi: 3.0.0\n{text}")
    except SpecError as wrong:
        said = str(wrong)
    assert "\n" not in said
