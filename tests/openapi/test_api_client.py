"""One attempt: its bounds, its redirects, and where keys do not go."""

from __future__ import annotations

import gzip
import logging
import socket
from collections.abc import AsyncIterator

import pytest
from tests.openapi.calls import Calls
from tests.openapi.upstream import Upstream, reply, upstream

from cellwright.connectors import Secret
from cellwright.errors import UpstreamError, UpstreamGone, UpstreamRefused
from cellwright.openapi.operation_plan import Api, SecurityScheme

KEY = "k3y-of-the-host-0123456789"
QUERY_KEY = {"q": SecurityScheme(name="q", kind="apiKey", key="api_key", place="query")}


@pytest.fixture
async def other() -> AsyncIterator[Upstream]:
    """A second server: another port is another origin."""
    async with upstream() as made:
        yield made


def line(raised: pytest.ExceptionInfo[BaseException]) -> str:
    text = str(raised.value)
    assert "\n" not in text
    assert KEY not in text
    return text


async def test_a_server_that_is_not_there_is_one_line(api: Upstream) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        api.url = f"http://127.0.0.1:{free.getsockname()[1]}"
        call = Calls(api)
        with pytest.raises(UpstreamGone) as raised:
            await call("POST")
    text = line(raised)
    assert text.startswith("api.do: 127.0.0.1:")
    assert "cannot be reached" in text
    assert text.endswith("nothing was sent")
    assert raised.value.__context__ is None


async def test_a_server_that_never_answers_is_left_after_the_timeout(api: Upstream) -> None:
    api.on("/x", None)
    with pytest.raises(UpstreamGone) as raised:
        await Calls(api, timeout_s=0.2)("POST")
    assert "no answer within 0.2 s; it may have happened" in line(raised)
    assert len(api.asked) == 1


async def test_a_read_that_timed_out_is_not_sent_again(api: Upstream) -> None:
    api.on("/x", None)
    with pytest.raises(UpstreamGone, match=r"no answer within 0.2 s$"):
        await Calls(api, timeout_s=0.2)()
    assert len(api.asked) == 1


async def test_an_answer_above_the_bound_is_refused(api: Upstream) -> None:
    api.on("/x", reply("x" * 5000, media="text/plain"))
    with pytest.raises(UpstreamError) as raised:
        await Calls(api, largest=4096)()
    assert line(raised).startswith("api.do: its answer is larger than 0.00390625 MB")


async def test_an_answer_is_bounded_as_it_unpacks(api: Upstream) -> None:
    api.on("/x", reply(gzip.compress(b"x" * 1_000_000), content_encoding="gzip"))
    with pytest.raises(UpstreamError, match="larger than"):
        await Calls(api, largest=65_536)()


async def test_an_answer_that_does_not_unpack_is_one_line(api: Upstream) -> None:
    api.on("/x", reply(b"no gzip at all", content_encoding="gzip"))
    with pytest.raises(UpstreamGone) as raised:
        await Calls(api)("POST")
    assert "cannot be unpacked" in line(raised)


async def test_the_agent_is_named(api: Upstream) -> None:
    api.on("/x", reply({}))
    await Calls(api)()
    assert api.asked[0].headers["user-agent"].startswith("cellwright/")


async def test_a_redirect_on_the_same_server_keeps_the_key(api: Upstream) -> None:
    api.on("/x", reply(None, 302, location="/y"))
    api.on("/y", reply({"ok": True}))
    assert await Calls(api, credentials=Secret(KEY))() == {"ok": True}
    assert api.asked[1].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("place", ["header", "query", "cookie"])
async def test_a_redirect_to_another_server_loses_the_key(api: Upstream, other: Upstream, place: str) -> None:
    scheme = SecurityScheme(name="k", kind="apiKey", key="X-Key", place=place)  # type: ignore[arg-type]  parametrized
    described = Api(title="T", schemes={"k": scheme}, security=({"k": []},))
    api.on("/x", reply(None, 302, location=f"{other.url}/y"))
    other.on("/y", reply({"ok": True}))
    call = Calls(api, described, Secret(KEY), redirects=[other.url])
    call.exchange.add_headers({"X-Own": "own-header-of-the-host"}, call.redactor)
    assert await call() == {"ok": True}
    assert KEY in f"{api.asked[0]}"
    assert api.asked[0].headers["x-own"] == "own-header-of-the-host"
    assert KEY not in f"{other.asked[0]}"
    assert "x-own" not in other.asked[0].headers


@pytest.mark.parametrize("status", [301, 302, 303])
async def test_a_post_is_a_get_after_a_redirect(api: Upstream, status: int) -> None:
    api.on("/x", reply(None, status, location="/y"))
    api.on("/y", reply({"ok": True}))
    await Calls(api)("POST")
    assert [asked.method for asked in api.asked] == ["POST", "GET"]


@pytest.mark.parametrize("status", [307, 308])
async def test_a_body_is_not_sent_on_to_another_server(api: Upstream, other: Upstream, status: int) -> None:
    api.on("/x", reply(None, status, location=f"{other.url}/y"))
    with pytest.raises(UpstreamError) as raised:
        await Calls(api)("POST")
    assert "another server; a POST is not sent on" in line(raised)
    assert other.asked == []


async def test_redirects_without_end_are_left(api: Upstream) -> None:
    api.on("/x", reply(None, 302, location="/x"))
    with pytest.raises(UpstreamError, match="more than 10 times"):
        await Calls(api)()
    assert len(api.asked) == 11


@pytest.mark.parametrize("location", ["file:///etc/passwd", "ftp://127.0.0.1/x", "http://[::"])
async def test_a_redirect_to_no_web_address_is_not_followed(api: Upstream, location: str) -> None:
    api.on("/x", reply(None, 302, location=location))
    with pytest.raises(UpstreamError, match="no web address"):
        await Calls(api)()


async def test_a_key_is_not_sent_in_the_open_to_a_server_of_the_description(api: Upstream) -> None:
    call = Calls(api, Api(title="T", servers=("http://api.example.com/v1",)), Secret(KEY), base=False)
    with pytest.raises(UpstreamRefused) as raised:
        await call()
    assert "credentials are not sent to http://api.example.com" in line(raised)


async def test_a_description_without_a_server_needs_a_base_url(api: Upstream) -> None:
    with pytest.raises(UpstreamGone, match=r'names no server; give base_url="https://'):
        await Calls(api, Api(title="T", servers=("/",)), base=False)()


async def test_keys_are_not_in_the_log(api: Upstream, caplog: pytest.LogCaptureFixture) -> None:
    api.on("/x", reply({}))
    with caplog.at_level(logging.DEBUG):
        await Calls(api, Api(title="T", schemes=QUERY_KEY, security=({"q": []},)), Secret(KEY))()
    assert f"api_key={KEY}" in api.asked[0].target
    assert KEY not in caplog.text


async def test_a_closed_connector_sends_nothing(api: Upstream) -> None:
    call = Calls(api)
    await call.client.close()
    with pytest.raises(UpstreamGone, match="the connector is closed"):
        await call()
    assert api.asked == []


async def test_variables_of_the_environment_choose_no_proxy(api: Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    api.on("/x", reply({"ok": True}))
    assert await Calls(api)() == {"ok": True}
