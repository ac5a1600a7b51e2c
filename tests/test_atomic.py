"""A file is there whole or not at all, and drafts do not stay."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest

from cellwright.atomic import open_atomic, replacing, write_atomic


def test_a_file_is_written_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "notes.json"
    write_atomic(path, "first")
    write_atomic(path, b"second")
    assert path.read_text() == "second"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_the_mode_is_the_one_that_was_asked_for(tmp_path: Path) -> None:
    write_atomic(tmp_path / "open", "x", mode=0o644)
    assert stat.S_IMODE((tmp_path / "open").stat().st_mode) == 0o644


def test_after_an_error_the_old_file_is_there_and_no_draft(tmp_path: Path) -> None:
    path = tmp_path / "notes.json"
    write_atomic(path, "old")
    lines: Any = [b"new", None]
    with pytest.raises(TypeError), open_atomic(path) as file:
        file.writelines(lines)  # fails halfway
    with pytest.raises(FileNotFoundError), replacing(path):
        pass  # nobody made the draft
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
