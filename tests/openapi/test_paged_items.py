"""Lists with pages: each fetched when the one before is used up, and the end found."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from cellwright.errors import UpstreamError, UsageError
from cellwright.openapi import paged_items
from cellwright.openapi.operation_plan import OperationPlan, PagesPlan, ParameterPlan
from cellwright.openapi.paged_items import ApiPage, PagedItems, PageStep, dig, next_link

URL = "https://api.example.com/items"


class Source:
    """Pages that a test made, and the steps that asked for them."""

    def __init__(self, *pages: ApiPage | Any) -> None:
        self.pages = [page if isinstance(page, ApiPage) else ApiPage(plain=page, read=page, url=URL) for page in pages]
        self.steps: list[PageStep] = []

    async def fetch(self, step: PageStep) -> ApiPage:
        self.steps.append(step)
        return self.pages[min(len(self.steps), len(self.pages)) - 1]

    def listing(self, pages: PagesPlan, arguments: Mapping[str, Any] | None = None, **schema: Any) -> PagedItems:
        by = ParameterPlan(name=pages.by, key=pages.by, place="query", schema=schema or None)
        plan = OperationPlan(path="list", id="list", method="GET", url="/", parameters=(by,), pages=pages)
        return PagedItems("api.list", plan, arguments or {}, self.fetch)

    def gave(self, name: str) -> list[Any]:
        return [step.arguments.get(name) for step in self.steps]


async def items(listing: PagedItems) -> list[Any]:
    return [item async for item in listing]


def linked(found: list[int], link: str) -> ApiPage:
    return ApiPage(plain=found, read=found, link=link, url=URL)


async def test_a_link_header_leads_on() -> None:
    source = Source(linked([1, 2], f'<{URL}?page=1>; rel="first", <?page=2>; rel="next"'), linked([3], ""))
    assert await items(source.listing(PagesPlan(how="link"))) == [1, 2, 3]
    assert [step.url for step in source.steps] == ["", f"{URL}?page=2"]


async def test_a_link_in_the_body_leads_on() -> None:
    source = Source({"value": [1], "@odata.nextLink": f"{URL}?skip=1"}, {"value": [2]})
    assert await items(source.listing(PagesPlan(how="link", items="value", next="@odata.nextLink"))) == [1, 2]


@pytest.mark.parametrize(
    "link", ["https://evil.example.com/x", "http://api.example.com/items", "//evil/x", "file:///x"]
)
async def test_a_link_to_another_server_is_not_followed(link: str) -> None:
    source = Source(linked([1], f'<{link}>; rel="next"'))
    with pytest.raises(UpstreamError, match=r"api.list: its next page is on another server"):
        await items(source.listing(PagesPlan(how="link")))
    assert len(source.steps) == 1


async def test_what_came_is_given_before_it_is_told_that_the_way_ends() -> None:
    source = Source(linked([1, 2], '<https://evil.example.com/x>; rel="next"'))
    found = aiter(source.listing(PagesPlan(how="link")))
    assert [await anext(found), await anext(found)] == [1, 2]
    with pytest.raises(UpstreamError, match="on another server"):
        await anext(found)


async def test_a_cursor_leads_on() -> None:
    source = Source(
        {"items": [1], "meta": {"next": "a"}},
        {"items": [], "meta": {"next": "b"}},
        {"items": [2], "meta": {"next": ""}},
    )
    pages = PagesPlan(how="cursor", items="items", by="cursor", next="meta.next")
    assert await items(source.listing(pages, {"limit": 5})) == [1, 2]
    assert source.gave("cursor") == [None, "a", "b"]
    assert source.gave("limit") == [5, 5, 5]


async def test_the_last_item_is_the_cursor_while_there_is_more() -> None:
    source = Source({"data": [{"id": "x"}, {"id": "y"}], "has_more": True}, {"data": [{"id": "z"}], "has_more": False})
    pages = PagesPlan(how="cursor", items="data", by="starting_after", item_key="id", more="has_more")
    assert [item["id"] for item in await items(source.listing(pages))] == ["x", "y", "z"]
    assert source.gave("starting_after") == [None, "y"]


@pytest.mark.parametrize(
    ("schema", "given", "asked"),
    [
        ({}, {}, [None, 2, 3]),
        ({"default": 0}, {}, [None, 1, 2]),
        ({}, {"page": 4}, [4, 5, 6]),
        ({"minimum": 1}, {}, [None, 2, 3]),
    ],
)
async def test_pages_are_counted(schema: dict[str, Any], given: dict[str, Any], asked: list[Any]) -> None:
    source = Source([1, 2], [3], [])
    assert await items(source.listing(PagesPlan(how="page", by="page"), given, **schema)) == [1, 2, 3]
    assert source.gave("page") == asked


async def test_an_offset_goes_up_by_what_came() -> None:
    source = Source([1, 2, 3], [4], [])
    assert await items(source.listing(PagesPlan(how="offset", by="offset"))) == [1, 2, 3, 4]
    assert source.gave("offset") == [None, 3, 4]


async def test_a_cursor_that_does_not_move_is_an_error() -> None:
    source = Source({"items": [1], "next": "a"})
    with pytest.raises(UpstreamError, match="runs in a circle"):
        await items(source.listing(PagesPlan(how="cursor", items="items", by="cursor", next="next")))
    assert len(source.steps) == 2


@pytest.mark.parametrize("how", ["page", "offset"])
async def test_a_page_that_comes_again_is_an_error(how: Any) -> None:
    source = Source([1, 2])
    with pytest.raises(UpstreamError, match="the same page came again; it does not heed 'at'"):
        await items(source.listing(PagesPlan(how=how, by="at")))
    assert len(source.steps) == 2


async def test_pages_without_end_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paged_items, "MOST", 5)
    source = Source(*([n] for n in range(100)))
    with pytest.raises(UpstreamError, match="more than 5 pages"):
        await items(source.listing(PagesPlan(how="page", by="page")))
    assert len(source.steps) == 5


async def test_a_page_is_fetched_when_it_is_needed() -> None:
    source = Source([1, 2], [3], [])
    found = aiter(source.listing(PagesPlan(how="page", by="page")))
    assert [await anext(found), await anext(found)] == [1, 2]
    assert len(source.steps) == 1


async def test_a_list_that_is_null_is_empty() -> None:
    assert await items(Source({"items": None}).listing(PagesPlan(how="link", items="items"))) == []


async def test_a_page_that_is_no_list_is_one_line() -> None:
    with pytest.raises(UpstreamError, match=r"api.list: 'items' of its page is no list but str"):
        await items(Source({"items": "x"}).listing(PagesPlan(how="link", items="items")))


async def test_another_thread_iterates_plainly() -> None:
    listing = Source([1, 2], [3], []).listing(PagesPlan(how="page", by="page"))
    assert await asyncio.to_thread(list, listing) == [1, 2, 3]


async def test_the_loops_own_thread_is_told_to_wait_in_another_way() -> None:
    with pytest.raises(UsageError, match="async for"):
        next(iter(Source([1]).listing(PagesPlan(how="link"))))


async def test_each_iteration_begins_anew_with_the_first_page_that_came() -> None:
    source = Source(linked([1], f'<{URL}?page=2>; rel="next"'), linked([2], ""))
    listing = source.listing(PagesPlan(how="link"))
    assert [await items(listing), await items(listing)] == [[1, 2], [1, 2]]
    assert [step.number for step in source.steps] == [1, 2, 2]


@pytest.mark.parametrize(
    ("header", "url"),
    [
        ('<https://a/b?x=1,2;3>; rel="next"; title="a, b", <https://a/c>; rel=last', "https://a/b?x=1,2;3"),
        ("<https://a/b>; rel=next", "https://a/b"),
        ('<https://a/b>; title="x"; rel="prev next"', "https://a/b"),
        ('<https://a/b>; rel="nextish"', ""),
        ('<https://a/b>; rel="prev"', ""),
        ("", ""),
        ("<<<>>>" * 1000, ""),
        ("<a>" + "; x" * 5000, ""),
    ],
)
def test_a_link_header_is_read(header: str, url: str) -> None:
    assert next_link(header) == url


def test_a_key_with_a_dot_is_found_before_depth() -> None:
    assert dig({"a.b": 1, "a": {"b": 2}}, "a.b") == 1
    assert dig({"a": {"b": 2}}, "a.b") == 2
    assert dig({"a": [1]}, "a.b") is None
