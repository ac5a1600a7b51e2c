"""Names for keys and classes."""

from __future__ import annotations

import pytest

from cellwright.schemas import class_name
from cellwright.schemas.names import ClassNames, attribute_name, attribute_names, class_candidates


@pytest.mark.parametrize(
    ("key", "attribute"),
    [
        ("title", "title"),
        ("createdAt", "createdAt"),
        ("class", "class_"),
        ("+1", "plus_1"),
        ("-1", "minus_1"),
        ("x-y", "x_y"),
        ("1a", "n1a"),
        ("@odata.type", "odata_type"),
        ("_id", "_id"),
        ("_via", "via_"),
        ("__class__", "class_"),
        ("to_dict", "to_dict_"),
        ("items", "items"),
        ("ﬁle", "file"),
        ("名前", "名前"),
        ("", "field"),
        ("<=", "field"),
    ],
)
def test_a_key_becomes_an_attribute_that_python_can_write(key: str, attribute: str) -> None:
    assert attribute_name(key) == attribute


def test_two_keys_never_share_an_attribute_and_a_name_stays_itself() -> None:
    assert attribute_names(["x-y", "x_y", "x.y"]) == {"x-y": "x_y_2", "x_y": "x_y", "x.y": "x_y_3"}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("simple-user", "SimpleUser"),
        ("HTTPError", "HTTPError"),
        ("2fa settings", "N2faSettings"),
        ("issues/create body", "IssuesCreateBody"),
        ("Page[Item]", "PageItem"),
        ("%%", "Field"),
    ],
)
def test_a_schema_becomes_a_class_name(text: str, name: str) -> None:
    assert class_name(text) == name


def test_a_long_name_keeps_its_end_and_whole_words() -> None:
    assert class_name("Some" * 20 + " created by User") == "Some" * 14 + "CreatedByUser"


def test_a_dotted_name_is_as_short_as_it_can_be() -> None:
    assert class_candidates("io.k8s.api.core.v1.Pod")[:2] == ("Pod", "CoreV1Pod")
    assert class_candidates("Foo.v1") == ("FooV1",)


def test_no_class_is_called_like_a_builtin_or_a_typing_name() -> None:
    names = ClassNames(["Issue"])
    assert names.free(("List",)) == "ListObject"
    assert names.free(("TimeoutError",)) == "TimeoutErrorObject"
    assert [names.free(("Issue",)), names.free(("V1", "V2")), names.free(("V1",))] == ["Issue2", "V1", "V1_2"]
