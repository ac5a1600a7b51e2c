"""A gateway over HTTP: who gets in, whose interpreter it is, how often, and how it ends. A real server on loopback."""

from __future__ import annotations

import asyncio
import base64
import json
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import jwt
import pytest
import uvicorn
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types.version import LATEST_MODERN_VERSION
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route
from tests.cells import PATIENCE_S, PATIENT, eventually
from tests.gateway.shops import ERAS, Shop, opened, run

from cellwright.errors import PlatformError, UsageError
from cellwright.gateway import (
    Gateway,
    GatewayServer,
    GatewaySettings,
    WebOptions,
    place_of,
    read_rate,
    read_tokens,
    web_app,
)
from cellwright.gateway.access import RequestRate
from cellwright.gateway.web import bound_socket

pytestmark = pytest.mark.usefixtures("warm")
ANN, BOB = "a-token-of-ann-0123", "a-token-of-bob-0123"
TOKENS = {"ann": ANN, "bob": BOB}
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
ACCEPT = {"accept": "application/json, text/event-stream"}


@asynccontextmanager
async def serving(app: Any, listening: Any) -> AsyncGenerator[None]:
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1))
    running = asyncio.ensure_future(server.serve([listening]))

    async def started() -> bool:
        return server.started

    await eventually(started)
    try:
        yield
    finally:
        server.should_exit = True
        async with asyncio.timeout(PATIENCE_S):
            await running


@asynccontextmanager
async def served(shop: Any = None, **settings: Any) -> AsyncGenerator[tuple[str, Gateway]]:
    """A gateway's address, and the gateway."""
    wanted: dict[str, Any] = {"port": 0, **settings}
    listening = bound_socket(WebOptions(**wanted))
    web = WebOptions(**{**wanted, "port": listening.getsockname()[1]})
    async with Gateway(opened(shop=shop or Shop()), GatewaySettings(limits=PATIENT, check="off")) as gateway:

        async def ready() -> Gateway:
            return gateway

        tools = GatewayServer(ready, sessions=True)
        async with serving(web_app(tools.server(), web, gateway.sessions.drop), listening):
            yield f"http://127.0.0.1:{web.port}/mcp", gateway
        await tools.close()


@asynccontextmanager
async def client_of(address: str, *, era: str = "legacy", token: str = "") -> AsyncGenerator[Client]:
    headers = {"authorization": f"Bearer {token}"} if token else {}
    async with httpx2.AsyncClient(headers=headers, trust_env=False, timeout=PATIENCE_S) as http:
        async with Client(streamable_http_client(address, http_client=http), mode=era) as client:
            yield client


async def post(address: str, body: Any = HELLO, **headers: str) -> httpx2.Response:
    async with httpx2.AsyncClient(trust_env=False, timeout=PATIENCE_S) as http:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await http.post(address, content=body if isinstance(body, bytes) else json.dumps(body).encode(),
                               headers={"content-type": "application/json", **ACCEPT, **named})  # fmt: skip


# whose interpreter it is


@pytest.mark.parametrize("era", ERAS)
async def test_names_stay_over_http(era: str) -> None:
    async with served() as (address, _), client_of(address, era=era) as client:
        await run(client, "x = 20")
        assert (await run(client, "x + 22"))["value"] == 42


async def test_each_session_has_names_of_its_own_and_is_closed_when_its_client_leaves() -> None:
    async with served() as (address, gateway):
        async with client_of(address) as ann, client_of(address) as bob:
            await run(ann, "x = 1")
            assert "NameError" in (await run(bob, "x"))["error"]
            assert len(gateway.sessions) == 2

        async def left() -> bool:
            return len(gateway.sessions) == 0

        await eventually(left)


async def test_clients_without_sessions_are_told_apart_by_who_they_are_and_by_name() -> None:
    modern = LATEST_MODERN_VERSION
    async with served(tokens=TOKENS) as (address, _):
        async with client_of(address, era=modern, token=ANN) as ann, client_of(address, era=modern, token=BOB) as bob:
            await run(ann, "x = 'of ann'")
            assert "NameError" in (await run(bob, "x"))["error"]
            other = await ann.call_tool("execute", {"code": "x", "session": "other"})
            assert other.is_error
            assert (await run(ann, "x"))["value"] == "of ann"
            tools = (await ann.list_tools()).tools
    assert "session" in tools[1].input_schema["properties"]


