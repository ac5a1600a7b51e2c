"""What the environment says, and what stands in where it says nothing."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from cellwright.errors import PlatformError
from cellwright.settings import Settings, install_command


def test_our_own_variables_win() -> None:
    settings = Settings.from_environment(
        {
            "CELLWRIGHT_CACHE": "/c",
            "CELLWRIGHT_STATE": "/s",
            "XDG_CACHE_HOME": "/x",
            "XDG_STATE_HOME": "/y",
            "HOME": "/h",
        }
    )
    assert settings == Settings(cache_dir=Path("/c"), state_dir=Path("/s"))


def test_xdg_directories_come_next() -> None:
    settings = Settings.from_environment({"XDG_CACHE_HOME": "/x", "XDG_STATE_HOME": "/y", "HOME": "/h"})
    assert settings == Settings(cache_dir=Path("/x/cellwright"), state_dir=Path("/y/cellwright"))


@pytest.mark.parametrize("xdg", ["", "relative/cache"])
def test_an_empty_or_relative_xdg_directory_is_ignored(xdg: str) -> None:
    assert Settings.from_environment({"XDG_CACHE_HOME": xdg, "HOME": "/h"}).cache_dir == Path("/h/.cache/cellwright")


def test_the_default_is_below_the_home() -> None:
    settings = Settings.from_environment({"HOME": "/h"})
    assert settings == Settings(cache_dir=Path("/h/.cache/cellwright"), state_dir=Path("/h/.local/state/cellwright"))


def test_a_relative_choice_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert Settings.from_environment({"CELLWRIGHT_CACHE": "c", "HOME": "/h"}).cache_dir == tmp_path / "c"


def test_the_process_environment_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CELLWRIGHT_CACHE", "/from/the/process")
    assert Settings.from_environment().cache_dir == Path("/from/the/process")


def test_a_user_without_a_home_is_told_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", no_home)
    with pytest.raises(PlatformError, match="set CELLWRIGHT_CACHE"):
        Settings.from_environment({})


def test_nothing_is_made(tmp_path: Path) -> None:
    Settings.from_environment({"CELLWRIGHT_CACHE": str(tmp_path / "c"), "CELLWRIGHT_STATE": str(tmp_path / "s")})
    assert list(tmp_path.iterdir()) == []


def installed(site: Path, monkeypatch: pytest.MonkeyPatch, origin: dict[str, object] | None) -> None:
    """A directory of packages in which Cellwright is installed, and nothing else is found."""
    record = site / "cellwright-0.1.0.dist-info"
    record.mkdir(parents=True)
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: cellwright\nVersion: 0.1.0\n")
    if origin is not None:
        (record / "direct_url.json").write_text(json.dumps(origin))
    monkeypatch.setattr(sys, "path", [str(site)])


def test_an_install_from_an_index_names_the_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(tmp_path, monkeypatch, None)
    assert install_command("check") == "pip install 'cellwright[check]'"


@pytest.mark.parametrize(("editable", "flag"), [(True, "--editable "), (False, "")])
def test_an_install_from_a_clone_names_the_clone(
    editable: bool, flag: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone = tmp_path / "a clone"
    clone.mkdir()
    (clone / "pyproject.toml").touch()
    installed(tmp_path / "site", monkeypatch, {"url": clone.as_uri(), "dir_info": {"editable": editable}})
    assert install_command("check") == f"pip install {flag}'{clone}[check]'"


def test_a_clone_that_is_gone_is_not_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(tmp_path, monkeypatch, {"url": (tmp_path / "gone").as_uri(), "dir_info": {}})
    assert install_command("check") == "pip install 'cellwright[check]'"


def test_a_tree_that_was_never_installed_names_the_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert install_command("check") == "pip install 'cellwright[check]'"
