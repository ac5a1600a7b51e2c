"""An API in scope, driven from guest code against a server on the loopback."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.openapi.shop import SHOP, secured
from tests.openapi.upstream import Asked, Upstream, reply, upstream
from tests.signatures import head_of

from cellwright import Runtime, Scope
from cellwright.connectors import Secret
from cellwright.errors import CodeError, UpstreamError, UpstreamGone, UsageError, WrongArguments
from cellwright.openapi import OpenAPI
from cellwright.openapi.connector import tidy_name
from cellwright.openapi.paged_items import PagedItems
from cellwright.scope import Record

KEY = "k3y-of-the-host-0123456789"


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CELLWRIGHT_CACHE", str(tmp_path))
    return tmp_path


async def shop(api: Upstream, source: Mapping[str, Any] = SHOP, **options: Any) -> OpenAPI:
    return await OpenAPI.open(source, base_url=api.url, **options)


async def run(connector: OpenAPI, *cells: str, **options: Any) -> Any:
    async with Runtime({"shop": connector}, **options) as rt:
        return [(await rt.execute(cell)).unwrap() for cell in cells][-1]


async def failed(connector: OpenAPI, cell: str) -> CodeError:
    async with Runtime({"shop": connector}) as rt:
        outcome = await rt.execute(cell)
    assert isinstance(outcome.error, CodeError)
    return outcome.error


def everything_in(folder: Path, names: str = "*") -> bytes:
    return b"".join(file.read_bytes() for file in folder.rglob(names) if file.is_file())


def damage(folder: Path, text: str) -> None:
    [file] = folder.rglob("*.learned.json")
    file.write_text(text)


def item(number: int, **more: Any) -> dict[str, Any]:
    return {"id": number, "name": f"item {number}", **more}


def paged(asked: Asked) -> bytes:
    """Three pages of a hundred."""
    page = int(asked.query.get("page", "1"))
    link = f'</shops/a/items?page={page + 1}>; rel="next"' if page < 3 else ""
    return reply([item(page * 1000 + n) for n in range(100)], link=link)


async def test_guest_code_calls_operations_and_reads_records(api: Upstream) -> None:
    api.on("/shops/a%2Fb/items/5", reply(item(5, **{"class": "x", "maker": {"id": 1, "city": "Oslo"}})))
    async with await shop(api) as connector:
        assert connector.name == "shop"
        code = "i = shop.items.get('a/b', 5); [type(i).__name__, i.name, i.class_, i.maker.city]"
        assert await run(connector, code) == ["Item", "item 5", "x", "Oslo"]


async def test_a_post_sends_its_fields(api: Upstream) -> None:
    api.on("/shops/a/items", reply(item(7)))
    async with await shop(api) as connector:
        assert await run(connector, "shop.items.create('a', name='N', tags=['t']).id") == 7
    assert (api.asked[0].method, api.asked[0].json) == ("POST", {"name": "N", "tags": ["t"]})


async def test_a_record_has_methods_that_know_where_it_came_from(api: Upstream) -> None:
    api.on("/shops/a/items/5", reply(item(5)))
    api.on("/shops/a/items/5/notes", reply(["one", "two"]))
    async with await shop(api) as connector:
        assert await run(connector, "shop.items.get('a', 5).notes()") == ["one", "two"]


async def test_all_pages_are_iterated_and_each_costs_one_crossing(api: Upstream) -> None:
    api.on("/shops/a/items", paged)
    async with await shop(api) as connector, Runtime({"shop": connector}) as rt:
        outcome = await rt.execute("sum(1 for i in shop.items.list('a'))")
        assert outcome.unwrap() == 300
    assert len(api.asked) == 3
    assert len(outcome.calls) <= 8


async def test_pages_that_nobody_needs_are_not_fetched(api: Upstream) -> None:
    api.on("/shops/a/items", paged)
    code = "import itertools; [i.id for i in itertools.islice(shop.items.list('a'), 2)]"
    async with await shop(api) as connector:
        assert await run(connector, code) == [1000, 1001]
    assert len(api.asked) == 1


async def test_a_page_that_came_by_a_redirect_leads_no_key_to_another_server(api: Upstream) -> None:
    async with (
        upstream() as other,
        await shop(api, secured(), credentials=Secret(KEY), redirects=[other.url]) as connector,
    ):
        api.on("/shops/a/items", reply(status=302, location=f"{other.url}/elsewhere"))
        other.on("/elsewhere", reply([item(1)], link='</more>; rel="next"'))
        found = await connector.call("items.list", {"shop": "a"})
        with pytest.raises(UpstreamError, match="its next page is on another server"):
            [one.id async for one in found]
    assert [asked.path for asked in other.asked] == ["/elsewhere"]
    assert KEY in str(api.asked)
    assert KEY not in str(other.asked)


async def test_a_host_iterates_with_async_for(api: Upstream) -> None:
    api.on("/shops/a/items", paged)
    async with await shop(api) as connector:
        listing = await connector.call("items.list", {"shop": "a"})
        assert isinstance(listing, PagedItems)
        assert len([item async for item in listing]) == 300


async def test_a_list_offers_nothing_but_its_items(api: Upstream) -> None:
    api.on("/shops/a/items", paged)
    async with await shop(api) as connector:
        assert await run(connector, "[n for n in dir(shop.items.list('a')) if not n.startswith('_')]") == []


async def test_a_wrong_call_is_told_and_nothing_is_sent(api: Upstream) -> None:
    async with await shop(api) as connector:
        wrong = await failed(connector, "shop.items.create('a', name=5)")
        assert wrong.type == "WrongArguments"
        assert wrong.message.startswith("shop.items.create: name: 5 ")
        assert "owner" in (await failed(connector, "shop.items.get('a', 5, owner=1)")).message
        with pytest.raises(WrongArguments):
            await connector.call("items.create", {"shop": "a"})
    assert api.asked == []


async def test_guest_code_catches_errors_of_the_api_by_their_kind(api: Upstream) -> None:
    api.on("/shops/a/items/5", reply({"message": "no such item"}, 404))
    api.on("/shops/a/items/6", reply({"message": "not yours"}, 403))
    code = """
