"""`rt.files` against paths that lead out and a guest that swaps what they name."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.sandboxes.races import busy, exchange

from cellwright.errors import CellwrightError, PlatformError, UsageError
from cellwright.sandboxes.directory_tree import DiskUsage
from cellwright.sandboxes.files import FileEntry, Files
from cellwright.sandboxes.workspace import Workspace

NOBODY = 65534


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    made = Workspace.create(tmp_path)
    yield made
    made.remove()


@pytest.fixture
def files(workspace: Workspace) -> Files:
    return Files(workspace, most_bytes=1_000_000)


async def test_what_is_written_is_read(files: Files, workspace: Workspace) -> None:
    await files.write("out/deep/a.txt", "grüße")
    await files.write(Path("out/b.bin"), b"\xff\x00")
    assert await files.read_text("out/deep/a.txt") == "grüße"
    assert await files.read("./out//b.bin") == b"\xff\x00"
    assert stat.S_IMODE((workspace.path / "out/b.bin").stat().st_mode) == 0o644
    assert await files.list() == [
        FileEntry(path="out", size=0, is_dir=True),
        FileEntry(path="out/b.bin", size=2, is_dir=False),
        FileEntry(path="out/deep", size=0, is_dir=True),
        FileEntry(path="out/deep/a.txt", size=7, is_dir=False),
    ]
    assert [entry.path for entry in await files.list("out/deep/")] == ["out/deep/a.txt"]


async def test_a_write_replaces_the_name_and_not_what_it_is_linked_to(files: Files, workspace: Workspace) -> None:
    outside = workspace.path.parent / "outside"
    outside.write_text("old")
    os.link(outside, workspace.path / "hard")
    (workspace.path / "soft").symlink_to(outside)
    await files.write("hard", "new")
    await files.write("soft", "new")
    assert outside.read_text() == "old"
    assert await files.read("soft") == b"new"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another uid")
async def test_under_root_what_is_written_belongs_to_the_guest(tmp_path: Path) -> None:
    workspace = Workspace.create(tmp_path, NOBODY)
    await Files(workspace).write("a/b/f", b"")
    for path in ("a", "a/b", "a/b/f"):
        assert (workspace.path / path).stat().st_uid == NOBODY
    workspace.remove()


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../x", "a/../../x", "a\0b", "", ".", "a/", "\ud800", "x/" * 300 + "x"]
)
async def test_a_bad_path_is_refused(files: Files, path: str) -> None:
    for act in (files.read(path), files.write(path, b""), files.delete(path)):
        with pytest.raises(UsageError):
            await act


@pytest.mark.parametrize("path", ["/", "/etc", "..", "a/.."])
async def test_nothing_outside_is_listed(files: Files, path: str) -> None:
    with pytest.raises(UsageError):
        await files.list(path)


async def test_an_absent_file_is_not_found(files: Files, tmp_path: Path) -> None:
    for act in (files.read("a/b"), files.delete("a"), files.list("a"), files.take("a", tmp_path / "out")):
        with pytest.raises(FileNotFoundError, match="not in the workspace"):
            await act
    assert not (tmp_path / "out").exists()


async def test_what_is_no_regular_file_is_refused_at_once(files: Files, workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (workspace.path / "link").symlink_to(tmp_path / "secret")
    (workspace.path / "up").symlink_to("..")
    (workspace.path / "file").touch()
    (workspace.path / "dir").mkdir()
    os.mkfifo(workspace.path / "pipe")
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(workspace.path / "socket"))
    server.close()
    for path in ("link", "up/secret", "file/x", "dir", "pipe", "socket", "n" * 300):
        with pytest.raises(UsageError, match="`"):
            await files.read(path)
    for path in ("up/secret", "file/x", "dir"):
        with pytest.raises(UsageError):
            await files.write(path, b"new")
    assert [entry.path for entry in await files.list()] == ["dir", "file"]
    assert sorted(os.listdir(workspace.path)) == ["dir", "file", "link", "pipe", "socket", "up"]


async def test_a_read_is_bounded(files: Files, workspace: Workspace, tmp_path: Path) -> None:
    with (workspace.path / "huge").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(UsageError, match="at most 1,000,000"):
        await files.read("huge")


async def test_a_file_beyond_what_can_be_read_is_put_and_taken_with_its_holes(
    files: Files, workspace: Workspace, tmp_path: Path
) -> None:
    with (tmp_path / "in").open("wb") as file:
        file.write(b"begin")
        file.seek(1 << 30)
        file.write(b"end")
    await files.put(tmp_path / "in", "big")
    await files.take("big", tmp_path / "out")
    with (tmp_path / "out").open("rb") as file:
        assert file.read(8) == b"begin\0\0\0"
        file.seek(1 << 30)
        assert file.read() == b"end"
    assert (tmp_path / "out").stat().st_blocks * 512 < 1 << 20


async def test_what_does_not_fit_is_refused_before_it_is_written(workspace: Workspace, tmp_path: Path) -> None:
    files = Files(workspace, quota=DiskUsage(bytes=100_000, files=5))
    (tmp_path / "big").write_bytes(os.urandom(90_000))
    await files.put(tmp_path / "big", "one")
    for act in (files.put(tmp_path / "big", "two"), files.write("two", b"x" * 90_000)):
        with pytest.raises(UsageError, match="delete some, or give more"):
            await act
    assert os.listdir(workspace.path) == ["one"]
    await files.delete("one")
    await files.put(tmp_path / "big", "two")
    for i in range(4):
        await files.write(f"{i}", b"x")
    with pytest.raises(UsageError, match="5 of 5 files"):
        await files.write("more", b"x")


async def test_what_the_disk_has_no_room_for_is_told(files: Files, tmp_path: Path) -> None:
    with (tmp_path / "vast").open("wb") as file:
        file.truncate(1 << 43)
    with pytest.raises(PlatformError, match="the disk of the workspace has"):
        await files.put(tmp_path / "vast", "vast")


async def test_bytes_that_are_no_text_say_what_to_use(files: Files) -> None:
    await files.write("b", b"\xff")
    with pytest.raises(UsageError, match="use `read`"):
        await files.read_text("b")


async def test_a_listing_is_bounded(files: Files, workspace: Workspace) -> None:
    for number in range(20):
        (workspace.path / str(number)).touch()
    assert len(await files.list(most=20)) == 20
    with pytest.raises(UsageError, match="more than 19 entries"):
        await files.list(most=19)


async def test_a_name_that_is_no_utf8_can_be_listed_read_and_deleted(files: Files, workspace: Workspace) -> None:
    (workspace.path / os.fsdecode(b"\xff")).write_text("x")
    [entry] = await files.list()
    assert await files.read(entry.path) == b"x"
    await files.delete(entry.path)
    assert await files.list() == []


async def test_delete_takes_a_file_a_link_and_a_whole_directory(files: Files, workspace: Workspace) -> None:
    (workspace.path.parent / "kept").mkdir()
    (workspace.path.parent / "kept/f").touch()
    await files.write("a/b/c", b"")
    await files.write("f", b"")
    (workspace.path / "a/link").symlink_to(workspace.path.parent / "kept")
    (workspace.path / "link").symlink_to(workspace.path.parent / "kept")
    for path in ("a", "f", "link"):
        await files.delete(path)
    assert os.listdir(workspace.path) == []
    assert (workspace.path.parent / "kept/f").exists()


async def test_files_of_the_host_go_in_and_come_out(files: Files, tmp_path: Path) -> None:
    content = os.urandom(900_000)
    (tmp_path / "in").write_bytes(content)
    await files.put(str(tmp_path / "in"), "a/copy")
    await files.take("a/copy", tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == content
    with pytest.raises(UsageError, match="no file of this machine"):
        await files.put(tmp_path, "x")
    with pytest.raises(UsageError, match="cannot be written"):
        await files.take("a/copy", tmp_path / "no/such")
    assert [entry.path for entry in await files.list()] == ["a", "a/copy"]


@pytest.mark.slow
async def test_no_swap_makes_a_read_a_write_or_a_delete_reach_outside(
    files: Files, workspace: Workspace, tmp_path: Path
) -> None:
    secret, place, link = tmp_path / "secret", workspace.path / "place", workspace.path / "link"
    secret.mkdir()
    (secret / "f").write_text("secret")
    (secret / "sub").mkdir()
    place.mkdir()
    (place / "f").write_text("mine")
    link.symlink_to(secret)
    reads = 0
    with busy(lambda: exchange(place, link)) as swaps:
        for round in range(800):
            with contextlib.suppress(CellwrightError, FileNotFoundError):
                await files.write("place/f", "mine")
            with contextlib.suppress(CellwrightError, FileNotFoundError):
                assert await files.read("place/f") == b"mine"
                reads += 1
            with contextlib.suppress(CellwrightError, FileNotFoundError):
                await files.write(f"place/sub/{round}", "mine")
            with contextlib.suppress(CellwrightError, FileNotFoundError):
                await files.delete("place/sub")
            assert all(entry.size != len("secret") for entry in await files.list())
    assert len(swaps) > 50
    assert reads
    assert sorted(os.listdir(secret)) == ["f", "sub"]
    assert os.listdir(secret / "sub") == []
    assert (secret / "f").read_text() == "secret"


@pytest.mark.slow
async def test_a_file_swapped_for_a_symlink_is_never_read_through(
    files: Files, workspace: Workspace, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("secret")
    (workspace.path / "f").write_text("mine")
    (workspace.path / "link").symlink_to(tmp_path / "secret")
    reads = 0
    with busy(lambda: exchange(workspace.path / "f", workspace.path / "link")) as swaps:
        for _ in range(2000):
            with contextlib.suppress(UsageError):
                assert await files.read("f") == b"mine"
                reads += 1
    assert 0 < reads < 2000
    assert len(swaps) > 50
    assert (tmp_path / "secret").read_text() == "secret"
