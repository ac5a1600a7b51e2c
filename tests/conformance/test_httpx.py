"""`httpx`: a client on the host that holds the credentials; the guest, which has no network, asks through it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from textwrap import dedent
from typing import Any

import httpx
import pytest
from tests.conformance.loopback import TOKEN, serving

from cellwright import Runtime, Scope
from cellwright.errors import CodeError

HEADERS = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving() as url:
        yield url


@pytest.fixture
async def rt(url: str) -> AsyncIterator[Runtime]:
    with httpx.Client(base_url=url, headers=HEADERS) as client, httpx.Client(base_url=url) as free:
        async with httpx.AsyncClient(base_url=url, headers=HEADERS) as later:
            scope = Scope({"client": client, "later": later, "httpx": httpx, "free": free})
            scope.declare("free.get", hide=False)
            async with Runtime(scope) as rt:
                yield rt


async def run(rt: Runtime, code: str) -> Any:
    return (await rt.execute(dedent(code))).unwrap()


async def test_a_request_gives_status_headers_and_json(rt: Runtime) -> None:
    code = """
        r = client.get("/echo", params={"a": 1})
        r.status_code, r.json()["query"], r.headers["content-type"], r.headers.get("x-none"), r.is_success, r.url.path
    """
    assert await run(rt, code) == (200, {"a": "1"}, "application/json", None, True, "/echo")


@pytest.mark.parametrize(
    ("argument", "body"),
    [
        ("json={'x': [1, 2]}", '{"x":[1,2]}'),
        ("data={'x': '1', 'y': 'ø'}", "x=1&y=%C3%B8"),
        ("content=b'raw'", "raw"),
        ("content=(piece for piece in [b'a', b'b'])", "ab"),
    ],
)
async def test_a_body_is_sent_as_json_form_bytes_or_a_guest_generator(rt: Runtime, argument: str, body: str) -> None:
    assert await run(rt, f"client.post('/echo', {argument}).json()['body']") == body


async def test_every_method_and_headers_of_the_guest_work(rt: Runtime) -> None:
    code = """
        answers = [client.request(m, "/echo", headers={"x-tag": m}).json() for m in ("GET", "PUT", "DELETE")]
        [(a["method"], a["tag"]) for a in answers]
    """
    assert await run(rt, code) == [("GET", "GET"), ("PUT", "PUT"), ("DELETE", "DELETE")]


async def test_text_bytes_and_lines_of_a_response_are_read(rt: Runtime) -> None:
    code = """
        r = client.get("/lines")
        r.text.splitlines()[4], len(r.content), list(r.iter_lines())[0], r.encoding, r.reason_phrase
    """
    assert await run(rt, code) == ("line 4", 35, "line 0", "utf-8", "OK")


async def test_a_redirect_is_followed_when_asked(rt: Runtime) -> None:
    code = "client.get('/old').status_code, free.get('/old', follow_redirects=True).json()['query']"
    assert await run(rt, code) == (307, {"moved": "1"})


async def test_a_stream_is_read_line_by_line(rt: Runtime) -> None:
    code = """
        with client.stream("GET", "/lines") as r:
            lines = [line for line in r.iter_lines()]
        with client.stream("GET", "/lines") as r:
            size = sum(len(piece) for piece in r.iter_bytes())
        lines[-1], size, r.is_closed
    """
    assert await run(rt, code) == ("line 4", 35, True)


async def test_a_status_error_is_caught_by_its_class(rt: Runtime) -> None:
    code = """
        try:
            client.get("/status/404").raise_for_status()
        except httpx.HTTPStatusError as error:
            told = str(error)
        told.splitlines()[0].partition(" for url")[0], client.get("/status/201").raise_for_status().text
    """
    assert await run(rt, code) == ("Client error '404 Not Found'", "as asked")


async def test_a_connection_error_is_caught_by_its_class_and_its_bases(rt: Runtime) -> None:
    code = """
        caught = []
        for kind in (httpx.ConnectError, httpx.TransportError, httpx.HTTPError):
            try:
                free.get("http://127.0.0.1:1/")
            except kind as error:
                caught.append(type(error) is httpx.ConnectError)
        caught
    """
    assert await run(rt, code) == [True, True, True]


async def test_the_async_client_answers_gathered_requests(rt: Runtime) -> None:
    code = """
        import asyncio
        answers = await asyncio.gather(*(later.get("/echo", params={"i": i}) for i in range(8)))
        [int(a.json()["query"]["i"]) for a in answers]
    """
    assert await run(rt, code) == list(range(8))


async def test_an_async_stream_is_read_with_async_for(rt: Runtime) -> None:
    code = """
        async with later.stream("GET", "/lines") as r:
            lines = [line async for line in r.aiter_lines()]
        async with later.stream("GET", "/lines") as r:
            body = await r.aread()
        lines[0], len(body)
    """
    assert await run(rt, code) == ("line 0", 35)


async def test_an_async_generator_of_the_guest_is_a_body(rt: Runtime) -> None:
    code = """
        async def pieces():
            yield b"x"
            yield b"y"
        (await later.post("/echo", content=pieces())).json()["body"]
    """
    assert await run(rt, code) == "xy"


async def test_a_timeout_of_the_guest_ends_an_async_request(rt: Runtime) -> None:
    code = """
        import asyncio
        async with asyncio.timeout(10):
            r = await later.post("/echo", json={"k": 1})
        task = asyncio.create_task(later.get("/echo"))
        r.json()["body"], (await task).status_code
    """
    assert await run(rt, code) == ('{"k":1}', 200)


async def test_the_request_carries_the_credentials_that_the_guest_never_sees(rt: Runtime) -> None:
    assert await run(rt, "client.get('/echo').json()['known']") is True
    assert await run(rt, "(await later.get('/echo')).json()['known']") is True
    for place in ("client.headers", "client.auth", "client.cookies", "later.headers", "client.get('/echo').request"):
        with pytest.raises(CodeError, match="NotPublic"):
            await run(rt, place)
    everything = """
        r = client.get("/echo")
        seen = [repr(client), str(dir(client)), repr(r), str(dir(r)), r.text, str(dict(r.headers))]
        for name in dir(client) + dir(r):
            for thing in (client, r):
                try:
                    seen.append(repr(getattr(thing, name)))
                except Exception as error:
                    seen.append(str(error))
        " ".join(seen)
    """
    assert TOKEN not in await run(rt, everything)


async def test_the_guest_makes_no_client_of_its_own(rt: Runtime) -> None:
    with pytest.raises(CodeError, match="NotPublic"):
        await run(rt, "httpx.Client(timeout=5)")