async def test_a_client_that_hangs_up_ends_its_cell() -> None:
    shop = Shop()
    async with served(shop) as (address, _), client_of(address, era=LATEST_MODERN_VERSION) as client:
        running = asyncio.ensure_future(run(client, "await shop.wait()"))
        await shop.under_way()
        running.cancel()
        await shop.under_way(ended=True)


# who gets in


async def test_without_a_token_or_with_a_wrong_one_nobody_gets_in() -> None:
    async with served(tokens=TOKENS) as (address, _):
        assert (await post(address)).status_code == 401
        assert (await post(address, authorization="Bearer wrong-token-wrong")).status_code == 401
        assert (await post(address, authorization=f"Bearer {ANN}")).status_code == 200


async def test_a_session_belongs_to_the_client_that_began_it() -> None:
    async with served(tokens=TOKENS) as (address, _):
        begun = await post(address, authorization=f"Bearer {ANN}")
        session = begun.headers["mcp-session-id"]
        listed = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
        stolen = await post(address, listed, authorization=f"Bearer {BOB}", mcp_session_id=session)
        assert stolen.status_code == 404


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"host": "evil.example"}, 421),
        ({"host": "localhost:1"}, 200),
        ({"origin": "http://localhost:3000"}, 200),
        ({"origin": "https://mine.example"}, 200),
        ({}, 200),
    ],
)
async def test_pages_from_elsewhere_and_names_made_to_lead_here_are_refused(
    headers: dict[str, str], status: int
) -> None:
    async with served(origins=("https://mine.example",)) as (address, _):
        assert (await post(address, **headers)).status_code == status


async def test_whether_it_lives_can_be_asked_without_a_token() -> None:
    async with served(tokens=TOKENS) as (address, _), httpx2.AsyncClient(trust_env=False) as http:
        found = await http.get(address.replace("/mcp", "/healthz"))
    assert (found.status_code, found.json()) == (200, {"ok": True})


async def test_it_is_healthy_when_its_sources_are_open_and_an_interpreter_was() -> None:
    opening, listening = asyncio.Event(), bound_socket(WebOptions(port=0))
    web = WebOptions(port=listening.getsockname()[1])

    async def drop(key: object) -> None:
        return None

    async def never() -> Gateway:
        raise AssertionError("nobody calls a tool")

    tools = GatewayServer(never, sessions=True)
    async with serving(web_app(tools.server(), web, drop, opening.is_set), listening), httpx2.AsyncClient() as http:
        address = f"http://127.0.0.1:{web.port}/healthz"
        codes = [(await http.get(address)).status_code]
        opening.set()
        codes += [(await http.get(address)).status_code]
    await tools.close()
    assert codes == [503, 200]


async def test_a_request_that_is_too_large_is_refused() -> None:
    async with served(body_bytes=1000) as (address, _):
        assert (await post(address, b"x" * 2000)).status_code == 413


async def test_too_many_requests_are_told_to_wait_and_others_are_not() -> None:
    async with served(tokens=TOKENS, rate=(2, 3600.0)) as (address, _):
        found = [await post(address, authorization=f"Bearer {ANN}") for _ in range(3)]
        assert [one.status_code for one in found] == [200, 200, 429]
        assert 0 < int(found[2].headers["retry-after"]) <= 1800
        assert (await post(address, authorization=f"Bearer {BOB}")).status_code == 200


def test_a_rate_gives_back_what_time_brings() -> None:
    now = [0.0]
    rate = RequestRate(2, 10.0, clock=lambda: now[0])
    assert [rate.wait_s("a") for _ in range(3)] == [0.0, 0.0, 5.0]
    now[0] = 5.0
    assert rate.wait_s("a") == 0.0
    assert rate.wait_s("a") == 5.0


# tokens of an issuer


@asynccontextmanager
async def issuing() -> AsyncGenerator[tuple[str, Any]]:
    """An issuer on loopback, and what signs its tokens."""
    key = ec.generate_private_key(ec.SECP256R1())
    public = json.loads(ECAlgorithm.to_jwk(key.public_key()))
    listening = bound_socket(WebOptions(port=0))
    issuer = f"http://127.0.0.1:{listening.getsockname()[1]}"

    async def described(request: Any) -> JSONResponse:
        return JSONResponse({"issuer": issuer, "jwks_uri": f"{issuer}/keys"})

    async def keys(request: Any) -> JSONResponse:
        return JSONResponse({"keys": [{**public, "kid": "k1", "use": "sig", "alg": "ES256"}]})

    app = Starlette(routes=[Route("/.well-known/openid-configuration", described), Route("/keys", keys)])

    def token(signed_by: Any = key, alg: str = "ES256", **claims: Any) -> str:
        whole = {"iss": issuer, "aud": "gateway", "sub": "ann", "exp": int(time.time()) + 600, **claims}
        whole = {name: value for name, value in whole.items() if value is not None}
        return jwt.encode(whole, signed_by, algorithm=alg, headers={"kid": "k1"})

    async with serving(app, listening):
        yield issuer, token


