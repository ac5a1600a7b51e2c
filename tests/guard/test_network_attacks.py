"""Hostile guests and servers: what one session's requests cost others is bounded, and no spelling gets round a rule."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.guard.web import LOOPBACK, Web, answer, at_loopback, proxied, web

from cellwright import Limits, Network, Policy, PolicyRule, Runtime
from cellwright.errors import RequestRefused, UpstreamError
from cellwright.guard import allow_hosts
from cellwright.runtime import replay

TINY = b"1\r\nx\r\n"


def local(*hosts: str, **more: Any) -> Network:
    return Network(hosts, private=LOOPBACK, resolve=at_loopback, **more)


def request(port: int, more: bytes = b"", method: bytes = b"GET", path: bytes = b"/") -> bytes:
    host = b"api.test:%d" % port
    return b"%s http://%s%s HTTP/1.1\r\nHost: %s\r\n%s\r\n" % (method, host, path, host, more)


# what others of this loop would wait for


async def test_more_headers_than_anybody_needs_are_refused() -> None:
    async with web() as server, proxied(local(f"api.test:{server.port}")) as proxy:
        got = await proxy.send(request(server.port, b"A:\r\n" * 10_000))
        with pytest.raises(RequestRefused, match="more than 256 headers"):
            await proxy.network.host.fetch(f"http://api.test:{server.port}/", [("a", "")] * 300)
        server.respond = lambda head: answer(b"", "200 OK", *["A: b"] * 300)
        with pytest.raises(UpstreamError, match="too many headers or pieces"):
            await proxy.network.host.fetch(f"http://api.test:{server.port}/")
    assert got.startswith(b"HTTP/1.1 400 cellwright: the request has more than 256 headers")


async def test_a_body_in_tiny_pieces_is_refused_and_leaves_others_their_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cellwright.guard.network_proxy.MOST_PIECES", 2000)
    turns, done = 0, asyncio.Event()

    async def others() -> None:
        nonlocal turns
        while not done.is_set():
            turns += 1
            await asyncio.sleep(0)

    async with web() as server, proxied(local(f"api.test:{server.port}")) as proxy:
        counting = asyncio.create_task(others())
        body = TINY * 5000
        got = await proxy.send(request(server.port, b"Transfer-Encoding: chunked\r\n", b"POST") + body)
        done.set()
        await counting
    assert got.startswith(b"HTTP/1.1 413 cellwright: the request's body comes in more than 2,000 pieces")
    assert turns > 2000 // 64
    assert proxy.door.calls == []


@pytest.mark.parametrize(
    "sent",
    [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + TINY * 3000,
        b"HTTP/1.1 100 Continue\r\n\r\n" * 3000,
    ],
    ids=["chunks", "interim answers"],
)
async def test_an_answer_in_tiny_pieces_is_refused(sent: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cellwright.guard.upstream_connection.MOST_PIECES", 2000)
    async with web() as server, proxied(local(f"api.test:{server.port}")) as proxy:
        server.respond = lambda head: sent
        with pytest.raises(UpstreamError, match="too many headers or pieces"):
            await proxy.network.host.fetch(f"http://api.test:{server.port}/")


async def test_connections_that_are_refused_are_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cellwright.guard.session_network.CONNECTIONS", 2)
    async with proxied(local("api.test")) as proxy:
        lines = [await asyncio.open_connection("127.0.0.1", proxy.port) for _ in range(4)]
        assert (await lines[3][0].readline()).startswith(b"HTTP/1.1 503 cellwright: more than 2 connections")
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        async with asyncio.timeout(20):
            try:
                got = await reader.read()
            except ConnectionError:
                got = b""
        for _, other in [*lines, (reader, writer)]:
            other.close()
    assert got == b""


@pytest.mark.parametrize(
    "first",
    [
        b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nHTTP/",
        answer(b"x") + answer(b"POISON"),
    ],
    ids=["a body where there is none", "an answer too many"],
)
async def test_what_a_server_sends_unasked_is_no_answer_to_the_next_request(first: bytes) -> None:
    async with web() as server, proxied(local(f"api.test:{server.port}")) as proxy:
        server.respond = lambda head: first if len(server.requests) == 1 else answer(b"second")
        await proxy.network.host.fetch(f"http://api.test:{server.port}/1")
        assert (await proxy.network.host.fetch(f"http://api.test:{server.port}/2"))[3] == b"second"


# spellings


@pytest.fixture
async def server() -> Any:
    async with web() as server:
        yield server


SPELLINGS = ("/secret", "/%73ecret", "/SECRET", "/a/../secret", "/%2e%2e/secret", "/x/..%2fsecret", "/a\\..\\secret")


async def test_a_rule_for_a_url_holds_for_each_spelling_of_it(server: Web) -> None:
    rule = PolicyRule(operation="network.*", arguments={"url": "*/secret"}, action="deny")
    raws = [request(server.port, path=path.encode()) for path in (*SPELLINGS, "/secret?", "/secret#x")]
    code = f"""
