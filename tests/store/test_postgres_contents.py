"""Contents of files in PostgreSQL: in pieces, whole, once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.store.postgres_server import Server
from tests.store.test_postgres import facts

from cellwright.errors import JournalFailed, NoSession
from cellwright.store import BlobFiles, digest_of
from cellwright.store.postgres import PostgresStore
from cellwright.store.postgres_database import PIECE


@pytest.fixture
def store(database: str) -> Iterator[PostgresStore]:
    with closing(PostgresStore(database)) as opened:
        opened.create(facts("one"))
        yield opened


def kept(store: PostgresStore, path: Path, size: int) -> tuple[str, int]:
    with path.open("rb") as file:
        return store.keep_file("one", file.fileno(), size)


def copied(store: PostgresStore, path: Path, digest: str, size: int) -> bytes | None:
    with path.open("w+b") as file:
        return path.read_bytes() if store.copy_to(digest, file.fileno(), size) else None


@pytest.mark.parametrize("size", [0, 1, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE + 7])
def test_a_content_of_any_size_comes_back_by_memory_and_by_file(
    size: int, store: PostgresStore, tmp_path: Path
) -> None:
    content = os.urandom(1000) * (size // 1000) + bytes(size % 1000)
    (path := tmp_path / "file").write_bytes(content)
    digest = digest_of(content)
    assert isinstance(store, BlobFiles)
    assert kept(store, path, size + 10) == (digest, size)
    assert kept(store, path, size) == (digest, size)
    assert store.keep("one", content) == digest
    assert store.blob(digest) == content
    assert copied(store, tmp_path / "copy", digest, size) == content
    assert copied(store, tmp_path / "copy", digest, size + 1) is None
    forgotten = store.forget("one")
    assert (forgotten.blobs, forgotten.bytes) == (1, size)


def test_the_first_bytes_of_a_file_can_be_kept_alone(store: PostgresStore, tmp_path: Path) -> None:
    (path := tmp_path / "file").write_bytes(b"first and last")
    assert kept(store, path, 5) == (digest_of(b"first"), 5)


def test_a_file_for_no_session_is_refused_and_leaves_nothing(
    store: PostgresStore, server: Server, shared: str, tmp_path: Path
) -> None:
    (path := tmp_path / "file").write_bytes(b"content")
    with path.open("rb") as file, pytest.raises(NoSession):
        store.keep_file("no such session", file.fileno(), 7)
    assert server.execute(shared, "select count(*) from cellwright.blobs") == [(0,)]


def test_many_are_kept_at_once_and_each_of_them_once(store: PostgresStore, server: Server, shared: str) -> None:
    contents = [bytes([n % 50]) * 10 for n in range(100)]
    store.keep_all("one", contents)
    store.keep_all("one", contents[:3])
    assert [store.blob(digest_of(content)) for content in contents] == contents
    assert server.execute(shared, "select count(*) from cellwright.blobs") == [(50,)]


def test_a_damaged_content_is_told(store: PostgresStore, server: Server, shared: str, tmp_path: Path) -> None:
    digest = store.keep("one", b"what was kept")
    server.execute(shared, "update cellwright.blobs set content = 'what was kepT'::bytea")
    with pytest.raises(JournalFailed, match="is damaged: its content is not what was written"):
        store.blob(digest)
    with pytest.raises(JournalFailed, match="is damaged"):
        copied(store, tmp_path / "copy", digest, 13)
    with pytest.raises(KeyError):
        copied(store, tmp_path / "copy", "no such digest", 13)
