"""The files of MCP clients: one entry more, and everything else as it was."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from cellwright.errors import UsageError
from cellwright.gateway import CLIENTS, absolute, client_of, config_change, write_change

COMMAND = ["/bin/cellwright", "gateway", "--openapi", "/specs/a.json"]


@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_without_a_file_gets_one(name: str, tmp_path: Path) -> None:
    client, file = client_of(name), tmp_path / "deep" / "config"
    write_change(config_change(client, "tw", COMMAND, file))
    found = tomllib.loads(file.read_text()) if client.is_toml else json.loads(file.read_text())
    entry = found[client.key]["tw"]
    assert [entry["command"], *entry["args"]] == COMMAND


def test_what_a_json_file_held_is_kept_in_order_and_backed_up(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    old = '{\n    "z": 1,\n    "mcpServers": {"other": {"command": "x"}},\n    "a": "ö"\n}\n'
    file.write_text(old, encoding="utf-8")
    file.chmod(0o640)
    write_change(config_change(client_of("cursor"), "tw", COMMAND, file))
    found = json.loads(file.read_text(encoding="utf-8"))
    assert list(found) == ["z", "mcpServers", "a"]
    assert found["a"] == "ö"
    assert list(found["mcpServers"]) == ["other", "tw"]
    assert '\n    "z"' in file.read_text(encoding="utf-8")
    assert (tmp_path / "mcp.json.bak").read_text(encoding="utf-8") == old
    assert file.stat().st_mode & 0o777 == 0o640


def test_an_entry_of_the_same_name_is_replaced(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    for spec in ("/specs/a.json", "/specs/b.json"):
        write_change(config_change(client_of("cursor"), "tw", [*COMMAND[:3], spec], file))
    assert json.loads(file.read_text())["mcpServers"]["tw"]["args"][-1] == "/specs/b.json"


def test_comments_are_seen_before_they_would_be_lost(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text('{\n  // mine\n  "theme": "http://x", /* more */\n  "context_servers": {},\n}\n')
    made = config_change(client_of("zed"), "tw", COMMAND, file)
    assert made.comments
    assert json.loads(made.new)["theme"] == "http://x"
    assert not config_change(client_of("zed"), "tw", COMMAND, tmp_path / "other.json").comments


def test_a_toml_file_keeps_its_comments_and_its_other_tables(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(
        '# mine\nmodel = "x"\n\n[mcp_servers.tw]\ncommand = "old"\n\n# theirs\n[mcp_servers.other]\ncommand = "y"\n'
    )
    write_change(config_change(client_of("codex"), "tw", COMMAND, file))
    text = file.read_text()
    found = tomllib.loads(text)
    assert text.startswith("# mine\n")
    assert found["model"] == "x"
    assert found["mcp_servers"]["other"] == {"command": "y"}
    assert found["mcp_servers"]["tw"]["command"] == COMMAND[0]
    assert "old" not in text


def test_a_toml_entry_in_another_form_is_left_to_people(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('mcp_servers = { tw = { command = "old" } }\n')
    with pytest.raises(UsageError, match="by hand"):
        config_change(client_of("codex"), "tw", COMMAND, file)


@pytest.mark.parametrize(
    ("text", "said"), [("{", "is no JSON"), ("[]", "no JSON object"), ('{"mcpServers": []}', "is no object")]
)
def test_a_broken_file_is_not_touched(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(text)
    with pytest.raises(UsageError, match=said):
        config_change(client_of("cursor"), "tw", COMMAND, file)
    assert file.read_text() == text


def test_a_file_that_changed_meanwhile_is_not_written(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    made = config_change(client_of("cursor"), "tw", COMMAND, file)
    file.write_text("{}")
    with pytest.raises(UsageError, match="changed meanwhile"):
        write_change(made)
    assert file.read_text() == "{}"


def test_an_unknown_client_is_one_clear_line() -> None:
    with pytest.raises(UsageError, match="there is no client 'emacs' here; there are claude, claude-code, cursor"):
        client_of("emacs")


def test_paths_are_made_absolute_and_everything_else_stays(tmp_path: Path) -> None:
    (tmp_path / "spec.json").write_text("{}")
    words = ["--openapi", "a=spec.json", "--openapi", "https://x.example/s.json", "--policy=p.toml", "--read-only",
             "--mcp", "npx -y server", "--credential", "a=file:key", "--credential", "b=env:KEY"]  # fmt: skip
    assert absolute(words, tmp_path) == [
        "--openapi", f"a={tmp_path}/spec.json", "--openapi", "https://x.example/s.json", f"--policy={tmp_path}/p.toml",
        "--read-only", "--mcp", "npx -y server", "--credential", f"a=file:{tmp_path}/key", "--credential", "b=env:KEY",
    ]  # fmt: skip


def test_a_gateway_over_python_objects_is_started_where_they_are(tmp_path: Path) -> None:
    assert absolute(["--python", "shop:crm"], tmp_path) == ["--python", "shop:crm", "--dir", str(tmp_path)]


def test_paths_are_those_of_the_directory_that_it_is_in(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "tool").write_text("")
    words = ["--python", "shop:crm", "--policy", "p.toml", "--dir", "sub", "--command", "t=./tool", "--command", "git"]
    sub = tmp_path / "sub"
    assert absolute(words, tmp_path) == [
        "--python", "shop:crm", "--policy", f"{sub}/p.toml", "--dir", str(sub), "--command", f"t={sub}/tool",
        "--command", "git",
    ]  # fmt: skip


def test_ends_of_lines_stay_and_the_old_file_is_kept_byte_for_byte(tmp_path: Path) -> None:
    for client, name, text in (
        ("cursor", "mcp.json", b'\xef\xbb\xbf{\r\n  "n": 1.0\r\n}\r\n'),
        ("codex", "config.toml", b'model = "x"\r\n'),
    ):
        file = tmp_path / name
        file.write_bytes(text)
        made = config_change(client_of(client), "tw", COMMAND, file)
        write_change(made)
        assert made.backup.read_bytes() == text
        written = file.read_bytes()
        assert written.count(b"\n") == written.count(b"\r\n") > 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": 1, "a": 2}', "the key 'a' is there twice"),
        ('{"a": "\\ud800"}', "by hand"),
        ('{"a": 1e999}', "by hand"),
        ("[" * 100_000, "is no JSON"),
    ],
)
def test_a_file_that_could_not_be_written_as_it_was_is_left_alone(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(text)
    with pytest.raises(UsageError, match=said):
        config_change(client_of("cursor"), "tw", COMMAND, file)
    assert file.read_text() == text


def test_a_description_that_is_not_there_is_not_entered(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no file .*nothere\.json; nothing was written"):
        absolute(["--openapi", "shop=nothere.json"], tmp_path)
    assert absolute(["--openapi", "shop=https://shop.example/openapi.json"], tmp_path)[1].startswith("shop=https:")