found = []
for number, kind in ((5, LookupError), (6, PermissionError)):
    try:
        shop.items.get('a', number)
    except kind as error:
        found.append([str(error), error.status, error.body["message"]])
found
"""
    async with await shop(api) as connector:
        assert await run(connector, code) == [
            ["shop.items.get: 404 Not Found: no such item", 404, "no such item"],
            ["shop.items.get: 403 Forbidden: not yours", 403, "not yours"],
        ]


async def test_nothing_that_the_guest_can_reach_has_the_key(api: Upstream) -> None:
    def echo(asked: Asked) -> bytes:
        return reply({**item(5), "headers": asked.headers, "url": f"https://{asked.headers['x-key']}@x/"})

    api.on("/shops/a/items/5", echo)
    api.on("/shops/b/items/5", lambda asked: reply({"message": f"bad key {asked.headers['x-key']}"}, 401))
    code = """
seen = [repr(shop), repr(shop.items), repr(shop.items.get("a", 5)), str(shop.items.get("a", 5).to_dict())]
try:
    shop.items.get("b", 5)
except Exception as error:
    seen += [repr(error), str(error), str(vars(error)), str(error.__cause__), str(error.__context__)]
for name in dir(shop) + dir(shop.items) + ["_surface", "_invoke", "_exchange"]:
    for part in (shop, shop.items, shop.items.get):
        try:
            seen.append(repr(getattr(part, name)))
        except Exception as error:
            seen.append(str(error))
"\\n".join(seen)
"""
    async with await shop(api, secured(), credentials=Secret(KEY)) as connector:
        told = await run(connector, code)
        assert KEY not in f"{told} {connector!r} {connector.root!r} {vars(connector)}"
    assert "***" in told
    assert {asked.headers["x-key"] for asked in api.asked} == {KEY}


async def test_the_journal_has_no_key(api: Upstream, tmp_path: Path) -> None:
    api.on("/shops/a/items/5", lambda asked: reply({**item(5), "echo": asked.headers["x-key"]}))
    store = tmp_path / "journal.db"
    async with await shop(api, secured(), credentials=Secret(KEY)) as connector:
        assert await run(connector, "shop.items.get('a', 5).name", store=f"sqlite:///{store}") == "item 5"
    kept = everything_in(tmp_path)
    assert b"item 5" in kept
    assert KEY.encode() not in kept


async def test_a_call_of_a_journaled_session_brings_its_idempotency_key(api: Upstream) -> None:
    api.on("/shops/a/items", reply(item(7)))
    async with await shop(api) as connector:
        await run(connector, "shop.items.create('a', name='N'); shop.items.create('a', name='N')", store="memory:")
    keys = [asked.headers["idempotency-key"] for asked in api.asked]
    assert len(keys) == len(set(keys)) == 2


async def test_a_read_only_scope_reads_and_does_not_write(api: Upstream) -> None:
    api.on("/shops/a/items/5", reply(item(5)))
    scope = Scope()
    async with await shop(api) as connector:
        scope.bind("shop", connector)
        scope.declare("shop.*", read_only=True)
        async with Runtime(scope) as rt:
            assert (await rt.execute("shop.items.get('a', 5).id")).unwrap() == 5
            assert (await rt.execute("shop.items.delete('a', 5)")).error is not None
    assert [asked.method for asked in api.asked] == ["GET"]


async def test_types_that_nobody_described_are_learned_and_shown_the_next_time(api: Upstream) -> None:
    api.on("/status", reply({"up": True, "since": {"year": 2026}}))
    async with await shop(api) as connector:
        before = connector.surface
        offered = before.find("items.status")
        assert offered is not None
        assert offered.line.gives == "Any"
        assert await run(connector, "shop.items.status()['since']['year']") == 2026
    async with await shop(api) as connector:
        offered = connector.surface.find("items.status")
        assert offered is not None
        assert head_of(offered.line).endswith(f"-> {offered.line.gives}")
        assert "learned from 1 response" in offered.line.doc
        shape = connector.surface.shape(offered.line.gives)
        assert shape is not None
        assert [line.name for line in shape.lines] == ["up", "since"]
        assert connector.surface.key != before.key
        assert offered.line.gives in list(connector.surface.shapes())
        assert [one.line.gives for one in connector.surface.listed() if one.path == "items.status"] == [
            offered.line.gives
        ]
        code = "s = shop.items.status(); [s.up, s.since.year, type(s).__name__]"
        assert await run(connector, code) == [True, 2026, offered.line.gives]


async def test_what_was_learned_may_be_damaged_or_gone(api: Upstream, own_cache: Path) -> None:
    api.on("/status", reply({"up": True}))
    async with await shop(api) as connector:
        await connector.call("items.status", {})
    for text in ("", "[]", '{"items.status": 5, "gone": {"count": 1}}', "\0"):
        damage(own_cache, text)
        async with await shop(api) as connector:
            assert await connector.call("items.status", {}) == {"up": True}


async def test_headers_of_the_developer_go_along(api: Upstream) -> None:
    api.on("/status", reply({}))
    async with await shop(api, headers={"X-Version": "2026-01-01", "Accept": "text/odd"}) as connector:
        await connector.call("items.status", {})
    assert api.asked[0].headers["x-version"] == "2026-01-01"
    assert api.asked[0].headers["accept"].startswith("application/json")


async def test_many_calls_run_at_once(api: Upstream) -> None:
    api.on("/status", reply({"up": True}))
    code = """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(8) as pool:
    found = list(pool.map(lambda _: shop.items.status()["up"], range(20)))
