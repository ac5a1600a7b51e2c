"""Removing a session removes its files, blobs and index, and says so."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.sessions.made import session, turn
from tests.sessions.worlds import runtime, value

from cellwright.errors import NoSession, SessionBusy, UsageError
from cellwright.sessions import Sessions
from cellwright.store import MemoryStore, SqliteStore

pytestmark = pytest.mark.usefixtures("warm")


async def test_a_session_goes_with_its_files_blobs_and_index(tmp_path: Path) -> None:
    store, sessions = SqliteStore(tmp_path / "s.db"), Sessions(tmp_path / "s.db")
    for id in ("s1", "s2"):
        async with runtime(store, id) as rt:
            await value(rt, f"walrus = '{id}' * 3000; open('big', 'w').write(walrus * 20); walrus")
    entries = len(store.entries("s1"))
    assert {hit.session for hit in sessions.search("walrus")} == {"s1", "s2"}
    place = tmp_path / "s.db.workspaces"
    assert sorted(one.name for one in place.iterdir()) == ["s1", "s2"]
    gone = sessions.remove("s1")
    assert (gone.sessions, gone.entries) == (("s1",), entries)
    assert min(gone.blobs, gone.bytes, gone.indexed, gone.files) > 0
    assert [one.name for one in place.iterdir()] == ["s2"]
    assert {hit.session for hit in sessions.search("walrus")} == {"s2"}
    with pytest.raises(NoSession):
        sessions.remove("s1")
    async with runtime(store, "s2", resume=True) as rt:
        assert await value(rt, "walrus[:2], len(open('big').read())") == ("s2", 120_000)
    sessions.close()


def test_what_hangs_on_it_is_named_and_goes_when_all_is_meant() -> None:
    store = MemoryStore()
    session(store, "root", turn(1, "x"))
    session(store, "fork", parent="root")
    session(store, "child", child_of="fork")
    session(store, "other")
    with pytest.raises(UsageError, match="forks or children: fork, child"):
        Sessions(store).remove("root")
    assert len(store.sessions()) == 4
    gone = Sessions(store).remove("fork", whole=True)
    assert gone.sessions == ("fork", "child")
    assert set(store.sessions()) == {"root", "other"}


async def test_a_session_that_is_open_is_not_removed_nor_what_it_hangs_on(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s.db")
    async with runtime(store, "s1") as rt:
        await value(rt, "x = 1; open('f', 'w').write('1')")
        async with await rt.fork(session="branch"):
            pass
        with pytest.raises(SessionBusy):
            Sessions(store).remove("s1", whole=True)
        assert await value(rt, "x, open('f').read()") == (1, "1")
    assert set(store.sessions()) == {"s1", "branch"}
    assert Sessions(store).remove("s1", whole=True).sessions == ("s1", "branch")
