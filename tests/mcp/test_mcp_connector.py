from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp.server.mcpserver import Context, MCPServer
from tests.mcp.everything import PIXEL, everything
from tests.signatures import head_of

from cellwright import Runtime
from cellwright.errors import UpstreamError, UpstreamMissing, WrongArguments
from cellwright.mcp import MCP


@pytest.fixture(params=["auto", "legacy"])
async def server(request: pytest.FixtureRequest) -> AsyncGenerator[MCP]:
    async with await MCP.open(everything(), mode=request.param, cache=False) as opened:
        yield opened


def head(server: MCP, path: str) -> str:
    found = server.surface.find(path)
    assert found is not None, path
    return head_of(found.line)


async def test_tools_are_typed_functions(server: MCP) -> None:
    assert head(server, "add") == "def add(self, a: int, *, b: int = 2) -> int"
    wanted = "def get_person(self, name: str, *, size: Literal['small', 'large'] = 'small') -> Person"
    assert head(server, "get_person") == wanted
    assert head(server, "import_") == "def import_(self, person: PersonInput, *, note: str | None = None) -> str"
    assert head(server, "echo") == "def echo(self, text: str) -> Any"
    person, given = server.surface.shape("Person"), server.surface.shape("PersonInput")
    assert person is not None
    assert given is not None
    assert (person.kind, given.kind) == ("record", "dict")
    assert [head_of(line) for line in person.lines] == ["name: str", "age: int | None", "tags: list[str] | None"]


async def test_what_a_tool_says_of_itself_is_known(server: MCP) -> None:
    facts = {one.path: (one.reads, one.idempotent) for one in server.surface.listed()}
    assert facts["add"] == (True, True)
    assert facts["import_"] == (False, True)
    assert facts["echo"] == (False, False)
    found = server.surface.find("import_")
    assert found is not None
    assert "It may destroy what is there." in found.line.doc
    assert "import" in found.words.split()
    assert server.surface.about("") == "One of everything."


async def test_resources_and_prompts_stand_below_the_server(server: MCP) -> None:
    assert server.surface.below("resources") == ("list", "read", "by_author")
    assert server.surface.below("prompts") == ("review", "talk")
    assert head(server, "resources.list") == "def list(self) -> list[Resource]"
    assert head(server, "resources.by_author") == "def by_author(self, author: str, number: str) -> str"
    assert head(server, "prompts.review") == "def review(self, code: str, *, style: str | None = None) -> str"
    assert [one.uri for one in await server.call("resources.list", {})] == ["note://hello", "note://raw"]
    assert await server.call("resources.read", {"uri": "note://hello"}) == "hello"
    assert await server.call("resources.read", {"uri": "note://raw"}) == b"\x00\x01"
    assert await server.call("resources.by_author", {"author": "a b", "number": "1"}) == "a b 1"
    assert await server.call("prompts.review", {"code": "x"}) == "Review x in a kind way"
    assert await server.call("prompts.talk", {}) == "user: hi\n\nassistant: ho"
    with pytest.raises(UpstreamMissing, match=r"everything\.resources\.read: .*note://nope"):
        await server.call("resources.read", {"uri": "note://nope"})


async def test_a_tool_with_the_name_of_a_namespace_has_it_where_there_is_none() -> None:
    def one() -> str:
        """A tool with the name of a namespace."""
        return "mine"

    bare, full = MCPServer("bare"), everything()
    for server in (bare, full):
        server.add_tool(one, name="resources")
    async with await MCP.open(bare, cache=False) as opened:
        assert opened.surface.below("") == ("resources",)
        assert await opened.call("resources", {}) == "mine"
    async with await MCP.open(full, cache=False) as opened:
        assert await opened.call("resources_tool", {}) == "mine"
        assert await opened.call("resources.read", {"uri": "note://hello"}) == "hello"


async def test_results_are_records_values_and_bytes(server: MCP) -> None:
    person = await server.call("get_person", {"name": "ann"})
    assert (person.name, person["age"], person.tags) == ("ann", 3, ["small"])
    assert await server.call("add", {"a": 1}) == 3
    assert await server.call("echo", {"text": "hi"}) == "hi"
    assert await server.call("nothing", {}) is None
    picture = await server.call("picture", {})
    assert (picture.mime_type, picture.data) == ("image/png", PIXEL)
    text, link, inside = await server.call("several", {})
    assert (text, link.uri, inside) == ("one", "note://two", "three")


async def test_json_in_a_text_is_read_until_the_tool_gives_plain_text(server: MCP) -> None:
    found = await server.call("find", {"total": 2})
    assert (found.total, found.people[1].name) == (2, "p1")
    assert await server.call("echo", {"text": "[1, 2]"}) == [1, 2]
    assert await server.call("echo", {"text": "plain"}) == "plain"
    assert await server.call("echo", {"text": "[1, 2]"}) == "[1, 2]"
    assert await server.call("echo", {"text": "[" * 100_000}) == "[" * 100_000


async def test_wrong_arguments_are_one_line_and_nothing_is_sent(server: MCP) -> None:
    with pytest.raises(WrongArguments, match=r"^everything\.add: a: 'x' is no integer"):
        await server.call("add", {"a": "x"})
    with pytest.raises(WrongArguments, match=r"size: 'huge' is none of 'small', 'large'"):
        await server.call("get_person", {"name": "a", "size": "huge"})
    with pytest.raises(WrongArguments, match=r"everything\.import_: person"):
        await server.call("import_", {"person": {"age": 3}})
    with pytest.raises(WrongArguments, match=r"takes no 'c'; it takes a, b"):
        await server.call("add", {"a": 1, "c": 2})
    with pytest.raises(WrongArguments, match=r"uri must be a text, and is 3"):
        await server.call("resources.read", {"uri": 3})


