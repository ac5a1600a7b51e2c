"""The client half for the official conformance suite: each scenario by our own `MCP`, as far as it is about a client.

The suite runs it with the URL of its server as the last argument, the scenario's name and what it needs in the
environment. What our client has no own way for (keys signed as JWTs, an enterprise's login) is the SDK's provider,
handed to it.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import httpx2
from mcp.client.auth.extensions.client_credentials import PrivateKeyJWTOAuthProvider, SignedJWTParameters
from mcp.client.auth.extensions.identity_assertion import IdentityAssertionOAuthProvider
from mcp.client.auth.utils import build_protected_resource_metadata_discovery_urls
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from cellwright.connectors import Redactor
from cellwright.errors import CellwrightError
from cellwright.mcp import MCP, OAuth
from cellwright.mcp.mcp_oauth import OAuthTokenStorage
from cellwright.testing import ScriptedModel

VERSION = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION")
METADATA_URL = "https://conformance-test.local/client-metadata.json"
SAMPLES = {"string": "x", "integer": 0, "number": 0, "boolean": False, "object": dict[str, Any](), "array": list[Any]()}


def context() -> dict[str, Any]:
    return json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")


async def opened(url: str, **options: Any) -> MCP:
    modern = VERSION is None or VERSION in MODERN_PROTOCOL_VERSIONS
    options.setdefault("mode", "auto" if modern else "legacy")
    return await MCP.open(url, name="suite", cache=False, **options)


async def called(server: MCP, tool: str, arguments: Mapping[str, Any] | None = None) -> Any:
    path = server.alias(f"mcp__suite__{tool}")
    assert path is not None, f"{tool} is not offered"
    return await server.call(path, {_argument(server, path, key): value for key, value in (arguments or {}).items()})


def _argument(server: MCP, path: str, key: str) -> str:
    """The name that an argument has in code, by its key."""
    keys = server._live.current.plans[path].keys  # pyright: ignore[reportPrivateUsage]  the suite gives keys
    return next((name for name, one in keys.items() if one == key), key)


def accepts(server: str, message: str, schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """A person who takes what is proposed; the client fills in the schema's defaults."""
    return {}


def confirms(server: str, message: str, schema: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"confirmed": True}


async def connects(url: str) -> None:
    async with await opened(url):
        pass


async def connects_as_of_old(url: str) -> None:
    async with await opened(url, mode="legacy"):
        pass


async def adds(url: str) -> None:
    async with await opened(url) as server:
        await called(server, "add_numbers", {"a": 5, "b": 3})


async def declares_everything(url: str) -> None:
    model = ScriptedModel(otherwise="")
    async with await opened(url, on_elicit=accepts, sample=model, roots=["file:///srv"]) as server:
        for tool in server.plain_tools():
            await tried(called(server, tool["name"]))


async def uses_all(url: str) -> None:
    await calls_all(url)
    async with await opened(url) as server:
        for path in server.surface.below("prompts"):
            await tried(server.call(f"prompts.{path}", {}))
        for one in await server.call("resources.list", {}) if server.surface.find("resources.list") else ():
            await tried(server.call("resources.read", {"uri": one.uri}))


async def reconnects(url: str) -> None:
    async with await opened(url) as server:
        await called(server, "test_reconnection")


async def gives_a_schema_back(url: str) -> None:
    async with await opened(url) as server:
        tools = {tool["name"]: tool for tool in server.plain_tools()}
        await called(server, "json_schema_echo", {"schema": tools["json_schema_2020_12_tool"]["inputSchema"]})


async def calls_all(url: str) -> None:
    async with await opened(url) as server:
        for tool in server.plain_tools():
            fields, required = tool["inputSchema"].get("properties", {}), tool["inputSchema"].get("required", [])
            arguments = {key: SAMPLES.get(fields.get(key, {}).get("type"), "x") for key in required}
            await tried(called(server, tool["name"], arguments))


async def calls_as_told(url: str) -> None:
    async with await opened(url) as server:
        offered = {tool["name"] for tool in server.plain_tools()}
        for call in context().get("toolCalls", []):
            if call["name"] in offered:
                await tried(called(server, call["name"], call.get("arguments")))


async def answers_with_defaults(url: str) -> None:
    async with await opened(url, on_elicit=accepts) as server:
        await called(server, "test_client_elicitation_defaults")


