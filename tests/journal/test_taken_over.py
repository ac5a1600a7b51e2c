"""What is left of a Runtime whose session another one took over: no guest, no effect, no word in the journal."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.journal.lasting import PATIENT

import cellwright
from cellwright import Limits, Runtime, operation
from cellwright.errors import CellwrightError, Fenced
from cellwright.store import SqliteStore

pytestmark = pytest.mark.usefixtures("warm")

PATIENCE_S = 20


class Post:
    """Letters, of which some wait at a gate."""

    def __init__(self) -> None:
        self.sent: list[Any] = []
        self.looked = 0
        self.listener: Callable[[str], Any] | None = None
        self.gate = asyncio.Event()
        self.at_gate = asyncio.Event()

    def send(self, what: Any) -> int:
        self.sent.append(what)
        return len(self.sent)

    async def hold(self, what: Any) -> str:
        self.sent.append(what)
        self.at_gate.set()
        await self.gate.wait()
        return f"held {what}"

    @operation(reads=True)
    def listen(self, function: Callable[[str], Any]) -> None:
        self.listener = function

    @operation(reads=True)
    async def look(self) -> int:
        self.looked += 1
        self.at_gate.set()
        await asyncio.sleep(0.001)
        return self.looked


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "agents.db"


def first_of(store: Path, post: Post, limits: Limits = PATIENT) -> Runtime:
    return Runtime({"post": post}, store=store, session="s1", limits=limits)


def second_of(store: Path, post: Post) -> Runtime:
    return Runtime.resume("s1", scope={"post": post}, store=store, limits=PATIENT, take_over=True)


def take_over(store: Path) -> None:
    journal = SqliteStore(store)
    journal.claim("s1")
    journal.close()


def guest_is_alive(rt: Runtime) -> bool:
    opened: Any = rt._open  # pyright: ignore[reportPrivateUsage]  no public way to ask for the guest itself
    return opened.session.guest.alive


async def test_its_guest_is_ended_and_that_of_the_other_is_not(store: Path) -> None:
    async with first_of(store, Post()) as first:
        await first.execute("x = 1")
        assert guest_is_alive(first)
        async with second_of(store, Post()) as second:
            with pytest.raises(Fenced):
                await first.execute("x")
            assert not guest_is_alive(first)
            assert (await second.execute("x")).unwrap() == 1
            assert guest_is_alive(second)


async def test_it_rolls_nothing_back(store: Path) -> None:
    async with first_of(store, Post()) as first:
        await first.execute("x = 1")
        async with second_of(store, Post()) as second:
            with pytest.raises(Fenced):
                await first.rollback(0, yes=True)
            assert (await second.execute("x")).unwrap() == 1


async def test_an_effect_under_way_is_in_doubt_for_the_other_and_the_next_one_does_not_happen(store: Path) -> None:
    mine, theirs = Post(), Post()
    async with first_of(store, mine) as first:
        await first.execute("x = 1")
        cell = asyncio.create_task(first.execute("await post.hold('one')\npost.send('two')"))
        await asyncio.wait_for(mine.at_gate.wait(), PATIENCE_S)
        async with second_of(store, theirs) as second:
            mine.gate.set()
            with pytest.raises(Fenced):
                await asyncio.wait_for(cell, PATIENCE_S)
            assert not guest_is_alive(first)
            assert "post.hold('one') had begun" in str((await second.outcome()).error)
            assert (await second.execute("x")).unwrap() == 1
    assert (mine.sent, theirs.sent) == (["one"], [])


async def test_a_cell_that_only_reads_ends_too(store: Path) -> None:
    mine = Post()
    async with first_of(store, mine) as first:
        cell = asyncio.create_task(first.execute("while True: await post.look()"))
        await asyncio.wait_for(mine.at_gate.wait(), PATIENCE_S)
        take_over(store)
        with pytest.raises(Fenced):
            await asyncio.wait_for(cell, PATIENCE_S)
        assert not guest_is_alive(first)


async def test_host_code_that_calls_a_function_of_its_guest_does_nothing_through_it(store: Path) -> None:
    mine = Post()
    code = "def heard(what):\n    seen = post.send(what)\n    return seen\npost.listen(heard)"
    async with first_of(store, mine, Limits(wall_s=2.0)) as first:  # so long does host code wait for such a guest
        (await first.execute(code)).unwrap()
        assert mine.listener is not None
        assert await asyncio.to_thread(mine.listener, "before") == 1
        take_over(store)
        with pytest.raises(CellwrightError):
            await asyncio.wait_for(asyncio.to_thread(mine.listener, "after"), PATIENCE_S)
        assert mine.sent == ["before"]
        with pytest.raises(Fenced):
            await first.execute("1")


async def test_it_closes_without_a_word_and_the_session_is_as_the_other_wrote_it(store: Path) -> None:
    first = first_of(store, Post())
    await first.__aenter__()
    await first.execute("x = 1")
    async with second_of(store, Post()) as second:
        await second.execute("x = 2")
        await first.close()
        assert (await second.execute("x")).unwrap() == 2
    async with second_of(store, Post()) as third:
        assert (await third.execute("x")).unwrap() == 2
    assert str(await cellwright.replay("s1", store=store)) == "same: 4 cells, 0 calls"


async def test_a_third_takes_it_from_both(store: Path) -> None:
    async with first_of(store, Post()) as first:
        await first.execute("x = 1")
        async with second_of(store, Post()) as second, second_of(store, Post()) as third:
            for fenced in (first, second):
                with pytest.raises(Fenced):
                    await fenced.execute("x")
            assert (await third.execute("x")).unwrap() == 1
