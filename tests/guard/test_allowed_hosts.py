"""A bound client of httpx reaches what the list has, redirects included, at addresses that are checked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import httpx2
import pytest
import requests
from tests.guard.web import LOOPBACK, Web, answer, at_loopback, web

from cellwright.errors import RequestRefused, UsageError
from cellwright.guard import Network, allow_hosts

LIBRARIES: list[Any] = [httpx, httpx2]


@pytest.fixture
async def server() -> AsyncIterator[Web]:
    async with web() as server:
        yield server


@pytest.mark.parametrize("library", LIBRARIES)
async def test_an_async_client_keeps_to_the_list(library: Any, server: Web) -> None:
    here = f"http://api.test:{server.port}"
    network = Network([here], private=LOOPBACK, resolve=at_loopback)
    async with allow_hosts(library.AsyncClient(trust_env=False, follow_redirects=True), network) as client:
        assert (await client.get(f"{here}/a")).text == "hello"
        with pytest.raises(RequestRefused, match=r"http://127\.0\.0\.1:\d+ is not in network"):
            await client.get(f"http://127.0.0.1:{server.port}/")
        server.respond = lambda head: answer(b"", "302 Found", "Location: http://evil.test/")
        with pytest.raises(RequestRefused, match=r"http://evil\.test is not in network"):
            await client.post(f"{here}/b")
    assert [request.split()[1] for request in server.requests] == [b"/a", b"/b"]
    assert server.requests[0].count(f"Host: api.test:{server.port}".encode()) == 1


@pytest.mark.parametrize("library", LIBRARIES)
async def test_a_client_connects_to_no_private_address(library: Any, server: Web) -> None:
    async def resolve(name: str) -> list[str]:
        return ["8.8.8.8", "127.0.0.1"]

    network = Network([f"api.test:{server.port}"], resolve=resolve)
    async with allow_hosts(library.AsyncClient(trust_env=False), network) as client:
        with pytest.raises(RequestRefused, match=r"api\.test leads to 127\.0\.0\.1"):
            await client.get(f"http://api.test:{server.port}/")
    with allow_hosts(library.Client(trust_env=False), network) as client:  # on the loop's thread too
        with pytest.raises(RequestRefused, match=r"api\.test leads to 127\.0\.0\.1"):
            client.get(f"http://api.test:{server.port}/")
    assert server.connections == 0


@pytest.mark.parametrize("library", LIBRARIES)
async def test_a_sync_client_keeps_to_the_list(library: Any, server: Web) -> None:
    here = f"http://api.test:{server.port}"
    network = Network([here, "[::1]"], private=LOOPBACK, resolve=at_loopback)
    with allow_hosts(library.Client(trust_env=False), network) as client:
        assert (await asyncio.to_thread(client.get, here)).text == "hello"
        with pytest.raises(RequestRefused, match=r"http://evil\.test is not in network"):
            client.get("http://evil.test/")
        with pytest.raises(library.ConnectError):  # allowed, and nothing is there
            client.get("http://[::1]:80/")


@pytest.mark.parametrize("library", LIBRARIES)
def test_clients_whose_addresses_cannot_be_checked_are_refused(library: Any) -> None:
    own = library.WSGITransport(None)
    for client in (
        library.Client(transport=own),
        library.AsyncClient(transport=library.ASGITransport(None)),
        library.Client(proxy="http://127.0.0.1:9"),
        library.Client(mounts={"https://": library.HTTPTransport(uds="/tmp/none")}, trust_env=False),
    ):
        with pytest.raises(UsageError, match="proxy or a transport of its own"):
            allow_hosts(client, ["api.test"])
    with pytest.raises(UsageError, match="not a Session"):
        allow_hosts(requests.Session(), ["api.test"])