async def goes_several_rounds(url: str) -> None:
    async with await opened(url, on_elicit=confirms) as server:
        for tool in ("test_mrtr_echo_state", "test_mrtr_unrelated", "test_mrtr_no_state", "test_mrtr_no_result_type"):
            await called(server, tool)


async def with_a_secret(url: str) -> None:
    given = context()
    await authorized(
        url,
        OAuth(
            grant="client_credentials",
            client_id=given["client_id"],
            client_secret=given["client_secret"],
            keep=False,
        ),
    )


async def with_a_signed_key(url: str) -> None:
    given = context()
    signed = SignedJWTParameters(
        issuer=given["client_id"],
        subject=given["client_id"],
        signing_algorithm=given.get("signing_algorithm", "ES256"),
        signing_key=given["private_key_pem"],
    )
    provider = PrivateKeyJWTOAuthProvider(
        url, OAuthTokenStorage(None, Redactor()), given["client_id"], signed.create_assertion_provider()
    )
    await authorized(url, provider)


async def through_an_enterprise(url: str) -> None:
    given = context()
    async with httpx2.AsyncClient(timeout=30.0) as http:
        metadata = await http.get(build_protected_resource_metadata_discovery_urls(None, url)[0])
    issuer = metadata.raise_for_status().json()["authorization_servers"][0]

    async def assertion(audience: str, resource: str) -> str:
        form = {
            "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
            "requested_token_type": "urn:ietf:params:oauth:token-type:id-jag",
            "subject_token": given["idp_id_token"],
            "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
            "audience": audience,
            "resource": resource,
            "client_id": given["idp_client_id"],
        }
        async with httpx2.AsyncClient(timeout=30.0) as http:
            answer = await http.post(given["idp_token_endpoint"], data=form)
        return answer.raise_for_status().json()["access_token"]

    provider = IdentityAssertionOAuthProvider(
        server_url=url,
        storage=OAuthTokenStorage(None, Redactor()),
        client_id=given["client_id"],
        client_secret=given["client_secret"],
        issuer=issuer,
        assertion_provider=assertion,
        token_endpoint_auth_method="client_secret_basic",
    )
    await authorized(url, provider)


async def through_a_browser(url: str) -> None:
    async def browse(page: str) -> None:
        """A person who says yes at once: the page leads back to the port that our client listens on."""
        async with httpx2.AsyncClient(follow_redirects=True, timeout=30.0) as http:
            await http.get(page)

    given = context()
    await authorized(
        url,
        OAuth(
            client_id=given.get("client_id"),
            client_secret=given.get("client_secret"),
            open_browser=browse,
            metadata_url=METADATA_URL,
            keep=False,
        ),
    )


async def authorized(url: str, auth: Any) -> None:
    async with await opened(url, auth=auth, on_elicit=accepts) as server:
        for tool in server.plain_tools()[:1]:
            await tried(called(server, tool["name"]))


async def tried(call: Awaitable[Any]) -> None:
    """Some scenarios answer with errors on purpose, and look only at what was sent."""
    try:
        await call
    except (CellwrightError, TimeoutError) as error:
        print(f"refused: {error}", file=sys.stderr)


SCENARIOS: dict[str, Callable[[str], Awaitable[None]]] = {
    "initialize": connects,
    "tools_call": adds,
    "sse-retry": reconnects,
    "json-schema-ref-no-deref": connects_as_of_old,
    "json-schema-2020-12-preservation": gives_a_schema_back,
    "request-metadata": declares_everything,
    "http-standard-headers": uses_all,
    "http-invalid-tool-headers": calls_all,
    "http-custom-headers": calls_as_told,
    "elicitation-sep1034-client-defaults": answers_with_defaults,
    "sep-2322-client-request-state": goes_several_rounds,
    "auth/client-credentials-jwt": with_a_signed_key,
    "auth/client-credentials-basic": with_a_secret,
    "auth/enterprise-managed-authorization": through_an_enterprise,
    "auth/cross-app-access-complete-flow": through_an_enterprise,
}


def main() -> None:
    name = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    scenario = SCENARIOS.get(name) or (through_a_browser if name.startswith("auth/") else None)
    if scenario is None:
        sys.exit(f"no such scenario: {name!r}")
    asyncio.run(_run(scenario, sys.argv[-1]))


async def _run(scenario: Callable[[str], Awaitable[None]], url: str) -> None:
    await scenario(url)


if __name__ == "__main__":
    main()
