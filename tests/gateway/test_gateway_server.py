"""`search` and `execute` as MCP clients use them, in both eras of the protocol."""

from __future__ import annotations

import asyncio
from typing import Any

import mcp_types as types
import pytest
from mcp.server import Server
from mcp.shared.exceptions import MCPError
from tests.cells import eventually
from tests.gateway.shops import ERAS, Shop, Upstream, connected, opened, run, search, text_of, yes

from cellwright.catalog import too_long
from cellwright.errors import PlatformError
from cellwright.gateway import Gateway, GatewaySettings, OpenedSource
from cellwright.gateway.client_cells import ClientCell
from cellwright.guard import policy_from
from cellwright.mcp import MCP
from cellwright.sandboxes import Limits

pytestmark = pytest.mark.usefixtures("warm")
ASK = policy_from({"rules": [{"kind": "writes", "action": "ask"}]}, "")


@pytest.mark.parametrize("era", ERAS)
async def test_there_are_two_tools(era: str) -> None:
    async with connected(opened(shop=Shop()), era=era) as client:
        tools = (await client.list_tools()).tools
    assert [tool.name for tool in tools] == ["search", "execute"]
    assert "shop (6 operations)" in (tools[0].description or "")
    assert all(tool.output_schema for tool in tools)


@pytest.mark.parametrize("era", ERAS)
async def test_names_stay_from_one_call_to_the_next(era: str) -> None:
    async with connected(opened(shop=Shop()), era=era) as client:
        await run(client, "found = shop.orders()")
        done = await client.call_tool("execute", {"code": "print(len(found))\nfound"})
    assert done.structured_content == {
        "ok": True,
        "value": ["tea", "milk"],
        "stdout": "2\n",
        "error": None,
        "calls": [],
        "truncated": False,
    }
    assert text_of(done) == "2\nValue: ['tea', 'milk']"


async def test_calls_are_listed_with_whether_they_went_well() -> None:
    async with connected(opened(shop=Shop())) as client:
        done = await run(client, "shop.orders()\nshop.delete('x', 'y')")
    assert done["calls"] == [{"name": "shop.orders", "ok": True}, {"name": "shop.delete", "ok": False}]


async def test_what_code_does_wrong_comes_back_with_its_line() -> None:
    async with connected(opened(shop=Shop())) as client:
        done = await client.call_tool("execute", {"code": "x = 1\nx / 0"})
    assert done.is_error
    assert "line 2" in text_of(done)
    assert text_of(done).endswith("ZeroDivisionError: division by zero")


async def test_a_mistake_that_the_checker_finds_is_told_before_anything_runs() -> None:
    shop = Shop()
    async with connected(opened(shop=shop), check="strict") as client:
        done = await run(client, "shop.delete(1)\nshop.delet(2)")
    assert done["error"].startswith("Not run.")
    assert shop.deleted == []


# search


@pytest.mark.parametrize("era", ERAS)
async def test_search_finds_operations_by_what_they_do(era: str) -> None:
    async with connected(opened(shop=Shop()), era=era) as client:
        done = await client.call_tool("search", {"query": "make an order", "limit": 2})
    assert done.structured_content is not None
    assert done.structured_content["found"][0]["name"] == "shop.create"
    assert len(done.structured_content["found"]) == 2
    assert "shop.create(what: str) -> str" in text_of(done)


async def test_a_dotted_name_gives_its_stub_and_nothing_gives_what_there_is() -> None:
    async with connected(opened(shop=Shop(), api=Upstream("users.get", "users.list"))) as client:
        assert "def create(what: str) -> str" in await search(client, "shop.create")
        assert "def create(what: str) -> str" in await search(client, "shop.create()")
        listing = await search(client, "  ")
        assert "shop (6 operations)" in listing
        assert "api (2 operations): users" in listing
        assert "is not in scope" in await search(client, "shop.nothing")


async def test_search_and_show_are_functions_in_code() -> None:
    async with connected(opened(shop=Shop())) as client:
        assert "shop.create" in (await run(client, "search('make an order')"))["value"]
        assert "def create" in (await run(client, "show('shop.create')"))["value"]


