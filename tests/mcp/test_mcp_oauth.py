from __future__ import annotations

import json
import stat
import traceback
from collections.abc import Generator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from tests.mcp.everything import everything
from tests.mcp.hosting import free_port, hosted

from cellwright.connectors import Secret
from cellwright.errors import CellwrightError, UsageError
from cellwright.mcp import MCP, OAuth

SECRET = "a-client-secret"


class Guarded:
    """A server that wants a token, and the authorization server that gives it, at one origin."""

    def __init__(self, base: str) -> None:
        self.base = base
        self.grants: list[str] = []
        self._inner = everything().streamable_http_app()
        self._own = Starlette(
            routes=[
                Route("/.well-known/oauth-protected-resource/mcp", self.resource),
                Route("/.well-known/oauth-authorization-server", self.metadata),
                Route("/register", self.register, methods=["POST"]),
                Route("/authorize", self.authorize),
                Route("/token", self.token, methods=["POST"]),
            ]
        )

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["path"] == "/mcp":
            sent = dict(scope["headers"]).get(b"authorization", b"").decode()
            if sent.removeprefix("Bearer ") not in [f"token-{n}" for n in range(1, len(self.grants) + 1)]:
                await Response(status_code=401)(scope, receive, send)
                return
        elif scope["type"] == "http":
            await self._own(scope, receive, send)
            return
        await self._inner(scope, receive, send)

    async def resource(self, request: Request) -> Response:
        return JSONResponse({"resource": f"{self.base}/mcp", "authorization_servers": [self.base]})

    async def metadata(self, request: Request) -> Response:
        ends = {f"{name}_endpoint": f"{self.base}/{path}" for name, path in _ENDS}
        methods = ["client_secret_basic", "client_secret_post", "none"]
        more = {"response_types_supported": ["code"], "code_challenge_methods_supported": ["S256"]}
        told = {"issuer": self.base, "token_endpoint_auth_methods_supported": methods, **ends, **more}
        return JSONResponse(told)

    async def register(self, request: Request) -> Response:
        asked = await request.json()
        given = {"client_id": "registered", "token_endpoint_auth_method": "none"}
        return JSONResponse({**asked, **given}, status_code=201)

    async def authorize(self, request: Request) -> Response:
        asked = request.query_params
        return RedirectResponse(f"{asked['redirect_uri']}?{urlencode({'code': 'c0de', 'state': asked['state']})}")

    async def token(self, request: Request) -> Response:
        form = {key: values[0] for key, values in parse_qs((await request.body()).decode()).items()}
        if form["grant_type"] == "client_credentials":
            good = httpx2.BasicAuth("me", SECRET)._auth_header  # pyright: ignore[reportPrivateUsage]
            if request.headers.get("authorization") != good:
                return JSONResponse({"error": "invalid_client"}, status_code=401)
        self.grants.append(form["grant_type"])
        token = {"access_token": f"token-{len(self.grants)}", "token_type": "Bearer", "expires_in": 3600}
        return JSONResponse({**token, "refresh_token": "refresh-me"})


_ENDS = (("authorization", "authorize"), ("token", "token"), ("registration", "register"))


@pytest.fixture
def guarded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Generator[Guarded]:
    monkeypatch.setenv("CELLWRIGHT_STATE", str(tmp_path))
    port = free_port()
    app = Guarded(f"http://127.0.0.1:{port}")
    with hosted(app, port):
        yield app


class Person:
    """Says yes at once, and counts how often."""

    def __init__(self) -> None:
        self.asked = 0

    async def browse(self, page: str) -> None:
        self.asked += 1
        async with httpx2.AsyncClient(follow_redirects=True, trust_env=False) as http:
            assert "go back to Cellwright" in (await http.get(page)).text


async def test_a_person_says_yes_once_and_the_token_is_kept_for_its_user_alone(
    guarded: Guarded, tmp_path: Path
) -> None:
    person = Person()
    auth = OAuth(open_browser=person.browse, port=free_port())
    for _ in range(2):
        async with await MCP.open(f"{guarded.base}/mcp", auth=auth, cache=False) as server:
            assert await server.call("add", {"a": 1}) == 3
    assert person.asked == 1
    assert guarded.grants == ["authorization_code"]
    (kept,) = (tmp_path / "mcp").iterdir()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert json.loads(kept.read_text())["tokens"]["access_token"] == "token-1"


async def test_an_expired_token_is_renewed_without_the_person(guarded: Guarded, tmp_path: Path) -> None:
    person = Person()
    auth = OAuth(open_browser=person.browse, port=free_port())
    async with await MCP.open(f"{guarded.base}/mcp", auth=auth, cache=False):
        pass
    (kept,) = (tmp_path / "mcp").iterdir()
    kept.write_text(json.dumps({**json.loads(kept.read_text()), "until": 1}))
    async with await MCP.open(f"{guarded.base}/mcp", auth=auth, cache=False) as server:
        assert await server.call("echo", {"text": "token-2 refresh-me"}) == "*** ***"
    assert person.asked == 1
    assert guarded.grants == ["authorization_code", "refresh_token"]


async def test_a_client_with_a_secret_needs_no_person(guarded: Guarded) -> None:
    auth = OAuth(
        grant="client_credentials", client_id="me", client_secret=Secret(SECRET), issuer=guarded.base, keep=False
    )
    async with await MCP.open(f"{guarded.base}/mcp", auth=auth, cache=False) as server:
        assert await server.call("add", {"a": 1}) == 3
    assert guarded.grants == ["client_credentials"]
    assert SECRET not in repr(auth)


async def test_a_wrong_secret_is_said_and_not_shown(guarded: Guarded) -> None:
    wrong = Secret("another-secret")
    auth = OAuth(grant="client_credentials", client_id="me", client_secret=wrong, issuer=guarded.base, keep=False)
    with pytest.raises(CellwrightError, match=r"127\.0\.0\.1.*invalid_client") as caught:
        await MCP.open(f"{guarded.base}/mcp", auth=auth, cache=False)
    assert "another-secret" not in "".join(traceback.format_exception(caught.value))
    assert "\n" not in str(caught.value)


async def test_an_authorization_that_fails_is_told_as_it_is(guarded: Guarded) -> None:
    async def says_no(page: str) -> None:
        back = parse_qs(urlsplit(page).query)["redirect_uri"][0]
        async with httpx2.AsyncClient(trust_env=False) as http:
            await http.get(f"{back}?error=access_denied&error_description=not+today")

    with pytest.raises(CellwrightError, match="the authorization server refused: not today"):
        await MCP.open(f"{guarded.base}/mcp", auth=OAuth(open_browser=says_no, port=free_port()), cache=False)


async def test_where_nobody_opens_a_browser_that_is_said(guarded: Guarded) -> None:
    with pytest.raises(CellwrightError, match=r"nobody opens one; give OAuth\(open_browser=…\)"):
        await MCP.open(f"{guarded.base}/mcp", auth=OAuth(port=free_port()), cache=False)


async def test_keys_of_programs_are_not_given_as_auth() -> None:
    with pytest.raises(UsageError, match="a program gets its key by env="):
        await MCP.open("run", auth=OAuth(), cache=False)
    with pytest.raises(UsageError, match="client_id= and client_secret="):
        await MCP.open("http://127.0.0.1:1/mcp", auth=OAuth(grant="client_credentials"), cache=False)


async def test_a_key_is_not_sent_over_plain_http_to_another_machine() -> None:
    with pytest.raises(UsageError, match=r"a key is not sent over plain http to tools\.example"):
        await MCP.open("http://tools.example/mcp", auth=Secret("k-123456789"))