async def test_a_tool_that_fails_is_one_line(server: MCP) -> None:
    with pytest.raises(UpstreamError, match=r"^everything\.fail: .*it is broken: so$") as caught:
        await server.call("fail", {"text": "so"})
    assert "it is\nbroken: so" in caught.value.body


async def test_a_tool_that_is_not_there_is_said(server: MCP) -> None:
    with pytest.raises(UpstreamMissing, match=r"everything does not offer 'nope'"):
        await server.call("nope", {})


async def test_a_cancelled_call_is_cancelled_at_the_server(server: MCP) -> None:
    begun = asyncio.Event()

    def note(tool: str, progress: float, total: float | None, message: str | None) -> None:
        begun.set()

    server._runner.on_progress = note  # pyright: ignore[reportPrivateUsage]
    call = asyncio.create_task(server.call("hang", {}))
    async with asyncio.timeout(20):
        await begun.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        while await server.call("hung", {}) != "1 cancelled":
            pass


async def test_tools_that_come_later_are_offered_and_said() -> None:
    said: list[str] = []
    for mode in ("auto", "legacy"):
        changed = asyncio.Event()
        said.clear()

        def note(text: str, changed: asyncio.Event = changed) -> None:
            said.append(text)
            changed.set()

        async with await MCP.open(everything(), mode=mode, cache=False, on_change=note) as server:
            root, before = server.root, server.surface.key
            await server.call("grow", {"name": "twice-of"})
            async with asyncio.timeout(20):
                await changed.wait()
            assert said == ["everything offers other things (new: twice_of)"]
            assert server.surface.key != before
            assert await root.twice_of(x=4) == 8


@pytest.mark.filterwarnings("ignore:The logging capability")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_progress_and_logs_are_passed_on(mode: str) -> None:
    told: list[Any] = []
    lines: list[str] = []

    def note(tool: str, progress: float, total: float | None, message: str | None) -> None:
        told.append((tool, progress, total, message))

    async with await MCP.open(everything(), mode=mode, cache=False, on_log=lines.append, on_progress=note) as server:
        assert await server.call("work", {"steps": 2}) == "done"
    assert told == [("work", 1.0, 2.0, "step 1"), ("work", 2.0, 2.0, "step 2")]
    assert lines == ["everything: info: work: worked"]


async def test_progress_gives_a_slow_call_its_time_again() -> None:
    slow = MCPServer("slow")

    @slow.tool(structured_output=False)
    async def steps(ctx: Context) -> str:
        for step in range(6):
            await ctx.report_progress(step)
            await asyncio.sleep(0.1)
        return "done"

    async with await MCP.open(slow, timeout_s=0.4, cache=False) as server:
        assert await server.call("steps", {}) == "done"


async def test_the_names_of_other_clients_are_known(server: MCP) -> None:
    assert server.alias("mcp__everything__get-person") == "get_person"
    assert server.alias("mcp__everything__get_person") == "get_person"
    assert server.alias("mcp__everything__import") == "import_"
    assert server.alias("mcp__other__add") is None
    assert server.alias("add") is None


async def test_the_plain_definitions_are_as_the_server_has_them(server: MCP) -> None:
    tools = {tool["name"]: tool for tool in server.plain_tools()}
    assert tools["get-person"]["inputSchema"]["required"] == ["name"]
    assert tools["add"]["annotations"]["readOnlyHint"] is True


async def test_what_was_learned_is_in_the_surface_the_next_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CELLWRIGHT_CACHE", str(tmp_path))
    async with await MCP.open(everything()) as server:
        key = server.surface.key
        await server.call("find", {})
        await server.call("echo", {"text": "plain"})
        assert server.surface.key == key
    async with await MCP.open(everything()) as server:
        assert head(server, "find") == "def find(self, total: int = 2) -> FindResult"
        assert head(server, "echo") == "def echo(self, text: str) -> str"
        found = server.surface.find("find")
        assert found is not None
        assert "learned from 1 result, not declared" in found.line.doc
        assert (await server.call("find", {"total": 1})).people[0].name == "p0"


async def test_guest_code_uses_a_server_as_an_object(server: MCP) -> None:
    async with Runtime(scope={"box": server}) as rt:
        code = "person = box.get_person('ann')\n[person.name, box.add(person.age), box.resources.list()[0].uri]"
        assert (await rt.execute(code)).value == ["ann", 5, "note://hello"]
        outcome = await rt.execute(
            "try:\n    box.fail(text='x')\nexcept RuntimeError as e:\n    print(type(e).__name__)"
        )
        assert outcome.stdout == "UpstreamError\n"
        wrong = await rt.execute("box.add('x')")
        assert "everything.add: a: 'x' is no integer" in str(wrong.error)


async def test_schemas_that_are_alike_are_one_class() -> None:
    twins = MCPServer("twins")
    schema = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"], "title": "Point"}
    tools = [
        types.Tool(name=name, input_schema={"type": "object"}, output_schema=dict(schema)) for name in ("one", "two")
    ]

    async def listed() -> list[types.Tool]:
        return tools

    twins.list_tools = listed
    async with await MCP.open(twins, cache=False) as server:
        assert head(server, "one") == "def one(self) -> Point"
        assert head(server, "two") == "def two(self) -> Point"


async def test_a_server_that_was_closed_leaves_no_handler_with_the_loggers() -> None:
    counts: list[int] = []
    for _ in range(3):
        async with await MCP.open(everything(), cache=False):
            counts.append(sum(len(logging.getLogger(name).handlers) for name in ("mcp", "client")))
    assert counts[0] == counts[-1]
