"""Keys: where they go in a request, which of them, and what is said where there are none."""

from __future__ import annotations

import base64
import ssl
from pathlib import Path
from typing import Any

import pytest
from tests.openapi.calls import Calls
from tests.openapi.certificates import certificates
from tests.openapi.upstream import Upstream, reply, upstream

from cellwright.connectors import Secret
from cellwright.errors import UpstreamRefused, UsageError
from cellwright.openapi.operation_plan import Api, SecurityScheme

KEY = "k3y-of-the-host-0123456789"
OTHER = "0ther-key-of-the-host-9876"
SCHEMES = {
    "head": SecurityScheme(name="head", kind="apiKey", key="X-Key"),
    "query": SecurityScheme(name="query", kind="apiKey", key="api key", place="query"),
    "cookie": SecurityScheme(name="cookie", kind="apiKey", key="sid", place="cookie"),
    "basic": SecurityScheme(name="basic", kind="basic"),
    "bearer": SecurityScheme(name="bearer", kind="bearer"),
    "oauth": SecurityScheme(name="oauth", kind="oauth2"),
    "oidc": SecurityScheme(name="oidc", kind="openIdConnect", discovery="https://id.example.com/.well-known"),
    "BearerToken": SecurityScheme(name="BearerToken", kind="apiKey", key="authorization"),
}


def described(*alternatives: dict[str, list[str]], schemes: dict[str, SecurityScheme] | None = None) -> Api:
    return Api(title="T", schemes=SCHEMES if schemes is None else schemes, security=alternatives)


async def asked(api: Upstream, known: Api, credentials: Any, **more: Any) -> dict[str, str]:
    """The headers of one request, with its URL among them."""
    api.on("/x", reply({}))
    await Calls(api, known, credentials)(**more)
    return {**api.asked[-1].headers, "url": api.asked[-1].target}


@pytest.mark.parametrize(
    ("scheme", "where", "text"),
    [
        ("head", "x-key", KEY),
        ("query", "url", f"/x?api%20key={KEY}"),
        ("cookie", "cookie", f"sid={KEY}"),
        ("bearer", "authorization", f"Bearer {KEY}"),
        ("oauth", "authorization", f"Bearer {KEY}"),
        ("oidc", "authorization", f"Bearer {KEY}"),
        ("BearerToken", "authorization", f"Bearer {KEY}"),
    ],
)
async def test_a_key_goes_where_its_scheme_says(api: Upstream, scheme: str, where: str, text: str) -> None:
    assert (await asked(api, described({scheme: []}), {scheme: Secret(KEY)}))[where] == text


@pytest.mark.parametrize(("value", "both"), [("me:pass word", "me:pass word"), (KEY, f"{KEY}:")])
async def test_a_name_and_a_password_are_sent_as_basic(api: Upstream, value: str, both: str) -> None:
    headers = await asked(api, described({"basic": []}), {"basic": Secret(value)})
    assert headers["authorization"] == "Basic " + base64.b64encode(both.encode()).decode()


async def test_the_first_alternative_with_credentials_is_taken(api: Upstream) -> None:
    known = described({"head": [], "query": []}, {"cookie": []}, {"bearer": []})
    headers = await asked(api, known, {"head": Secret(KEY), "bearer": Secret(OTHER), "cookie": Secret(KEY)})
    assert "x-key" not in headers
    assert headers["cookie"] == f"sid={KEY}"
    assert "authorization" not in headers


async def test_all_schemes_of_an_alternative_go_along(api: Upstream) -> None:
    headers = await asked(api, described({"head": [], "bearer": []}), {"head": Secret(KEY), "bearer": Secret(OTHER)})
    assert (headers["x-key"], headers["authorization"]) == (KEY, f"Bearer {OTHER}")


async def test_one_value_is_for_the_first_scheme_that_is_used(api: Upstream) -> None:
    assert (await asked(api, described({"bearer": []}, {"head": []}), Secret(KEY)))["authorization"] == f"Bearer {KEY}"


async def test_an_api_that_describes_no_scheme_gets_a_bearer_token(api: Upstream) -> None:
    assert (await asked(api, described(schemes={}), Secret(KEY)))["authorization"] == f"Bearer {KEY}"


async def test_an_operation_that_needs_nothing_gets_nothing(api: Upstream) -> None:
    headers = await asked(api, described({"bearer": []}), Secret(KEY), security=())
    assert KEY not in str(headers)


async def test_an_operation_that_may_do_without_is_called_without(api: Upstream) -> None:
    assert "authorization" not in await asked(api, described({"bearer": []}, {}), None)