# wrong input


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("execute", {}, "execute needs 'code', a text"),
        ("execute", {"code": 7}, "execute needs 'code', a text"),
        ("execute", {"code": "#" * 2_000_000}, too_long("#" * 2_000_000)),
        ("search", {"query": "x", "limit": 99}, "limit is 99; give a whole number from 1 to 50"),
        ("search", {"query": "x", "page": 2}, "search takes no 'page'; it takes query and limit"),
    ],
)
async def test_wrong_arguments_are_one_clear_line(tool: str, arguments: dict[str, Any], said: str) -> None:
    async with connected(opened(shop=Shop())) as client:
        done = await client.call_tool(tool, arguments)
    assert (done.is_error, text_of(done)) == (True, said)


async def test_a_tool_that_is_not_there_is_an_error_of_the_protocol() -> None:
    async with connected(opened(shop=Shop())) as client:
        with pytest.raises(MCPError, match="there is no tool 'shop_orders'"):
            await client.call_tool("shop_orders", {})


# long results


async def test_a_long_value_is_cut_with_a_mark_that_leads_on() -> None:
    async with connected(opened(shop=Shop()), max_tokens=300) as client:
        done = await run(client, "'a' * 2000 + 'b' * 2000")
        assert done["truncated"]
        assert len(done["value"]) < 1500
        assert "print(show('output:1.value', start=800))" in done["value"]
        rest = await run(client, "print(show('output:1.value', start=3500))")
    assert rest["stdout"] == "b" * 500 + "\n"


async def test_long_prints_are_cut_too_and_can_be_read_on() -> None:
    async with connected(opened(shop=Shop()), max_tokens=300) as client:
        done = await run(client, "for n in range(1000): print(n)")
        assert done["truncated"]
        assert "show('output:1', start=" in done["stdout"]
        page = await run(client, "print(show('output:1', start=2000))")
    assert "more: start=2900" in page["stdout"]


async def test_a_value_that_holds_the_same_list_many_times_is_told_in_bounds() -> None:
    async with connected(opened(shop=Shop()), max_tokens=300) as client:
        done = await run(client, "x = ['y']\nfor _ in range(14): x = [x, x]\nx")
    assert done["ok"]
    assert len(done["value"]) < 3000


# progress, cancelling, limits


@pytest.mark.parametrize("era", ERAS)
async def test_prints_and_calls_are_told_as_progress(era: str) -> None:
    said: list[str | None] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        said.append(message)

    async with connected(opened(shop=Shop()), era=era) as client:
        await run(client, "print('first')\nshop.orders()\nprint('last')", progress_callback=hear)
    assert said[0] == "first"
    assert str(said[1]).startswith("shop.orders: ")
    assert said[2] == "last"


@pytest.mark.parametrize("era", ERAS)
async def test_a_request_that_is_cancelled_ends_its_cell_and_its_calls(era: str) -> None:
    shop = Shop()
    async with connected(opened(shop=shop), era=era) as client:
        await run(client, "x = 1")
        running = asyncio.ensure_future(run(client, "await shop.wait()"))
        await shop.under_way()
        running.cancel()
        await shop.under_way(ended=True)
        assert (await run(client, "1 + 1"))["value"] == 2


async def test_a_cell_that_takes_too_long_is_ended_and_says_so() -> None:
    async with connected(opened(shop=Shop()), limits=Limits(wall_s=0.2)) as client:
        done = await run(client, "await shop.wait()")
    assert "TimeLimit" in done["error"]


# questions in the era in which they are answers


async def test_a_question_to_a_client_is_answered_with_its_next_request() -> None:
    shop = Shop()
    async with connected(opened(shop=shop), era="auto", answer=yes, policy=ASK) as client:
        first = await client.session.call_tool("execute", {"code": "shop.delete(7)"}, allow_input_required=True)
        assert isinstance(first, types.InputRequiredResult)
        assert shop.deleted == []
        again = await client.session.call_tool(
            "execute",
            {"code": "shop.delete(7)"},
            input_responses={name: yes("") for name in first.input_requests or {}},
            request_state=first.request_state,
            allow_input_required=True,
        )
        assert isinstance(again, types.CallToolResult)
        assert again.structured_content is not None
        assert again.structured_content["value"] == "deleted 7"
        twice = await client.session.call_tool(
            "execute", {"code": "shop.delete(7)"}, request_state=first.request_state, allow_input_required=True
        )
        assert isinstance(twice, types.CallToolResult)
        assert text_of(twice) == "this question is not open any more; run the code again"
    assert shop.deleted == [7]


