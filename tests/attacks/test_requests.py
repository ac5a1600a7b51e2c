"""A description or a server that sends the host's requests where nobody meant them to go, or lets code shape them."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
from tests.openapi.shop import gives, operation
from tests.openapi.upstream import Upstream, reply, upstream

from cellwright import OpenAPI, Runtime
from cellwright.connectors import Secret
from cellwright.errors import SpecError, UpstreamError
from cellwright.openapi import compile_openapi
from cellwright.openapi.spec_content import is_private, read_spec_url

LAYER = "requests"
KEY = "k3y-of-the-host-0123456789"
INNER = {"secret": "of the inner network"}


@pytest.fixture
async def servers() -> AsyncIterator[tuple[Upstream, Upstream]]:
    """The API that was bound, and a service of the same machine that was not."""
    async with AsyncExitStack() as stack:
        yield await stack.enter_async_context(upstream()), await stack.enter_async_context(upstream())


def described(*parameters: dict[str, Any], method: str = "get") -> dict[str, Any]:
    return {
        "openapi": "3.0.3",
        "info": {"title": "Shop", "version": "1"},
        "paths": {"/x": {method: operation("look", gives(None), *parameters, tags=["shop"])}},
    }


async def opened(api: Upstream, *parameters: dict[str, Any], **more: Any) -> OpenAPI:
    spec = described(*parameters)
    return await OpenAPI.open(spec, name="shop", base_url=api.url, credentials=Secret(KEY), cache=False, **more)


def header(name: str, *, required: bool = False) -> dict[str, Any]:
    return {"name": name, "in": "header", "required": required, "schema": {"type": "string"}}


# redirects


async def test_a_redirect_to_another_port_of_this_machine_is_not_followed(servers: tuple[Upstream, Upstream]) -> None:
    api, inner = servers
    inner.on("/admin", reply(INNER))
    api.on("/x", reply(None, 302, location=f"{inner.url}/admin"))
    async with await opened(api) as shop:
        with pytest.raises(UpstreamError, match=rf'private network; not followed; redirects=\["{inner.url}"\] allows'):
            await shop.call("shop.look", {})
    assert inner.asked == []


async def test_a_redirect_to_another_name_of_this_machine_is_not_followed(servers: tuple[Upstream, Upstream]) -> None:
    api, inner = servers
    inner.on("/admin", reply(INNER))
    port = inner.url.rpartition(":")[2]
    async with await opened(api) as shop:
        for host in ("localhost", "127.1", "0x7f000001", "[::ffff:127.0.0.1]"):
            api.on("/x", reply(None, 302, location=f"http://{host}:{port}/admin"))
            with pytest.raises(UpstreamError, match="private network; not followed"):
                await shop.call("shop.look", {})
    assert inner.asked == []


async def test_a_redirect_by_a_public_name_does_not_lead_inside_where_the_connection_ends_with_the_reply(
    servers: tuple[Upstream, Upstream], monkeypatch: pytest.MonkeyPatch
) -> None:
    api, inner = servers
    inner.on("/admin", reply(INNER))  # which says `connection: close`
    api.on("/x", reply(None, 302, location=f"http://shop.example:{inner.url.rpartition(':')[2]}/admin"))
    resolve = socket.getaddrinfo

    def to_this_machine(host: Any, *args: Any, **kwargs: Any) -> Any:
        return resolve("127.0.0.1" if host in ("shop.example", b"shop.example") else host, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", to_this_machine)
    async with await opened(api) as shop:
        with pytest.raises(UpstreamError, match="private network; not followed"):
            await shop.call("shop.look", {})


async def test_a_redirect_inside_is_followed_where_the_developer_allows_that_server_and_without_the_key(
    servers: tuple[Upstream, Upstream],
) -> None:
    api, inner = servers
    inner.on("/files", reply({"fine": True}))
    api.on("/x", reply(None, 302, location="/y"))
    api.on("/y", reply(None, 302, location=f"{inner.url}/files"))
    async with await opened(api, redirects=[f"{inner.url}/"]) as shop:
        assert await shop.call("shop.look", {}) == {"fine": True}
    assert KEY not in str(inner.asked)
    assert [asked.path for asked in api.asked] == ["/x", "/y"]  # the same server needs no word


async def test_a_description_that_moved_inside_is_not_read(servers: tuple[Upstream, Upstream]) -> None:
    api, inner = servers
    inner.on("/admin", reply(INNER))
    api.on("/openapi.json", reply(None, 302, location=f"{inner.url}/admin"))
    with pytest.raises(SpecError, match="not followed"):
        await asyncio.to_thread(read_spec_url, f"{api.url}/openapi.json")
    assert inner.asked == []


@pytest.mark.parametrize(
    "host",
    ["[::ffff:10.0.0.1]", "[64:ff9b::a9fe:a9fe]", "[2002:7f00:1::]", "[fec0::1]", "[::1]", "0", "0x7f.1", "localhost."],
)
def test_an_address_inside_is_known_in_every_form(host: str) -> None:
    assert is_private(f"http://{host}/")


@pytest.mark.parametrize(
    "host", ["[::ffff:8.8.8.8]", "[64:ff9b::808:808]", "[2606:4700::1]", "8.8.8.8", "shop.example"]
)
def test_an_address_of_the_internet_is_not_taken_for_one_inside(host: str) -> None:
    assert not is_private(f"http://{host}/")


# headers

CONTROL = (
    "Host", "Transfer-Encoding", "Content-Length", "Connection", "Keep-Alive", "TE", "Trailer", "Upgrade", "Expect",
    "Proxy-Authorization", "Proxy-Connection", "Cookie", "Set-Cookie", "transfer_encoding", "Authorization",
    "X-HTTP-Method-Override", "X-Original-URL", "X-Forwarded-Host", "X-Forwarded-For", "X-Forwarded-Server",
    "X-Real-IP", "X-Remote-User", "X-Host", "X-Original-Host", "Cookie2", "Content-Encoding", "HTTP2-Settings",
    "X-Forwarded-User", "X-Forwarded-Uri", "X-Forwarded-Client-Cert", "X-Client-IP", "True-Client-IP", "Remote-User",
    "CF-Connecting-IP", "X-Original-Method", "X-Envoy-Original-Path", "X-Accel-Redirect", "SSL_CLIENT_CERT",
    ":authority", "Host:", "Ho st",
)  # fmt: skip


@pytest.mark.parametrize("name", CONTROL)
def test_a_header_of_the_connection_or_of_the_key_is_no_parameter(name: str) -> None:
    compiled = compile_openapi(described(header(name, required=True), header("X-Wish")), name="shop", cache=None)
    try:
        plan = compiled.plan("shop.look")
        assert plan is not None
        assert [parameter.key for parameter in plan.parameters] == ["X-Wish"]
        if name != "Authorization":  # which OpenAPI itself leaves out
            (note,) = compiled.skipped
            assert (
                note.reason == f"the header {name} left out: code sets no header of the connection, of a key or a route"
            )
    finally:
        compiled.close()


@pytest.mark.usefixtures("warm")
async def test_code_cannot_smuggle_a_request_or_choose_another_host(servers: tuple[Upstream, Upstream]) -> None:
    api, _ = servers
    api.on("/x", reply({"fine": True}))
    async with await opened(api, header("Host"), header("Transfer-Encoding"), header("X-Wish")) as shop:
        async with Runtime({"shop": shop.root}) as runtime:
            for arguments in ("host='inner.internal'", "transfer_encoding='chunked'"):
                outcome = await runtime.execute(f"shop.shop.look({arguments})")
                assert outcome.error is not None
            assert api.asked == []
            assert (await runtime.execute("shop.shop.look(x_wish='tea')")).value == {"fine": True}
    assert api.asked[0].headers["host"] == api.url.removeprefix("http://")
    assert api.asked[0].headers["x-wish"] == "tea"
