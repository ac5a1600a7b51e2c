"""Forks: a session that begins as another was after a cell. Neither sees what the other does from then on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.journal.lasting import PATIENT, SESSION, Sessions, run, value

from cellwright import Runtime
from cellwright.errors import UsageError
from cellwright.runtime import replay
from cellwright.store import SqliteStore

pytestmark = pytest.mark.usefixtures("warm")


@asynccontextmanager
async def branch_of(rt: Runtime, **options: Any) -> AsyncGenerator[Runtime]:
    """A fork, which is open when it is made."""
    branch = await rt.fork(**options)
    try:
        yield branch
    finally:
        await branch.close()


class Post:
    def __init__(self) -> None:
        self.sent: list[Any] = []
        self.gate = asyncio.Event()

    def send(self, what: Any) -> int:
        self.sent.append(what)
        return len(self.sent)

    async def hold(self, what: Any) -> str:
        await self.gate.wait()
        return f"held {what}"


async def test_branches_do_not_see_each_other(sessions: Sessions) -> None:
    post = Post()
    async with sessions.life(scope={"post": post}) as rt:
        await value(rt, "x = [post.send('a')]; open('f', 'w').write('trunk')")
        async with branch_of(rt, session="left") as left, branch_of(rt, session="right") as right:
            await value(left, "x.append('left'); open('f', 'w').write('left')")
            await value(right, "x.append('right'); open('f', 'a').write(' right')")
            await value(rt, "x.append('trunk')")
            assert await value(left, "(x, open('f').read())") == ([1, "left"], "left")
            assert await value(right, "(x, open('f').read())") == ([1, "right"], "trunk right")
            assert await value(rt, "(x, open('f').read())") == ([1, "trunk"], "trunk")
    assert post.sent == ["a"]
    for one in (SESSION, "left", "right"):
        assert (await replay(one, store=sessions.journal)).same


async def test_a_fork_at_an_earlier_cell_has_the_names_and_files_of_then(sessions: Sessions) -> None:
    post = Post()
    async with sessions.life(scope={"post": post}) as rt:
        for n in range(4):
            await value(rt, f"x = post.send({n}); open('f', 'w').write('{n}')")
        async with branch_of(rt, at=2, session="early") as early:
            assert await value(early, "(x, open('f').read())") == (2, "1")
            assert await value(early, "x = post.send('new')") == 5
            assert sessions.journal.cells("early")[0].number == 3
    async with sessions.life("early", scope={"post": post}, workspace=None) as early:
        assert await value(early, "x") == 5
    assert post.sent == [0, 1, 2, 3, "new"]


async def test_a_fork_of_a_fork_has_what_both_did_before(sessions: Sessions) -> None:
    async with sessions.life() as rt:
        await value(rt, "x = ['a']")
        async with branch_of(rt, session="child") as child:
            await value(child, "x.append('b')")
            async with branch_of(child, session="grandchild") as grandchild:
                await value(grandchild, "x.append('c')")
            await value(child, "x.append('d')")
            async with branch_of(child, at=1, session="other") as other:
                assert await value(other, "x") == ["a"]
    async with sessions.life("grandchild", workspace=None) as rt:
        assert await value(rt, "x") == ["a", "b", "c"]
    async with sessions.life("child", workspace=None) as rt:
        assert await value(rt, "x") == ["a", "b", "d"]


async def test_two_forks_do_not_make_the_same_ids(sessions: Sessions) -> None:
    made: list[str] = []
    async with sessions.life() as rt:
        await value(rt, "import uuid, secrets")
        for _ in range(2):
            async with branch_of(rt) as branch:
                made += await value(branch, "[str(uuid.uuid4()), secrets.token_hex(4)]")
        made += await value(rt, "[str(uuid.uuid4()), secrets.token_hex(4)]")
    assert len(set(made)) == len(made)


async def test_a_call_under_way_in_the_trunk_is_in_doubt_in_the_branch(sessions: Sessions) -> None:
    post = Post()
    async with sessions.life(scope={"post": post}) as rt:
        await value(
            rt,
            """
            import asyncio
            said = []
            async def work():
                try:
                    said.append(await post.hold("slow"))
                except Exception as error:
                    said.append(type(error).__name__)
            task = asyncio.create_task(work())
            """,
        )
        async with branch_of(rt, session="branch") as branch:
            assert await value(branch, "await task\nsaid") == ["OutcomeUnknown"]
            post.gate.set()
            assert await value(rt, "await task\nsaid") == ["held slow"]
            async with branch_of(rt, at=1, session="late") as late:
                assert await value(late, "await task\nsaid") == ["held slow"]
    async with sessions.life("branch", scope={"post": post}, workspace=None) as branch:
        assert await value(branch, "said") == ["OutcomeUnknown"]


async def test_a_task_that_the_trunk_cancelled_later_lives_in_the_branch(sessions: Sessions) -> None:
    post = Post()
    async with sessions.life(scope={"post": post}) as rt:
        await value(rt, "import asyncio\ntask = asyncio.create_task(post.hold('slow'))")
        await value(rt, "task.cancel()\nawait asyncio.wait([task])\nNone")
        async with branch_of(rt, at=1, session="branch") as branch:
            found = await run(branch, "await asyncio.wait_for(task, 5)")
            assert "OutcomeUnknown" in str(found.error)


async def test_a_fork_of_a_session_that_was_cut_off_begins_before_that_cell(sessions: Sessions) -> None:
    post = Post()
    async with sessions.life(scope={"post": post}) as rt:
        await value(rt, "x = 1")
        cell = asyncio.create_task(run(rt, "x = post.send('cut')\nawait post.hold('slow')"))
        while not post.sent:  # noqa: ASYNC110  there is no event
            await asyncio.sleep(0.001)
        sessions.journal.dead = True
        cell.cancel()
        await asyncio.gather(cell, return_exceptions=True)
    post.gate.set()
    async with sessions.life(scope={"post": post}) as rt:
        async with branch_of(rt, session="branch") as branch:
            assert await value(branch, "x") == 1
        assert (await rt.outcome()).value == "held slow" or "OutcomeUnknown" in str((await rt.outcome()).error)
    async with sessions.life("branch", scope={"post": post}, workspace=None) as branch:
        assert await value(branch, "x") == 1
    assert post.sent == ["cut"]


async def test_a_fork_at_a_cell_that_is_not_there_is_told(sessions: Sessions) -> None:
    async with sessions.life() as rt:
        await value(rt, "1")
        for at in (-1, 7):
            with pytest.raises(UsageError):
                await rt.fork(at=at)


async def test_a_session_without_a_journal_does_not_fork() -> None:
    async with Runtime(limits=PATIENT) as rt:
        with pytest.raises(UsageError, match="needs a journal"):
            await rt.fork()


async def test_forks_in_a_file_are_resumed_with_their_own_files(tmp_path: Path) -> None:
    store = tmp_path / "agents.db"
    async with Runtime(store=store, session="trunk", limits=PATIENT) as rt:
        await value(rt, "x = 1; open('f', 'w').write('trunk')")
        async with branch_of(rt, session="branch") as branch:
            await value(branch, "x = 2; open('f', 'w').write('branch')")
        await value(rt, "x = 3")
    for name, wanted in {"trunk": (3, "trunk"), "branch": (2, "branch")}.items():
        async with Runtime.resume(name, store=store, limits=PATIENT) as rt:
            assert await value(rt, "(x, open('f').read())") == wanted
    journal = SqliteStore(store)
    with pytest.raises(UsageError, match="has a fork"):
        journal.forget("trunk")
    journal.close()


async def test_a_fork_is_open_and_can_be_left_as_any_runtime() -> None:
    async with Runtime(store="memory:") as rt:
        (await rt.execute("x = 1")).unwrap()
        async with await rt.fork() as branch:
            assert (await branch.execute("x + 1")).unwrap() == 2
        with pytest.raises(UsageError, match="not open"):
            await branch.execute("x")
