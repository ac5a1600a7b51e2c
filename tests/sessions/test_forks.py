"""Forks at any entry: the state as it was when that entry was the last. Nothing is copied."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest
from tests.sessions.made import cell, session
from tests.sessions.worlds import Post, ended, runtime, value

from cellwright.errors import NoSession, UsageError
from cellwright.journal import History
from cellwright.journal.rollback import unfinished
from cellwright.runtime import replay
from cellwright.sessions import Sessions
from cellwright.store import CellRow, MemoryStore, SqliteStore, Store

pytestmark = pytest.mark.usefixtures("warm")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return SqliteStore(tmp_path / "s.db")


async def test_a_fork_at_an_entry_has_the_names_and_files_of_then(store: Store) -> None:
    post = Post()
    async with runtime(store, "s1", post) as rt:
        for n in range(3):
            await value(rt, f"x = post.send({n}); open('f', 'w').write('{n}')")
        running = ended(store, "s1", 2) + 1  # cell 3 had begun: it is not part of that moment
        async with await rt.fork(entry=running, session="early") as early:
            assert await value(early, "x, open('f').read()") == (2, "1")
            assert early.cells == 3
    assert (await replay("early", store=store)).same
    assert post.sent == [0, 1, 2]


async def test_a_fork_at_an_entry_has_what_was_rolled_back_later(store: Store) -> None:
    async with runtime(store, "s1") as rt:
        await value(rt, "x = 1")
        await value(rt, "x = 2; open('f', 'w').write('2')")
        await rt.rollback(1)
        assert await value(rt, "x") == 1
        async with await rt.fork(entry=ended(store, "s1", 2)) as branch:
            assert await value(branch, "x, open('f').read()") == (2, "2")


async def test_a_fork_keeps_what_it_began_with_when_its_parent_goes_back(store: Store) -> None:
    async with runtime(store, "s1") as rt:
        await value(rt, "x = 1")
        await value(rt, "x = 2")
        async with await rt.fork(session="branch") as branch:
            await value(branch, "y = x")
        await rt.rollback(0)
    async with runtime(store, "branch", resume=True) as branch:
        assert await value(branch, "x, y") == (2, 2)
        assert branch.restored is not None
        assert branch.restored.diverged is None


async def test_a_fork_that_was_made_in_the_store_alone_opens_with_its_names_and_files(store: Store) -> None:
    async with runtime(store, "s1") as rt:
        await value(rt, "x = [1]; open('f', 'w').write('one')")
        await value(rt, "x.append(2); open('f', 'w').write('two'); open('g', 'w').write('g')")
    sessions = Sessions(store)
    first, whole = sessions.fork("s1", at=1), sessions.fork("s1", name="try-2")
    twice = sessions.fork(first)
    files = "import os\n(x, open('f').read(), sorted(os.listdir()))"
    for id, wanted in {
        first: ([1], "one", ["f"]),
        whole: ([1, 2], "two", ["f", "g"]),
        twice: ([1], "one", ["f"]),
    }.items():
        async with runtime(store, id, resume=True) as rt:
            assert await value(rt, files) == wanted
        assert (await replay(id, store=store)).same
    assert store.summary(whole).name == "try-2"


async def test_a_fork_at_an_undone_cell_begins_as_that_cell_ended(store: Store) -> None:
    async with runtime(store, "s1") as rt:
        await value(rt, "x = 1")
        await value(rt, "x = 2")
        await rt.rollback(1)
    branch = Sessions(store).fork("s1", at=2)
    async with runtime(store, branch, resume=True) as rt:
        assert await value(rt, "x") == 2


async def test_a_fork_copies_nothing(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s.db")
    async with runtime(store, "s1") as rt:
        for n in range(5):
            await value(rt, f"x = '{n}' * 100_000; open('f{n}', 'w').write(x)")

    def counts() -> dict[str, int]:
        with sqlite3.connect(tmp_path / "s.db") as file:
            return {name: file.execute(f"select count(*) from {name}").fetchone()[0] for name in ("entries", "blobs")}

    before = counts()
    Sessions(store).fork("s1")
    assert counts() == before
    Sessions(store).fork("s1", entry=4, name="named")
    assert counts() == {"entries": before["entries"] + 1, "blobs": before["blobs"]}  # its name


async def test_a_session_that_runs_can_be_forked_at_a_past_entry(store: Store) -> None:
    post = Post()
    async with runtime(store, "s1", post) as rt:
        await value(rt, "x = post.send('first')")
        cell = asyncio.create_task(rt.execute("x = await post.hold('slow')"))
        await asyncio.wait_for(post.waits.wait(), 20)
        last = store.entries("s1")[-1]
        assert any(isinstance(e.change, CellRow) and e.change.status == "running" for e in store.entries("s1"))
        branch = Sessions(store).fork("s1", entry=last.number)
        async with runtime(store, branch, post, resume=True) as other:
            assert await value(other, "x") == 1
        post.gate.set()
        assert (await cell).unwrap() == "held slow"
    assert post.sent == ["first"]


async def test_what_is_not_there_is_told(store: Store) -> None:
    async with runtime(store, "s1") as rt:
        await value(rt, "1")
        with pytest.raises(UsageError, match="has no entry 99; its last one is 2"):
            await rt.fork(entry=99)
        with pytest.raises(UsageError, match="not both"):
            await rt.fork(at=1, entry=1)
    sessions = Sessions(store)
    with pytest.raises(UsageError, match="has no entry 99"):
        sessions.fork("s1", entry=99)
    with pytest.raises(UsageError, match="has no cell 7"):
        sessions.fork("s1", at=7)
    with pytest.raises(UsageError, match="already"):
        sessions.fork("s1", id="s1")
    with pytest.raises(NoSession, match="there is no session 'nobody'"):
        sessions.fork("nobody")


def test_a_fork_at_any_entry_of_rewinds_has_cells_that_were_there_together() -> None:
    store = MemoryStore()
    session(store, "s1", *(cell(number, str(number)) for number in (1, 2, 3, 4)))
    sessions = Sessions(store)
    sessions.rewind("s1", to=2)
    sessions.rewind("s1", to=4)
    sessions.rewind("s1", to=1)
    together: list[list[int]] = []
    for entry in range(store.summary("s1").entries + 1):
        branch = History(store, sessions.fork("s1", entry=entry))
        numbers = [one.number for one in branch.state]
        together += [numbers] if together[-1:] != [numbers] else []
        assert not unfinished(branch)
    assert together == [[], [1], [1, 2], [1, 2, 3], [1, 2, 3, 4], [1, 2], [1, 2, 3], [1, 2, 3, 4], [1]]


def test_a_fork_of_a_fork_that_had_nothing_yet_stays_when_that_one_goes_back() -> None:
    store = MemoryStore()
    session(store, "s1", *(cell(number, str(number)) for number in (1, 2, 3)))
    sessions = Sessions(store)
    parent = sessions.fork("s1")
    early = [sessions.fork(parent), sessions.fork(parent, entry=0), sessions.fork(parent, at=2)]
    sessions.rewind(parent, to=1)
    early.append(sessions.fork(parent, entry=0))
    sessions.rewind("s1", to=1)
    assert [[one.number for one in History(store, id).state] for id in early] == [
        [1, 2, 3],
        [1, 2, 3],
        [1, 2],
        [1, 2, 3],
    ]
