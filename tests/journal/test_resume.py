"""A session that goes on after its process died: its names, its files, and what becomes of what was under way."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.journal.lasting import SESSION, Post, Sessions, failure, run, value

from cellwright import Limits, Runtime, operation
from cellwright.errors import CodeError, JournalFailed, NoSession, OutcomeUnknown, UsageError
from cellwright.runtime import replay
from cellwright.scope import current_call

pytestmark = pytest.mark.usefixtures("warm")


class Letters(Post):
    """Letters, of which some wait at a gate."""

    def __init__(self) -> None:
        super().__init__()
        self.keys: list[str] = []

    async def hold(self, what: Any) -> str:
        self.sent.append(what)
        self.at_gate.set()
        await self.gate.wait()
        return f"held {what}"

    @operation(idempotent=True)
    async def hold_twice(self, what: Any) -> str:
        self.keys.append(current_call().idempotency_key)
        return await self.hold(what)


async def die_in(sessions: Sessions, post: Letters, code: str) -> None:
    """Run a cell, and die in it as soon as it is at the gate."""
    async with sessions.life(scope={"post": post}) as rt:
        cell = asyncio.create_task(run(rt, code))
        await asyncio.wait_for(post.at_gate.wait(), 20)
        sessions.journal.dead = True
        cell.cancel()
        await asyncio.gather(cell, return_exceptions=True)


# what is there again


async def test_names_values_and_files_are_there_again(sessions: Sessions) -> None:
    post = Letters()
    async with sessions.life(scope={"post": post}) as rt:
        await value(rt, "x = [post.send('a')]\ndef double(n): return n * 2\nclass P: pass\np = P(); p.x = x")
        await value(rt, "x.append(double(4)); open('f.txt', 'w').write('kept'); import math as m")
    async with sessions.life(scope={"post": post}) as rt:
        assert rt.restored is not None
        assert rt.restored.cells == (1, 2)
        assert await value(rt, "(x, p.x is x, double(2), open('f.txt').read(), m.pi > 3)") == (
            [1, 8],
            True,
            4,
            "kept",
            True,
        )
    assert post.sent == ["a"]


async def test_a_session_that_is_not_there_is_told(sessions: Sessions) -> None:
    with pytest.raises(NoSession, match="no session 'other'"):
        async with Runtime.resume("other", store=sessions.journal):
            pass


async def test_a_session_that_is_there_is_not_made_again(sessions: Sessions) -> None:
    async with sessions.life():
        pass
    sessions.journal.live_until(None)
    with pytest.raises(UsageError, match="already"):
        async with Runtime(store=sessions.journal, session=SESSION):
            pass


async def test_a_session_that_has_run_no_cell_has_no_outcome(sessions: Sessions) -> None:
    async with sessions.life():
        pass
    async with sessions.life() as rt:
        with pytest.raises(UsageError, match="has run no cell yet"):
            await rt.outcome()
        assert await value(rt, "1 + 1") == 2


async def test_the_outcome_of_a_finished_cell_is_told_again(sessions: Sessions) -> None:
    async with sessions.life() as rt:
        first = await run(rt, "print('hello'); 1 / 0")
    async with sessions.life() as rt:
        again = await rt.outcome()
    assert isinstance(again.error, CodeError)
    assert (again.cell, again.stdout, str(again.error)) == (first.cell, "hello\n", str(first.error))


async def test_cells_that_raised_are_part_of_the_state(sessions: Sessions) -> None:
    async with sessions.life() as rt:
        await failure(rt, "x = 1\n1 / 0\nx = 2")
    async with sessions.life() as rt:
        assert await value(rt, "x") == 1


# what was under way


async def test_a_call_in_doubt_raises_with_what_is_known_of_it(sessions: Sessions) -> None:
    post = Letters()
    await die_in(sessions, post, "x = 1\nawait post.hold('a letter')")
    async with sessions.life(scope={"post": post}) as rt:
        outcome = await rt.outcome()
    assert isinstance(outcome.error, CodeError)
    assert outcome.error.type == OutcomeUnknown.__name__
    assert "post.hold('a letter') had begun when the process died (cell 1, line 2)" in str(outcome.error)
    assert post.sent == ["a letter"]


async def test_code_can_catch_a_call_in_doubt_and_go_on(sessions: Sessions) -> None:
    post = Letters()
    code = """
    try:
        await post.hold("a letter")
    except Exception as error:
        said = type(error).__name__
    """
    await die_in(sessions, post, code)
    async with sessions.life(scope={"post": post}) as rt:
        assert (await rt.outcome()).ok
        assert await value(rt, "said") == "OutcomeUnknown"
    async with sessions.life(scope={"post": post}) as rt:
        assert await value(rt, "said") == "OutcomeUnknown"
    assert post.sent == ["a letter"]


async def test_an_idempotent_call_in_doubt_is_made_again_with_its_key(sessions: Sessions) -> None:
    post = Letters()
    await die_in(sessions, post, "got = await post.hold_twice('a letter')")
    post.gate.set()
    async with sessions.life(scope={"post": post}) as rt:
        assert (await rt.outcome()).value == "held a letter"
    assert post.sent == ["a letter", "a letter"]
    assert len(post.keys) == 2
    assert len(set(post.keys)) == 1


async def test_a_read_under_way_is_made_again(sessions: Sessions) -> None:
    post = Letters()
    await die_in(sessions, post, "got = await post.wait()")
    post.gate.set()
    async with sessions.life(scope={"post": post}) as rt:
        assert (await rt.outcome()).value == "open"


async def test_a_new_cell_runs_after_the_one_that_was_cut_off(sessions: Sessions) -> None:
    post = Letters()
    await die_in(sessions, post, "got = await post.wait()\nn = post.send('after')")
    post.gate.set()
    async with sessions.life(scope={"post": post}) as rt:
        assert await value(rt, "(got, n)") == ("open", 1)


async def test_a_cut_off_cell_whose_guest_died_again_does_nothing_twice(sessions: Sessions) -> None:
    post = Letters()
    await die_in(sessions, post, "n = post.send('first')\ngot = await post.wait()")
    post.gate.set()
    async with sessions.life(scope={"post": post}) as rt:
        opened: Any = rt._open  # pyright: ignore[reportPrivateUsage]  no public way to end a guest between cells
        await opened.session.guest.end()
        assert (await rt.outcome()).value == "open"
    assert post.sent == ["first"]


async def test_a_cut_off_cell_is_still_there_after_a_resume_that_nobody_waited_for(sessions: Sessions) -> None:
    post = Letters()
    await die_in(sessions, post, "n = post.send('first')\ngot = await post.wait()")
    for _ in range(2):
        async with sessions.life(scope={"post": post}):
            pass
    post.gate.set()
    async with sessions.life(scope={"post": post}) as rt:
        assert (await rt.outcome()).value == "open"
    assert post.sent == ["first"]


async def test_a_cut_off_cell_begins_with_the_files_that_it_began_with(sessions: Sessions) -> None:
    post = Letters()
    await die_in(sessions, post, "open('log', 'a').write('once ')\nawait post.wait()\nopen('log', 'a').write('done')")
    (sessions.workspace / "left.txt").write_text("by nobody")
    post.gate.set()
    async with sessions.life(scope={"post": post}) as rt:
        assert (await rt.outcome()).ok
    assert (sessions.workspace / "log").read_text() == "once done"
    assert not (sessions.workspace / "left.txt").exists()


# files that no cell wrote


async def test_files_that_came_from_outside_between_cells_are_there_for_the_cells_that_read_them(
    sessions: Sessions,
) -> None:
    async with sessions.life() as rt:
        await value(rt, "1")
        (sessions.workspace / "in.txt").write_text("one")
        assert await value(rt, "first = open('in.txt').read()") == "one"
        (sessions.workspace / "in.txt").write_text("two")
        assert await value(rt, "second = open('in.txt').read()") == "two"
    (sessions.workspace / "in.txt").write_text("three")
    async with sessions.life() as rt:
        assert rt.restored is not None
        assert rt.restored.diverged is None
        assert await value(rt, "(first, second, open('in.txt').read())") == ("one", "two", "three")
    assert (await replay(SESSION, store=sessions.journal)).same


# what is left running


async def test_answers_that_nobody_waited_for_yet_come_after_all_recorded_ones(sessions: Sessions) -> None:
    post = Letters()
    async with sessions.life(scope={"post": post}) as rt:
        await value(
            rt,
            """
            import asyncio
            said = []
            async def later():
                try:
                    said.append(await post.hold("late"))
                except Exception as error:
                    said.append(type(error).__name__)
                said.append(post.send("after"))
            task = asyncio.create_task(later())
            """,
        )
        for cell in range(3):
            await value(rt, f"x = {cell}")
    async with sessions.life(scope={"post": post}) as rt:
        assert rt.restored is not None
        assert rt.restored.diverged is None, rt.restored
        assert await value(rt, "await task\n(x, said)") == (2, ["OutcomeUnknown", 2])
    assert post.sent == ["late", "after"]


async def test_more_calls_at_once_than_may_be_under_way_are_refused_alike_when_run_again(sessions: Sessions) -> None:
    post = Letters()
    post.gate.set()
    async with sessions.life(scope={"post": post}, limits=Limits(wall_s=60, cpu_s=60)) as rt:
        code = """
        import asyncio
        said = await asyncio.gather(*(post.wait() for _ in range(1500)), return_exceptions=True)
        counts = sorted({type(one).__name__ for one in said}), len(said)
        """
        first = await value(rt, code)
    async with sessions.life(scope={"post": post}) as rt:
        assert rt.restored is not None
        assert rt.restored.diverged is None, rt.restored
        assert await value(rt, "counts") == first


async def test_a_resume_that_fails_leaves_the_session_as_it_was(sessions: Sessions) -> None:
    post = Letters()
    await die_in(sessions, post, "n = post.send('first')\ngot = await post.wait()")
    post.gate.set()
    for point in range(4):
        sessions.journal.live_until(point)
        with pytest.raises(JournalFailed):
            async with Runtime.resume(
                SESSION, store=sessions.journal, scope={"post": post}, workspace=sessions.workspace, take_over=True
            ) as rt:
                await rt.outcome()
    async with sessions.life(scope={"post": post}) as rt:
        assert (await rt.outcome()).value == "open"
    assert post.sent == ["first"]


class Office:
    """An operation that uses the runtime whose guest calls it, as `spawn` does."""

    def __init__(self) -> None:
        self.rt: Runtime | None = None
        self.away = False

    @operation(idempotent=True)
    async def look(self) -> list[Any]:
        if self.away:
            await asyncio.Event().wait()
        assert self.rt is not None
        await self.rt.decided([])
        return [self.rt.journal is not None, self.rt.turns is not None, self.rt.cells, len(await self.rt.files.list())]


async def test_a_call_that_is_made_again_while_a_session_is_resumed_finds_its_runtime_open(sessions: Sessions) -> None:
    office = Office()
    office.away = True
    async with sessions.life(scope={"office": office}) as rt:
        await value(rt, "import asyncio\ntask = asyncio.ensure_future(office.look())\nawait asyncio.sleep(0.1)")
        await value(rt, "open('note', 'w').write('x')")
    office.away = False
    office.rt = Runtime.resume(
        SESSION, store=sessions.journal, scope={"office": office}, workspace=sessions.workspace, take_over=True
    )
    sessions.journal.live_until(None)
    async with office.rt as rt:
        assert rt.restored is not None
        assert rt.restored.cells == (1, 2)
        assert await value(rt, "await task") == [True, True, 2, 1]
