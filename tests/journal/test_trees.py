"""Workspaces as named trees: taken, restored, compared, whatever a guest leaves in them."""

from __future__ import annotations

import hashlib
import os
import socket
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cellwright import Limits
from cellwright.errors import JournalFailed, PlatformError, UsageError
from cellwright.journal import manifests
from cellwright.journal.trees import EMPTY, FileChange, Trees
from cellwright.sandboxes import GUEST_UID, Workspace, workspace_reader

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another uid")


class Kept:
    """Blobs in memory, which count how often they were asked."""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}
        self.kept = 0

    def keep(self, session: str, content: bytes) -> str:
        self.kept += 1
        digest = hashlib.sha256(content).hexdigest()
        self.blobs[digest] = content
        return digest

    def blob(self, digest: str) -> bytes:
        return self.blobs[digest]


@pytest.fixture
def blobs() -> Kept:
    return Kept()


@pytest.fixture
def trees(blobs: Kept) -> Trees:
    return Trees(blobs, "s1")


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    made = Workspace.create(tmp_path, GUEST_UID)
    yield made
    made.remove()


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Workspace]:
    made = Workspace.create(tmp_path, GUEST_UID)
    yield made
    made.remove()


def fill(top: Path) -> None:
    """Something of each kind."""
    (top / "a.txt").write_text("one")
    (top / "empty").touch()
    os.makedirs(top / "sub" / "deep")
    (top / "sub" / "deep" / "b.bin").write_bytes(os.urandom(3 << 20))
    (top / "sub" / "closed.txt").write_text("closed")
    (top / "sub" / "closed.txt").chmod(0o640)
    (top / "hollow").mkdir(mode=0o750)
    os.symlink("a.txt", top / "link")
    os.symlink("/etc/passwd", top / "sub" / "out")
    Path(os.fsdecode(os.fsencode(top) + b"/odd\xff\nname")).write_text("odd")
    os.utime(top / "a.txt", ns=(10**18, 10**18 + 7))
    os.utime(top / "sub", ns=(10**18, 10**18 + 9))


def seen(top: Path) -> dict[str, tuple[object, ...]]:
    """All that a restore must bring back."""
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted(top.rglob("*")):
        about = path.lstat()
        content: object = None
        if stat.S_ISREG(about.st_mode):
            content = path.read_bytes()
        elif path.is_symlink():
            content = os.readlink(path)
        found[str(path.relative_to(top))] = (stat.S_IFMT(about.st_mode), about.st_mode & 0o777, content)
        if not path.is_symlink():
            found[str(path.relative_to(top))] += (about.st_mtime_ns,)
    return found


def test_a_tree_restored_elsewhere_is_the_same(trees: Trees, workspace: Workspace, other: Workspace) -> None:
    fill(workspace.path)
    before = seen(workspace.path)
    trees.populate(trees.take(workspace), other)
    assert seen(other.path) == before
    assert seen(workspace.path) == before


def test_restore_undoes_whatever_was_done(trees: Trees, workspace: Workspace) -> None:
    top = workspace.path
    fill(top)
    before, name = seen(top), trees.take(workspace)
    (top / "a.txt").write_text("two")  # as long as before
    (top / "empty").unlink()
    (top / "empty").mkdir()
    (top / "empty" / "x").touch()
    (top / "link").unlink()
    os.symlink("elsewhere", top / "link")
    (top / "sub" / "deep" / "b.bin").unlink()
    (top / "sub" / "out").unlink()
    (top / "sub" / "out").write_text("a file now")
    (top / "hollow").rmdir()
    (top / "hollow").write_text("was a directory")
    (top / "sub" / "closed.txt").chmod(0o600)
    os.makedirs(top / "new" / "one")
    (top / "new" / "one" / "f").write_text("x")
    trees.restore(name, workspace)
    assert seen(top) == before


def test_a_link_that_was_made_anew_gets_its_time_back(trees: Trees, workspace: Workspace) -> None:
    link = workspace.path / "link"
    os.symlink("a", link)
    os.utime(link, ns=(5, 5), follow_symlinks=False)
    name = trees.take(workspace)
    link.unlink()
    os.symlink("a", link)
    trees.restore(name, workspace)
    assert link.lstat().st_mtime_ns == 5
    assert trees.take(workspace) == name


