"""From arguments to a request: checked first, and told in one line that names operation and argument."""

from __future__ import annotations

from typing import Any

import pytest

from cellwright.errors import WrongArguments
from cellwright.openapi.api_request import ApiRequest, build_request
from cellwright.openapi.operation_plan import BodyPlan, OperationPlan, ParameterPlan, ResponsePlan
from cellwright.schemas import local_resolve

RESOLVE = local_resolve({"Label": {"type": "string"}})
TEXT = {"type": "string"}
OWNER = ParameterPlan(
    name="owner", key="owner", place="path", style="simple", explode=False, required=True, schema=TEXT
)
NUMBER = ParameterPlan(
    name="issue_number",
    key="issue-number",
    place="path",
    style="simple",
    explode=False,
    required=True,
    schema={"type": "integer"},
)
STATE = ParameterPlan(name="state", key="state", place="query", schema={"enum": ["open", "closed"]})
TAG = ParameterPlan(name="x_tag", key="X-Tag", place="header", style="simple", explode=False, schema=TEXT)
THEME = ParameterPlan(name="theme", key="theme", place="cookie", schema=TEXT)
KEY = ParameterPlan(name="idempotency_key", key="Idempotency-Key", place="header", style="simple", schema=TEXT)
BODY = BodyPlan(
    media="application/json",
    required=True,
    fields={"title": "title", "state_body": "state", "labels": "labels"},
    schema={
        "type": "object",
        "required": ["title"],
        "properties": {
            "title": TEXT,
            "state": {"type": "integer"},
            "labels": {"type": "array", "items": {"$ref": "#/Label"}},
        },
    },
)


def plan(method: str = "GET", url: str = "/repos/{owner}/issues/{issue-number}", **more: Any) -> OperationPlan:
    more.setdefault("parameters", (OWNER, NUMBER, STATE, TAG, THEME))
    return OperationPlan(path="issues.get", id="issues/get", method=method, url=url, **more)


def made(known: OperationPlan, key: str = "", **arguments: Any) -> ApiRequest:
    return build_request("github.issues.get", known, arguments, RESOLVE, key=key)


def refused(known: OperationPlan, **arguments: Any) -> str:
    with pytest.raises(WrongArguments) as raised:
        made(known, **arguments)
    text = str(raised.value)
    assert text.startswith("github.issues.get: ")
    assert text.endswith("; nothing was sent")
    assert "\n" not in text
    return text


def test_each_argument_goes_to_its_place() -> None:
    found = made(plan(), owner="o p", issue_number=5, state="open", x_tag="t", theme="dark")
    assert (found.method, found.target) == ("GET", "/repos/o%20p/issues/5?state=open")
    assert ("X-Tag", "t") in found.headers
    assert found.cookies == ("theme=dark",)


def test_none_is_not_sent() -> None:
    assert made(plan(), owner="o", issue_number=5, state=None).target == "/repos/o/issues/5"


def test_a_number_given_as_text_is_sent_as_it_is() -> None:
    assert made(plan(), owner="o", issue_number="5").target == "/repos/o/issues/5"


@pytest.mark.parametrize("value", [".", ".."])
def test_a_path_value_that_leads_to_another_path_is_refused(value: str) -> None:
    assert f"owner is {value!r}" in refused(plan(), owner=value, issue_number=1)


def test_two_values_that_are_dots_together_are_refused() -> None:
    other = ParameterPlan(name="b", key="b", place="path", style="simple", schema=TEXT)
    known = plan(url="/x/{owner}{b}", parameters=(OWNER, other))
    assert "'..'" in refused(known, owner=".", b=".")


def test_dots_of_the_description_are_its_own() -> None:
    assert made(plan(url="/a/../b", parameters=())).target == "/a/../b"


def test_a_wrong_value_is_told_by_its_argument() -> None:
    assert "state: 'gone'" in refused(plan(), owner="o", issue_number=1, state="gone")
    assert "issue_number:" in refused(plan(), owner="o", issue_number="five")


def test_a_wrong_part_of_the_body_is_told_by_its_argument() -> None:
    known = plan("POST", "/issues", parameters=(STATE,), body=BODY)
    assert "labels[1]: 3" in refused(known, title="t", labels=["a", 3])
    assert "state_body:" in refused(known, title="t", state_body="open")


def test_what_is_missing_is_named() -> None:
    assert "it needs owner, issue_number" in refused(plan())
    assert "title" in refused(plan("POST", "/issues", parameters=(), body=BODY))


def test_an_unknown_argument_is_named_with_what_was_meant() -> None:
    assert "it takes no 'stat'; did you mean 'state'?" in refused(plan(), owner="o", issue_number=1, stat="open")


def test_fields_are_the_keys_of_the_body() -> None:
    found = made(plan("POST", "/issues", parameters=(STATE,), body=BODY), title="t", state="open", state_body=1)
    assert found.content.body == b'{"title":"t","state":1}'
    assert ("content-type", "application/json") in found.headers
    assert found.target == "/issues?state=open"


def test_a_whole_body_is_one_argument() -> None:
    known = plan(
        "PUT", "/x", parameters=(), body=BodyPlan(media="application/json", whole="body", schema={"type": "array"})
    )
    assert made(known, body=[1]).content.body == b"[1]"
    assert "body: " in refused(known, body={"a": 1})


def test_a_body_that_is_not_needed_is_not_sent() -> None:
    known = plan("POST", "/x", parameters=(), body=BodyPlan(media="application/json", fields={"a": "a"}))
    assert made(known).content.media == ""


def test_a_query_in_the_description_stays() -> None:
    assert made(plan(url="/x?fixed=1", parameters=(STATE,)), state="open").target == "/x?fixed=1&state=open"


def test_the_answer_is_asked_for_in_its_media_type() -> None:
    known = plan(url="/x", parameters=(), responses={"200": ResponsePlan(media="application/pdf")})
    assert ("accept", "application/pdf, */*;q=0.1") in made(known).headers


@pytest.mark.parametrize(
    ("method", "repeatable"), [("GET", True), ("PUT", True), ("DELETE", True), ("POST", False), ("PATCH", False)]
)
def test_a_request_is_repeatable_by_its_method(method: str, repeatable: bool) -> None:
    assert made(plan(method, "/x", parameters=())).repeatable is repeatable


def test_a_post_is_repeatable_where_its_operation_takes_an_idempotency_key() -> None:
    assert made(plan("POST", "/x", parameters=(KEY,)), key="k1").repeatable is True
    assert made(plan("POST", "/x", parameters=(KEY,)), idempotency_key="mine", key="k1").headers[-1][1] == "mine"
    assert made(plan("POST", "/x", parameters=(KEY,))).repeatable is False


def test_an_idempotency_key_that_nobody_described_makes_nothing_repeatable() -> None:
    found = made(plan("POST", "/x", parameters=()), key="k1")
    assert ("idempotency-key", "k1") in found.headers
    assert found.repeatable is False
