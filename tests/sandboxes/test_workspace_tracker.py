"""A workspace that is looked at only where it changed is seen as if all of it had been looked at."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from cellwright.sandboxes import inotify, workspace_reader, workspace_tracker
from cellwright.sandboxes.workspace import Workspace
from cellwright.sandboxes.workspace_index import WorkspaceDiff, WorkspaceEntry, WorkspaceIndex, WorkspaceListing
from cellwright.sandboxes.workspace_reader import WorkspaceReader
from cellwright.sandboxes.workspace_tracker import WorkspaceTracker

OTHER = Path(__file__).with_name("other_process.py")
ROOM = 1 << 30

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="changes are told by Linux")


class Digests:
    """Contents by digest, which are not kept."""

    def __init__(self) -> None:
        self.read = 0

    def keep(self, content: bytes) -> str:
        self.read += 1
        return hashlib.sha256(content).hexdigest()

    def keep_file(self, file: int, size: int) -> tuple[str, int]:
        return self.keep(os.read(file, size)), size

    def write(self, name: str, file: int, size: int) -> bool:
        raise NotImplementedError

    def equals(self, name: str, file: int, size: int) -> bool:
        raise NotImplementedError


class Other:
    """The process that changes a directory."""

    def __init__(self, path: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(OTHER), str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def do(self, act: str, *arguments: object) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([act, *arguments]) + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def end(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(30)
        self.process.stdout.close()


def walked(workspace: Workspace) -> WorkspaceListing:
    """All of it, looked at by somebody who knows nothing."""
    nodes = WorkspaceIndex()
    WorkspaceReader(nodes, Digests(), {}, most_bytes=ROOM).walk(workspace.open())
    return nodes.listing()


def after(listing: dict[str, WorkspaceEntry], step: WorkspaceDiff) -> dict[str, WorkspaceEntry]:
    """What a step leads to; it must begin where we are."""
    found = dict(listing)
    for path, (old, new) in step.items():
        assert found.get(path) == old
        assert old != new
        if new is None:
            del found[path]
        else:
            found[path] = new
    return found


NAMES = st.sampled_from(["a", "b", "d/a", "d/b", "d/e/a", "d/e", "d", "f", "f/a"])
TEXTS = st.text("xyz", min_size=1, max_size=12)


class Machine(RuleBasedStateMachine):
    """Random things done by another process, with a look now and then."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.TemporaryDirectory()
        self.workspace = Workspace.create(Path(self.directory.name))
        self.other = Other(self.workspace.path)
        self.workspace.guests = lambda: [self.other.process.pid]
        self.tracking = WorkspaceTracker(self.workspace, Digests(), ROOM)
        self.seen: dict[str, WorkspaceEntry] = {}
        for act in (("mkdir", "d"), ("mkdir", "d/e"), ("write", "a", "one"), ("write", "d/e/a", "two")):
            self.other.do(*act)
        self.other.do("link", "d/e/a", "b")
        self.other.do("hold", "a")

    @rule(act=st.sampled_from(["write", "append", "write_in_place", "keep_open"]), path=NAMES, text=TEXTS)
    def change(self, act: str, path: str, text: str) -> None:
        self.other.do(act, path, text)

    @rule(act=st.sampled_from(["mkdir", "remove", "hold", "fifo"]), path=NAMES)
    def alter(self, act: str, path: str) -> None:
        self.other.do(act, path)

    @rule(act=st.sampled_from(["rename", "rename", "link", "symlink"]), old=NAMES, new=NAMES)
    def move(self, act: str, old: str, new: str) -> None:
        self.other.do(act, old, new)

    @rule(path=NAMES, mode=st.sampled_from([0o600, 0o644, 0o755, 0o700]))
    def chmod(self, path: str, mode: int) -> None:
        self.other.do("chmod", path, mode)

    @rule(path=NAMES, ns=st.integers(1, 3))
    def touch(self, path: str, ns: int) -> None:
        self.other.do("touch", path, ns)

    @rule(path=NAMES, size=st.integers(0, 5))
    def truncate(self, path: str, size: int) -> None:
        self.other.do("truncate", path, size)

    @rule(path=NAMES)
    def build(self, path: str) -> None:
        self.other.do("build", path, 3)

    @rule(text=TEXTS, path=NAMES)
    def poke(self, text: str, path: str) -> None:
        self.look()
        self.other.do("hold", path)
        self.other.do("poke", text)
        self.look()

    @rule()
    def let_go(self) -> None:
        self.other.do("let_go")

    @rule()
    def look(self) -> None:
        self.seen = after(self.seen, self.tracking.look())
        listing = walked(self.workspace)
        assert self.tracking.nodes.listing() == listing
        assert tuple(self.seen[path] for path in sorted(self.seen)) == listing.entries

    @invariant()
    def counts_are_right(self) -> None:
        assert self.tracking.nodes.size == sum(entry.size for entry in self.seen.values())

    def teardown(self) -> None:
        self.look()
        self.other.end()
        self.tracking.close()
        self.workspace.remove()
        self.directory.cleanup()


