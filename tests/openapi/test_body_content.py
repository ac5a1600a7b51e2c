"""Bodies in each media type, read back with parsers of the standard library."""

from __future__ import annotations

import datetime
import email
import email.policy
import json
from email.message import EmailMessage
from typing import Any, cast
from urllib.parse import parse_qsl

import pytest

from cellwright.openapi.body_content import FORM, BodyContent, body_content
from cellwright.openapi.operation_plan import BodyPlan
from cellwright.openapi.parameter_styles import UnwritableArgument
from cellwright.schemas import is_json


def sent(media: str, value: Any, **more: Any) -> BodyContent:
    return body_content(BodyPlan(media=media, **more), value)


def parts(made: BodyContent) -> list[EmailMessage]:
    head = f"Content-Type: {made.media}\r\n\r\n".encode()
    message = email.message_from_bytes(head + made.body, policy=email.policy.HTTP)
    return [cast(EmailMessage, part) for part in message.iter_parts()]


@pytest.mark.parametrize("media", ["application/json", "application/vnd.api+json", "application/json; charset=utf-8"])
def test_json_is_sent_under_the_media_type_of_the_description(media: str) -> None:
    made = sent(media, {"a": [1, None, "ü"], "at": datetime.date(2026, 1, 2)})
    assert made.media == media
    assert json.loads(made.body) == {"a": [1, None, "ü"], "at": "2026-01-02"}


def test_any_media_type_is_json() -> None:
    assert sent("*/*", {"a": 1}) == BodyContent(body=b'{"a":1}', media="application/json")


def test_a_number_that_json_lacks_is_refused() -> None:
    with pytest.raises(UnwritableArgument, match="NaN"):
        sent("application/json", {"a": float("nan")})


def test_a_form_is_urlencoded() -> None:
    made = sent(FORM, {"a": "x y&z", "tags": ["b", "c"], "on": True})
    assert parse_qsl(made.body.decode()) == [("a", "x y&z"), ("tags", "b"), ("tags", "c"), ("on", "true")]


def test_a_form_nests_with_brackets_where_the_description_says_so() -> None:
    deep = {"style": "deepObject", "explode": True}
    made = sent(
        FORM,
        {"items": [{"price": "p1", "quantity": 2}], "metadata": {"k": "v"}, "expand": ["a"]},
        encoding={"items": deep, "metadata": deep, "expand": deep},
    )
    assert parse_qsl(made.body.decode()) == [
        ("items[0][price]", "p1"),
        ("items[0][quantity]", "2"),
        ("metadata[k]", "v"),
        ("expand[0]", "a"),
    ]


def test_an_object_in_a_form_is_json_where_nothing_else_is_said() -> None:
    assert parse_qsl(sent(FORM, {"o": {"a": 1}}).body.decode()) == [("o", '{"a":1}')]


def test_a_multipart_body_has_files_and_fields() -> None:
    value = {
        "file": b"\0\1",
        "named": ("a.txt", b"text"),
        "typed": ("b.png", b"png", "image/png"),
        "title": "T",
        "meta": {"a": 1},
        "several": [b"1", b"2"],
    }
    found = [
        (
            part.get_param("name", header="content-disposition"),
            part.get_filename(),
            part.get_content_type(),
            part.get_payload(decode=True),
        )
        for part in parts(sent("multipart/form-data", value))
    ]
    assert found == [
        ("file", "file", "application/octet-stream", b"\0\1"),
        ("named", "a.txt", "application/octet-stream", b"text"),
        ("typed", "b.png", "image/png", b"png"),
        ("title", None, "text/plain", b"T"),
        ("meta", None, "application/json", b'{"a":1}'),
        ("several", "several", "application/octet-stream", b"1"),
        ("several", "several", "application/octet-stream", b"2"),
    ]


def test_a_part_has_the_content_type_of_its_encoding() -> None:
    made = sent(
        "multipart/form-data",
        {"a": b"x", "b": "y"},
        encoding={"a": {"contentType": "image/png, image/jpeg"}, "b": {"contentType": "application/json"}},
    )
    assert [(p.get_content_type(), p.get_payload(decode=True)) for p in parts(made)] == [
        ("image/png", b"x"),
        ("application/json", b'"y"'),
    ]


def test_a_file_name_cannot_add_headers_to_its_part() -> None:
    made = sent("multipart/form-data", {"f": ('a"\r\nX-Evil: 1', b"x", "text/plain\r\nX-Evil: 2")})
    [part] = parts(made)
    assert "x-evil" not in {name.lower() for name in part}


@pytest.mark.parametrize(
    ("media", "value", "body", "as_media"),
    [
        ("text/plain", "ü", "ü".encode(), "text/plain; charset=utf-8"),
        ("application/octet-stream", b"\0", b"\0", "application/octet-stream"),
        ("application/xml", "<a/>", b"<a/>", "application/xml"),
        ("image/png", b"png", b"png", "image/png"),
    ],
)
def test_text_and_bytes_go_as_they_are(media: str, value: Any, body: bytes, as_media: str) -> None:
    assert sent(media, value) == BodyContent(body=body, media=as_media)


def test_an_object_where_text_is_sent_is_refused() -> None:
    with pytest.raises(UnwritableArgument, match=r"sent as application/xml: give text or bytes, not dict"):
        sent("application/xml", {"a": 1})


@pytest.mark.parametrize(
    ("media", "known"),
    [
        ("application/json", True),
        ("application/problem+json; charset=utf-8", True),
        ("text/json", True),
        ("*/*", True),
        ("application/jsonl", False),
        ("text/html", False),
        ("application/x-ndjson", False),
    ],
)
def test_json_is_known_by_its_media_type(media: str, known: bool) -> None:
    assert is_json(media) is known