len(found)
"""
    async with await shop(api) as connector:
        assert await run(connector, code) == 20


async def test_an_answer_that_does_not_fit_its_schema_stays_as_it_came(api: Upstream) -> None:
    api.on("/shops/a/items/5", reply(["not", {"an": "item"}]))
    async with await shop(api) as connector:
        assert await run(connector, "shop.items.get('a', 5)") == ["not", {"an": "item"}]


async def test_a_large_answer_is_read_beside_the_loop(api: Upstream) -> None:
    api.on("/shops/a/items", reply([item(n, **{"class": "x" * 200}) for n in range(2000)]))
    async with await shop(api) as connector:
        listing = await connector.call("items.list", {"shop": "a"})
        assert sum([one.id async for one in listing]) == sum(range(2000))


async def test_a_record_class_is_found_by_its_name(api: Upstream) -> None:
    async with await shop(api) as connector:
        made = connector.record("Item")
        assert made is not None
        assert issubclass(made, Record)
        assert made is connector.record("Item")
        assert connector.record("Nothing") is None


async def test_the_operations_as_plain_tools_have_whole_schemas(api: Upstream) -> None:
    async with await shop(api) as connector:
        tools = {tool["name"]: tool for tool in connector.plain_tools()}
    made = tools["items_create"]["inputSchema"]
    assert set(made["properties"]) == {"shop", "name", "tags"}
    assert set(made["required"]) == {"shop", "name"}
    assert "#/components" not in json.dumps(tools)


async def test_a_server_that_cannot_be_reached_costs_the_call_and_no_more(api: Upstream) -> None:
    async with await OpenAPI.open(SHOP, base_url="http://127.0.0.1:1") as connector:
        with pytest.raises(UpstreamGone, match=r"shop.items.status: 127.0.0.1:1: it cannot be reached"):
            await connector.call("items.status", {})


async def test_an_api_that_is_closed_says_so(api: Upstream) -> None:
    async with await shop(api) as connector, Runtime({"shop": connector}) as rt:
        await connector.close()
        for asked in (connector.call("items.status", {}), rt.search("items")):
            with pytest.raises(UpstreamGone, match=r"^this API is closed"):
                await asked


@pytest.mark.parametrize(
    "base", ["api.example.com", "ftp://x", "https://", "http://[", "https://me:word@api.example.com"]
)
async def test_a_base_url_that_is_none_is_refused_at_once(base: str) -> None:
    with pytest.raises(UsageError) as raised:
        await OpenAPI.open(SHOP, base_url=base)
    assert "word" not in str(raised.value).replace("password", "")


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("GitHub v3 REST API", "github"),
        ("GitHub's official OpenAPI spec + Octokit extension", "github"),
        ("Stripe API", "stripe"),
        ("Swagger Petstore - OpenAPI 3.0", "petstore"),
        ("Slack Web API", "slack"),
        ("Microsoft Graph v1.0", "microsoft_graph"),
        ("Prefect Prefect REST API", "prefect"),
        ("3scale", "api_3scale"),
        ("Import", "import"),
        ("", "api"),
        ("日本", "api"),
    ],
)
def test_an_api_is_named_by_its_title(title: str, name: str) -> None:
    assert tidy_name(title) == name.replace("import", "api_import")
