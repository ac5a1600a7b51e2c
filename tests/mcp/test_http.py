from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.mcp.everything import everything
from tests.mcp.hosting import Asked, Watch, free_port, hosted

from cellwright.connectors import Secret
from cellwright.errors import UpstreamError, UpstreamGone, UpstreamRefused
from cellwright.mcp import MCP


@pytest.fixture(params=["auto", "legacy"])
def mode(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def watch() -> Watch:
    return Watch(everything().streamable_http_app())


@pytest.fixture
def url(watch: Watch) -> Generator[str]:
    with hosted(watch) as found:
        yield f"{found}/mcp"


async def test_a_server_behind_an_url_is_called(url: str, mode: str) -> None:
    async with await MCP.open(url, mode=mode, cache=False) as server:
        assert await server.call("add", {"a": 1, "b": 4}) == 5
        assert await server.call("resources.read", {"uri": "note://hello"}) == "hello"


async def test_a_server_that_only_has_events_is_found_by_its_plain_url() -> None:
    with hosted(everything().sse_app()) as found:
        async with await MCP.open(f"{found}/sse", cache=False) as server:
            assert await server.call("add", {"a": 1}) == 3
        async with await MCP.open({"url": f"{found}/sse", "type": "sse"}, cache=False) as server:
            assert await server.call("echo", {"text": "hi"}) == "hi"


async def test_an_events_server_that_takes_no_more_messages_fails_the_call_at_once() -> None:
    watch = Watch(everything().sse_app())
    with hosted(watch) as found:
        async with await MCP.open({"url": f"{found}/sse", "type": "sse"}, cache=False) as server:
            watch.refuse = lambda asked: 500 if asked.tool == "echo" else 0
            with pytest.raises(UpstreamGone, match=r"answered 500.*may have happened"):
                await server.call("echo", {"text": "hi"})
            assert watch.calls("echo") == 1
            assert await server.call("add", {"a": 1}) == 3


async def test_the_tools_that_come_later_are_heard_of(url: str, mode: str) -> None:
    changed = asyncio.Event()
    async with await MCP.open(url, mode=mode, cache=False, on_change=lambda text: changed.set()) as server:
        before = server.surface.key
        await server.call("grow", {"name": "twice-of"})
        async with asyncio.timeout(20):
            await changed.wait()
        assert await server.call("twice_of", {"x": 4}) == 8
        assert server.surface.key != before


async def test_a_bearer_token_is_sent_and_read_again_when_it_is_refused(url: str, watch: Watch, tmp_path: Path) -> None:
    kept = tmp_path / "token"
    kept.write_text("first-token")
    kept.chmod(0o600)
    wanted = "first-token"

    def refuse(asked: Asked) -> int:
        return 0 if asked.headers.get("authorization") == f"Bearer {wanted}" else 401

    watch.refuse = refuse
    async with await MCP.open(url, auth=f"file:{kept}", cache=False) as server:
        assert await server.call("add", {"a": 1}) == 3
        kept.write_text("second-token")
        wanted = "second-token"
        assert await server.call("add", {"a": 2}) == 4


async def test_a_wrong_key_is_said_without_showing_it(url: str, watch: Watch, mode: str) -> None:
    watch.refuse = lambda asked: 401
    with pytest.raises(UpstreamRefused, match=r"127\.0\.0\.1.*401.*check the key") as caught:
        await MCP.open(f"{url}?api_key=queried-key", mode=mode, auth=Secret("wrong-secret"), cache=False)
    assert caught.value.status == 401
    assert "wrong-secret" not in str(caught.value)
    assert "queried-key" not in str(caught.value)


async def test_a_key_that_is_refused_later_is_told_of_the_call(url: str, watch: Watch, mode: str) -> None:
    async with await MCP.open(url, mode=mode, headers={"x-api-key": "held-secret"}, cache=False) as server:
        assert watch.seen[-1].headers["x-api-key"] == "held-secret"
        watch.refuse = lambda asked: 403 if asked.tool else 0
        with pytest.raises(UpstreamRefused, match=r"\.echo: .*403") as caught:
            await server.call("echo", {"text": "held-secret"})
        assert caught.value.status == 403


async def test_a_server_that_echoes_a_key_does_not_give_it_to_the_guest(url: str) -> None:
    async with await MCP.open(url, headers={"authorization": "Bearer held-secret"}, cache=False) as server:
        assert await server.call("echo", {"text": "your key is held-secret"}) == "your key is ***"
        with pytest.raises(UpstreamError) as caught:
            await server.call("fail", {"text": "held-secret"})
        assert "held-secret" not in f"{caught.value} {caught.value.body}"


async def test_keys_in_an_url_are_not_logged(url: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    async with await MCP.open(f"{url}?api_key=queried-key", auth=Secret("held-secret"), cache=False) as server:
        assert await server.call("add", {"a": 1}) == 3
    assert "HTTP Request: POST" in caplog.text
    assert "held-secret" not in caplog.text
    assert [record.name for record in caplog.records if "queried-key" in record.getMessage()] == []


async def test_a_server_that_fails_is_asked_once(url: str, watch: Watch, mode: str) -> None:
    async with await MCP.open(url, mode=mode, cache=False) as server:
        watch.refuse = lambda asked: 500 if asked.tool else 0
        with pytest.raises(UpstreamError, match=r"\.echo: .*500") as caught:
            await server.call("echo", {"text": "x"})
        assert caught.value.status == 500
        assert watch.calls("echo") == 1
        watch.refuse = lambda asked: 0
        assert await server.call("echo", {"text": "x"}) == "x"


async def test_a_server_that_cannot_be_reached_is_one_line() -> None:
    with pytest.raises(UpstreamGone, match=r"^nobody \(http://127\.0\.0\.1:\d+/mcp\): it cannot be reached$"):
        await MCP.open(f"http://127.0.0.1:{free_port()}/mcp", name="nobody", cache=False)


async def test_an_url_with_nothing_of_the_protocol_behind_it_is_one_line(url: str) -> None:
    with pytest.raises(UpstreamGone, match=r"^wrong \(http://127\.0\.0\.1:\d+/elsewhere\): Not Found$"):
        await MCP.open(url.replace("/mcp", "/elsewhere"), name="wrong", cache=False)


async def test_a_lost_session_is_begun_anew_and_the_call_made_once(mode: str) -> None:
    said: list[str] = []
    port = free_port()
    with hosted(Watch(everything().streamable_http_app()), port) as found:
        server = await MCP.open(f"{found}/mcp", name="far", mode=mode, cache=False, on_change=said.append)
    watch = Watch(everything().streamable_http_app())
    async with server:
        with hosted(watch, port):
            assert await server.call("echo", {"text": "x"}) == "x"
            refused = 1 if mode == "legacy" else 0  # by the new server, which does not know the old one's session
            assert watch.calls("echo") == 1 + refused
    assert said == (["far forgot its session and was connected to again"] if mode == "legacy" else [])


async def test_a_server_that_is_gone_is_said_and_found_again(mode: str) -> None:
    port = free_port()
    with hosted(everything().streamable_http_app(), port) as found:
        server = await MCP.open(f"{found}/mcp", mode=mode, name="far", cache=False)
    async with server:
        with pytest.raises(UpstreamGone, match=r"far .*cannot be reached"):
            await server.call("echo", {"text": "x"})
        with hosted(everything().streamable_http_app(), port):
            assert await server.call("echo", {"text": "x"}) == "x"


async def test_a_call_that_takes_too_long_is_cancelled_at_the_server(url: str, mode: str) -> None:
    async with await MCP.open(url, mode=mode, timeout_s=0.3, cache=False) as server:
        with pytest.raises(TimeoutError, match=r"hang: no answer within 0.3 s"):
            await server.call("hang", {})
        async with asyncio.timeout(20):
            cancelled = ""
            while cancelled != "1 cancelled":
                with suppress(TimeoutError):  # on a busy machine this call may take longer than its time, too
                    cancelled = await server.call("hung", {})