TestRandomChanges = Machine.TestCase
TestRandomChanges.settings = settings(
    max_examples=25, stateful_step_count=30, deadline=None, suppress_health_check=(HealthCheck.too_slow,)
)


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    made = Workspace.create(tmp_path)
    yield made
    made.remove()


@pytest.fixture
def tracked(workspace: Workspace) -> Iterator[WorkspaceTracker]:
    for i in range(20):
        (workspace.path / f"d{i}").mkdir()
        for j in range(10):
            (workspace.path / f"d{i}" / f"f{j}").write_text(f"{i} {j}")
    made = WorkspaceTracker(workspace, Digests(), ROOM)
    made.look()
    yield made
    made.close()


def test_what_did_not_change_is_not_looked_at(tracked: WorkspaceTracker, workspace: Workspace) -> None:
    assert tracked.look() == {}
    (workspace.path / "d3" / "f4").write_text("changed")
    step = tracked.look()
    assert list(step) == ["d3/f4"]
    assert tracked.walks == 1


def test_reading_files_costs_nothing(
    tracked: WorkspaceTracker, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in workspace.path.rglob("f*"):
        path.read_text()

    def looked(*_: object, **__: object) -> None:
        raise AssertionError("nothing is to be looked at")

    monkeypatch.setattr(WorkspaceTracker, "_look_at_one", looked)
    assert tracked.look() == {}


def test_a_directory_that_moves_takes_its_watches_along(tracked: WorkspaceTracker, workspace: Workspace) -> None:
    (workspace.path / "d1").rename(workspace.path / "e")
    assert len(tracked.look()) == 2 * (1 + 10)
    (workspace.path / "e" / "f0").write_text("changed")
    (workspace.path / "e" / "new").mkdir()
    (workspace.path / "e" / "new" / "f").write_text("new")
    assert sorted(tracked.look()) == ["e", "e/f0", "e/new", "e/new/f"]
    assert tracked.walks == 1


def test_a_change_by_another_name_of_the_same_file_is_seen(tracked: WorkspaceTracker, workspace: Workspace) -> None:
    os.link(workspace.path / "d1" / "f0", workspace.path / "again")
    tracked.look()
    (workspace.path / "again").write_text("changed")
    assert sorted(tracked.look()) == ["again", "d1/f0"]


@pytest.mark.parametrize("query", [inotify.PROCMAP_QUERY, 0], ids=["asked", "read"])
def test_what_is_written_through_a_mapping_is_seen(
    query: int, tracked: WorkspaceTracker, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inotify, "PROCMAP_QUERY", query)  # a kernel that does not know it is read line by line
    other = Other(workspace.path)
    workspace.guests = lambda: [other.process.pid]
    other.do("hold", "d1/f0")
    for text in ("abc", "def", "ghi"):  # the kernel changes the file's time at the first of them only
        other.do("poke", text)
        assert list(tracked.look()) == ["d1/f0"]
        assert tracked.nodes.listing() == walked(workspace)
    other.do("poke", "end")
    other.do("let_go")
    assert list(tracked.look()) == ["d1/f0"]
    assert tracked.look() == {}
    assert tracked.walks == 1
    other.end()


def test_what_is_written_through_a_mapping_after_a_look_is_seen_when_it_is_let_go_of(
    tracked: WorkspaceTracker, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workspace_reader, "RECENT_NS", -(1 << 62))  # as if it had been written long ago
    other = Other(workspace.path)
    workspace.guests = lambda: [other.process.pid]
    other.do("hold", "d1/f0")
    other.do("poke", "abc")
    tracked.look()
    other.do("poke", "def")  # which leaves the file's times as they are
    other.do("let_go")
    assert list(tracked.look()) == ["d1/f0"]
    assert tracked.nodes.listing() == walked(workspace)
    other.end()


def test_a_guest_that_cannot_be_looked_into_costs_a_walk(tracked: WorkspaceTracker, workspace: Workspace) -> None:
    def closed() -> list[int]:
        raise PermissionError

    workspace.guests = closed
    (workspace.path / "d1" / "f0").write_text("changed")
    assert list(tracked.look()) == ["d1/f0"]
    assert tracked.walks == 2


def test_when_the_kernel_lost_something_everything_is_looked_at(
    tracked: WorkspaceTracker, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    drain = inotify.DirectoryWatch.drain

    def lose(told: inotify.DirectoryWatch) -> None:
        drain(told)

    monkeypatch.setattr(inotify.DirectoryWatch, "drain", lose)
    (workspace.path / "d3" / "f4").write_text("changed")
    assert list(tracked.look()) == ["d3/f4"]
    assert tracked.walks == 2
    monkeypatch.undo()
    (workspace.path / "d3" / "f5").write_text("changed")
    assert list(tracked.look()) == ["d3/f5"]
    assert tracked.walks == 2


def test_more_changes_than_the_kernel_keeps_are_all_seen(tracked: WorkspaceTracker, workspace: Workspace) -> None:
    most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    for _ in range(most // 2 + 10):
        (workspace.path / "d1" / "f0").touch()
        (workspace.path / "d1" / "f1").touch()
    (workspace.path / "d2" / "f3").write_text("changed")
    assert "d2/f3" in tracked.look()
    assert tracked.walks == 2


def test_too_many_directories_are_looked_at_one_by_one(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace_tracker, "MOST_WATCHES", 5)
    tracked = WorkspaceTracker(workspace, Digests(), ROOM)
    for i in range(10):
        (workspace.path / str(i)).mkdir()
        tracked.look()
    (workspace.path / "3" / "f").write_text("x")
    assert sorted(tracked.look()) == ["3", "3/f"]
    assert tracked.nodes.listing() == walked(workspace)


def test_without_the_kernels_help_the_same_is_seen(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    def shared(fd: int) -> bool:
        return False

    monkeypatch.setattr(workspace_tracker, "is_local", shared)
    tracked = WorkspaceTracker(workspace, Digests(), ROOM)
    (workspace.path / "f").write_text("x")
    assert list(tracked.look()) == ["f"]
    assert tracked.look() == {}
    assert tracked.walks == 2


def test_what_was_left_out_for_want_of_room_is_taken_when_there_is_some(workspace: Workspace) -> None:
    tracked = WorkspaceTracker(workspace, Digests(), 10)
    (workspace.path / "a").write_text("x" * 8)
    tracked.look()
    (workspace.path / "b").write_text("y" * 8)
    tracked.look()
    assert len(tracked.nodes.left) == 1
    (workspace.path / "a").unlink()
    tracked.look()
    assert [entry.path for entry in tracked.nodes.listing().entries] == ["b"]
    tracked.close()


def test_the_kernels_queue_is_given_back(workspace: Workspace) -> None:
    def queues() -> int:
        links = (os.path.realpath(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd"))
        return sum("inotify" in link for link in links)

    before = queues()
    tracked = WorkspaceTracker(workspace, Digests(), ROOM)
    tracked.look()
    assert queues() == before + 1
    tracked.close()
    assert queues() == before
