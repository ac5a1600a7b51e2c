"""Two who hold one session: the one who came last writes, the other is told and does nothing more."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.journal.lasting import PATIENT, Post, run, value

from cellwright import Runtime
from cellwright.errors import Fenced
from cellwright.store import MemoryStore, SqliteStore

pytestmark = pytest.mark.usefixtures("warm")


def opened(post: Post, store: Any, *, resume: bool, workspace: Path) -> Runtime:
    options: dict[str, Any] = {"store": store, "scope": {"post": post}, "limits": PATIENT, "workspace": workspace}
    return Runtime.resume("s1", take_over=True, **options) if resume else Runtime(session="s1", **options)


async def test_who_was_overtaken_is_told_and_does_nothing_more(tmp_path: Path) -> None:
    journal, first, second = MemoryStore(), Post(), Post()
    async with opened(first, journal, resume=False, workspace=tmp_path) as old:
        await value(old, "x = post.send('old')")
        async with opened(second, journal, resume=True, workspace=tmp_path) as new:
            assert await value(new, "x += post.send('new')") == 2
            for _ in range(2):
                with pytest.raises(Fenced, match="was taken over"):
                    await run(old, "post.send('never')")
            with pytest.raises(Fenced):
                await old.outcome()
            with pytest.raises(Fenced):
                await old.fork()
            assert await value(new, "x") == 2
    assert (first.sent, second.sent) == (["old"], ["new"])


async def test_a_cell_that_is_overtaken_makes_no_further_effect(tmp_path: Path) -> None:
    journal, first, second = MemoryStore(), Post(), Post()
    second.gate.set()
    async with opened(first, journal, resume=False, workspace=tmp_path) as old:
        cell = asyncio.create_task(run(old, "x = await post.wait()\npost.send('once')"))
        await asyncio.wait_for(first.at_gate.wait(), 20)
        async with opened(second, journal, resume=True, workspace=tmp_path) as new:
            assert (await new.outcome()).value == 1
            first.gate.set()
            with pytest.raises(Fenced):
                await cell
            assert await value(new, "x") == "open"
    assert (first.sent, second.sent) == ([], ["once"])


OTHER = """
import asyncio, sys
from cellwright import Runtime

class Post:
    def send(self, what): return 41

async def main():
    async with Runtime.resume("s1", store=sys.argv[1], scope={"post": Post()}, take_over=True) as rt:
        print((await rt.execute("x = post.send('other') + 1")).value)

asyncio.run(main())
"""


async def test_another_process_takes_over_from_one_that_still_lives(tmp_path: Path) -> None:
    store, post = tmp_path / "agents.db", Post()
    async with Runtime({"post": post}, store=store, session="s1", limits=PATIENT) as rt:
        await value(rt, "x = post.send('mine')")
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-c", OTHER, str(store), stdout=asyncio.subprocess.PIPE
        )
        said, _ = await asyncio.wait_for(child.communicate(), 60)
        assert said == b"42\n"
        with pytest.raises(Fenced):
            await run(rt, "post.send('never')")
    assert post.sent == ["mine"]
    journal = SqliteStore(store)
    assert [(c.number, c.status) for c in journal.cells("s1")] == [(1, "done"), (2, "done")]
    journal.close()


async def test_a_session_that_was_forgotten_is_told(tmp_path: Path) -> None:
    journal, post = MemoryStore(), Post()
    async with opened(post, journal, resume=False, workspace=tmp_path) as rt:
        await value(rt, "1")
        journal.forget("s1")
        with pytest.raises(Fenced, match="forgotten"):
            await run(rt, "post.send('never')")
    assert post.sent == []
