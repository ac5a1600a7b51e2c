"""A file that is full, removed or replaced under a session: what is said, and what helps."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cellwright import Runtime
from cellwright.errors import JournalFailed
from cellwright.store import SqliteStore

pytestmark = pytest.mark.usefixtures("warm")
CALLS = 2_000  # more than are made in the moment for which nobody looks
LARGE = "print('x' * 900_000)"


class SmallDisk(SqliteStore):
    """A file that takes no more pages while it is full."""

    def fill(self) -> None:
        self._read("pragma max_page_count = 1")

    def make_room(self) -> None:
        self._read("pragma max_page_count = 1000000")


@pytest.fixture
def store(tmp_path: Path) -> Any:
    made = SmallDisk(tmp_path / "j.db")
    yield made
    made.close()


async def test_after_a_full_disk_the_same_runtime_goes_on_when_there_is_room(store: SmallDisk) -> None:
    async with Runtime(store=store, session="s1") as rt:
        (await rt.execute("x = 1")).unwrap()
        store.fill()
        for _ in range(2):
            with pytest.raises(JournalFailed, match="make room, then resume"):
                await rt.execute(f"x += 1\n{LARGE}")
        store.make_room()
        assert (await rt.outcome()).ok  # the cell that was cut off, once
        assert (await rt.execute("x")).unwrap() == 2


async def test_an_attempt_to_go_on_that_fails_half_way_is_made_again(store: SmallDisk, monkeypatch: Any) -> None:
    def unreadable(*args: object) -> Any:
        raise JournalFailed("the disk cannot be read")

    async with Runtime(store=store, session="s1") as rt:
        (await rt.execute("x = 1")).unwrap()
        store.fill()
        with pytest.raises(JournalFailed, match="make room, then resume"):
            await rt.execute(f"x += 1\n{LARGE}")
        store.make_room()
        with monkeypatch.context() as broken:
            broken.setattr(store, "cells", unreadable)  # read when the session is claimed already
            with pytest.raises(JournalFailed, match="cannot be read"):
                await rt.execute("x")
        assert (await rt.execute("x")).unwrap() == 2


async def test_after_a_full_disk_nobody_finds_the_session_busy(store: SmallDisk) -> None:
    async with asyncio.timeout(20), Runtime(store=store, session="s1") as rt:
        (await rt.execute("x = 1")).unwrap()
        store.fill()
        with pytest.raises(JournalFailed, match="make room, then resume"):
            await rt.execute(LARGE)
        store.make_room()
        async with Runtime.resume("s1", store=store) as again:  # of this process, although the other is open
            assert (await again.execute("x")).unwrap() == 1
            store.fill()
            with pytest.raises(JournalFailed):
                await again.execute(LARGE.replace("x", "y"))
            while store.summary("s1").holder is not None:  # so that another process may have it
                await asyncio.to_thread(store.summary, "s1")
            store.make_room()


async def test_a_file_that_was_locked_for_too_long_is_tried_again(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("cellwright.store.sqlite_database.BUSY_S", 0.05)
    async with Runtime(store=f"sqlite:///{tmp_path / 'j.db'}") as rt:
        (await rt.execute("x = 1")).unwrap()
        other = sqlite3.connect(tmp_path / "j.db", isolation_level=None)
        other.execute("begin immediate")
        with pytest.raises(JournalFailed, match="try again"):
            await rt.execute("x")
        other.close()
        assert (await rt.execute("x")).unwrap() == 1


def removed(path: Path) -> None:
    for one in path.parent.glob("j.db*"):
        if one.is_file():
            one.unlink()


def replaced(path: Path) -> None:
    other = path.with_name("other.db")
    SqliteStore(other).close()
    other.rename(path)


def without_its_log(path: Path) -> None:
    path.with_name("j.db-wal").unlink()


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (removed, "the file was removed while it was open"),
        (replaced, "the file was replaced by another while it was open"),
        (without_its_log, "j.db-wal was removed while it was open"),
    ],
)
async def test_a_file_that_is_gone_under_a_session_is_told_at_the_next_write(
    harm: Callable[[Path], None], said: str, tmp_path: Path
) -> None:
    sent: list[int] = []

    def send(n: int) -> None:
        sent.append(n)
        if n == 1:
            harm(tmp_path / "j.db")

    async with Runtime({"send": send}, store=f"sqlite:///{tmp_path / 'j.db'}") as rt:
        (await rt.execute("x = 1")).unwrap()
        for _ in range(2):
            with pytest.raises(JournalFailed, match=said) as told:
                await rt.execute(f"for n in range({CALLS}): send(n)")
            assert "\n" not in str(told.value)
    assert 1 < len(sent) < CALLS


async def test_a_file_that_is_put_back_is_written_again(tmp_path: Path) -> None:
    path, away = tmp_path / "j.db", tmp_path / "away.db"
    async with Runtime(store=f"sqlite:///{path}") as rt:
        (await rt.execute("x = 1")).unwrap()
        path.rename(away)
        with pytest.raises(JournalFailed, match="Put it back"):
            await rt.execute("x")
        away.rename(path)
        assert (await rt.execute("x")).unwrap() == 1
