"""Parameters as text: the tables of the OpenAPI specification, and what must not get out of its place."""

from __future__ import annotations

from typing import Any

import pytest

from cellwright.openapi.operation_plan import ParameterPlan, Place
from cellwright.openapi.parameter_styles import UnwritableArgument, cookie_pairs, header_text, path_text, query_pairs

ARRAY = ["blue", "black", "brown"]
OBJECT = {"R": 100, "G": 200, "B": 150}


def parameter(place: Place, style: str, explode: bool, **more: Any) -> ParameterPlan:
    return ParameterPlan(name="color", key="color", place=place, style=style, explode=explode, **more)


# Of the table in "Style Examples" of the specification.
PATHS = [
    ("matrix", False, "", ";color"),
    ("matrix", False, "blue", ";color=blue"),
    ("matrix", False, ARRAY, ";color=blue,black,brown"),
    ("matrix", False, OBJECT, ";color=R,100,G,200,B,150"),
    ("matrix", True, "", ";color"),
    ("matrix", True, "blue", ";color=blue"),
    ("matrix", True, ARRAY, ";color=blue;color=black;color=brown"),
    ("matrix", True, OBJECT, ";R=100;G=200;B=150"),
    ("label", False, "", "."),
    ("label", False, "blue", ".blue"),
    ("label", False, ARRAY, ".blue,black,brown"),
    ("label", False, OBJECT, ".R,100,G,200,B,150"),
    ("label", True, "blue", ".blue"),
    ("label", True, ARRAY, ".blue.black.brown"),
    ("label", True, OBJECT, ".R=100.G=200.B=150"),
    ("simple", False, "blue", "blue"),
    ("simple", False, ARRAY, "blue,black,brown"),
    ("simple", False, OBJECT, "R,100,G,200,B,150"),
    ("simple", True, "blue", "blue"),
    ("simple", True, ARRAY, "blue,black,brown"),
    ("simple", True, OBJECT, "R=100,G=200,B=150"),
]
QUERIES: list[tuple[str, bool, Any, str]] = [
    ("form", False, "", "color="),
    ("form", False, "blue", "color=blue"),
    ("form", False, ARRAY, "color=blue,black,brown"),
    ("form", False, OBJECT, "color=R,100,G,200,B,150"),
    ("form", True, "", "color="),
    ("form", True, "blue", "color=blue"),
    ("form", True, ARRAY, "color=blue&color=black&color=brown"),
    ("form", True, OBJECT, "R=100&G=200&B=150"),
    ("form", True, [], ""),
    ("form", False, [], ""),
    ("spaceDelimited", False, ARRAY, "color=blue%20black%20brown"),
    ("spaceDelimited", False, OBJECT, "color=R%20100%20G%20200%20B%20150"),
    ("pipeDelimited", False, ARRAY, "color=blue%7Cblack%7Cbrown"),
    ("pipeDelimited", False, OBJECT, "color=R%7C100%7CG%7C200%7CB%7C150"),
    ("pipeDelimited", True, ARRAY, "color=blue&color=black&color=brown"),
    ("tabDelimited", False, ARRAY, "color=blue%09black%09brown"),
    ("deepObject", True, OBJECT, "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150"),
    ("deepObject", True, {"a": {"b": [1, 2]}}, "color%5Ba%5D%5Bb%5D%5B0%5D=1&color%5Ba%5D%5Bb%5D%5B1%5D=2"),
    ("deepObject", True, {"a": [{"c": True}]}, "color%5Ba%5D%5B0%5D%5Bc%5D=true"),
    ("deepObject", True, ["x", "y"], "color%5B0%5D=x&color%5B1%5D=y"),
    ("deepObject", True, "all", "color=all"),
]


@pytest.mark.parametrize(("style", "explode", "value", "text"), PATHS)
def test_a_path_parameter_is_written_in_its_style(style: str, explode: bool, value: Any, text: str) -> None:
    assert path_text(parameter("path", style, explode), value) == text


@pytest.mark.parametrize(("style", "explode", "value", "text"), QUERIES)
def test_a_query_parameter_is_written_in_its_style(style: str, explode: bool, value: Any, text: str) -> None:
    assert "&".join(f"{k}={v}" for k, v in query_pairs(parameter("query", style, explode), value)) == text


@pytest.mark.parametrize(
    ("explode", "value", "text"),
    [(False, ARRAY, "blue,black,brown"), (False, OBJECT, "R,100,G,200,B,150"), (True, OBJECT, "R=100,G=200,B=150")],
)
def test_a_header_is_written_simply(explode: bool, value: Any, text: str) -> None:
    assert header_text(parameter("header", "simple", explode), value) == text


def test_a_cookie_is_a_pair() -> None:
    assert cookie_pairs(parameter("cookie", "form", False), ["a;b", "c"]) == [("color", "a%3Bb,c")]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a/b", "a%2Fb"),
        ("../x", "..%2Fx"),
        ("a?b#c", "a%3Fb%23c"),
        ("%2e%2e", "%252e%252e"),
        ("a\\b", "a%5Cb"),
        ("a b+c", "a%20b%2Bc"),
        ("ü", "%C3%BC"),
        ("-._~", "-._~"),
        ("\r\n", "%0D%0A"),
    ],
)
def test_a_path_value_stays_in_its_segment(value: str, text: str) -> None:
    assert path_text(parameter("path", "simple", False), value) == text


@pytest.mark.parametrize("value", ["", [], {}])
def test_an_empty_path_value_is_refused(value: Any) -> None:
    with pytest.raises(UnwritableArgument, match="is empty"):
        path_text(parameter("path", "simple", False), value)


def test_values_are_text_as_apis_write_them() -> None:
    sent = query_pairs(parameter("query", "form", True), [True, False, None, 5, 1.5, "x"])
    assert [value for _, value in sent] == ["true", "false", "", "5", "1.5", "x"]


def test_reserved_characters_stay_where_that_is_allowed() -> None:
    plain, reserved = parameter("query", "form", True), parameter("query", "form", True, reserved=True)
    assert query_pairs(plain, "a/b?c=d:e") == [("color", "a%2Fb%3Fc%3Dd%3Ae")]
    assert query_pairs(reserved, "a/b?c=d:e") == [("color", "a/b?c=d:e")]


def test_reserved_characters_that_end_a_value_are_escaped_always() -> None:
    assert query_pairs(parameter("query", "form", True, reserved=True), "a&b#c+%20") == [("color", "a%26b%23c%2B%20")]


def test_a_parameter_with_content_is_json() -> None:
    known = parameter("query", "form", True, content="application/json")
    assert query_pairs(known, {"a": [1]}) == [("color", "%7B%22a%22%3A%5B1%5D%7D")]


@pytest.mark.parametrize("value", ["a\r\nx-admin: 1", "a\nb", "a\0b"])
def test_a_header_takes_no_line_break(value: str) -> None:
    with pytest.raises(UnwritableArgument, match="line break"):
        header_text(parameter("header", "simple", False), value)


def test_an_object_without_end_is_refused() -> None:
    deep: Any = 1
    for _ in range(100):
        deep = {"a": deep}
    with pytest.raises(UnwritableArgument, match="deeper"):
        query_pairs(parameter("query", "deepObject", True), deep)
