"""Labels of a shared directory: whoever opens it later has what its files carry, and who has it open is told."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.cells import PATIENCE_S

from cellwright.guard.workspace_labels import SOONER_S, WorkspaceLabels
from cellwright.sandboxes import Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    (tmp_path / "shared").mkdir()
    made = Workspace.at(tmp_path / "shared", os.getuid())
    yield made
    made.close()


def labels(workspace: Workspace) -> WorkspaceLabels:
    """As another process has them."""
    return WorkspaceLabels(workspace, workspace.path.parent / "state")


def record(workspace: Workspace) -> Path:
    (path,) = (workspace.path.parent / "state" / "labels").iterdir()
    return path


def moment(workspace: Workspace, label: str) -> float:
    return json.loads(record(workspace).read_text())["since"][label]


def newest(clock: Path) -> float:
    """What the file system takes for now."""
    clock.write_text("x")
    return clock.stat().st_ctime


def since(workspace: Workspace, label: str, seconds: float) -> None:
    """Move the moment at which the label came."""
    kept = json.loads(record(workspace).read_text())
    kept["since"][label] += seconds
    record(workspace).write_text(json.dumps(kept))


def test_a_directory_that_nothing_has_reached_carries_nothing(workspace: Workspace) -> None:
    (workspace.path / "a").write_text("x")
    assert labels(workspace).read() == ()


CHANGES: list[Callable[[Path], object]] = [
    lambda place: (place / "new").write_text("x"),
    lambda place: (place / "link").symlink_to("old"),
    lambda place: (place / "deep" / "deeper").mkdir(parents=True),
    lambda place: os.utime(place / "old", (1, 1)),  # a guest sets the time of a file back
    lambda place: (place / "old").rename(place / "older"),
]


@pytest.mark.parametrize("change", CHANGES)
def test_files_that_changed_since_carry_the_label_however_deep_and_whatever_they_are(
    workspace: Workspace, change: Callable[[Path], object]
) -> None:
    (workspace.path / "old").write_text("x")
    labels(workspace).note("untrusted")
    since(workspace, "untrusted", SOONER_S)  # the old file is older than that
    until = time.monotonic() + PATIENCE_S
    while newest(workspace.path.parent / "clock") <= moment(workspace, "untrusted"):
        assert time.monotonic() < until
    change(workspace.path)
    assert labels(workspace).read() == ("untrusted",)


def test_where_no_file_changed_since_nothing_is_carried_and_the_record_stays(workspace: Workspace) -> None:
    (workspace.path / "old").write_text("x")
    labels(workspace).note("untrusted")
    since(workspace, "untrusted", 2 * SOONER_S)
    assert labels(workspace).read() == ()
    assert moment(workspace, "untrusted")  # whoever noted the label may still be at work


def test_each_label_has_its_own_moment(workspace: Workspace) -> None:
    one = labels(workspace)
    one.note("private")
    one.note("untrusted")
    (workspace.path / "new").write_text("x")
    since(workspace, "private", 3600)
    assert labels(workspace).read() == ("untrusted",)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"since": 3}', '{"since": {"untrusted": "x"}}', '{"other": 1}'])
def test_a_record_that_cannot_be_read_says_that_everything_carries_everything(workspace: Workspace, text: str) -> None:
    labels(workspace).note("untrusted")
    record(workspace).write_text(text)
    (workspace.path / "a").write_text("x")
    assert labels(workspace).read() == ("untrusted", "private")


def test_who_has_the_directory_open_is_told_once_of_what_another_session_notes(workspace: Workspace) -> None:
    one, other = labels(workspace), labels(workspace)
    assert (one.read(), one.news()) == ((), ())
    other.note("untrusted")
    assert (one.news(), one.news()) == (("untrusted",), ())
    one.note("private")
    assert one.news() == ()  # it noted that itself
    assert set(other.news()) == {"untrusted", "private"}


def test_where_no_record_can_be_kept_everything_carries_everything(workspace: Workspace) -> None:
    (workspace.path / "a").write_text("x")
    (workspace.path.parent / "state").write_text("a file")
    labels(workspace).note("untrusted")
    assert labels(workspace).read() == ("untrusted", "private")


def test_two_directories_have_records_of_their_own(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = Workspace.at(tmp_path / "other", os.getuid())
    labels(workspace).note("untrusted")
    for place in (workspace.path, other.path):
        (place / "new").write_text("x")
    assert (labels(workspace).read(), labels(other).read()) == (("untrusted",), ())
    other.close()


def test_labels_that_several_sessions_note_at_once_are_all_kept(workspace: Workspace) -> None:
    names = [f"label{at}" for at in range(20)]
    sessions = [labels(workspace) for _ in names]
    with ThreadPoolExecutor(20) as pool:
        list(pool.map(WorkspaceLabels.note, sessions, names))
    assert set(json.loads(record(workspace).read_text())["since"]) == set(names)
