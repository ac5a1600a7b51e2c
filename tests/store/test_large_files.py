"""Contents too large for a row: files by digest beside the store, there with their row, and gone with it."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cellwright.errors import JournalFailed
from cellwright.store import Checkpoint, DroppedCheckpoint, Facts, SqliteStore, digest_of, large_files
from cellwright_guest.wire import NOTHING

LARGE = large_files.LARGE


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "agents.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    made = SqliteStore(path)
    for session in ("s1", "s2"):
        made.create(Facts(id=session, created=1.0, seed=bytes(32), pins={}, names=NOTHING))
    yield made
    made.close()


def kept(path: Path) -> list[str]:
    place = path.with_name(f"{path.name}.blobs")
    return sorted(os.listdir(place)) if place.is_dir() else []


def test_a_large_content_is_a_file_and_a_small_one_a_row(store: SqliteStore, path: Path) -> None:
    large, small = os.urandom(LARGE), os.urandom(LARGE - 1)
    digests = [store.keep("s1", content) for content in (large, small)]
    assert kept(path) == [digests[0]]
    assert [store.blob(digest) for digest in digests] == [large, small]
    assert digests == [digest_of(large), digest_of(small)]


def test_a_file_goes_in_and_comes_out_without_being_in_memory(store: SqliteStore, path: Path, tmp_path: Path) -> None:
    content = os.urandom(3 * LARGE + 17)
    (tmp_path / "in").write_bytes(content)
    with open(tmp_path / "in", "rb") as source:
        digest, size = store.keep_file("s1", source.fileno(), len(content))
    assert (digest, size) == (digest_of(content), len(content))
    for name in (digest, store.keep("s1", b"small")):
        with open(tmp_path / name, "wb") as target:
            assert not store.copy_to(name, target.fileno(), 4)
            assert store.copy_to(name, target.fileno(), len(store.blob(name)))
        assert (tmp_path / name).read_bytes() == store.blob(name)
    with open(tmp_path / "in", "rb") as source:
        assert store.digest_file(source.fileno(), 10) == digest_of(content[:10])
    with pytest.raises(KeyError), open(tmp_path / "none", "wb") as target:
        store.copy_to("0" * 64, target.fileno(), 1)


def test_a_content_is_kept_once_and_until_nobody_needs_it(store: SqliteStore, path: Path) -> None:
    content = os.urandom(LARGE)
    for session in ("s1", "s2"):
        store.keep(session, content)
    assert len(kept(path)) == 1
    store.forget("s1")
    assert store.blob(digest_of(content)) == content
    assert store.forget("s2").bytes >= LARGE
    assert kept(path) == []


def test_a_checkpoint_that_is_dropped_takes_its_file_along(store: SqliteStore, path: Path) -> None:
    content = os.urandom(LARGE)
    claim = store.claim("s1")
    store.write(claim, Checkpoint(cell=1, digest=digest_of(content), signature="s", content=content))
    assert len(kept(path)) == 1
    store.write(claim, DroppedCheckpoint(cell=1))
    assert kept(path) == []


def test_a_file_that_is_gone_is_told_and_comes_back_when_it_is_kept_again(store: SqliteStore, path: Path) -> None:
    content = os.urandom(LARGE)
    digest = store.keep("s1", content)
    file = path.with_name("agents.db.blobs") / digest
    file.unlink()
    with pytest.raises(JournalFailed, match="put that directory back beside the journal"):
        store.blob(digest)
    store.keep("s1", content)
    assert store.blob(digest) == content


def test_a_file_that_was_cut_is_whole_again_when_it_is_kept_again(store: SqliteStore, path: Path) -> None:
    content = os.urandom(LARGE)
    digest = store.keep("s1", content)
    os.truncate(path.with_name("agents.db.blobs") / digest, 100)
    store.keep("s2", content)
    assert store.blob(digest) == content


def test_a_session_is_forgotten_also_where_a_file_of_it_cannot_be_removed(store: SqliteStore, path: Path) -> None:
    digest = store.keep("s1", os.urandom(LARGE))
    (path.with_name("agents.db.blobs") / digest).unlink()
    (path.with_name("agents.db.blobs") / digest).mkdir()
    assert store.forget("s1").blobs == 1
    assert store.sessions() == ["s2"]


def test_a_file_that_was_changed_is_not_taken_for_what_was_kept(store: SqliteStore, path: Path, tmp_path: Path) -> None:
    digest = store.keep("s1", os.urandom(LARGE))
    (path.with_name("agents.db.blobs") / digest).write_bytes(os.urandom(LARGE))
    with pytest.raises(JournalFailed, match="damaged"):
        store.blob(digest)
    with pytest.raises(JournalFailed, match="damaged"), open(tmp_path / "out", "wb") as target:
        store.copy_to(digest, target.fileno(), LARGE)


def test_what_a_crash_left_is_swept_by_the_next_removal(store: SqliteStore, path: Path) -> None:
    place = path.with_name("agents.db.blobs")
    store.keep("s1", os.urandom(LARGE))
    store.keep("s2", other := os.urandom(LARGE))
    for name in ("0" * 64, f"{large_files.PASSING}x", f"{large_files.PASSING}young"):
        (place / name).touch()
    old = time.time() - 2 * large_files.OLD_S
    for name in os.listdir(place):
        if "young" not in name:
            os.utime(place / name, (old, old))
    store.forget("s1")
    assert kept(path) == sorted([f"{large_files.PASSING}young", digest_of(other)])


@pytest.mark.parametrize("digest", ["../agents.db", "/etc/passwd", "x" * 64])
def test_a_strangers_row_leads_to_no_other_file(digest: str, store: SqliteStore, path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("insert into blobs (digest, content) values (?, '5')", (digest,))
    connection.close()
    with pytest.raises(JournalFailed):
        store.blob(digest)


def test_a_symlink_in_the_place_of_a_file_is_not_followed(store: SqliteStore, path: Path, tmp_path: Path) -> None:
    digest = store.keep("s1", content := os.urandom(LARGE))
    file = path.with_name("agents.db.blobs") / digest
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(JournalFailed):
        store.blob(digest)
    assert (tmp_path / "elsewhere").read_bytes() == content


DROPS = """
import os, signal, sys
from cellwright.store import SqliteStore, large_files
path, moment, *digests = sys.argv[1:]
store = SqliteStore(path)
claim = store.claim("s1")
def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)
if moment == "files":
    large_files.LargeFiles.remove = die
else:
    store.on_write = lambda number, now: now == moment and die()
store.drop(claim, digests)
"""


@pytest.mark.parametrize(("moment", "dropped"), [("before", False), ("files", True), ("after", True)])
def test_a_kill_while_contents_are_dropped_leaves_all_or_none(
    moment: str, dropped: bool, store: SqliteStore, path: Path
) -> None:
    large, small = contents = [os.urandom(LARGE), os.urandom(10)]
    store.keep_all("s1", contents)
    digests = [digest_of(large), digest_of(small)]
    done = subprocess.run([sys.executable, "-c", DROPS, str(path), moment, *digests])
    assert done.returncode == -signal.SIGKILL
    assert store.held("s1") == (0 if dropped else LARGE + 10)
    assert store.lacking(digests) == (set(digests) if dropped else set())
    store.keep_all("s1", contents)  # also where the file was left behind
    assert [store.blob(digest) for digest in digests] == contents
    store.drop(store.claim("s1"), digests)
    assert kept(path) == []
