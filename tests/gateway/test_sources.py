"""Sources as options and files name them, and what happens when one cannot be opened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.gateway.shops import Shop, Upstream

from cellwright.errors import UsageError
from cellwright.gateway import (
    GatewaySettings,
    NothingOpen,
    close_gateway,
    open_gateway,
    open_sources,
    read_config,
    source_of,
    with_settings,
)
from cellwright.gateway.sources import SourceKind, named, tidy

OBJECTS: dict[str, Any] = {"m:shop": Shop(), "m:sub.api": Upstream("users.get"), "n:shop": Shop()}


def find(option: str, target: str) -> Any:
    if target not in OBJECTS:
        raise UsageError(f"{option}: there is none")
    return OBJECTS[target]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("spec.json", ("", "spec.json")),
        ("github=spec.json", ("github", "spec.json")),
        ("https://a.example/?b=c", ("", "https://a.example/?b=c")),
        ("x=https://a.example/?b=c", ("x", "https://a.example/?b=c")),
        ("npx -y server --opt=1", ("", "npx -y server --opt=1")),
        ("files=npx -y server --opt=1", ("files", "npx -y server --opt=1")),
    ],
)
def test_a_name_may_stand_before_a_source(text: str, found: tuple[str, str]) -> None:
    assert named(text) == found


@pytest.mark.parametrize(("kind", "text"), [("openapi", ""), ("mcp", "  "), ("python", "search=m:shop")])
def test_what_names_no_source_is_one_clear_line(kind: SourceKind, text: str) -> None:
    with pytest.raises(UsageError, match=f"^--{kind} .*: "):
        source_of(kind, text)


def test_settings_go_to_the_source_they_name() -> None:
    sources = [source_of("openapi", "github=a.json"), source_of("openapi", "stripe=b.json")]
    made = with_settings(
        sources,
        ["github.token=env:GITHUB_TOKEN", "stripe=file:/k"],
        ["stripe=http://127.0.0.1:1"],
        ["github=X-Trace: on"],
    )
    assert made[0].credentials == {"token": "env:GITHUB_TOKEN"}
    assert made[0].headers == {"X-Trace": "on"}
    assert made[1].credentials == {"": "file:/k"}
    assert made[1].base_url == "http://127.0.0.1:1"


@pytest.mark.parametrize(
    ("credentials", "headers", "said"),
    [
        (["github=hunter2-hunter2"], [], "not the key itself"),
        (["other=env:X"], [], "no source is called 'other'; named sources: github"),
        (["github"], [], "give NAME=VALUE"),
        ([], ["github=hunter2"], "give NAME=HEADER: VALUE"),
    ],
)
def test_a_wrong_setting_is_one_clear_line_without_the_key(
    credentials: list[str], headers: list[str], said: str
) -> None:
    sources = [source_of("openapi", "github=a.json"), source_of("openapi", "b.json")]
    with pytest.raises(UsageError) as error:
        with_settings(sources, credentials, [], headers)
    assert said in str(error.value)
    assert "hunter2" not in str(error.value)


def test_names_of_servers_become_names_in_code() -> None:
    assert [tidy(name) for name in ("my-server", "GitHub", "3d", "...")] == ["my_server", "github", "s_3d", "source"]


# files


def test_a_file_names_sources_servers_and_a_policy(tmp_path: Path) -> None:
    (tmp_path / "g.toml").write_text(
        """
        [sources.github]
        openapi = "github.json"
        credentials = "env:GITHUB_TOKEN"
        base_url = "http://127.0.0.1:1"
        [sources.crm]
        python = "shop:crm"
        [mcpServers.files]
        command = "npx"
        args = ["-y", "server"]
        [mcpServers.broken]
        args = ["-y"]
        [policy]
        default = "ask"
        """
    )
    config = read_config(tmp_path / "g.toml")
    assert [(one.kind, one.name) for one in config.sources] == [
        ("openapi", "github"),
        ("python", "crm"),
        ("mcp", "files"),
    ]
    assert config.sources[0].credentials == {"": "env:GITHUB_TOKEN"}
    assert [one.title for one in config.problems] == ["broken"]
    assert config.policy is not None
    assert config.policy.default == "ask"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sources = 1", "`sources` is no table"),
        ("[sources.a]\nopenap = 'x'", "sources.a needs one of openapi, mcp, python, command"),
        ("[sources.a]\nopenapi = 'x'\nbase = 'y'", "knows no 'base'"),
        ("sorces = 1", "'sorces'"),
        ("a = ?", "line 1"),
        ("[policy]\ndefault = 'x'", "action is 'x'"),
    ],
)
def test_a_wrong_file_is_one_clear_line(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "g.toml").write_text(text + "\n")
    with pytest.raises(UsageError) as error:
        read_config(tmp_path / "g.toml")
    assert said in str(error.value)
    assert "\n" not in str(error.value)


# opening


async def test_what_fails_is_told_and_the_rest_works() -> None:
    said: list[str] = []
    sources = [source_of("python", text) for text in ("m:shop", "m:none", "api=m:sub.api")]
    good, bad = await open_sources(sources, find=find, say=said.append)
    assert [one.name for one in good] == ["shop", "api"]
    assert [(one.title, one.reason) for one in bad] == [("m:none", "--python m:none: there is none")]
    assert any("there is none" in line for line in said)


async def test_of_two_with_one_name_the_second_is_told_to_take_another() -> None:
    sources = [source_of("python", "m:shop"), source_of("python", "n:shop")]
    good, bad = await open_sources(sources, find=find, say=lambda line: None)
    assert [one.name for one in good] == ["shop"]
    assert bad[0].reason == "the name shop is taken; write NAME=… before it"


async def test_with_nothing_left_there_is_no_gateway() -> None:
    with pytest.raises(NothingOpen):
        await open_gateway([source_of("python", "m:none")], GatewaySettings(), find=find, say=lambda line: None)


async def test_an_mcp_server_that_does_not_start_costs_only_itself() -> None:
    sources = [source_of("mcp", "gone=/no/such/program"), source_of("python", "m:shop")]
    gateway, failed = await open_gateway(sources, GatewaySettings(check="off"), find=find, say=lambda line: None)
    try:
        assert list(gateway.sources) == ["shop"]
        assert failed[0].title == "gone"
        assert "\n" not in failed[0].reason
    finally:
        await close_gateway(gateway)
