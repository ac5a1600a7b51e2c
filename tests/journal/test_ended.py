"""Cells that are ended from outside: what they did stays, their code never runs again, the names are as before."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.journal.lasting import PATIENT, SESSION, Post, Sessions, run, value

from cellwright import Limits, Runtime
from cellwright.errors import (
    Cancelled,
    CodeError,
    Crashed,
    GuestError,
    MemoryLimit,
    OutputLimit,
    ProtocolError,
    TimeLimit,
)
from cellwright.runtime import replay

pytestmark = pytest.mark.usefixtures("warm")

KEPT = "The names are as they were before the cell; what it did outside is done."


ENDS: dict[str, tuple[str, type[GuestError], Limits]] = {
    "the clock": ("while True: pass", TimeLimit, Limits(wall_s=0.5, cpu_s=20)),
    "its memory": ("x = [bytes(1 << 20) for _ in range(4000)]", MemoryLimit, Limits(memory_mb=64)),
    "what it prints": ("while True: print('x' * 1000)", OutputLimit, Limits(output_kb=64)),
    "its own exit": ("import os; os._exit(3)", Crashed, PATIENT),
    "a signal": ("import ctypes; ctypes.string_at(0)", Crashed, PATIENT),
    "a broken protocol": (
        "import os\nfor fd in range(3, 64):\n    try: os.write(fd, bytes(64))\n    except OSError: pass\n"
        "while True: pass",
        ProtocolError,
        PATIENT,
    ),
}


@pytest.mark.parametrize("how", ENDS)
async def test_a_cell_that_is_ended_leaves_the_names_and_keeps_what_it_did(how: str, sessions: Sessions) -> None:
    code, kind, limits = ENDS[how]
    post = Post()
    async with sessions.life(scope={"post": post}, limits=limits) as rt:
        await value(rt, "x = [1]; y = post.send('before')")
        ended = await run(rt, f"x.append(2); y = post.send('in it')\n{code}")
        assert isinstance(ended.error, kind), ended
        if not isinstance(ended.error, CodeError) and ended.error.__class__ is not MemoryLimit:
            assert KEPT in str(ended.error)
            assert await value(rt, "(x, y)") == ([1], 1)
        assert await value(rt, "post.send('after')") == 3
    async with sessions.life(scope={"post": post}, limits=limits) as rt:
        assert rt.restored is not None
        assert rt.restored.diverged is None, rt.restored
        assert await value(rt, "y") in (1, 2)
    assert post.sent == ["before", "in it", "after"]
    assert [row.title for row in sessions.journal.rows(SESSION)] == ["post.send"] * 3
    assert (await replay(SESSION, store=sessions.journal)).same


async def test_the_outcome_of_an_ended_cell_is_told_after_a_resume(sessions: Sessions) -> None:
    async with sessions.life() as rt:
        await run(rt, "import os; os._exit(3)")
    async with sessions.life() as rt:
        outcome = await rt.outcome()
        assert isinstance(outcome.error, Crashed)
        assert KEPT in str(outcome.error)
        assert rt.restored is not None
        assert rt.restored.cells == ()


async def test_a_cell_that_its_caller_cancels_is_never_run_again(sessions: Sessions) -> None:
    post = Post()
    async with sessions.life(scope={"post": post}) as rt:
        await value(rt, "x = 1")
        cell = asyncio.create_task(run(rt, "x = 2; post.send('in it')\nawait post.hold('never')"))
        await asyncio.wait_for(post.at_gate.wait(), 20)
        cell.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cell
        assert await value(rt, "x") == 1
    async with sessions.life(scope={"post": post}) as rt:
        assert await value(rt, "x") == 1
        assert [c.status for c in sessions.journal.cells(SESSION)] == ["done", "ended", "done", "done"]
    assert post.sent == ["in it"]


async def test_a_cancelled_cell_is_told_as_cancelled(sessions: Sessions) -> None:
    post = Post()
    async with sessions.life(scope={"post": post}) as rt:
        cell = asyncio.create_task(run(rt, "await post.hold('never')"))
        await asyncio.wait_for(post.at_gate.wait(), 20)
        cell.cancel()
        await asyncio.gather(cell, return_exceptions=True)
        outcome = await rt.outcome()
        assert isinstance(outcome.error, Cancelled)
        assert KEPT in str(outcome.error)


async def test_a_guest_that_dies_between_cells_is_brought_back_with_its_names(sessions: Sessions) -> None:
    post = Post()
    async with sessions.life(scope={"post": post}) as rt:
        await value(rt, "x = post.send('once')")
        opened: Any = rt._open  # pyright: ignore[reportPrivateUsage]  no public way to kill a guest between cells
        await opened.session.guest.interpreter.close()
        assert await value(rt, "x + 1") == 2
    assert post.sent == ["once"]


async def test_files_that_an_ended_cell_left_are_there_for_the_cells_after_it(sessions: Sessions) -> None:
    async with sessions.life() as rt:
        await value(rt, "open('a', 'w').write('1')")
        await run(rt, "open('a', 'w').write('2'); open('b', 'w').write('b')\nimport os; os._exit(3)")
        assert await value(rt, "got = open('a').read() + open('b').read()") == "2b"
    async with sessions.life() as rt:
        assert rt.restored is not None
        assert rt.restored.diverged is None, rt.restored
        assert await value(rt, "got") == "2b"
    assert (await replay(SESSION, store=sessions.journal)).same


async def test_ids_that_an_ended_cell_drew_are_not_drawn_again(sessions: Sessions) -> None:
    post = Post()
    draw = "import uuid, secrets, os\npost.send(str(uuid.uuid4())); post.send(secrets.token_hex(8))"
    async with sessions.life(scope={"post": post}) as rt:
        await run(rt, f"{draw}\nos._exit(3)")
        await value(rt, draw)
        await run(rt, f"{draw}\nos._exit(3)")
    async with sessions.life(scope={"post": post}) as rt:
        assert rt.restored is not None
        assert rt.restored.diverged is None, rt.restored
        await value(rt, draw)
    assert len(post.sent) == 8
    assert len(set(post.sent)) == 8
    assert (await replay(SESSION, store=sessions.journal)).same


BACKGROUND = """
import asyncio, os
said = []
async def work():
    try:
        said.append(await post.hold("slow"))
        said.append(post.send("after"))
    except asyncio.CancelledError:
        said.append("cancelled")
    except Exception as error:
        said.append(type(error).__name__)