def test_restore_in_another_process_needs_the_journal_only(blobs: Kept, trees: Trees, workspace: Workspace) -> None:
    fill(workspace.path)
    before, name = seen(workspace.path), trees.take(workspace)
    (workspace.path / "a.txt").write_text("two")
    Trees(blobs, "s1").restore(name, workspace)
    assert seen(workspace.path) == before


def test_what_is_as_it_was_is_not_written_again(trees: Trees, workspace: Workspace) -> None:
    fill(workspace.path)
    name = trees.take(workspace)
    inodes = {path: path.lstat().st_ino for path in workspace.path.rglob("*")}
    (workspace.path / "a.txt").write_text("changed")
    trees.restore(name, workspace)
    del inodes[workspace.path / "a.txt"]
    assert {path: path.lstat().st_ino for path in inodes} == inodes


def test_an_empty_workspace_has_a_name_that_nobody_keeps(blobs: Kept, trees: Trees, workspace: Workspace) -> None:
    assert trees.take(workspace) == EMPTY
    assert blobs.kept == 0
    fill(workspace.path)
    trees.restore(EMPTY, workspace)
    assert list(workspace.path.iterdir()) == []


def test_a_tree_that_was_not_taken_changes_nothing(trees: Trees, workspace: Workspace) -> None:
    fill(workspace.path)
    before = seen(workspace.path)
    trees.restore("", workspace)
    assert seen(workspace.path) == before


def test_a_name_that_the_journal_lacks_is_told_and_changes_nothing(trees: Trees, workspace: Workspace) -> None:
    fill(workspace.path)
    before = seen(workspace.path)
    with pytest.raises(JournalFailed, match="abc"):
        trees.restore("abc", workspace)
    assert seen(workspace.path) == before


@pytest.mark.parametrize("path", ["../out", "a/../../out", "/etc/x", "a//b", "."])
def test_a_manifest_that_leads_out_is_refused(path: str, blobs: Kept, trees: Trees, workspace: Workspace) -> None:
    row = f'["{path}","file",420,0,1,"{blobs.keep("s1", b"x")}"]'
    name = blobs.keep("s1", f'{{"entries":[{row}],"left":[]}}'.encode())
    with pytest.raises(JournalFailed, match="leads out"):
        trees.restore(name, workspace)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"entries":[[1]],"left":[]}', '{"entries":7,"left":[]}'])
def test_a_blob_that_is_no_tree_is_told(text: str, blobs: Kept, trees: Trees) -> None:
    with pytest.raises(JournalFailed, match="no tree"):
        trees.left_out(blobs.keep("s1", text.encode()))


def test_a_fresh_directory_is_asked_for(trees: Trees, workspace: Workspace, other: Workspace) -> None:
    (other.path / "x").touch()
    with pytest.raises(UsageError, match="not empty"):
        trees.populate(trees.take(workspace), other)


def test_the_difference_is_told_by_path(trees: Trees, workspace: Workspace) -> None:
    top = workspace.path
    fill(top)
    one = trees.take(workspace)
    (top / "a.txt").write_text("two")
    (top / "hollow").rmdir()
    (top / "new").mkdir()
    os.utime(top / "sub", ns=(1, 1))
    (top / "link").unlink()
    (top / "link").write_text("x")
    (top / "empty").chmod(0o600)
    two = trees.take(workspace)
    forth: dict[str, tuple[str, str]] = {
        "a.txt": ("changed", "file"),
        "empty": ("changed", "file"),
        "hollow": ("removed", "dir"),
        "link": ("changed", "file"),
        "new": ("added", "dir"),
    }
    assert {change.path: (change.what, change.kind) for change in trees.difference(one, two)} == forth
    assert [change.what[0] for change in trees.difference(two, one)] == ["c", "c", "a", "c", "r"]
    assert trees.difference(one, one) == ()
    assert trees.difference(EMPTY, EMPTY) == ()
    assert FileChange(path="a.txt", what="removed", kind="file") in trees.difference(one, EMPTY)


# what it costs


