"""Where keys come from, and that nothing shows them."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import pytest

from cellwright.connectors import Credential, Secret, credentials
from cellwright.errors import UpstreamRefused, UsageError

KEY = "k3y-of-the-host-0123456789"


async def refused(source: str) -> str:
    with pytest.raises(UpstreamRefused) as raised:
        await Credential(source).value()
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_a_secret_is_not_shown() -> None:
    secret = Secret(KEY)
    assert KEY not in f"{secret} {secret!r} {[secret]} {Credential(secret)!r}"
    assert secret.reveal() == KEY


@pytest.mark.parametrize("keep", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_secret_is_not_copied(keep: object) -> None:
    with pytest.raises(TypeError):
        keep(Secret(KEY))  # type: ignore[operator]  each takes one value


def test_an_empty_secret_is_refused() -> None:
    with pytest.raises(UsageError, match="not empty"):
        Secret("  ")


async def test_a_variable_is_read_when_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("A_KEY", raising=False)
    credential = Credential("env:A_KEY")
    assert not credential.there
    monkeypatch.setenv("A_KEY", f" {KEY}\n")
    assert credential.there
    assert await credential.value() == KEY


async def test_a_variable_that_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("A_KEY", raising=False)
    assert await refused("env:A_KEY") == "the variable A_KEY is not set; set it and start again"


async def test_a_file_is_read_once_and_again_when_asked(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(f"{KEY}\n")
    credential = Credential(f"file:{tmp_path}/key")
    assert await credential.value() == KEY
    (tmp_path / "key").write_text("another")
    assert await credential.value() == KEY
    assert await credential.value(fresh=True) == "another"


async def test_a_file_below_the_home_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "key").write_text(KEY)
    assert await Credential("file:~/key").value() == KEY


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"", "is empty"), (b" \n", "is empty"), (b"\xff\xfe\0", "no text"), (b"x" * 70_000, "no key")],
)
async def test_a_file_that_holds_no_key_is_told(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "key").write_bytes(content)
    assert said in await refused(f"file:{tmp_path}/key")


async def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    assert (await refused(f"file:{tmp_path}/gone")).endswith("gone cannot be read: No such file or directory")


def test_a_file_that_everybody_can_read_is_warned_of(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(KEY)
    file.chmod(0o644)
    assert "chmod 600" in Credential(f"file:{file}").warning()
    file.chmod(0o600)
    assert Credential(f"file:{file}").warning() == ""


async def test_a_command_gives_what_it_prints() -> None:
    assert await Credential(f"command:printf '%s\\n' '{KEY}'").value() == KEY


async def test_a_command_is_run_once(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho x >> {tmp_path}/runs\necho {KEY}\n")
    program.chmod(0o700)
    credential = Credential(f"command:{program}")
    assert [await credential.value(), await credential.value()] == [KEY, KEY]
    assert (tmp_path / "runs").read_text() == "x\n"
    await credential.value(fresh=True)
    assert (tmp_path / "runs").read_text() == "x\nx\n"


async def test_a_command_is_not_given_to_a_shell(tmp_path: Path) -> None:
    assert await Credential(f"command:echo $(touch {tmp_path}/made) ; x").value() == f"$(touch {tmp_path}/made) ; x"
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("/no/such/program", "program cannot be run: No such file"),
        ("false", "false ended with status 1"),
        ("true", "is empty"),
        ("yes", "no key"),
        ("cat /dev/zero", "no key"),
        ("sleep 60", "gave no key within"),
    ],
)
async def test_a_command_that_gives_no_key_is_told(command: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(credentials, "COMMAND_S", 0.3)
    assert said in await refused(f"command:{command}")


def test_the_arguments_of_a_command_are_not_told() -> None:
    assert Credential(f"command:/usr/bin/vault read {KEY}").told == "the command vault"


@pytest.mark.parametrize("source", [KEY, "", "env:", "vault:x", "command:'", "ENV:X"])
def test_a_source_that_is_none_is_refused_without_being_shown(source: str) -> None:
    with pytest.raises(UsageError) as raised:
        Credential(source)
    assert KEY not in str(raised.value)
