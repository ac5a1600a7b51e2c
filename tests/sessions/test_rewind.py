"""Rewinding: the same session goes on from an earlier moment, and what came after stays in its history."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.agent.worlds import agent_with
from tests.journal.crash.dying import Mortal
from tests.sessions.worlds import PATIENT, Post, ended, runtime, value

from cellwright import Runtime, operation
from cellwright.errors import JournalFailed, SessionBusy, UsageError
from cellwright.messages import UserMessage
from cellwright.runtime import replay
from cellwright.sessions import Sessions
from cellwright.store import MemoryStore, Note, SqliteStore, Store
from cellwright.testing import code

pytestmark = pytest.mark.usefixtures("warm")
FILES = "import os\n(x, sorted(os.listdir()))"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return SqliteStore(tmp_path / "s.db")


async def test_a_rewound_session_goes_on_from_there_and_effects_stay(store: Store) -> None:
    post = Post()
    async with runtime(store, "s1", post) as rt:
        await value(rt, "x = [post.send('a')]; open('f', 'w').write('1')")
        await value(rt, "x.append(post.send('b')); open('g', 'w').write('2')")
        await value(rt, "x.append(post.send('c'))")
        done = await rt.rewind(1)
        assert (done.to, done.cells, [one.path for one in done.files]) == (1, (2, 3), ["g"])
        assert await value(rt, FILES) == ([1], ["f"])
        assert rt.cells == 4
    assert post.sent == ["a", "b", "c"]
    async with runtime(store, "s1", post, resume=True) as rt:
        assert await value(rt, FILES) == ([1], ["f"])
    assert (await replay("s1", store=store)).same


async def test_what_came_after_is_a_side_branch_of_the_entries(store: Store) -> None:
    async with runtime(store, "s1") as rt:
        await value(rt, "x = 1")
        await value(rt, "x = 2")
        await rt.rewind(1)
        await value(rt, "x = 3")
    entries = store.entries("s1")
    note = next(e for e in entries if isinstance(e.change, Note))
    assert note.parent == ended(store, "s1", 1)
    assert [e.parent for e in entries if e.number > note.number] == [e.number - 1 for e in entries[note.number :]]


async def test_what_was_left_can_be_taken_up_again(store: Store) -> None:
    async with runtime(store, "s1") as rt:
        await value(rt, "x = ['a']; open('a', 'w').close()")
        await value(rt, "x.append('b'); open('b', 'w').close()")
        await value(rt, "x.append('c'); open('c', 'w').close()")
        await rt.rewind(1)
        await value(rt, "x.append('other'); open('other', 'w').close()")
        done = await rt.rewind(3)
        assert (done.cells, done.back) == ((4,), (2, 3))
        assert await value(rt, FILES) == (["a", "b", "c"], ["a", "b", "c"])
        await rt.rewind(entry=ended(store, "s1", 4))
        assert await value(rt, FILES) == (["a", "other"], ["a", "other"])
        await rt.rewind(0)
        assert await value(rt, "'x' in globals()") is False
    assert (await replay("s1", store=store)).same


async def test_a_fork_can_be_rewound_into_what_it_began_with(store: Store) -> None:
    async with runtime(store, "s1") as rt:
        await value(rt, "x = 1")
        await value(rt, "x = 2")
        async with await rt.fork(session="branch") as branch:
            await value(branch, "x = 3")
            await branch.rewind(1)
            assert await value(branch, "x") == 1
            await branch.rewind(2)
            assert await value(branch, "x") == 2
        assert await value(rt, "x") == 2


async def test_a_session_that_nobody_has_open_is_rewound_in_the_store_alone(store: Store) -> None:
    async with runtime(store, "s1") as rt:
        await value(rt, "x = 1; open('f', 'w').write('1')")
        await value(rt, "x = 2; open('f', 'w').write('2'); open('g', 'w').close()")
        with pytest.raises(SessionBusy):
            Sessions(store).rewind("s1", to=1)
        with pytest.raises(SessionBusy):
            Sessions(store).rename("s1", "busy")
    done = Sessions(store).rewind("s1", to=1)
    assert done.cells == (2,)
    if isinstance(store, SqliteStore):  # where files outlive their process
        assert [(one.path, one.what) for one in done.files] == [("f", "changed"), ("g", "removed")]
    async with runtime(store, "s1", resume=True) as rt:
        assert await value(rt, "import os\n(x, open('f').read(), os.listdir())") == (1, "1", ["f"])


async def test_a_rewind_over_nothing_does_nothing_and_a_wrong_one_is_told(store: Store) -> None:
    async with runtime(store, "s1") as rt:
        await value(rt, "x = 1")
        before = len(store.entries("s1"))
        assert str(await rt.rewind(1)) == "rewound to cell 1, 0 cells left, 0 files restored"
        assert len(store.entries("s1")) == before
        for wrong in ({"to": 9}, {"to": -1}, {"entry": 99}, {}, {"to": 1, "entry": 1}):
            with pytest.raises(UsageError):
                await rt.rewind(**wrong)
        assert await value(rt, "x") == 1


async def test_an_agents_session_goes_on_as_before_a_turn(store: Store) -> None:
    agent, model = agent_with(code("x = 1"), "one", code("x = 2"), "two", code("x = x + 10\ndone(x)"), store=store)
    async with agent.session("s1") as session:
        await session.run("first")
        await session.run("second")
        done = await session.rewind(2)
        assert done.cells == (2,)
        assert (await session.run("third", returns=int)).value == 11
    asked = [m.text for m in model.requests[-1].messages if isinstance(m, UserMessage)]
    assert any("first" in text for text in asked)
    assert not any("second" in text for text in asked)
    assert [turn.status for turn in store.turns("s1")] == ["done", "cancelled", "done"]
    assert [line["status"] for line in Sessions(store).chat("s1")] == ["done", "undone", "done"]
    with pytest.raises(UsageError, match="no turn 2 to rewind"):
        async with agent.resume("s1") as session:
            await session.rewind(2)


async def test_a_death_at_any_moment_of_a_rewind_is_gone_on_from(tmp_path: Path) -> None:
    point, told = 0, list[str]()
    while True:
        journal = Mortal(MemoryStore())
        workspace = tmp_path / f"{point}"
        workspace.mkdir()
        options: dict[str, Any] = {"store": journal, "limits": PATIENT, "workspace": workspace}
        died = False
        try:
            async with Runtime(session="s1", **options) as rt:
                await value(rt, "x = [1]; open('f', 'w').write('1')")
                await value(rt, "x.append(2); open('f', 'w').write('2')")
                journal.live_until(point)
                await rt.rewind(1)
        except JournalFailed:
            died = True
        journal.live_until(None)
        async with Runtime.resume("s1", take_over=True, progress=told.append, **options) as rt:
            if died:
                await rt.rewind(1)
            assert await value(rt, "x, open('f').read()") == ([1], "1"), point
        if not died:
            break
        point += 1
    assert point >= 4
    assert "cellwright: session s1: a rewind to cell 1 was not finished; call rewind(to=1) again" in told


async def test_questions_of_what_was_left_are_withdrawn(store: Store) -> None:
    @operation(ask=True)
    def pay(amount: int) -> str:
        """Pays."""
        return f"paid {amount}"

    async with Runtime({"pay": pay}, store=store, session="s1", limits=PATIENT) as rt:
        await value(rt, "x = 1")
        waiting = await rt.execute("pay(3)")
        assert len(waiting.waiting) == 1
        await rt.rewind(1)
        assert await value(rt, "x") == 1
    assert store.questions("s1") == []
    decision = store.question(waiting.waiting[0]).decision
    assert decision is not None
    assert not decision.yes