@pytest.fixture
def old(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if every file had been left alone for a while: right after a change its times say too little."""
    monkeypatch.setattr(workspace_reader, "RECENT_NS", -(10**18))


@pytest.mark.usefixtures("old")
def test_a_file_that_did_not_change_is_not_read_again(blobs: Kept, trees: Trees, workspace: Workspace) -> None:
    fill(workspace.path)
    name = trees.take(workspace)
    kept = blobs.kept
    assert trees.take(workspace) == name
    assert blobs.kept == kept
    (workspace.path / "a.txt").write_text("something longer")
    assert trees.take(workspace) != name
    assert blobs.kept == kept + 2  # that file, and the manifest


def test_a_change_that_leaves_no_trace_on_size_and_time_is_seen(trees: Trees, workspace: Workspace) -> None:
    file = workspace.path / "f"
    names = set[str]()
    for i in range(50):  # faster than the clock of the file system
        file.write_text(f"{i:03}")
        os.utime(file, ns=(1, 1))
        names.add(trees.take(workspace))
    assert len(names) == 50


@pytest.mark.usefixtures("old")
def test_restore_does_not_read_what_did_not_change(blobs: Kept, trees: Trees, workspace: Workspace) -> None:
    fill(workspace.path)
    name = trees.take(workspace)
    (workspace.path / "a.txt").write_text("something longer")
    manifest = blobs.blobs[name]
    blobs.blobs = {name: manifest, hashlib.sha256(b"one").hexdigest(): b"one"}
    trees.restore(name, workspace)
    assert (workspace.path / "a.txt").read_text() == "one"


def many(top: Path, count: int) -> None:
    for i in range(count):
        (top / f"{i:04}").write_text(f"number {i}")


def test_one_change_among_many_files_costs_a_short_manifest(
    trees: Trees, blobs: Kept, workspace: Workspace, other: Workspace
) -> None:
    many(workspace.path, 500)
    whole = trees.take(workspace)
    (workspace.path / "0007").write_text("changed")
    (workspace.path / "0008").unlink()
    name = trees.take(workspace)
    assert len(blobs.blobs[name]) < 600 < 30_000 < len(blobs.blobs[whole])
    before = seen(workspace.path)
    Trees(blobs, "s1").populate(name, other)
    assert seen(other.path) == before


def test_every_tree_of_a_long_session_can_be_restored_from_few_blobs(
    trees: Trees, blobs: Kept, workspace: Workspace, other: Workspace
) -> None:
    top = workspace.path
    many(top, 300)
    kept: list[tuple[str, dict[str, tuple[object, ...]]]] = []
    for i in range(200):
        (top / f"{(i * 37) % 300:04}").write_text(f"changed {i}")
        (top / "new").mkdir(exist_ok=True)
        (top / "new" / str(i)).touch()
        if i % 3 == 0:
            (top / "new" / str(i)).unlink()
        name = trees.take(workspace)
        if i % 20 == 0 or i > 195:
            kept.append((name, seen(top)))
    written = sum(len(blob) for blob in blobs.blobs.values() if blob.startswith(b'{"entries"'))
    assert written < 200 * 15_000 < 200 * 300 * 100  # a whole manifest each time would be twice as much
    for name, before in kept:
        parts = manifests.decoded(name, blobs.blob(name)).parts
        assert len(parts) <= 10
        Trees(blobs, "s1").restore(name, other)
        assert seen(other.path) == before


def test_the_difference_of_trees_taken_here_reads_nothing(trees: Trees, blobs: Kept, workspace: Workspace) -> None:
    many(workspace.path, 100)
    one = trees.take(workspace)
    (workspace.path / "0001").write_text("changed")
    (workspace.path / "new").touch()
    trees.take(workspace)
    (workspace.path / "new").unlink()
    (workspace.path / "0002").unlink()
    three = trees.take(workspace)
    expected = Trees(blobs, "s1").difference(one, three)
    assert [(change.path, change.what) for change in expected] == [("0001", "changed"), ("0002", "removed")]
    blobs.blobs.clear()
    assert trees.difference(one, three) == expected


def test_a_take_that_could_not_be_kept_is_made_good_by_the_next(
    trees: Trees, blobs: Kept, workspace: Workspace, other: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    many(workspace.path, 100)
    trees.take(workspace)
    (workspace.path / "0001").write_text("changed")

    def fail(session: str, content: bytes) -> str:
        raise JournalFailed("the disk is full")

    monkeypatch.setattr(blobs, "keep", fail)
    with pytest.raises(JournalFailed, match="full"):
        trees.take(workspace)
    monkeypatch.undo()
    name = trees.take(workspace)
    before = seen(workspace.path)
    Trees(blobs, "s1").populate(name, other)
    assert seen(other.path) == before


@pytest.mark.parametrize("parts", ['"abc"', '["{delta}"]', "[{many}]", "[7]", '["absent"]'])
def test_a_manifest_of_parts_that_do_not_fit_is_refused(parts: str, blobs: Kept, trees: Trees) -> None:
    whole = blobs.keep("s1", b'{"entries":[],"left":[]}')
    delta = blobs.keep("s1", f'{{"entries":[],"left":[],"gone":[],"parts":["{whole}"]}}'.encode())
    many = ",".join([f'"{whole}"'] * (manifests.MOST_PARTS + 1))
    told = parts.replace("{delta}", delta).replace("{many}", many)
    name = blobs.keep("s1", f'{{"entries":[],"left":[],"gone":[],"parts":{told}}}'.encode())
    with pytest.raises(JournalFailed):
        trees.left_out(name)


def test_two_workspaces_are_taken_side_by_side(trees: Trees, workspace: Workspace, other: Workspace) -> None:
    many(workspace.path, 3)
    one = trees.take(workspace)
    assert trees.take(other) == EMPTY
    assert trees.take(workspace) == one


# hostile workspaces


def test_what_is_no_file_is_left_out_and_told_and_left_alone(trees: Trees, workspace: Workspace) -> None:
    top = workspace.path
    (top / "f").write_text("x")
    os.mkfifo(top / "fifo")
    with socket.socket(socket.AF_UNIX) as server:
        here = os.open(top, os.O_PATH)
        server.bind(f"/proc/self/fd/{here}/socket")  # a socket's path has to be short
        os.close(here)
    name = trees.take(workspace)
    assert trees.left_out(name) == ("fifo", "socket")
    (top / "f").write_text("y")
    trees.restore(name, workspace)
    assert (top / "f").read_text() == "x"
    assert stat.S_ISFIFO((top / "fifo").stat().st_mode)


def test_no_symlink_is_followed(trees: Trees, workspace: Workspace, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    top = workspace.path
    os.symlink(outside, top / "dir")
    os.symlink(outside / "secret", top / "file")
    name = trees.take(workspace)
    assert {change.kind for change in trees.difference(EMPTY, name)} == {"link"}

    (top / "dir").unlink()
    (top / "dir").mkdir()
    (top / "dir" / "made").write_text("mine")
    (top / "file").unlink()
    (top / "file").write_text("mine")
    mine = trees.take(workspace)
    trees.restore(name, workspace)
    trees.restore(mine, workspace)  # now over symlinks that lead out
    assert sorted(os.listdir(outside)) == ["secret"]
    assert (outside / "secret").read_text() == "secret"
    assert (top / "dir" / "made").read_text() == "mine"


def test_a_hard_link_becomes_a_file_of_its_own(trees: Trees, workspace: Workspace, other: Workspace) -> None:
    (workspace.path / "a").write_text("x")
    os.link(workspace.path / "a", workspace.path / "b")
    trees.populate(trees.take(workspace), other)
    assert (other.path / "a").stat().st_nlink == 1
    assert (other.path / "b").read_text() == "x"


def test_hard_links_and_holes_count_by_what_a_restore_would_write(blobs: Kept, workspace: Workspace) -> None:
    trees = Trees(blobs, "s1", Limits(workspace_mb=4))
    with open(workspace.path / "hole", "wb") as hole:
        hole.truncate(3 << 20)
    for i in range(5):
        os.link(workspace.path / "hole", workspace.path / f"link{i}")
    with open(workspace.path / "vast", "wb") as vast:
        vast.truncate(1 << 40)
    name = trees.take(workspace)
    assert len(trees.left_out(name)) == 6
    assert "vast" in trees.left_out(name)
    before = seen_sizes(workspace.path)
    trees.restore(name, workspace)
    assert seen_sizes(workspace.path) == before


def seen_sizes(top: Path) -> dict[str, int]:
    return {path.name: path.stat().st_size for path in top.iterdir()}


def test_a_deep_tree_is_taken_down_to_its_bound_and_the_rest_left_alone(trees: Trees, workspace: Workspace) -> None:
    here = os.open(workspace.path, os.O_RDONLY)
    for _ in range(300):
        os.mkdir("d" * 200, dir_fd=here)
        below = os.open("d" * 200, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    name = trees.take(workspace)
    (left,) = trees.left_out(name)
    assert left.count("/") == workspace_reader.DEEPEST
    size = workspace.size().files
    trees.restore(name, workspace)
    assert workspace.size().files == size == 300


def test_many_entries_are_taken_up_to_their_bound_and_the_rest_left_alone(
    trees: Trees, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workspace_reader, "FILES", 50)
    for i in range(60):
        (workspace.path / str(i)).write_text(str(i))
    name = trees.take(workspace)
    assert trees.left_out(name) == ("",)
    (workspace.path / "new").touch()
    trees.restore(name, workspace)
    assert len(os.listdir(workspace.path)) == 61


def test_paths_are_bounded_all_together(trees: Trees, workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace_reader, "PATHS", 2000)
    for i in range(60):
        (workspace.path / f"{i:0100}").touch()
    name = trees.take(workspace)
    assert "" in trees.left_out(name)
    assert len(trees.difference(EMPTY, name)) < 30


def test_what_is_closed_by_its_mode_is_taken_and_stays_closed(
    trees: Trees, workspace: Workspace, other: Workspace
) -> None:
    top = workspace.path
    (top / "dir").mkdir()
    (top / "dir" / "f").write_text("x")
    (top / "dir" / "f").chmod(0)
    (top / "dir").chmod(0)
    name = trees.take(workspace)
    assert trees.left_out(name) == ()
    assert stat.S_IMODE((top / "dir").stat().st_mode) == 0
    trees.populate(name, other)
    assert stat.S_IMODE((other.path / "dir").stat().st_mode) == 0
    (other.path / "dir").chmod(0o700)
    assert stat.S_IMODE((other.path / "dir" / "f").stat().st_mode) == 0
    (other.path / "dir" / "f").chmod(0o600)
    assert (other.path / "dir" / "f").read_text() == "x"
    trees.restore(name, other)
    assert stat.S_IMODE((other.path / "dir").stat().st_mode) == 0


@as_root
def test_what_is_restored_belongs_to_the_guest(trees: Trees, workspace: Workspace, other: Workspace) -> None:
    fill(workspace.path)
    trees.populate(trees.take(workspace), other)
    assert {path.lstat().st_uid for path in other.path.rglob("*")} == {GUEST_UID}


def test_set_id_bits_are_not_kept(trees: Trees, workspace: Workspace, other: Workspace) -> None:
    (workspace.path / "f").touch()
    (workspace.path / "f").chmod(0o6755)
    trees.populate(trees.take(workspace), other)
    assert stat.S_IMODE((other.path / "f").stat().st_mode) == 0o755


Change = Callable[[Path, int], None]


def grow(top: Path, i: int) -> None:
    with open(top / "f", "ab") as file:
        file.write(b"x" * 5000)
    if i % 50 == 0:
        os.truncate(top / "f", 0)


def swap(top: Path, i: int) -> None:
    """A file, a directory, a symlink that leads out: the same name, again and again."""
    path = top / "swapped"
    passing = top / "passing"
    if i % 3 == 0:
        with open(passing, "x") as file:  # not through a symlink that a restore has put there
            file.write("mine")
    elif i % 3 == 1:
        os.symlink(top.parent / "outside", passing)
    else:
        os.symlink(top.parent / "outside" / "secret", passing)
    os.replace(passing, path)


def move(top: Path, i: int) -> None:
    """A directory whose place is taken by a symlink that leads out."""
    if (top / "d").is_symlink():
        (top / "d").unlink()
        os.rename(top / "kept", top / "d")
    else:
        os.makedirs(top / "d" / "e", exist_ok=True)
        (top / "d" / "e" / "f").write_text(str(i))
        os.rename(top / "d", top / "kept")
        os.symlink(top.parent / "outside", top / "d")


@pytest.mark.parametrize("change", [grow, swap, move])
def test_a_guest_that_changes_everything_meanwhile_harms_itself_only(
    change: Change, trees: Trees, blobs: Kept, workspace: Workspace, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    stop = threading.Event()

    def fight() -> None:
        i = 0
        while not stop.is_set():
            i += 1
            try:
                change(workspace.path, i)
            except OSError:
                continue  # the host was faster

    guest = threading.Thread(target=fight)
    guest.start()
    try:
        for _ in range(60):
            name = trees.take(workspace)
            try:
                trees.restore(name, workspace)
            except PlatformError:
                continue
    finally:
        stop.set()
        guest.join()
    assert sorted(os.listdir(outside)) == ["secret"]
    assert (outside / "secret").read_text() == "secret"
    assert b"secret" not in blobs.blobs.values()
