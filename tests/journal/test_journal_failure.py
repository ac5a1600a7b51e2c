"""A journal that cannot be written: the cell ends, whoever runs it is told, and no effect happens that is not in it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.journal.lasting import SESSION, Sessions, run, value

from cellwright import Runtime, operation
from cellwright.errors import JournalFailed

pytestmark = pytest.mark.usefixtures("warm")


class Post:
    """Remembers, for each letter, whether its call was in the journal when it was sent."""

    def __init__(self, sessions: Sessions) -> None:
        self.sent: list[Any] = []
        self.unwritten: list[Any] = []
        self._sessions = sessions

    def send(self, what: Any) -> int:
        self._note(what)
        return len(self.sent)

    async def asend(self, what: Any) -> int:
        self._note(what)
        await asyncio.sleep(0)
        return len(self.sent)

    @operation(reads=True)
    async def look(self) -> int:
        return len(self.sent)

    def _note(self, what: Any) -> None:
        rows = self._sessions.journal.rows(SESSION)
        if not any(row.status == "started" and what in str(row.arguments.tree) for row in rows):
            self.unwritten.append(what)
        self.sent.append(what)


CODE = """
import asyncio
x = post.send("one")
got = await asyncio.gather(post.asend("two"), post.look(), post.asend("three"))
open("f", "w").write("written")
x = post.send("four")
"""


async def test_a_cell_whose_journal_fails_ends_and_whoever_runs_it_is_told(sessions: Sessions) -> None:
    post = Post(sessions)
    async with sessions.life(scope={"post": post}) as rt:
        await value(rt, "x = 0")
        sessions.journal.live_until(8)
        with pytest.raises(JournalFailed):
            await run(rt, CODE)
        for _ in range(2):
            with pytest.raises(JournalFailed):
                await run(rt, "post.send('after')")
        with pytest.raises(JournalFailed):
            await rt.outcome()
    assert "after" not in post.sent


async def test_no_effect_happens_without_its_row_and_none_twice(tmp_path: Path) -> None:
    point, failed = 0, True
    while failed:
        place = tmp_path / str(point)
        place.mkdir()
        sessions = Sessions(place)
        post = Post(sessions)
        async with sessions.life(scope={"post": post}) as rt:
            await value(rt, "x = 0")
            sessions.journal.live_until(point)
            try:
                await run(rt, CODE)
                failed = False
            except JournalFailed:
                failed = True
        async with sessions.life(scope={"post": post}) as rt:  # the disk has room again
            outcome = await rt.outcome()
            assert outcome.ok or "OutcomeUnknown" in str(outcome.error), outcome
            assert await value(rt, "x") in (0, 1, 4)
        assert not post.unwritten
        assert len(post.sent) == len(set(post.sent))
        point += 1
    assert point > 10


async def test_a_session_whose_journal_cannot_be_made_does_not_open(sessions: Sessions) -> None:
    for point in range(2):
        sessions.journal.live_until(point)
        with pytest.raises(JournalFailed):
            async with Runtime(store=sessions.journal, session=SESSION, workspace=sessions.workspace):
                pass


async def test_a_cell_that_was_cancelled_while_its_journal_failed_is_carried_on_later(sessions: Sessions) -> None:
    post = Post(sessions)
    async with sessions.life(scope={"post": post}) as rt:
        cell = asyncio.create_task(run(rt, "import asyncio\nx = post.send('one')\nawait asyncio.sleep(0.05)\ny = 2"))
        while not post.sent:  # noqa: ASYNC110  there is no event
            await asyncio.sleep(0.001)
        sessions.journal.dead = True
        cell.cancel()
        await asyncio.gather(cell, return_exceptions=True)
    async with sessions.life(scope={"post": post}) as rt:
        outcome = await rt.outcome()
        assert outcome.value == 2 or "OutcomeUnknown" in str(outcome.error)
    assert post.sent == ["one"]