task = asyncio.create_task(work())
"""


async def test_what_an_older_task_did_in_an_ended_cell_is_not_done_again(sessions: Sessions) -> None:
    post = Post()
    async with sessions.life(scope={"post": post}) as rt:
        await value(rt, BACKGROUND)
        post.gate.set()
        await run(rt, "await task\nos._exit(3)")
        assert post.sent == ["slow", "after"]
        assert await value(rt, "await task\nsaid") == ["held slow", 2]
    async with sessions.life(scope={"post": post}) as rt:
        assert await value(rt, "said") == ["held slow", 2]
    assert post.sent == ["slow", "after"]
    assert (await replay(SESSION, store=sessions.journal)).same


async def test_a_task_that_an_ended_cell_cancelled_is_not_cancelled(sessions: Sessions) -> None:
    post = Post()
    async with sessions.life(scope={"post": post}) as rt:
        await value(rt, BACKGROUND)
        await run(rt, "task.cancel()\nawait asyncio.wait([task])\nos._exit(3)")
        assert await value(rt, "await asyncio.wait_for(task, 5)\nsaid") == ["OutcomeUnknown"]
    async with sessions.life(scope={"post": post}) as rt:
        assert await value(rt, "said") == ["OutcomeUnknown"]
    assert (await replay(SESSION, store=sessions.journal)).same


async def test_a_callback_that_came_in_an_ended_cell_is_not_made_again(sessions: Sessions) -> None:
    class Bell:
        def __init__(self) -> None:
            self.function: Any = None

        def listen(self, function: Any) -> None:
            self.function = function

        async def ring(self, what: str) -> Any:
            return await self.function.call_async(what)

    bell = Bell()
    async with sessions.life(scope={"bell": bell}) as rt:
        await value(rt, "heard = []\ndef hear(what): heard.append(what); return len(heard)\nbell.listen(hear)")
        assert await value(rt, "await bell.ring('a')") == 1
        await run(rt, "await bell.ring('b')\nimport os; os._exit(3)")
        assert await value(rt, "heard") == ["a"]
    async with sessions.life(scope={"bell": bell}) as rt:
        assert rt.restored is not None
        assert rt.restored.diverged is None, rt.restored
        assert await value(rt, "heard") == ["a"]


async def test_a_session_goes_on_after_many_cells_that_were_ended(sessions: Sessions) -> None:
    async with sessions.life() as rt:
        for n in range(5):
            await value(rt, f"x{n} = {n}")
            await run(rt, "import os; os._exit(1)")
    async with sessions.life() as rt:
        assert await value(rt, "(x0, x1, x2, x3, x4)") == (0, 1, 2, 3, 4)


async def test_without_a_journal_an_ended_cell_takes_the_names_with_it() -> None:
    async with Runtime(limits=PATIENT) as rt:
        await rt.execute("x = 1")
        await rt.execute("import os; os._exit(1)")
        assert "NameError" in str((await rt.execute("x")).error)