async def test_tokens_of_an_issuer_are_checked() -> None:
    other = ec.generate_private_key(ec.SECP256R1())
    async with issuing() as (issuer, token), served(issuer=issuer, audience="gateway") as (address, _):
        wrong = {
            "another audience": token(aud="another"),
            "another issuer": token(iss="https://another.example"),
            "expired": token(exp=int(time.time()) - 600),
            "without an end": token(exp=None),
            "signed by another": token(other),
            "not signed": jwt.encode({"iss": issuer, "aud": "gateway", "sub": "a"}, "", algorithm="none"),
            "by a secret": token("0123456789abcdef0123456789abcdef", "HS256"),
            "no token": "abc",
        }
        found = {name: (await post(address, authorization=f"Bearer {one}")).status_code for name, one in wrong.items()}
        assert found == dict.fromkeys(wrong, 401)
        assert (await post(address, authorization=f"Bearer {token()}")).status_code == 200


async def test_a_client_without_a_token_is_told_where_to_get_one() -> None:
    async with issuing() as (issuer, _), served(issuer=issuer, audience="gateway") as (address, _gateway):
        refused = await post(address)
        assert refused.status_code == 401
        place = refused.headers["www-authenticate"].partition('resource_metadata="')[2].rstrip('"')
        assert place == address.replace("/mcp", "/.well-known/oauth-protected-resource/mcp")
        async with httpx2.AsyncClient(trust_env=False) as http:
            told = (await http.get(place)).json()
    assert told["resource"] == address
    assert [one.rstrip("/") for one in told["authorization_servers"]] == [issuer]


# settings


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "gateway.example"])
def test_other_machines_are_let_in_only_with_auth_or_with_a_word(host: str) -> None:
    with pytest.raises(UsageError, match="--no-auth"):
        WebOptions(host=host)
    assert WebOptions(host=host, no_auth=True).host == host
    assert WebOptions(host=host, tokens=TOKENS).host == host


def test_an_issuer_needs_an_audience() -> None:
    with pytest.raises(UsageError, match="--oauth-audience"):
        WebOptions(issuer="https://issuer.example")


def test_a_port_that_is_taken_is_one_clear_line() -> None:
    taken = bound_socket(WebOptions(port=0))
    port = taken.getsockname()[1]
    with pytest.raises(PlatformError, match=f"--http 127.0.0.1:{port}: Address already in use; choose another port"):
        bound_socket(WebOptions(port=port))
    taken.close()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("0.0.0.0:80", ("0.0.0.0", 80)),
        (":80", ("127.0.0.1", 80)),
        ("80", ("127.0.0.1", 80)),
        ("[::1]:80", ("::1", 80)),
    ],
)
def test_a_place_is_read(text: str, found: tuple[str, int]) -> None:
    assert place_of(text) == found


@pytest.mark.parametrize("text", ["", "host", "host:port", "1:99999"])
def test_a_wrong_place_is_one_clear_line(text: str) -> None:
    with pytest.raises(UsageError, match="give HOST:PORT"):
        place_of(text)


