"""Keys in command lines and URLs: in no title, no name, no error."""

from __future__ import annotations

import pytest
from tests.linear import check_linear

from cellwright.errors import UpstreamGone
from cellwright.mcp import MCP
from cellwright.mcp.mcp_connector import redactor_of
from cellwright.mcp.sdk_errors import one_line
from cellwright.mcp.servers import default_name, server_of
from cellwright.redaction import bare_url, keys_in_url, masked

KEY = "sk-abcdef0123456789xyz"


@pytest.mark.parametrize(
    "given",
    [
        f"serve --token {KEY}",
        f"serve --api-key={KEY}",
        ["serve", f"API_KEY={KEY}"],
        ["serve", "--header", f"Authorization: Bearer {KEY}"],
        ["serve", f"postgresql://me:{KEY}@db/x"],
        f"https://me:{KEY}@mcp.example.com/mcp",
        f"https://{KEY}@mcp.example.com/mcp",
        f"https://mcp.example.com/s/{KEY}/mcp",
        f"https://mcp.example.com/mcp?api_key={KEY}",
    ],
)
def test_a_key_is_told_nowhere(given: str | list[str]) -> None:
    server = server_of(given)
    assert KEY not in f"{server.title} {server!r} {default_name(server)}"
    assert KEY not in redactor_of(server).text(f"it says {KEY}")


@pytest.mark.parametrize(
    ("given", "title", "name"),
    [
        ("npx -y @scope/server-files /home/me", "npx -y @scope/server-files …", "files"),
        ("uvx mcp-server-git --repository x", "uvx mcp-server-git --repository …", "git"),
        ("https://mcp.linear.app/mcp", "https://mcp.linear.app/mcp", "linear"),
    ],
)
def test_what_is_no_key_is_told(given: str, title: str, name: str) -> None:
    server = server_of(given)
    assert (server.title, default_name(server)) == (title, name)


async def test_a_program_that_does_not_start_does_not_tell_its_key() -> None:
    with pytest.raises(UpstreamGone) as raised:
        await MCP.open(f"false --token {KEY}", cache=False)
    assert KEY not in str(raised.value)
    assert "false --token ***" in str(raised.value)


async def test_the_time_to_find_keys_grows_with_the_length_only() -> None:
    for word in ("a", ".", "a1", "=", "a=", "/a", "//a@", "token ", "-"):
        await check_linear(lambda text: list(keys_in_url(f"https://h/{text}")), word)
        await check_linear(bare_url, word)
        await check_linear(lambda text: masked([f"--{text}"]), word)


def test_a_key_that_an_error_parts_is_not_told_by_half() -> None:
    for at in range(960, 1_001):
        assert KEY[:8] not in one_line("w " * (at // 2) + f"{KEY} and more").replace(KEY, "***")
