"""Guests' HTTP clients work through the session's proxy unchanged; what is no allowed request gets one clear line."""

from __future__ import annotations

import asyncio
import gzip
import io
import ssl
import sys
import urllib.request
import zipfile
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
import requests
from tests.guard.web import LOOPBACK, Proxied, Web, answer, at_loopback, listening, proxied, web

from cellwright import Runtime
from cellwright.errors import CallLimit, GuestGone, RequestRefused, UpstreamError, UsageError
from cellwright.guard import Network, SessionNetwork
from cellwright.guard.session_authority import SessionAuthority

AUTHORITY = SessionAuthority()  # the one of the servers in these tests


@pytest.fixture
def ca(tmp_path: Path) -> Path:
    path = tmp_path / "upstream.pem"
    path.write_text(AUTHORITY.certificate)
    return path


@pytest.fixture
async def server() -> AsyncIterator[Web]:
    async with web() as server:
        yield server


@pytest.fixture
async def secure() -> AsyncIterator[Web]:
    tls = AUTHORITY.context("api.test")
    tls.sni_callback = None
    async with web(tls) as server:
        yield server


def local(*hosts: str, **more: Any) -> Network:
    return Network(hosts, private=LOOPBACK, resolve=at_loopback, **more)


# clients


async def test_requests_and_urllib_work_over_http(server: Web) -> None:
    async with proxied(local(f"api.test:{server.port}")) as proxy:
        url, proxies = f"http://api.test:{server.port}/a?b=1", {"http": proxy.url}
        reply = await asyncio.to_thread(lambda: requests.get(url, proxies=proxies, timeout=20))
        opener = urllib.request.build_opener(urllib.request.ProxyHandler(proxies))
        read = await asyncio.to_thread(lambda: opener.open(url, timeout=20).read())
    assert (reply.status_code, reply.text, read) == (200, "hello", b"hello")
    assert [name for _, name in proxy.door.calls] == ["fetch", "fetch"]
    assert server.requests[0].startswith(b"GET /a?b=1 HTTP/1.1\r\nHost: api.test:")
    assert not any(b"proxy" in request.lower() for request in server.requests)


async def test_clients_work_over_https_and_trust_the_session_alone(secure: Web, ca: Path, tmp_path: Path) -> None:
    async with proxied(local(f"https://api.test:{secure.port}", certificates=ca)) as proxy:
        url, file = f"https://api.test:{secure.port}/a", tmp_path / "session.pem"
        file.write_text(proxy.network.certificate)
        sent: Any = {"proxies": {"https": proxy.url}, "timeout": 20}
        reply = await asyncio.to_thread(lambda: requests.post(url, data=b"x" * 70_000, verify=str(file), **sent))
        async with httpx.AsyncClient(proxy=proxy.url, verify=proxy.trust()) as client:
            statuses = [(await client.get(url)).status_code for _ in range(3)]
        with pytest.raises(requests.exceptions.SSLError):
            await asyncio.to_thread(lambda: requests.get(url, verify=str(ca), **sent))
    assert (reply.text, statuses) == ("hello", [200] * 3)
    assert secure.requests[0].endswith(b"x" * 70_000)
    assert [name for _, name in proxy.door.calls] == ["send", "fetch", "fetch", "fetch"]
    assert secure.connections == 1  # reads share the connection that the first request left