def test_rates_are_read() -> None:
    assert (read_rate("60/min"), read_rate("10/s"), read_rate("5 / hour")) == ((60, 60.0), (10, 1.0), (5, 3600.0))
    for wrong in ("60", "0/min", "a/min", "60/day"):
        with pytest.raises(UsageError, match="60/min"):
            read_rate(wrong)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ann", "line 1: write NAME: TOKEN"),
        ("ann: short", "line 1: the token is too short"),
        (f"ann: {ANN}\nann: {BOB}", "line 2: the name or the token is there twice"),
        (f"ann: {ANN}\nbob: {ANN}", "line 2: the name or the token is there twice"),
        (f"a b: {ANN}", "cannot be the name of a client"),
        ("# nobody", "it has no token"),
    ],
)
def test_a_wrong_file_of_tokens_is_one_clear_line_without_the_token(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text(text)
    with pytest.raises(UsageError) as error:
        read_tokens(str(file), ())
    assert said in str(error.value)
    assert ANN not in str(error.value)
    assert BOB not in str(error.value)


def test_tokens_are_read_from_a_file_and_from_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tokens").write_text(f"# clients\nann: {ANN}\n\n")
    monkeypatch.setenv("BOBS", BOB)
    assert read_tokens(str(tmp_path / "tokens"), ["bob=env:BOBS"]) == TOKENS
    with pytest.raises(UsageError, match="not the token itself"):
        read_tokens(None, [BOB])


# what is sent to get past these


@pytest.mark.parametrize(
    "origin", ["http://[::1", "http://localhost.evil.example", "http://127.0.0.1@evil.example", "null"]
)
async def test_an_origin_that_only_looks_like_ours_is_refused(origin: str) -> None:
    async with served() as (address, _):
        assert (await post(address, origin=origin)).status_code == 403


async def test_a_page_that_was_allowed_is_answered_as_browsers_want_it() -> None:
    page, other = "https://page.example", "http://localhost:3000"
    async with served(tokens=TOKENS, origins=(page,)) as (address, _):
        asks = {"access-control-request-method": "POST", "access-control-request-headers": "authorization"}
        async with httpx2.AsyncClient(trust_env=False) as http:
            first = await http.options(address, headers={"origin": page, **asks})
            assert first.status_code == 200
            assert first.headers["access-control-allow-origin"] == page
            assert "authorization" in first.headers["access-control-allow-headers"]
            refused = await http.options(address, headers={"origin": other, **asks})
            assert "access-control-allow-origin" not in refused.headers
        done = await post(address, origin=page, authorization=f"Bearer {ANN}")
        assert done.status_code == 200
        assert "mcp-session-id" in done.headers["access-control-expose-headers"].lower()
        assert (await post(address, origin=page)).status_code == 401


async def test_a_page_cannot_send_a_call_in_the_form_that_browsers_do_not_ask_about() -> None:
    async with served() as (address, _):
        assert (await post(address, origin="http://localhost:3000", content_type="text/plain")).status_code == 400


async def test_a_session_of_another_is_not_ended_by_naming_two() -> None:
    code = {"name": "execute", "arguments": {"code": "x = 1"}}
    async with served() as (address, gateway):
        mine, theirs = [(await post(address)).headers["mcp-session-id"] for _ in range(2)]
        await post(address, {"jsonrpc": "2.0", "method": "notifications/initialized"}, mcp_session_id=theirs)
        call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": code}
        assert (await post(address, call, mcp_session_id=theirs)).status_code == 200
        async with httpx2.AsyncClient(trust_env=False) as http:
            both = [("mcp-session-id", mine), ("mcp-session-id", theirs)]
            assert (await http.delete(address, headers=both)).status_code == 200
        assert ("session", theirs) in gateway.sessions


async def test_users_of_one_application_are_counted_each() -> None:
    async with issuing() as (issuer, token), served(issuer=issuer, audience="gateway", rate=(1, 60.0)) as (address, _):
        ann, bob = (f"Bearer {token(client_id='app', sub=name)}" for name in ("ann", "bob"))
        codes = [(await post(address, authorization=one)).status_code for one in (ann, ann, bob)]
    assert codes == [200, 429, 200]


async def test_a_token_whose_head_is_nested_without_end_is_no_token() -> None:
    nested = base64.urlsafe_b64encode(b"[" * 30_000).decode().rstrip("=")
    async with issuing() as (issuer, _token), served(issuer=issuer, audience="gateway") as (address, _):
        assert (await post(address, authorization=f"Bearer {nested}.e30.e30")).status_code == 401


async def test_an_issuer_that_is_away_is_not_asked_at_every_request() -> None:
    asked: list[str] = []

    async def away(request: Any) -> JSONResponse:
        asked.append(request.url.path)
        return JSONResponse({}, 500)

    listening = bound_socket(WebOptions(port=0))
    issuer = f"http://127.0.0.1:{listening.getsockname()[1]}"
    app = Starlette(routes=[Route("/{rest:path}", away)])
    token = jwt.encode({"iss": issuer}, "0123456789abcdef0123456789abcdef", headers={"kid": "k"})
    async with serving(app, listening), served(issuer=issuer, audience="gateway") as (address, _):
        for _ in range(3):
            assert (await post(address, authorization=f"Bearer {token}")).status_code == 401
    assert len(asked) == 2  # the two places of one look


def test_an_issuer_without_tls_is_refused() -> None:
    with pytest.raises(UsageError, match="give an https address"):
        WebOptions(issuer="http://issuer.example", audience="gateway")