async def test_credentials_that_are_missing_are_told_before_anything_is_sent(api: Upstream) -> None:
    with pytest.raises(UpstreamRefused) as raised:
        await Calls(api, described({"head": []}, {"oauth": ["read"]}))()
    text = str(raised.value)
    assert text.startswith("api.do: it needs credentials, and none were given; ")
    assert 'credentials={"head": "env:API_KEY"}' in text
    assert '"oauth.client_id"' in text
    assert "\n" not in text
    assert api.asked == []


async def test_a_variable_that_is_not_set_is_named(api: Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    with pytest.raises(UpstreamRefused, match="the variable NO_SUCH_KEY gives none"):
        await Calls(api, described({"head": []}), {"head": "env:NO_SUCH_KEY"})()
    assert api.asked == []


@pytest.mark.parametrize("given", ["env:A_KEY", "file:{tmp}/key", "command:cat {tmp}/key"])
async def test_a_key_comes_from_its_source(
    api: Upstream, given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_KEY", KEY)
    (tmp_path / "key").write_text(f"{KEY}\n")
    headers = await asked(api, described({"head": []}), {"head": given.format(tmp=tmp_path)})
    assert headers["x-key"] == KEY


async def test_a_refused_key_is_read_again_once(api: Upstream, tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("an-old-key-0123456789")

    def answer(asked: Any) -> bytes:
        file.write_text(KEY)
        return reply({"ok": True}) if asked.headers["x-key"] == KEY else reply({"message": "old"}, 401)

    api.on("/x", answer)
    assert await Calls(api, described({"head": []}), {"head": f"file:{file}"})("POST") == {"ok": True}
    assert len(api.asked) == 2


async def test_a_key_that_stays_wrong_is_sent_once(api: Upstream, tmp_path: Path) -> None:
    (tmp_path / "key").write_text(KEY)
    api.on("/x", reply({"message": f"wrong key {KEY}"}, 401))
    with pytest.raises(UpstreamRefused) as raised:
        await Calls(api, described({"head": []}), {"head": f"file:{tmp_path}/key"})()
    assert str(raised.value) == "api.do: 401 Unauthorized: wrong key ***"
    assert len(api.asked) == 1


async def test_a_key_with_a_line_break_adds_no_header(api: Upstream) -> None:
    with pytest.raises(UpstreamRefused, match="line break"):
        await Calls(api, described({"head": []}), {"head": Secret("a\r\nX-Admin: 1")})()
    assert api.asked == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"nope": "env:X"}, "credentials for 'nope'; the API has head, query"),
        ({"head.client_id": "x"}, "has no part 'client_id'"),
        ({"head": KEY}, "names no source"),
        ({"oauth.client_secret": KEY}, "names no source"),
    ],
)
async def test_credentials_that_cannot_be_meant_are_refused_at_once(api: Upstream, given: Any, said: str) -> None:
    with pytest.raises(UsageError) as raised:
        Calls(api, described({"head": []}), given)
    assert said in str(raised.value)
    assert KEY not in str(raised.value)


async def test_a_client_certificate_is_shown_to_the_server(tmp_path: Path) -> None:
    certificates(tmp_path, "server", "client")
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(tmp_path / "ca.pem"))
    server.verify_mode = ssl.CERT_REQUIRED
    server.load_cert_chain(tmp_path / "server.pem", tmp_path / "server.key")
    known = described({"mtls": []}, schemes={"mtls": SecurityScheme(name="mtls", kind="mutualTLS")})
    given = {"mtls.certificate": str(tmp_path / "client.pem"), "mtls.key": str(tmp_path / "client.key")}
    async with upstream(server) as api:
        api.on("/x", reply({"ok": True}))
        call = Calls(api, known, given)
        shown = await call.security.certificate()
        assert shown is not None
        shown.load_verify_locations(tmp_path / "ca.pem")  # the test's own CA; the machine's are trusted as ever

        async def certificate() -> ssl.SSLContext:
            return shown

        call.security.certificate = certificate  # the same, and it trusts the CA
        assert await call() == {"ok": True}
        await call.client.close()


async def test_a_certificate_that_is_not_there_is_one_line(api: Upstream, tmp_path: Path) -> None:
    known = described({"mtls": []}, schemes={"mtls": SecurityScheme(name="mtls", kind="mutualTLS")})
    with pytest.raises(UsageError, match=r"the certificate .*gone.pem cannot be used: No such file"):
        await Calls(api, known, {"mtls": f"file:{tmp_path}/gone.pem"})()