async def test_pip_downloads_from_an_index_behind_the_proxy(secure: Web, ca: Path, tmp_path: Path) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as wheel:
        wheel.writestr("demo-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n")
        wheel.writestr("demo-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr("demo-1.0.dist-info/RECORD", "")
    name = "demo-1.0-py3-none-any.whl"
    page = answer(f'<a href="/files/{name}">{name}</a>'.encode(), "200 OK", "Content-Type: text/html")
    secure.respond = lambda head: page if b"/simple/" in head.partition(b"\r\n")[0] else answer(file.getvalue())
    hosts = [f"https://api.test:{secure.port}/simple/*", f"https://api.test:{secure.port}/files/*"]
    async with proxied(local(*hosts, certificates=ca)) as proxy:
        (tmp_path / "session.pem").write_text(proxy.network.certificate)
        bundle = dict.fromkeys(("PIP_CERT", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"), str(tmp_path / "session.pem"))
        index = f"https://api.test:{secure.port}/simple/"
        more = ["--disable-pip-version-check", "--no-cache-dir", "--index-url", index, "--dest", str(tmp_path)]
        pip = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "pip", "download", *more, "demo"),
            env={**bundle, "HTTPS_PROXY": proxy.url, "HOME": str(tmp_path)},  # what a guest's environment says
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        said, _ = await asyncio.wait_for(pip.communicate(), 60)
    assert pip.returncode == 0, said.decode()
    assert (tmp_path / name).read_bytes() == file.getvalue()


async def test_answers_cross_as_they_are(server: Web) -> None:
    body = gzip.compress(b"data" * 100)
    headers = ["Content-Encoding: gzip", "Set-Cookie: a=1", "Set-Cookie: b=2", "Connection: x-hop", "X-Hop: 1"]
    server.respond = lambda head: answer(body, "418 Short and stout", *headers)
    async with proxied(local(f"api.test:{server.port}")) as proxy:
        async with httpx.AsyncClient(proxy=proxy.url) as client:
            reply = await client.get(f"http://api.test:{server.port}/")
            server.respond = lambda head: b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n"
            head = await client.head(f"http://api.test:{server.port}/")
            server.respond = lambda head: b"HTTP/1.1 204 No Content\r\n\r\n"
            empty = await client.delete(f"http://api.test:{server.port}/")
            server.respond = lambda head: b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
            chunked = await client.put(f"http://api.test:{server.port}/", content=iter_of(b"p", b"ut"))
    assert (reply.status_code, reply.reason_phrase, reply.content) == (418, "Short and stout", b"data" * 100)
    assert reply.headers.get_list("set-cookie") == ["a=1", "b=2"]
    assert "x-hop" not in reply.headers
    assert (head.headers["content-length"], head.content) == ("99", b"")
    assert (empty.status_code, empty.content, chunked.content) == (204, b"", b"abc")
    assert server.requests[-1].endswith(b"\r\n\r\nput")
    assert b"transfer-encoding" not in server.requests[-1].lower()


async def iter_of(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


async def test_redirects_are_requests_of_their_own(server: Web) -> None:
    server.respond = lambda head: answer(b"", "302 Found", "Location: http://evil.test/steal")
    async with proxied(local(f"api.test:{server.port}")) as proxy:
        async with httpx.AsyncClient(proxy=proxy.url, follow_redirects=True) as client:
            reply = await client.get(f"http://api.test:{server.port}/")
    assert reply.status_code == 403
    assert reply.text == f"cellwright: http://evil.test is not in network=[...]; this session may reach {lists(server)}"
    assert len(server.requests) == 1
    assert len(proxy.door.calls) == 2  # the refusal is a call, so the audit and the journal have it


def lists(server: Web) -> str:
    return f"api.test:{server.port}"


# what is refused


async def test_a_refused_connect_tells_its_line_to_clients() -> None:
    async with proxied(local("api.test")) as proxy:
        with pytest.raises(requests.exceptions.ProxyError) as error:
            await asyncio.to_thread(
                lambda: requests.get("https://evil.test/", proxies={"https": proxy.url}, timeout=20)
            )
        raw = await proxy.send(b"CONNECT api.test:22 HTTP/1.1\r\nHost: api.test:22\r\n\r\n")
    assert "403 cellwright: https://evil.test is not in network=[...]; this session may reach api.test" in str(error)
    assert raw.startswith(b"HTTP/1.1 403 cellwright: https://api.test:22 is not in network=")
    assert [name for _, name in proxy.door.calls] == ["fetch", "fetch"]


@pytest.mark.parametrize(
    ("raw", "status", "said"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"400", b"only HTTP and HTTPS"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", b"400", b"only HTTP and HTTPS"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"505", b"use HTTP/1.1"),
        (b"GET / HTTP/1.1\r\nHost: api.test\r\n\r\n", b"400", b"no URL for a proxy"),
        (b"OPTIONS * HTTP/1.1\r\nHost: api.test\r\n\r\n", b"400", b"no URL for a proxy"),
        (b"GET ftp://api.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n", b"400", b"no URL for a proxy"),
        (b"GET http://api.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n", b"400", b"another server"),
        (b"GET http://api.test/ HTTP/1.1\r\nHost: api.test:81\r\n\r\n", b"400", b"another server"),
        (b"GET http://api.test/ HTTP/1.1\r\nHost: api.test\r\nHost: evil.test\r\n\r\n", b"400", b"Host"),
        (b"GET http://api.test/ HTTP/1.1\r\n\r\n", b"400", b"Host"),
        (b"GET http://api.test/ HTTP/1.1\r\nHost: api.test\r\nA: b\r\n c: d\r\n\r\n", b"400", b"folded"),
        (b"GET http://api.test/ HTTP/1.1\r\nHost: api.test\nA: b\r\n\r\n", b"400", b"end of line"),
        (b"GET http://api.test/ HTTP/1.1\r\nHost : api.test\r\n\r\n", b"400", b"no valid HTTP"),
        (b"GET http://api.test/ HTTP/1.1\r\nHost: api.test\r\nA: b\x00c\r\n\r\n", b"400", b"no valid HTTP"),
        (b"GET http://api.test/ HTTP/1.1\r\nHost: api.test\r\nA: " + b"b" * 70_000, b"400", b"too long|limit"),
        (b"GET http://api.test/ HTTP/1.1\r\nHost: api.test\r\n" + b"A: b\r\n" * 20_000, b"400", b"256 headers"),
        (
            b"POST http://api.test/ HTTP/1.1\r\nHost: api.test\r\nContent-Length: 3\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            *(b"400", b"two lengths"),
        ),
        (
            b"GET http://api.test/ HTTP/1.1\r\nHost: api.test\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n",
            *(b"501", b"WebSocket"),
        ),
        (b"POST http://api.test/ HTTP/1.1\r\nHost: api.test\r\nContent-Length: -1\r\n\r\n", b"400", b"no valid HTTP"),
        (b"CONNECT api.test HTTP/1.1\r\nHost: evil.test\r\n\r\n", b"400", b"another server"),
        (b"CONNECT http://api.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n", b"400", b"CONNECT"),
    ],
)
async def test_what_is_no_request_gets_one_line(raw: bytes, status: bytes, said: bytes) -> None:
    async with proxied(local("api.test")) as proxy:
        got = await proxy.send(raw)
    assert got.startswith(b"HTTP/1.1 " + status + b" cellwright: "), got
    assert any(part in got for part in said.split(b"|")), got
    assert proxy.door.calls == []


@pytest.mark.parametrize(
    ("url", "status", "said"),
    [
        ("http://2130706433/", 400, "octets"),
        ("http://0x7f.1/", 400, "octets"),
        ("http://0177.0.0.1/", 400, "At most 3 characters"),
        ("http://127.1/", 400, "octets"),
        ("http://127.0.0.1/", 403, "not in network"),
        ("http://[::1]/", 403, "not in network"),
        ("http://[::ffff:127.0.0.1]/", 403, "not in network"),
        ("http://[fe80::1%25eth0]/", 400, "zone"),
        ("http://api.test@evil.test/", 400, "without a user"),
        ("http://api.test:80@evil.test/", 400, "without a user"),
        ("http://api.test\\evil.test/", 400, "without a user"),
        ("http://api.test:99999/", 400, "no host with a port"),
        ("http://.api.test/", 400, "no host name"),
        ("https://api.test:8443/", 403, "not in network"),
    ],
)
async def test_other_forms_of_addresses_are_no_way_round(url: str, status: int, said: str) -> None:
    async with proxied(local("api.test")) as proxy:
        with pytest.raises(RequestRefused) as error:
            await proxy.network.host.fetch(url)
    assert error.value.status == status
    assert any(part in str(error.value) for part in said.split("|"))


@pytest.mark.parametrize(
    "address",
    "127.0.0.1 10.1.2.3 169.254.169.254 100.100.100.200 168.63.129.16 0.0.0.0 224.0.1.1 ::1 ::ffff:10.0.0.1 fd00::1 "
    "2002:7f00:1:: 64:ff9b::a00:1 64:ff9b:1::1 fe80::1%1 fec0::1 2001::1 ::127.0.0.1 ff0e::1".split(),
)
async def test_a_name_that_leads_inside_is_refused(address: str) -> None:
    async def resolve(name: str) -> list[str]:
        return ["8.8.8.8", address]

    async with proxied(Network(["api.test"], resolve=resolve)) as proxy:
        got = await proxy.send(b"GET http://api.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n")
    assert got.startswith(b"HTTP/1.1 403 cellwright: api.test leads to "), got
    assert b"no public address" in got


async def test_a_name_is_looked_up_once_and_the_checked_address_is_used(server: Web) -> None:
    asked: list[str] = []

    async def rebinding(name: str) -> list[str]:
        asked.append(name)
        return ["127.0.0.1"] if len(asked) == 1 else ["10.0.0.1"]

    async with proxied(Network([f"api.test:{server.port}"], resolve=rebinding, private=LOOPBACK)) as proxy:
        url = f"http://api.test:{server.port}/"
        first = await proxy.network.host.fetch(url)
        assert (first[0], asked) == (200, ["api.test"])
        with pytest.raises(RequestRefused, match=r"leads to 10\.0\.0\.1"):
            await proxy.network.host.send("POST", url)
    assert len(server.requests) == 1


async def test_a_literal_address_in_the_list_may_be_private(server: Web) -> None:
    async with proxied(Network([f"127.0.0.1:{server.port}"])) as proxy:
        assert (await proxy.network.host.fetch(f"http://127.0.0.1:{server.port}/"))[3] == b"hello"
        with pytest.raises(RequestRefused, match="not in network"):
            await proxy.network.host.fetch(f"http://localhost:{server.port}/")


# inside a tunnel


async def tunnel(proxy: Proxied, port: int, raw: bytes, sni: str | None = None, alpn: str = "http/1.1") -> bytes:
    """What comes back for these bytes inside the TLS of a tunnel to api.test."""
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    authority = f"api.test:{port}"
    writer.write(f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode())
    assert b" 200 " in await reader.readuntil(b"\r\n\r\n")
    context = proxy.trust()
    context.set_alpn_protocols([alpn])
    await writer.start_tls(context, server_hostname=sni or "api.test")
    writer.write(raw)
    async with asyncio.timeout(20):
        got = await reader.read(1 << 16)
    writer.close()
    return got


async def test_paths_hosts_and_protocols_are_checked_inside_tls(secure: Web, ca: Path) -> None:
    authority = f"api.test:{secure.port}".encode()
    async with proxied(local(f"https://api.test:{secure.port}/simple/*", certificates=ca)) as proxy:

        async def head(target: bytes, host: bytes = authority, more: bytes = b"", **how: str) -> bytes:
            raw = b"GET " + target + b" HTTP/1.1\r\nHost: " + host + b"\r\n" + more + b"\r\n"
            return (await tunnel(proxy, secure.port, raw, **how)).partition(b"\r\n")[0]

        assert b" 200 " in await head(b"/simple/demo/?a=../..")
        for path in (
            b"/secret",
            b"/simple",
            b"/simple/../secret",
            b"/simple/%2e%2e/secret",
            b"/simple//x",
            b"/simple/..%2fx",
        ):
            assert b"403 cellwright" in await head(path), path
        assert b"another server" in await head(b"/simple/demo/", b"evil.test")
        assert b"is no path" in await head(b"https://evil.test/simple/")
        assert b"501 cellwright" in await head(b"/simple/x", more=b"Upgrade: websocket\r\nConnection: Upgrade\r\n")
        assert b"505 cellwright" in await tunnel(proxy, secure.port, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", alpn="h2")
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await head(b"/simple/demo/", sni="evil.test")
    assert len(secure.requests) == 1


async def test_the_certificate_of_a_server_is_verified_for_its_name(secure: Web, ca: Path, tmp_path: Path) -> None:
    other = f"https://other.test:{secure.port}"
    async with proxied(local(other, f"https://api.test:{secure.port}", certificates=ca)) as proxy:
        with pytest.raises(UpstreamError, match=r"TLS with https://other\.test:\d+ failed \(.*other\.test"):
            await proxy.network.host.fetch(f"{other}/")
    async with proxied(local(f"https://api.test:{secure.port}")) as proxy:
        with pytest.raises(UpstreamError, match=r"TLS with .* failed"):
            await proxy.network.host.fetch(f"https://api.test:{secure.port}/")


# bounds


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n" + b"x" * 2_000_000, "more than 1,048,576 bytes"),
        (b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 2_000_000, "more than 1,048,576 bytes"),
        (b"HTTP/1.1 200 OK\r\nA: " + b"x" * 200_000, "no valid HTTP answer"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello", "no valid HTTP answer"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello", "no valid HTTP answer"),
        (b"HTTP/1.1 101 Switching\r\nUpgrade: h2c\r\n\r\n", "no valid HTTP answer"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "no valid HTTP answer"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "no valid HTTP answer"),
        (b"", "no valid HTTP answer"),
    ],
)
async def test_a_bad_answer_ends_in_one_line(sent: bytes, said: str) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(sent)
        writer.close()

    async with listening(serve) as port, proxied(local(f"api.test:{port}", body_mb=1)) as proxy:
        got = await proxy.send(f"GET http://api.test:{port}/ HTTP/1.1\r\nHost: api.test:{port}\r\n\r\n".encode())
    assert got.startswith(b"HTTP/1.1 502 cellwright: "), got[:200]
    assert said.encode() in got


async def test_an_endless_or_slow_answer_ends_in_time() -> None:
    async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while not writer.is_closing():
            writer.write(b".")
            await asyncio.sleep(0.01)

    async with listening(endless) as port, proxied(local(f"api.test:{port}", timeout_s=0.2)) as proxy:
        got = await proxy.send(f"GET http://api.test:{port}/ HTTP/1.1\r\nHost: api.test:{port}\r\n\r\n".encode())
    assert got.startswith(b"HTTP/1.1 504 cellwright: "), got
    assert b"no whole answer within 0.2 s" in got


async def test_a_large_request_is_refused_by_the_proxy_and_by_the_call(server: Web) -> None:
    async with proxied(local(f"api.test:{server.port}", body_mb=1)) as proxy:
        url, large = f"http://api.test:{server.port}/", b"x" * 3_000_000
        for content in (large, iter_of(*[large] * 5)):
            async with httpx.AsyncClient(proxy=proxy.url) as client:
                reply = await client.post(url, content=content)
            assert (reply.status_code, reply.text) == (413, "cellwright: the request's body has more than body_mb=1")
        with pytest.raises(RequestRefused, match="3,000,000 bytes, more than body_mb=1"):
            await proxy.network.host.send("POST", url, body=large)
    assert server.requests == []


async def test_a_server_that_is_not_there_is_told() -> None:
    async with listening(lambda r, w: asyncio.sleep(0)) as port:
        pass
    async with proxied(local(f"api.test:{port}")) as proxy:
        got = await proxy.send(f"GET http://api.test:{port}/ HTTP/1.1\r\nHost: api.test:{port}\r\n\r\n".encode())
    assert b"502 cellwright: http://api.test:%d cannot be reached" % port in got


async def test_a_read_is_sent_again_where_a_kept_connection_had_ended() -> None:
    heads: list[bytes] = []

    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(answer(b"hello"))
        await writer.drain()
        await reader.read(1)
        writer.transport.abort()

    async with listening(once) as port, proxied(local(f"api.test:{port}")) as proxy:
        host = proxy.network.host
        assert [(await host.fetch(f"http://api.test:{port}/"))[3] for _ in range(3)] == [b"hello"] * 3
        assert (await host.send("POST", f"http://api.test:{port}/"))[3] == b"hello"
    assert len(heads) == 4


# the session


@pytest.mark.parametrize("error", [CallLimit("no cell is running"), GuestGone("the guest has ended")])
async def test_a_request_without_a_cell_is_refused(error: Exception) -> None:
    async with proxied(local("api.test")) as proxy:
        proxy.door.error = error
        got = await proxy.send(b"GET http://api.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n")
    assert got.startswith(b"HTTP/1.1 503 cellwright: " + str(error).encode())


async def test_clients_of_a_proxy_that_ended_see_the_connection_end(server: Web) -> None:
    async with proxied(local(f"api.test:{server.port}")) as proxy:
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        writer.write(b"GET http://api.test")
        await asyncio.sleep(0)
        proxy.end()
        async with asyncio.timeout(20):
            with suppress(ConnectionError):  # the end may be a reset
                assert await reader.read() == b""
        writer.close()
        with pytest.raises(OSError):
            await asyncio.open_connection("127.0.0.1", proxy.port)


async def test_more_connections_than_allowed_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cellwright.guard.session_network.CONNECTIONS", 2)
    async with proxied(local("api.test")) as proxy:
        open_ones = [await asyncio.open_connection("127.0.0.1", proxy.port) for _ in range(2)]
        got = await proxy.send(b"")
        for _, writer in open_ones:
            writer.close()
    assert got.startswith(b"HTTP/1.1 503 cellwright: more than 2 connections")


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        ([("X-HTTP-Method-Override", "DELETE")], "X-HTTP-Method-Override"),
        ([("X-Original-URL", "/secret")], "X-Original-URL"),
        ([("X-Forwarded-For", "127.0.0.1")], "X-Forwarded-For"),
        ([("A", "b\r\nHost: evil.test")], "a value that is not sent"),
        ([("A\r\nHost", "evil.test")], "is not sent for guest code"),
        ([("Transfer_Encoding", "chunked")], "is not sent for guest code"),
    ],
)
async def test_headers_that_change_a_request_are_refused(
    headers: list[tuple[str, str]], said: str, server: Web
) -> None:
    async with proxied(local(f"api.test:{server.port}")) as proxy:
        with pytest.raises(RequestRefused, match=said):
            await proxy.network.host.fetch(f"http://api.test:{server.port}/", headers)
    assert server.requests == []


