"""The workspace against a guest that moves, nests, locks and swaps what is in it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.sandboxes.races import busy, exchange

from cellwright.errors import PlatformError, UsageError
from cellwright.sandboxes.directory_tree import DiskUsage
from cellwright.sandboxes.workspace import LEFT_S, Workspace, remove_leftovers, watch

NOBODY = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory to another uid")


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    made = Workspace.create(tmp_path)
    yield made
    with contextlib.suppress(PlatformError):
        made.remove(wait_s=20)


@pytest.fixture
def unprivileged() -> Iterator[None]:
    """Root reads through every mode, so what modes do is tested as somebody else."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def nest(path: Path, depth: int) -> None:
    """Directories inside each other, far beyond what a path can say, each with a file."""
    fd = os.open(path, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=fd)
        below = os.open("d", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
        os.close(os.open("f", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
    os.close(fd)


@pytest.fixture
def few_descriptors() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, soft), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


# --- making one ---


def test_a_new_workspace_is_empty_and_closed_to_others(workspace: Workspace) -> None:
    assert stat.S_IMODE(workspace.path.stat().st_mode) == 0o700
    assert workspace.size() == DiskUsage(bytes=0, files=0)
    assert workspace.fresh


@as_root
def test_under_root_a_new_workspace_belongs_to_the_guest(tmp_path: Path) -> None:
    workspace = Workspace.create(tmp_path, NOBODY)
    assert workspace.path.stat().st_uid == NOBODY
    workspace.remove()


@as_root
def test_under_root_an_empty_directory_is_given_to_the_guest(tmp_path: Path) -> None:
    Workspace.at(tmp_path, NOBODY).close()
    assert tmp_path.stat().st_uid == NOBODY
    (tmp_path / "f").touch()
    Workspace.at(tmp_path, NOBODY).close()


@as_root
@pytest.mark.parametrize("owner", [0, 1234])
def test_under_root_a_full_directory_of_another_is_refused(tmp_path: Path, owner: int) -> None:
    (tmp_path / "f").touch()
    os.chown(tmp_path, owner, owner)
    with pytest.raises(UsageError, match=f"chown -R {NOBODY}"):
        Workspace.at(tmp_path, NOBODY)
    assert (tmp_path / "f").stat().st_uid == os.geteuid()


@pytest.mark.parametrize("name", ["absent", "file"])
def test_what_is_no_directory_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="mkdir -p"):
        Workspace.at(tmp_path / name)


@pytest.mark.parametrize("path", [Path("/"), Path("~")])
def test_the_root_and_the_home_directory_are_refused(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(UsageError, match="a directory of its own"):
        Workspace.at(path)


def test_a_closed_workspace_says_so(tmp_path: Path) -> None:
    workspace = Workspace.at(tmp_path)
    workspace.close()
    workspace.close()
    with pytest.raises(UsageError, match="is closed"):
        workspace.size()
    assert tmp_path.is_dir()


# --- measuring ---


def test_size_counts_disk_and_entries(workspace: Workspace) -> None:
    (workspace.path / "a").mkdir()
    (workspace.path / "a" / "full").write_bytes(b"x" * 1_000_000)
    with (workspace.path / "sparse").open("wb") as file:
        file.truncate(1 << 30)
    usage = workspace.size()
    assert usage.files == 3
    assert 1_000_000 <= usage.bytes < 2_000_000


def test_a_hard_link_counts_once(workspace: Workspace) -> None:
    (workspace.path / "a").write_bytes(b"x" * 100_000)
    alone = workspace.size()
    os.link(workspace.path / "a", workspace.path / "b")
    assert workspace.size() == alone


def test_size_follows_no_symlink(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "big").mkdir()
    for number in range(50):
        (tmp_path / "big" / str(number)).write_bytes(b"x" * 10_000)
    (workspace.path / "link").symlink_to(tmp_path / "big")
    (workspace.path / "loop").symlink_to(".")
    assert workspace.size().files == 2


def test_counting_stops_where_it_is_enough(workspace: Workspace) -> None:
    for number in range(100):
        (workspace.path / str(number)).touch()
    assert 10 < workspace.size(DiskUsage(bytes=1 << 30, files=10)).files < 100


@pytest.mark.slow
@pytest.mark.usefixtures("few_descriptors")
def test_ten_thousand_nested_directories_are_counted_and_removed(workspace: Workspace) -> None:
    nest(workspace.path, 10_000)
    usage = workspace.size()
    assert (usage.files, usage.partial) == (20_000, False)
    workspace.remove()
    assert not workspace.path.exists()


@pytest.mark.usefixtures("few_descriptors")
def test_a_tree_both_deep_and_wide_is_counted_whole(workspace: Workspace) -> None:
    for branch in range(300):
        (workspace.path / "/".join("abcdefghijklmnopqrstu") / str(branch) / "x/y").mkdir(parents=True)
    usage = workspace.size()
    assert (usage.files, usage.partial) == (21 + 300 * 3, False)
    workspace.remove()


@pytest.mark.usefixtures("unprivileged")
@pytest.mark.parametrize("mode", [0o000, 0o100, 0o200, 0o400, 0o500])
def test_a_closed_directory_is_counted_and_removed(mode: int) -> None:
    workspace = Workspace.create()
    inner = workspace.path / "closed" / "inner"
    inner.mkdir(parents=True)
    (inner / "f").write_bytes(b"x" * 100_000)
    for path in (inner, inner.parent, workspace.path):
        path.chmod(mode)
    usage = workspace.size()
    assert usage.files == 3
    assert usage.bytes >= 100_000
    for path in (workspace.path, inner.parent, inner):
        path.chmod(0o700)
    for path in (inner, inner.parent, workspace.path):
        path.chmod(mode)
    workspace.remove()
    assert not os.path.lexists(workspace.path)


# --- removing ---


def test_remove_follows_no_symlink_and_takes_every_kind_of_entry(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "f").write_text("kept")
    (workspace.path / "link").symlink_to(tmp_path / "kept")
    (workspace.path / "broken").symlink_to("nowhere")
    os.mkfifo(workspace.path / "pipe")
    os.mkdir(os.fsencode(workspace.path) + b"/\xff\xfe")
    Path(os.fsdecode(os.fsencode(workspace.path) + b"/\xff\xfe/\x80\n")).touch()
    assert workspace.size().files == 5
    workspace.remove()
    workspace.remove()
    assert not workspace.path.exists()
    assert (tmp_path / "kept" / "f").read_text() == "kept"


def test_remove_gives_up_on_a_guest_that_goes_on_writing(workspace: Workspace) -> None:
    names = iter(range(10**9))
    with busy(lambda: (workspace.path / str(next(names))).touch()), contextlib.suppress(PlatformError):
        workspace.remove(wait_s=0.3)
    workspace.remove()
    assert not workspace.path.exists()


# --- races ---


class Secret:
    """A directory outside, which a swapped symlink points to. Any change to it shows."""

    def __init__(self, path: Path) -> None:
        self.path = path
        (path / "sub").mkdir(parents=True)
        for number in range(200):
            (path / str(number)).write_text("secret")
        (path / "f").write_text("secret")
        path.chmod(0o511)  # a chmod that followed the symlink would add to this
        self.before = self.state()

    def state(self) -> list[tuple[str, int, int, int]]:
        found = [self.path, *sorted(self.path.rglob("*"))]
        return [(str(p), p.stat().st_mode, p.stat().st_mtime_ns, p.stat().st_ctime_ns) for p in found]


def test_a_directory_swapped_for_a_symlink_is_never_counted_through(workspace: Workspace, tmp_path: Path) -> None:
    secret = Secret(tmp_path / "secret")
    place, link = workspace.path / "a/b", workspace.path / "a/link"
    (place / "c").mkdir(parents=True)
    link.symlink_to(secret.path)
    with busy(lambda: exchange(place, link)) as swaps:
        for _ in range(3000):
            assert workspace.size().files <= 4
    assert len(swaps) > 50
    assert secret.state() == secret.before


@pytest.mark.slow
def test_a_directory_swapped_for_a_symlink_is_never_removed_through(tmp_path: Path) -> None:
    secret = Secret(tmp_path / "secret")
    swaps = 0
    for _ in range(300):
        workspace = Workspace.create(tmp_path)
        place, link = workspace.path / "place", workspace.path / "link"
        for number in range(5):
            (place / str(number)).mkdir(parents=True)
        link.symlink_to(secret.path)
        with busy(lambda place=place, link=link: exchange(place, link)) as done:
            while not done:
                pass
            workspace.remove(wait_s=20)
        swaps += len(done)
        assert not workspace.path.exists()
    assert swaps > 300
    assert secret.state() == secret.before


@pytest.mark.slow
def test_directories_moved_up_while_they_are_walked_lead_nowhere_outside(tmp_path: Path) -> None:
    outside = Secret(tmp_path / "side")  # what a walk that went up too far would find under a name that it looks for
    workspace = Workspace.create(tmp_path)
    nest(workspace.path, 60)
    deep = workspace.path
    for _ in range(40):
        deep = deep / "d"
        (deep / "side").mkdir()

    def move() -> None:
        deep.rename(workspace.path / "up")
        (workspace.path / "up").rename(deep)

    partial = 0
    with busy(move) as moves:
        for _ in range(500):
            usage = workspace.size()
            partial += usage.partial
            assert usage.files <= 160
    assert len(moves) > 50
    assert partial
    with busy(move), contextlib.suppress(PlatformError):
        workspace.remove(wait_s=10)
    workspace.remove()
    assert os.listdir(tmp_path) == ["side"]
    assert outside.state() == outside.before


# --- watching ---


async def test_watch_notices_a_writer_and_says_so_once(workspace: Workspace) -> None:
    told: list[DiskUsage] = []
    async with asyncio.timeout(20):
        task = asyncio.create_task(watch(workspace, 1_000_000, 100, told.append))
        for number in range(100):
            if task.done():
                break
            (workspace.path / str(number)).write_bytes(b"x" * 100_000)
            await asyncio.sleep(0)
        await task
    assert len(told) == 1
    assert told[0].bytes > 1_000_000


async def test_watch_notices_many_small_files(workspace: Workspace) -> None:
    told: list[DiskUsage] = []
    for number in range(30):
        (workspace.path / str(number)).touch()
    async with asyncio.timeout(20):
        await watch(workspace, 1 << 30, 20, told.append)
    assert told[0].files > 20


async def test_watch_counts_early_when_the_disk_fills(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cellwright.sandboxes.workspace.LONGEST_S", 3600.0)
    monkeypatch.setattr("cellwright.sandboxes.workspace.RESTS", 10**9)
    counts: list[DiskUsage] = []

    def small_then_full(enough: DiskUsage) -> DiskUsage:
        counts.append(DiskUsage(bytes=10 * len(counts) * enough.bytes, files=1))
        return counts[-1]

    monkeypatch.setattr(workspace, "size", small_then_full)
    monkeypatch.setattr(workspace, "free_bytes", lambda: 10**9 - 10**6 * len(counts))
    async with asyncio.timeout(60):
        await watch(workspace, 1000, 10, lambda usage: None)
    assert len(counts) == 2


async def test_a_tree_that_moves_under_every_count_is_taken_for_too_large(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[DiskUsage] = []
    partial = DiskUsage(bytes=1, files=1, partial=True)

    def size(enough: DiskUsage) -> DiskUsage:
        return partial

    monkeypatch.setattr(workspace, "size", size)
    async with asyncio.timeout(20):
        await watch(workspace, 1000, 10, told.append)
    assert told == [partial]


async def test_watch_ends_when_it_is_cancelled(workspace: Workspace) -> None:
    task = asyncio.create_task(watch(workspace, 1 << 30, 100, lambda usage: pytest.fail("nothing was written")))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_a_workspace_is_made_in_the_temporary_directory_by_default() -> None:
    workspace = Workspace.create()
    assert workspace.path.parent == Path(tempfile.gettempdir()).resolve()
    workspace.remove()


KILLED = """
import os, signal, sys
from pathlib import Path
from cellwright.sandboxes.workspace import Workspace
workspace = Workspace.create(Path(sys.argv[1]))
(workspace.path / "copy").write_text("of a file")
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_process_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False, timeout=60)
    assert killed.returncode == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    own, mine = Workspace.create(tmp_path), tmp_path / "cellwright-ws-notes"
    mine.mkdir()
    remove_leftovers.__wrapped__(tmp_path)
    assert left.exists()  # so young that its process may not hold it yet
    for path in tmp_path.iterdir():
        os.utime(path, (0, time.time() - 2 * LEFT_S))
    remove_leftovers.__wrapped__(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted([own.path, mine])
    own.remove()


def test_a_base_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(PlatformError, match="absent"):
        Workspace.create(tmp_path / "absent")


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    before = set(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").is_dir() else None
    workspace = Workspace.create(tmp_path)
    nest(workspace.path, 100)
    workspace.size()
    workspace.size(DiskUsage(bytes=0, files=30))
    workspace.remove()
    if before is not None:
        assert set(os.listdir("/proc/self/fd")) == before
    shutil.rmtree(tmp_path)


# a volume that cannot be written is told at opening


def volume(**changes: int) -> os.statvfs_result:
    names = ("f_bsize", "f_frsize", "f_blocks", "f_bfree", "f_bavail", "f_files", "f_ffree", "f_favail", "f_flag")
    return os.statvfs_result([*(changes.get(name, 1) for name in names), 255])


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"f_flag": os.ST_RDONLY, "f_bavail": 1}, "is on a read-only volume; mount it writable"),
        ({"f_flag": 0, "f_blocks": 100, "f_bavail": 0}, "is on a volume without free space; free some"),
    ],
)
def test_a_directory_on_a_volume_that_cannot_be_written_is_refused(
    state: dict[str, int], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(fd: int) -> os.statvfs_result:
        return volume(**state)

    monkeypatch.setattr(os, "fstatvfs", told)
    with pytest.raises((UsageError, PlatformError), match=words):
        Workspace.at(tmp_path)


@pytest.mark.usefixtures("unprivileged")
def test_a_directory_that_guests_may_not_write_is_refused() -> None:
    with pytest.raises(UsageError, match=f"/usr cannot be written by uid {os.geteuid()}, as which guests run"):
        Workspace.at(Path("/usr"))


def test_without_a_temporary_directory_the_error_says_what_to_mount(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> str:
        raise FileNotFoundError(2, "No usable temporary directory found in ['/tmp', '/']")

    monkeypatch.setattr(tempfile, "gettempdir", none)
    with pytest.raises(PlatformError, match=r"no writable temporary directory: mount one .*--tmpfs /tmp.*TMPDIR"):
        Workspace.create()