async def test_an_answer_that_is_missing_is_a_no() -> None:
    shop = Shop()
    async with connected(opened(shop=shop), era="auto", answer=yes, policy=ASK) as client:
        first = await client.session.call_tool("execute", {"code": "shop.delete(7)"}, allow_input_required=True)
        assert isinstance(first, types.InputRequiredResult)
        again = await client.session.call_tool(
            "execute", {"code": ""}, request_state=first.request_state, allow_input_required=True
        )
    assert isinstance(again, types.CallToolResult)
    assert "declined" in text_of(again)
    assert shop.deleted == []


@pytest.mark.parametrize("era", ERAS)
async def test_an_accepted_form_without_a_yes_is_a_no(era: str) -> None:
    shop = Shop()

    def half(message: str) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={"allow": False})

    async with connected(opened(shop=shop), era=era, answer=half, policy=ASK) as client:
        assert "declined" in (await run(client, "shop.delete(1)"))["error"]
    assert shop.deleted == []


# sessions


async def test_two_clients_have_names_of_their_own() -> None:
    async with Gateway(opened(shop=Shop()), GatewaySettings(check="off")) as gateway:
        await gateway.sessions.run("ann", "x = 1", ClientCell())
        _, outcome = await gateway.sessions.run("bob", "x", ClientCell())
        assert "NameError" in str(outcome.error)
        assert (await gateway.sessions.run("ann", "x", ClientCell()))[1].value == 1


async def test_beyond_the_bound_the_one_that_was_idle_longest_is_closed() -> None:
    async with Gateway(opened(shop=Shop()), GatewaySettings(check="off", sessions=2)) as gateway:
        for client in ("ann", "bob", "ann", "cy"):
            await gateway.sessions.run(client, "x = 1", ClientCell())
        assert ("ann" in gateway.sessions, "bob" in gateway.sessions, "cy" in gateway.sessions) == (True, False, True)


async def test_when_all_are_busy_another_is_refused() -> None:
    shop = Shop()
    async with Gateway(opened(shop=shop), GatewaySettings(check="off", sessions=1)) as gateway:
        running = asyncio.ensure_future(gateway.sessions.run("ann", "await shop.wait()", ClientCell()))
        await shop.under_way()
        with pytest.raises(PlatformError, match="all 1 sessions are busy"):
            await gateway.sessions.run("bob", "1", ClientCell())
        running.cancel()
        await asyncio.wait([running])


async def test_an_interpreter_that_nobody_uses_is_closed() -> None:
    async with Gateway(opened(shop=Shop()), GatewaySettings(check="off", idle_s=0.01)) as gateway:
        await gateway.sessions.run("ann", "x = 1", ClientCell())

        async def closed() -> bool:
            return "ann" not in gateway.sessions

        await eventually(closed)


# upstreams that change, and that ask


async def test_what_an_upstream_offers_later_is_found_and_follows_the_policy() -> None:
    api = Upstream("users.get")
    policy = policy_from({"rules": [{"pattern": "api.users.get*", "action": "allow"}], "default": "deny"}, "")
    async with connected(opened(api=api), policy=policy) as client:
        assert (await run(client, "api.users.get()"))["ok"]
        api.offer("users.get", "users.get_all", "users.wipe")
        assert (await run(client, "api.users.get_all()"))["ok"]
        assert not (await run(client, "api.users.wipe()"))["ok"]
    assert api.called == ["users.get", "users.get_all"]


@pytest.mark.parametrize("era", ERAS)
async def test_what_an_mcp_server_asks_is_asked_of_the_clients_user(era: str) -> None:
    async def book(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        schema: dict[str, Any] = {"type": "object", "properties": {"seats": {"type": "integer"}}}
        said = await ctx.session.elicit_form("How many seats?", schema, ctx.request_id)
        return types.CallToolResult(content=[types.TextContent(type="text", text=f"{said.action} {said.content}")])

    async def tools(ctx: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(name="book", input_schema={"type": "object"})])

    asked: list[str] = []

    def answer(message: str) -> types.ElicitResult:
        asked.append(message)
        return types.ElicitResult(action="accept", content={"seats": 3})

    made: list[Gateway] = []

    async def elicit(server: str, message: str, schema: Any) -> Any:
        return await made[0].elicit(server, message, schema)

    upstream = Server("trains", on_list_tools=tools, on_call_tool=book)
    trains = await MCP.open(upstream, name="trains", mode="legacy", on_elicit=elicit, cache=False)
    sources = [OpenedSource(name="trains", kind="mcp", value=trains.root, connector=trains)]
    async with connected(sources, era=era, answer=answer, made=made) as client:
        assert (await run(client, "trains.book()"))["value"] == "accept {'seats': 3}"
    assert asked == ["trains asks: How many seats?"]
