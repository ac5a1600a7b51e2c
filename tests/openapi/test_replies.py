"""What becomes of an answer: a value, or one line."""

from __future__ import annotations

from typing import Any

import pytest
from tests.openapi.calls import Calls
from tests.openapi.upstream import Upstream, reply

from cellwright.connectors import Redactor, Secret
from cellwright.errors import UpstreamError, UpstreamMissing, UpstreamRefused
from cellwright.openapi.api_client import HttpReply
from cellwright.openapi.operation_plan import OperationPlan, ResponsePlan
from cellwright.openapi.replies import BODY, error_of, response_of

KEY = "k3y-of-the-host-0123456789"
JSON = {"200": ResponsePlan(media="application/json")}
NOTHING: dict[str, ResponsePlan] = {}


def test_a_status_is_looked_up_from_the_nearest_to_the_farthest() -> None:
    known = {name: ResponsePlan(media=name) for name in ("200", "2XX", "default")}
    plan = OperationPlan(path="p", id="p", method="GET", url="/", responses=known)
    found = [response_of(plan, status) for status in (200, 201, 404)]
    assert [one and one.media for one in found] == ["200", "2XX", "default"]


def test_a_good_status_that_is_not_described_is_read_as_the_one_that_is() -> None:
    known = {"200": ResponsePlan(media="application/json"), "default": ResponsePlan(media="text/plain")}
    found = response_of(OperationPlan(path="p", id="p", method="POST", url="/", responses=known), 201)
    assert found is not None
    assert found.media == "application/json"


@pytest.mark.parametrize(
    ("answer", "promised", "value"),
    [
        (reply({"a": 1}), JSON, {"a": 1}),
        (reply({"a": 1}), NOTHING, {"a": 1}),
        (reply('{"a": 1}', media="text/plain"), JSON, {"a": 1}),
        (reply('{"a": 1}', media=""), JSON, {"a": 1}),
        (reply({"a": 1}, media="application/problem+json"), {"200": ResponsePlan(media="text/plain")}, {"a": 1}),
        (reply("hello", media="text/plain"), NOTHING, "hello"),
        (reply("grüß".encode("latin-1"), media="text/plain; charset=latin-1"), NOTHING, "grüß"),
        (reply("x", media="text/plain; charset=nonsense"), NOTHING, "x"),
        (reply("<a/>", media="application/xml"), NOTHING, "<a/>"),
        (reply(b"\0\1", media="application/pdf"), {"200": ResponsePlan(media="application/pdf")}, b"\0\1"),
        (reply(b"\0", media=""), NOTHING, b"\0"),
        (reply(None, 204), JSON, None),
        (reply(None), JSON, None),
    ],
)
async def test_an_answer_is_read_by_its_media_type(
    api: Upstream, answer: bytes, promised: dict[str, ResponsePlan], value: Any
) -> None:
    api.on("/x", answer)
    assert await Calls(api)(responses=promised) == value


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("{'a': 1}", "Expecting property name"),
        ("<html><body>Login</body></html>", "'<html><body>Login</body></html>'"),
        ('{"a": ', "Expecting value"),
        ("[" * 100_000, "nested too deep"),
        ("9" * 5000, "Exceeds the limit"),
    ],
)
async def test_a_promise_of_json_that_is_not_kept_is_one_line(api: Upstream, body: str, said: str) -> None:
    api.on("/x", reply(body))
    with pytest.raises(UpstreamError) as raised:
        await Calls(api)()
    text = str(raised.value)
    assert text.startswith("api.do: 200 OK: it promised JSON and sent something else")
    assert said in text
    assert "\n" not in text
    assert len(text) < 400


@pytest.mark.parametrize(
    ("status", "kind", "phrase"),
    [
        (401, UpstreamRefused, "401 Unauthorized"),
        (403, UpstreamRefused, "403 Forbidden"),
        (404, UpstreamMissing, "404 Not Found"),
        (410, UpstreamMissing, "410 Gone"),
        (422, UpstreamError, "422 Unprocessable"),
        (500, UpstreamError, "500 Internal Server Error"),
        (599, UpstreamError, "599 X"),
        (304, UpstreamError, "304 Not Modified"),
    ],
)
async def test_a_status_is_an_error_of_its_kind(
    api: Upstream, status: int, kind: type[UpstreamError], phrase: str
) -> None:
    api.on("/x", reply(None if status == 304 else {"message": "No, really"}, status))
    with pytest.raises(UpstreamError) as raised:
        await Calls(api)()
    assert type(raised.value) is kind
    assert str(raised.value).startswith(f"api.do: {phrase}")
    assert raised.value.status == status


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"message": "Bad title"}, "Bad title"),
        ({"error": {"message": "No such customer", "type": "x"}}, "No such customer"),
        ({"error": "invalid_grant", "error_description": "Token is old"}, "Token is old"),
        ({"detail": [{"loc": ["body", "a"], "msg": "field required"}]}, "body.a: field required"),
        ({"exception_message": "Invalid.", "exception_detail": [{"loc": ["a"], "msg": "no"}]}, "Invalid. (a: no)"),
        ({"errors": [{"detail": "one"}, {"detail": "two"}]}, "one; two"),
        (
            {"message": "Validation Failed", "errors": [{"field": "title", "code": "missing_field"}]},
            "Validation Failed (title missing_field)",
        ),
        ("plain words\nin two lines", "plain words in two lines"),
        ({"title": "Problem", "status": 400}, "Problem"),
    ],
)
async def test_the_words_of_an_error_are_found(api: Upstream, body: Any, words: str) -> None:
    api.on("/x", reply(body, 400))
    with pytest.raises(UpstreamError) as raised:
        await Calls(api)()
    assert str(raised.value) == f"api.do: 400 Bad Request: {words}"
    assert raised.value.body == body


async def test_a_page_is_no_message(api: Upstream) -> None:
    api.on("/x", reply("<html>much</html>", 502, media="text/html"))
    with pytest.raises(UpstreamError) as raised:
        await Calls(api)("POST")
    assert str(raised.value) == "api.do: 502 Bad Gateway"
    assert raised.value.body == "<html>much</html>"


async def test_long_words_are_cut(api: Upstream) -> None:
    api.on("/x", reply({"message": "w " * 5000}, 500))
    with pytest.raises(UpstreamError) as raised:
        await Calls(api)()
    assert len(str(raised.value)) < 400


@pytest.mark.parametrize("status", [200, 500])
async def test_a_key_that_a_server_repeats_does_not_come_through(api: Upstream, status: int) -> None:
    api.on("/x", lambda asked: reply({"headers": asked.headers, "message": asked.headers["authorization"]}, status))
    call = Calls(api, credentials=Secret(KEY))
    if status == 200:
        told = str(await call())
    else:
        with pytest.raises(UpstreamError) as raised:
            await call()
        told = f"{raised.value} {raised.value.body} {raised.value!r} {vars(raised.value)}"
    assert KEY in api.asked[0].headers["authorization"]
    assert KEY not in told
    assert "***" in told


@pytest.mark.parametrize("before", range(1, 29, 9))
def test_a_key_with_spaces_that_the_cut_parts_is_not_half_shown(before: int) -> None:
    secret, redactor = "correct horse battery staple", Redactor()
    redactor.add(secret)
    text = "y " * (BODY // 2) + "z" * BODY
    text = f"{text[: BODY - before]}{secret}{' tail' * 100}"
    answer = HttpReply(status=500, reason="", headers={"content-type": "text/plain"}, body=text.encode(), url="")
    assert "correct" not in str(error_of("shop.items", answer, redactor).body)
