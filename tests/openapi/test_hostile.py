"""Servers and descriptions that mean harm, or are broken in ways that look like it."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import ssl
import threading
from pathlib import Path
from typing import Any, ClassVar

import httpx2
import pytest
from tests.openapi.calls import Calls
from tests.openapi.certificates import certificates
from tests.openapi.specs import TEXT, compiled, gives, head_of, spec, thing
from tests.openapi.upstream import Upstream, reply

from cellwright import Runtime
from cellwright.connectors import Redactor, Secret
from cellwright.errors import SpecError, UpstreamError, UpstreamGone, WrongArguments
from cellwright.openapi import OpenAPI
from cellwright.openapi.api_client import ApiClient, HttpRequest, ReplyRefused
from cellwright.openapi.compiler import compile_openapi
from cellwright.openapi.operation_plan import Api, ParameterPlan, ResponsePlan, SecurityScheme
from cellwright.openapi.paged_items import next_link
from cellwright.openapi.request_sender import RequestRetries
from cellwright.openapi.spec_content import is_private, read_spec_url

KEY = "k3y-of-the-host-0123456789"
BEARER = Api(title="T", schemes={"b": SecurityScheme(name="b", kind="bearer")}, security=({"b": []},))
ANY = {"200": ResponsePlan(media="*/*")}


# a key that a server says again


@pytest.mark.parametrize(
    ("media", "body"),
    [
        ("text/plain; charset=utf-16", f"your key: {KEY}".encode("utf-16")),
        ("application/json", json.dumps({"headers": KEY}).encode("utf-16")),
        ("application/json", f'{{"headers": "\\u006b{KEY[1:]}"}}'.encode()),
    ],
)
async def test_a_key_is_hidden_in_whatever_encoding_it_comes_back(api: Upstream, media: str, body: bytes) -> None:
    api.on("/x", reply(body, media=media))
    found = await Calls(api, BEARER, Secret(KEY))(responses=ANY)
    assert KEY not in repr(found)
    assert "***" in repr(found)


async def test_a_key_in_the_reason_of_a_status_is_hidden(api: Upstream) -> None:
    api.on("/x", f"HTTP/1.1 499 no {KEY}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".encode())
    with pytest.raises(UpstreamError, match=r"499 no \*\*\*$"):
        await Calls(api, BEARER, Secret(KEY))()


async def test_an_error_that_is_nested_deep_is_still_one_line(api: Upstream) -> None:
    api.on("/x", reply(b"[" * 900 + b"]" * 900, 400))
    with pytest.raises(UpstreamError, match="400 Bad Request"):
        await Calls(api, BEARER, Secret(KEY))()


@pytest.mark.parametrize("charset", ["punycode", "idna", "undefined", "unicode_escape"])
async def test_a_charset_that_is_none_of_texts_is_read_as_usual(api: Upstream, charset: str) -> None:
    api.on("/x", reply(b"plain-" * 50_000, media=f"text/plain; charset={charset}"))
    assert await Calls(api)(responses=ANY) == "plain-" * 50_000


# what is sent twice


async def test_a_post_is_not_sent_again_for_what_failed_behind_its_redirect(api: Upstream) -> None:
    api.on("/x", reply(None, 303, location="/busy"))
    api.on("/busy", reply({}, 503, retry_after="0"))
    with pytest.raises(UpstreamError, match="503"):
        await Calls(api)("POST")
    api.on("/x", reply(None, 303, location="http://127.0.0.1:1/gone"))
    with pytest.raises(UpstreamGone, match="it may have happened"):
        await Calls(api, redirects=["http://127.0.0.1:1"])("POST")
    assert [asked.method for asked in api.asked if asked.path == "/x"] == ["POST", "POST"]


async def test_a_post_is_not_sent_again_where_encryption_breaks_in_its_answer(tmp_path: Path) -> None:
    context, trusting = _tls(tmp_path)
    came: list[bytes] = []

    async def garble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        came.append(await reader.readuntil(b"\r\n\r\n"))
        os.write(writer.get_extra_info("socket").fileno(), b"\x17\x03\x03\x00\x20" + b"A" * 32)  # no record of TLS
        writer.transport.abort()

    server = await asyncio.start_server(garble, "127.0.0.1", 0, ssl=context)
    url = f"https://localhost:{server.sockets[0].getsockname()[1]}/x"
    client = ApiClient(Redactor(), timeout_s=5.0, transport=httpx2.AsyncHTTPTransport(verify=trusting))
    wired = HttpRequest(method="POST", url=url, body=b"x")
    try:
        with pytest.raises(UpstreamGone, match="it may have happened"):
            await RequestRetries(sleep=_at_once).run(lambda: client.send(wired), "t", repeatable=False, reads=False)
    finally:
        server.close()
        await client.close()
    assert len(came) == 1


async def _at_once(seconds: float) -> None:
    pass


def _tls(folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    certificates(folder, "server")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem", folder / "server.key")
    return context, ssl.create_default_context(cafile=str(folder / "ca.pem"))


# where requests go


@pytest.mark.parametrize("value", ["../admin", "a/../../admin", "..\\admin", "..", "."])
async def test_a_path_does_not_lead_up_by_an_argument(api: Upstream, value: str) -> None:
    api.on("/x", reply({}))
    hole = ParameterPlan(name="id", key="id", place="path", style="simple", explode=False)
    with pytest.raises(WrongArguments, match="would lead to another path"):
        await Calls(api)(url="/users/{id}", parameters=(hole,), arguments={"id": value})
    assert api.asked == []


@pytest.mark.parametrize(
    "host", ["127.1", "2130706433", "0x7f.1", "localhost.", "metadata", "a.internal", "10.1", "[::1]"]
)
def test_a_private_address_is_known_by_every_spelling(host: str) -> None:
    assert is_private(f"http://{host}/x")
    assert not is_private("https://api.example.com/x")
    assert not is_private("https://8.8.8.8/x")


class _Internet(httpx2.AsyncBaseTransport):
    """Two servers, each at an address: one that redirects to the other."""

    def __init__(self, addresses: dict[str, str]) -> None:
        self._addresses = addresses

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        address = self._addresses[request.url.host]

        class Stream:
            def get_extra_info(self, name: str) -> Any:
                return (address, 443) if name == "server_addr" else None

        moved = request.url.host == "api.example.com"
        headers = {"location": "https://evil.example.com/latest"} if moved else {}
        extensions = {"network_stream": Stream()}
        return httpx2.Response(302 if moved else 200, headers=headers, content=b"inner", extensions=extensions)


async def test_a_redirect_does_not_lead_inside_by_a_name() -> None:
    wired = HttpRequest(method="GET", url="https://api.example.com/x")
    evil = _Internet({"api.example.com": "8.8.8.8", "evil.example.com": "169.254.169.254"})
    with pytest.raises(ReplyRefused, match="private network"):
        await ApiClient(Redactor(), timeout_s=5.0, transport=evil).send(wired)
    inner = _Internet({"api.example.com": "10.0.0.1", "evil.example.com": "10.0.0.2"})
    with pytest.raises(ReplyRefused, match=r'redirects=\["https://evil.example.com:443"\]'):
        await ApiClient(Redactor(), timeout_s=5.0, transport=inner).send(wired)
    allowed = ["https://evil.example.com:443"]
    client = ApiClient(Redactor(), timeout_s=5.0, transport=inner, redirects=allowed)
    assert (await client.send(wired)).body == b"inner"


async def test_an_url_of_a_description_is_not_in_the_log(api: Upstream, caplog: pytest.LogCaptureFixture) -> None:
    api.on("/openapi.json", lambda asked: reply({"login": asked.headers["authorization"]}))
    url = api.url.replace("://", "://user:secret@") + "/openapi.json?token=secret"
    with caplog.at_level(logging.DEBUG):
        found = await asyncio.to_thread(read_spec_url, url)
    assert found is not None
    assert b"Basic dXNlcjpzZWNyZXQ=" in found.content
    assert "secret" not in caplog.text


async def test_a_login_in_an_url_is_used_for_further_documents_and_kept_nowhere(api: Upstream, tmp_path: Path) -> None:
    described: dict[str, Any] = spec(
        {"/a": {"get": {"operationId": "a/get", "responses": gives({"$ref": "more.json#/Thing"})}}}
    )
    api.on("/openapi.json", reply(described))
    api.on(
        "/more.json", lambda asked: reply({"Thing": thing(name=TEXT)}, 200 if "authorization" in asked.headers else 401)
    )
    url = api.url.replace("://", "://user:s3cretpassword@") + "/openapi.json"
    found = await asyncio.to_thread(compile_openapi, url, name="t", cache=tmp_path)
    assert found.skipped == ()
    found.close()
    assert await asyncio.to_thread(_holds, tmp_path, b"s3cretpassword") == []


def _holds(folder: Path, text: bytes) -> list[str]:
    return [file.name for file in folder.iterdir() if text in file.read_bytes()]


def test_a_cache_that_others_may_write_is_not_believed(tmp_path: Path) -> None:
    described: dict[str, Any] = spec({"/a": {"get": {"operationId": "a/get", "responses": {}}}})
    told: list[str] = []
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    compile_openapi(described, name="t", cache=shared, progress=told.append).close()
    assert list(shared.iterdir()) == []
    assert "others may write" in told[0]
    compile_openapi(described, name="t", cache=tmp_path / "own").close()
    assert (tmp_path / "own").stat().st_mode & 0o777 == 0o700


# small descriptions that cost much


def test_half_a_character_costs_no_operation() -> None:
    described: dict[str, Any] = spec(
        {"/a": {"get": {"operationId": "a/get", "summary": "x\ud800", "responses": gives(TEXT)}}}
    )
    assert head_of(compiled(described), "a.get")
    assert head_of(compile_openapi(json.dumps(described), name="t"), "a.get")


def test_a_description_that_is_nested_deep_beside_an_alias_is_one_line() -> None:
    text = "openapi: 3.0.0\ninfo: {title: T}\nx: &a {b: 1}\ny: *a\npaths: {}\nz: " + "[" * 5000 + "]" * 5000
    with pytest.raises(SpecError, match="nested too deep"):
        compile_openapi(text, name="t")


def test_thousands_of_operations_of_one_name_are_told_apart_soon() -> None:
    paths: dict[str, Any] = {f"/a{n}": {"get": {"operationId": "same", "responses": {}}} for n in range(3000)}
    found = compiled(spec(paths))
    assert len({offered.path for offered in found.listed()}) == 3000


def test_a_long_name_is_cut() -> None:
    query: dict[str, Any] = {"name": "q" * 5000, "in": "query", "schema": TEXT}
    found = compiled(spec({"/a": {"get": {"operationId": "a/get", "parameters": [query], "responses": {}}}}))
    assert len(head_of(found, "a.get")) < 200


@pytest.mark.parametrize(
    ("header", "url"),
    [
        ('<a>; rel="prev next"', "a"),
        ("<a>; rel=prev, <b>;rel=next", "b"),
        ('<a?x=1,2>; title="c, d"; rel=next', "a?x=1,2"),
        ('<a>; rel="nextdoor"', ""),
        ("<a>; rel=" + " " * 16_000 + "x", ""),
    ],
)
def test_a_link_header_is_read_in_one_go(header: str, url: str) -> None:
    assert next_link(header) == url


# guests


async def test_a_record_with_keys_of_its_own_class_is_still_a_record(api: Upstream) -> None:
    odd = {"_json": 1, "to_dict": 2, "_cellwright_grip": 3, "_via": 4, "__class__": 5, "name": "n"}
    paths: dict[str, Any] = {
        "/x": {
            "get": {"operationId": "x/get", "responses": gives(thing(name=TEXT))},
            "put": {"operationId": "x/put", "requestBody": {"content": {"application/json": {"schema": {}}}},
                    "responses": {}},
        }
    }  # fmt: skip
    api.on("/x", lambda asked: reply(odd) if asked.method == "GET" else reply({"same": asked.json == odd}))
    async with await OpenAPI.open(spec(paths), name="api", base_url=api.url, cache=False) as found:
        async with Runtime(scope={"api": found}) as runtime:
            code = "import json\none = api.x.get()\n[one == json.loads(json.dumps(one)), api.x.put(body=one)['same']]"
            assert (await runtime.execute(code)).unwrap() == [True, True]


class _Watched(dict[str, int]):
    """Notes which threads read it."""

    threads: ClassVar[set[int]] = set()

    def items(self) -> Any:
        self.threads.add(threading.get_ident())
        return super().items()


async def test_much_to_send_is_read_beside_the_event_loop(api: Upstream) -> None:
    body: dict[str, Any] = {"requestBody": {"content": {"application/json": {"schema": {}}}}, "responses": {}}
    api.on("/x", reply({}))
    async with await OpenAPI.open(
        spec({"/x": {"put": {"operationId": "x/put", **body}}}), name="api", base_url=api.url, cache=False
    ) as found:
        await found.call("x.put", {"body": [_Watched(a=1), *range(20_000)]})
    assert _Watched.threads
    assert threading.get_ident() not in _Watched.threads