async def test_headers_of_one_connection_and_of_proxies_stay_behind(server: Web) -> None:
    headers = {"Proxy-Authorization": "x", "Connection": "x-own", "X-Own": "1", "Host": "evil.test", "Cookie": "a=1"}
    async with proxied(local(f"api.test:{server.port}")) as proxy:
        await proxy.network.host.fetch(f"http://api.test:{server.port}/", headers)
    assert server.requests == [f"GET / HTTP/1.1\r\nHost: api.test:{server.port}\r\nCookie: a=1\r\n\r\n".encode()]


async def test_methods_go_where_they_belong(server: Web) -> None:
    async with proxied(local(f"api.test:{server.port}")) as proxy:
        host, url = proxy.network.host, f"http://api.test:{server.port}/"
        for method in ("POST", "CONNECT", "get"):
            with pytest.raises(RequestRefused):
                await host.fetch(url, method=method)
        for method in ("CONNECT", "GET / HTTP/1.1\r\nX:", "post"):
            with pytest.raises(RequestRefused):
                await host.send(method, url)
    assert server.requests == []


async def test_guest_code_calls_the_network_itself_and_resumes_with_it(server: Web, tmp_path: Path) -> None:
    session = SessionNetwork(local(f"api.test:{server.port}"))
    names: dict[str, Any] = {"network": session.host}
    fetch = f"first = await network.fetch('http://api.test:{server.port}/')"
    async with Runtime(names, store=tmp_path / "s.db", session="net") as runtime:
        assert (await runtime.execute(f"{fetch}\nfirst[3]")).unwrap() == b"hello"
        evil = "await network.fetch('http://evil.test/')"
        refused = await runtime.execute(evil)
        posted = await runtime.execute(f"await network.send('POST', 'http://api.test:{server.port}/', body='x')")
        await runtime.give_up()
        assert "Requests by HTTP and HTTPS to api.test" in await runtime.show("network")
    async with Runtime.resume("net", store=tmp_path / "s.db", scope=names) as runtime:
        again = await runtime.execute(f"{fetch}\nfirst[0]")
    session.close()
    assert "RequestRefused: http://evil.test is not in network=" in str(refused.error)
    assert (
        posted.waiting
    )  # an answer of outsiders had reached the session: a person is asked about what may change things
    assert again.unwrap() == 200
    assert [request.split()[0] for request in server.requests] == [b"GET", b"GET"]


def test_the_model_reads_what_it_may_reach() -> None:
    doc = type(SessionNetwork(Network(["api.test", "*.example.com:443/simple/*"])).host).__doc__ or ""
    assert doc.startswith("Requests by HTTP and HTTPS to api.test, *.example.com:443/simple/*, and to nothing else.")


@pytest.mark.parametrize("package", ["h11", "cryptography"])
def test_a_missing_package_is_told_with_the_command(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UsageError, match=r"network= needs two packages: pip install .*\[network\]"):
        SessionNetwork(Network(["api.test"]))
