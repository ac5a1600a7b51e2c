"""What the environment says, and what stands in where it says nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolwright.errors import PlatformError
from toolwright.settings import Settings


def test_our_own_variables_win() -> None:
    settings = Settings.from_environment(
        {
            "TOOLWRIGHT_CACHE": "/c",
            "TOOLWRIGHT_STATE": "/s",
            "XDG_CACHE_HOME": "/x",
            "XDG_STATE_HOME": "/y",
            "HOME": "/h",
        }
    )
    assert settings == Settings(cache_dir=Path("/c"), state_dir=Path("/s"))


def test_xdg_directories_come_next() -> None:
    settings = Settings.from_environment({"XDG_CACHE_HOME": "/x", "XDG_STATE_HOME": "/y", "HOME": "/h"})
    assert settings == Settings(cache_dir=Path("/x/toolwright"), state_dir=Path("/y/toolwright"))


@pytest.mark.parametrize("xdg", ["", "relative/cache"])
def test_an_empty_or_relative_xdg_directory_is_ignored(xdg: str) -> None:
    assert Settings.from_environment({"XDG_CACHE_HOME": xdg, "HOME": "/h"}).cache_dir == Path("/h/.cache/toolwright")


def test_the_default_is_below_the_home() -> None:
    settings = Settings.from_environment({"HOME": "/h"})
    assert settings == Settings(cache_dir=Path("/h/.cache/toolwright"), state_dir=Path("/h/.local/state/toolwright"))


def test_a_relative_choice_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert Settings.from_environment({"TOOLWRIGHT_CACHE": "c", "HOME": "/h"}).cache_dir == tmp_path / "c"


def test_the_process_environment_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLWRIGHT_CACHE", "/from/the/process")
    assert Settings.from_environment().cache_dir == Path("/from/the/process")


def test_a_user_without_a_home_is_told_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", no_home)
    with pytest.raises(PlatformError, match="set TOOLWRIGHT_CACHE"):
        Settings.from_environment({})


def test_nothing_is_made(tmp_path: Path) -> None:
    Settings.from_environment({"TOOLWRIGHT_CACHE": str(tmp_path / "c"), "TOOLWRIGHT_STATE": str(tmp_path / "s")})
    assert list(tmp_path.iterdir()) == []