import socket
lines = []
for raw in {raws!r}:
    with socket.create_connection(('127.0.0.1', 3128)) as line:
        line.sendall(raw)
        lines.append(line.recv(30))
own = []
for path in ('/%73ecret', '/secret#x', '/secret?', '/a/../secret'):
    try:
        await network.fetch('http://api.test:{server.port}' + path)
    except Exception as error:
        own.append(type(error).__name__)
await network.fetch('http://api.test:{server.port}')
lines, own
"""
    async with Runtime(network=local(f"api.test:{server.port}"), policy=Policy(rules=(rule,))) as rt:
        lines, own = (await rt.execute(code)).unwrap()
    assert {line[:14] for line in lines} <= {b"HTTP/1.1 403 c", b"HTTP/1.1 400 c"}
    assert len(own) == 4
    assert [head.split()[1] for head in server.requests] == [b"/"]


async def test_a_bound_client_sends_the_path_that_was_checked(server: Web) -> None:
    with allow_hosts(httpx.Client(trust_env=False), local(f"api.test:{server.port}/ok/*")) as client:
        url, more = f"http://api.test:{server.port}/ok/a", {"target": b"/secret"}
        with pytest.raises(RequestRefused, match="'target' is not sent"):
            await asyncio.to_thread(lambda: client.get(url, extensions=more))
    assert server.requests == []


# the journal


PARTS = """
import asyncio, httpx
async with httpx.AsyncClient() as client:
    async def part(i):
        return (await client.get('URL', headers={'Range': f'bytes={i}-'})).text
    parts = await asyncio.gather(*map(part, range(12)))
    refused = None
    try:
        await client.get('https://evil.test/')
    except httpx.ProxyError as error:
        refused = str(error)[:3]
(parts, refused)
"""


async def test_parts_of_one_file_in_any_order_are_repeated_and_replayed_offline(server: Web, tmp_path: Path) -> None:
    server.respond = lambda head: answer(head.lower().partition(b"range: bytes=")[2].split(b"-")[0])
    code, store = PARTS.replace("URL", f"http://api.test:{server.port}/"), f"sqlite:///{tmp_path}/s.db"
    known: dict[str, Any] = {"packages": Path(sys.prefix), "limits": Limits(memory_mb=512), "store": store}
    network = local(f"api.test:{server.port}")
    async with Runtime(network=network, session="s1", **known) as rt:
        first = (await rt.execute(code)).unwrap()
    assert first == ([str(i) for i in range(12)], "403")
    made = len(server.requests)
    async with Runtime.resume("s1", network=network, **known) as rt:
        assert (await rt.execute("(parts, refused)")).unwrap() == first
    assert str(await replay("s1", store=store, packages=Path(sys.prefix))).startswith("same: 2 cells, 14 calls")
    assert len(server.requests) == made
