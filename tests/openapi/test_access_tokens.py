"""Tokens: fetched once, kept until they run out, fetched anew when the API refuses one."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl

import pytest
from tests.openapi.calls import Calls
from tests.openapi.upstream import Asked, Upstream, reply

from cellwright.connectors import Secret
from cellwright.errors import UpstreamGone, UpstreamRefused
from cellwright.openapi import access_tokens
from cellwright.openapi.operation_plan import Api, SecurityScheme

SECRET = "the/cl1ent's-own secret"
GIVEN: dict[str, Any] = {"o.client_id": "me", "o.client_secret": Secret(SECRET)}


def described(api: Upstream, grant: str = "clientCredentials", **flow: str) -> Api:
    flows = {grant: {"tokenUrl": f"{api.url}/token", **flow}}
    return Api(
        title="T",
        schemes={"o": SecurityScheme(name="o", kind="oauth2", flows=flows)},
        security=({"o": ["read", "write"]},),
    )


def tokens(**more: Any) -> Callable[[Asked], bytes]:
    """A token endpoint: token-1, token-2 …"""
    given = 0

    def answer(asked: Asked) -> bytes:
        nonlocal given
        given += 1
        return reply({"access_token": f"token-number-{given}", "token_type": "bearer", **more})

    return answer


def form(asked: Asked) -> dict[str, str]:
    return dict(parse_qsl(asked.body.decode()))


def fetched(api: Upstream) -> list[Asked]:
    return [asked for asked in api.asked if asked.path == "/token"]


async def test_a_token_is_fetched_with_the_clients_credentials_and_kept(api: Upstream) -> None:
    api.on("/token", tokens(expires_in=3600))
    api.on("/x", reply({"ok": True}))
    call = Calls(api, described(api), GIVEN)
    await call()
    await call()
    [one] = fetched(api)
    assert form(one) == {"grant_type": "client_credentials", "scope": "read write"}
    both = base64.b64decode(one.headers["authorization"].removeprefix("Basic ")).decode()
    assert both == "me:the%2Fcl1ent%27s-own%20secret"
    assert [a.headers["authorization"] for a in api.asked if a.path == "/x"] == ["Bearer token-number-1"] * 2


async def test_many_calls_wait_for_one_token(api: Upstream) -> None:
    api.on("/token", tokens(expires_in=3600))
    api.on("/x", reply({"ok": True}))
    call = Calls(api, described(api), GIVEN)
    await asyncio.gather(*(call() for _ in range(10)))
    assert len(fetched(api)) == 1


async def test_a_token_that_has_run_out_is_fetched_anew(api: Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = 1000.0
    monkeypatch.setattr(access_tokens.time, "monotonic", lambda: clock)
    api.on("/token", tokens(expires_in=600))
    api.on("/x", reply({"ok": True}))
    call = Calls(api, described(api), GIVEN)
    await call()
    clock += 539  # a minute before it runs out it is not used any more
    await call()
    assert len(fetched(api)) == 1
    clock += 2
    await call()
    assert len(fetched(api)) == 2


async def test_a_token_that_the_api_refuses_is_fetched_anew_once(api: Upstream) -> None:
    api.on("/token", tokens(expires_in=3600))
    api.on("/x", lambda asked: reply({"ok": 1}) if asked.headers["authorization"].endswith("-2") else reply({}, 401))
    assert await Calls(api, described(api), GIVEN)("POST") == {"ok": 1}
    api.on("/x", reply({"message": "no"}, 401))
    with pytest.raises(UpstreamRefused, match="401 Unauthorized: no"):
        await Calls(api, described(api), GIVEN)("POST")
    assert [asked.path for asked in api.asked] == ["/token", "/x", "/token", "/x"] * 2


async def test_a_refresh_token_is_used_and_replaced(api: Upstream) -> None:
    api.on("/refresh", tokens(expires_in=3600, refresh_token="the-second-refresh-token"))
    api.on("/x", reply({}, 401), reply({"ok": True}))
    given = {"o.refresh_token": Secret("the-first-refresh-token"), "o.client_id": "me"}
    call = Calls(api, described(api, "authorizationCode", refreshUrl=f"{api.url}/refresh"), given)
    assert await call() == {"ok": True}
    used = [form(asked) for asked in api.asked if asked.path == "/refresh"]
    assert [one["refresh_token"] for one in used] == ["the-first-refresh-token", "the-second-refresh-token"]
    assert used[0] == {"grant_type": "refresh_token", "refresh_token": "the-first-refresh-token", "client_id": "me"}


async def test_an_endpoint_that_wants_the_credentials_in_the_body_gets_them_there(api: Upstream) -> None:
    good = reply({"access_token": "token-in-the-end"})
    api.on("/token", lambda asked: good if "client_secret" in form(asked) else reply({"error": "invalid_client"}, 401))
    api.on("/x", reply({"ok": True}))
    assert await Calls(api, described(api), GIVEN)() == {"ok": True}
    assert form(fetched(api)[1])["client_secret"] == SECRET


async def test_open_id_connect_finds_its_token_endpoint(api: Upstream) -> None:
    api.on("/.well-known/openid-configuration", reply({"token_endpoint": f"{api.url}/token"}))
    api.on("/token", tokens())
    api.on("/x", reply({"ok": True}))
    scheme = SecurityScheme(name="o", kind="openIdConnect", discovery=f"{api.url}/.well-known/openid-configuration")
    assert await Calls(api, Api(title="T", schemes={"o": scheme}, security=({"o": []},)), GIVEN)() == {"ok": True}


async def test_a_relative_token_url_stands_below_the_server(api: Upstream) -> None:
    api.on("/token", tokens())
    api.on("/x", reply({"ok": True}))
    assert await Calls(api, described(api, tokenUrl="/token"), GIVEN)() == {"ok": True}


@pytest.mark.parametrize(
    "answer",
    [
        reply({"error": "invalid_client", "error_description": f"secret {SECRET} is wrong"}, 401),
        reply("<html>"),
        reply({"access_token": 5}),
        reply(None, 302, location="http://127.0.0.1:9/token"),
        reply([1]),
    ],
)
async def test_an_endpoint_that_gives_no_token_is_one_line(api: Upstream, answer: bytes) -> None:
    api.on("/token", answer)
    with pytest.raises(UpstreamRefused) as raised:
        await Calls(api, described(api), GIVEN)()
    text = str(raised.value)
    assert text.startswith(f"api: o: {api.url}/token gave no token: ")
    assert SECRET not in text
    assert "\n" not in text
    assert "/x" not in {asked.path for asked in api.asked}


async def test_an_endpoint_that_breaks_off_is_one_line(api: Upstream) -> None:
    api.on("/token", b"")
    with pytest.raises(UpstreamGone, match=r"api: o: no token: .* broke off"):
        await Calls(api, described(api), GIVEN)()


@pytest.mark.parametrize("url", ["http://id.example.com/token", "file:///token"])
async def test_a_secret_is_not_sent_in_the_open(api: Upstream, url: str) -> None:
    with pytest.raises(UpstreamRefused, match="is not https://"):
        await Calls(api, described(api, tokenUrl=url), GIVEN)()
    assert api.asked == []


async def test_a_description_without_a_token_url_says_how_to_give_one(api: Upstream) -> None:
    with pytest.raises(UpstreamRefused, match=r'give it as credentials\["o.token_url"\]'):
        await Calls(api, described(api, "implicit", tokenUrl=""), GIVEN)()
    api.on("/token", tokens())
    api.on("/x", reply({"ok": True}))
    given = {**GIVEN, "o.token_url": f"{api.url}/token"}
    assert await Calls(api, described(api, "implicit", tokenUrl=""), given)() == {"ok": True}


async def test_a_token_that_is_handed_out_again_is_used_as_it_is(api: Upstream) -> None:
    given = {**GIVEN, "o.refresh_token": Secret("refresh-0123456789")}
    api.on(
        "/token", reply({"access_token": "token-0123456789", "expires_in": 0, "refresh_token": "refresh-0123456789"})
    )
    api.on("/x", reply({}))
    calls = Calls(api, described(api), given)
    for _ in range(2):
        await calls()
    assert {asked.headers["authorization"] for asked in api.asked if asked.path == "/x"} == {"Bearer token-0123456789"}
    asked = [dict(parse_qsl(asked.body.decode())) for asked in api.asked if asked.path == "/token"]
    assert [form["refresh_token"] for form in asked] == ["refresh-0123456789"] * 2
