"""Lists that go on: seen from parameters and schemas, as the large APIs have them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.openapi.specs import NUMBER, TEXT, array, compiled_operation, gives, head_of, query, takes, thing

from cellwright.openapi.operation_plan import PagesPlan

ITEM = thing(id=TEXT)
URL = {"type": "string", "format": "uri"}
FLAG = {"type": "boolean"}
LINKED: dict[str, Any] = {"headers": {"Link": {"schema": TEXT}}}


def pages(parameters: list[Any], responses: Any, **more: Any) -> PagesPlan | None:
    found = compiled_operation({"parameters": parameters, "responses": responses, **more})
    plan = found.plan("things.do")
    assert plan is not None
    assert head_of(found).endswith(f"-> Iterable[{'ThingsDoItem'}]") == (plan.pages is not None)
    if plan.pages is not None:
        how = ["list", ["record", "ThingsDoItem"]]
        assert plan.responses["200"].reading == (["map", how] if plan.pages.items else how)
    return plan.pages


CASES: list[tuple[str, list[Any], Any, PagesPlan]] = [
    ("GitHub", [query("page", NUMBER), query("per_page", NUMBER)], gives(array(ITEM), **LINKED), PagesPlan(how="link")),
    ("GitHub's envelopes", [query("page", NUMBER)], gives(thing(total_count=NUMBER, runs=array(ITEM)), **LINKED),
     PagesPlan(how="link", items="runs")),
    ("Stripe", [query("starting_after"), query("limit", NUMBER)], gives(thing(data=array(ITEM), has_more=FLAG)),
     PagesPlan(how="cursor", items="data", by="starting_after", more="has_more", item_key="id")),
    ("Slack", [query("cursor")],
     gives(thing(ok=FLAG, channels=array(ITEM), response_metadata=thing(next_cursor=TEXT))),
     PagesPlan(how="cursor", items="channels", by="cursor", next="response_metadata.next_cursor")),
    ("Google", [query("pageToken")], gives(thing(messages=array(ITEM), nextPageToken=TEXT)),
     PagesPlan(how="cursor", items="messages", by="pageToken", next="nextPageToken")),
    ("Kubernetes", [query("continue")], gives(thing(items=array(ITEM), metadata=thing(**{"continue": TEXT}))),
     PagesPlan(how="cursor", items="items", by="continue_", next="metadata.continue")),
    ("Graph", [query("$top", NUMBER)], gives(thing(**{"value": array(ITEM), "@odata.nextLink": TEXT})),
     PagesPlan(how="link", items="value", next="@odata.nextLink")),
    ("Twilio", [query("Page", NUMBER)], gives(thing(calls=array(ITEM), next_page_uri=TEXT)),
     PagesPlan(how="link", items="calls", next="next_page_uri")),
    ("Django", [query("offset", NUMBER), query("limit", NUMBER)],
     gives(thing(count=NUMBER, next=URL, previous=URL, results=array(ITEM))),
     PagesPlan(how="link", items="results", next="next")),
    ("JSON:API", [query("page[number]", NUMBER)], gives(thing(data=array(ITEM), links=thing(next=URL))),
     PagesPlan(how="link", items="data", next="links.next")),
    ("HAL", [], gives(thing(items=array(ITEM), _links=thing(next=thing(href=URL)))),
     PagesPlan(how="link", items="items", next="_links.next.href")),
    ("pages", [query("pageNumber", NUMBER)], gives(thing(total=NUMBER, orders=array(ITEM))),
     PagesPlan(how="page", items="orders", by="pageNumber")),
    ("offsets", [query("offset", NUMBER), query("limit", NUMBER)], gives(array(ITEM)),
     PagesPlan(how="offset", by="offset")),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_a_list_that_goes_on_is_read_as_it_is_iterated(case: tuple[str, list[Any], Any, PagesPlan]) -> None:
    _, parameters, responses, told = case
    assert pages(parameters, responses) == told


def test_what_is_no_list_or_has_no_rest_is_given_whole() -> None:
    for parameters, schema in (
        ([query("page", NUMBER)], thing(name=TEXT)),
        ([query("page", NUMBER)], TEXT),
        ([], array(thing(id=TEXT))),
        ([query("page", TEXT)], array(thing(id=TEXT))),
        ([query("offset", NUMBER)], array(thing(id=TEXT))),
        ([query("page", NUMBER)], thing(cats=array(ITEM), dogs=array(ITEM))),
        ([query("page", NUMBER)], {}),
    ):
        found = compiled_operation({"parameters": parameters, "responses": gives(schema)})
        plan = found.plan("things.do")
        assert plan is not None
        assert plan.pages is None, schema


def test_a_search_that_is_posted_goes_on_as_well_and_what_changes_does_not() -> None:
    operation = {
        "requestBody": takes(thing(start_cursor=TEXT)),
        "responses": gives(thing(results=array(ITEM), next_cursor=TEXT, has_more=FLAG)),
    }
    for name, how in (("query", "cursor"), ("create", None)):
        found = compiled_operation({**operation, "operationId": f"things/{name}"}, method="post")
        plan = found.plan(f"things.{name}")
        assert plan is not None
        assert (plan.pages and plan.pages.how) == how


def test_the_docs_of_a_paged_list_say_so() -> None:
    found = compiled_operation({"parameters": [query("page", NUMBER)], "responses": gives(array(ITEM))})
    offered = found.find("things.do")
    assert offered is not None
    assert "lazy iterator" in offered.line.doc
