from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from cellwright.errors import UsageError
from cellwright.mcp import FailedServer, open_all, server_of, servers_from
from cellwright.mcp.servers import default_name
from cellwright.mcp.tool_names import identifier, identifiers

TINY = str(Path(__file__).with_name("tiny.py"))


def test_the_usual_file_is_read_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "t0ken")
    listed = {
        "files": {
            "command": "npx",
            "args": ["-y", "server", "${HOME_DIR:-/srv}"],
            "env": {"KEY": "${MY_TOKEN}", "N": 3},
        },
        "far": {"url": "https://far.example/mcp", "headers": {"Authorization": "Bearer ${env:MY_TOKEN}"}},
        "old": {"type": "sse", "url": "https://old.example/events"},
        "older": {"url": "https://older.example/sse"},
        "typed": {"type": "streamable-http", "url": "https://typed.example/"},
        "off": {"command": "x", "disabled": True},
    }
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcpServers": listed}))
    found = servers_from(path)
    assert list(found) == ["files", "far", "old", "older", "typed"]
    assert found["files"].command == ("npx", "-y", "server", "/srv")
    assert found["files"].env == {"KEY": "t0ken", "N": "3"}
    assert found["far"].headers == {"Authorization": "Bearer t0ken"}
    assert [one.kind for one in found.values()] == ["program", "url", "sse", "sse", "http"]
    assert not any(one.problem for one in found.values())
    assert "t0ken" not in repr(found)


def test_files_of_editors_are_read_with_their_comments(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(
        '{\n  // mine\n  "servers": {"a": {"type": "stdio", "command": "run", "args": ["//x", "/*y*/"],},},\n'
        '  "inputs": [] /* none */\n}'
    )
    assert servers_from(path)["a"].command == ("run", "//x", "/*y*/")
    assert servers_from({"mcp": {"servers": {"b": {"url": "http://b/"}}}})["b"].url == "http://b/"


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({}, "neither a `command` nor a `url`"),
        ("npx", "is no entry"),
        ({"command": "x", "args": "y"}, "no command line"),
        ({"command": "x", "env": ["A=1"]}, "`env` is no object"),
        ({"url": "far.example"}, "does not begin with http"),
        ({"url": "https://x/", "type": "carrier-pigeon"}, "its type is 'carrier-pigeon'"),
        ({"command": "x", "env": {"A": "${NOT_SET_ANYWHERE}"}}, "variable NOT_SET_ANYWHERE, which is not set"),
        ({"command": "x", "env": {"A": "${input:key}"}}, "asks for an input"),
    ],
)
def test_a_bad_entry_says_why_and_the_others_are_kept(entry: object, said: str) -> None:
    found = servers_from({"mcpServers": {"bad": entry, "good": {"command": "run"}}})
    assert said in found["bad"].problem
    assert "\n" not in found["bad"].problem
    assert found["good"].command == ("run",)


@pytest.mark.parametrize(
    ("text", "said"), [("{", "is no JSON"), ("[]", "no .mcpServers."), ('{"mcpServers": 3}', "no .mcpServers.")]
)
def test_a_file_that_cannot_be_read_at_all_is_one_line(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=said):
        servers_from(path)
    with pytest.raises(UsageError, match="cannot be read"):
        servers_from(tmp_path / "none.json")


async def test_all_are_opened_at_once_and_those_that_fail_cost_no_other() -> None:
    program = {"command": sys.executable, "args": ["-S", TINY]}
    listed = {
        "tiny-one": program,
        "gone": {"command": "no-such-program-here"},
        "bad": {"url": "nowhere"},
        "tiny-two": program,
    }
    opened = await open_all({"mcpServers": listed}, cache=False)
    try:
        assert list(opened.servers) == ["tiny_one", "tiny_two"]
        assert {failed.name for failed in opened.failed} == {"gone", "bad"}
        assert all(isinstance(failed, FailedServer) and "\n" not in failed.reason for failed in opened.failed)
        pids = [await server.call("pid", {}) for server in opened.servers.values()]
        assert len(set(pids)) == 2
    finally:
        await opened.close()


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("npx -y @modelcontextprotocol/server-everything", "everything"),
        ("npx -y @playwright/mcp@latest --headless", "mcp"),
        ("uvx mcp-server-git --repository /tmp", "git"),
        ("python tools/weather_server.py", "weather"),
        ("https://mcp.linear.app/mcp", "linear"),
        ("http://127.0.0.1:8000/mcp", "server"),
    ],
)
def test_a_server_that_nobody_named_has_a_readable_name(given: str, name: str) -> None:
    assert default_name(server_of(given)) == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("create-issue", "create_issue"),
        ("getUser", "getUser"),
        ("admin.tools/list", "admin_tools_list"),
        ("Text Resource", "text_resource"),
        ("class", "class_"),
        ("_private", "private"),
        ("3d", "n3d"),
        ("", "unnamed"),
        ("日本", "日本"),
        ("🙂", "unnamed"),
    ],
)
def test_names_can_be_written_in_code(text: str, name: str) -> None:
    assert identifier(text) == name


def test_names_that_collide_are_told_apart_and_stay_the_same() -> None:
    texts = ["get-it", "get_it", "get.it", "list"]
    wanted = {"get-it": "get_it_2", "get_it": "get_it", "get.it": "get_it_3", "list": "list_at"}
    assert identifiers(texts, taken=frozenset(("list",)), other="at") == wanted
