"""Two that hold one session: the one that came later goes on, and the other one does nothing more."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.journal.lasting import PATIENT

import toolwright
from toolwright import Runtime, operation
from toolwright.errors import Fenced, ToolwrightError
from toolwright.journal import SqliteJournal

pytestmark = pytest.mark.usefixtures("warm")

PATIENCE_S = 20
SECOND = """
import sys, toolwright

class Post:
    def __init__(self):
        self.sent = []
    def send(self, what):
        self.sent.append(what)
        return len(self.sent)

async def main():
    post = Post()
    async with toolwright.Runtime.resume("s1", scope={"post": post}, store=sys.argv[1]) as rt:
        print("here", flush=True)
        sys.stdin.readline()
        print((await rt.execute("x += 1; post.send('by the second'), x")).unwrap(), post.sent, flush=True)

toolwright.run(main())
"""


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


def first_of(store: Path, post: Post) -> Runtime:
    return Runtime({"post": post}, store=SqliteJournal(store), session="s1", limits=PATIENT)


def second_of(store: Path, post: Post) -> Runtime:
    return Runtime.resume("s1", scope={"post": post}, store=SqliteJournal(store), limits=PATIENT)


def guest_is_alive(rt: Runtime) -> bool:
    course: Any = rt._course  # pyright: ignore[reportPrivateUsage]  no public way to ask for the guest itself
    return course._interpreter is not None and course._interpreter.alive


def take_over(store: Path) -> None:
    journal = SqliteJournal(store)
    journal.claim("s1")
    journal.close()


async def test_the_first_is_fenced_at_its_next_cell_and_nothing_of_it_happens(store: Path) -> None:
    mine, theirs = Post(), Post()
    async with first_of(store, mine) as first:
        await first.execute("x = post.send('one')")
        async with second_of(store, theirs) as second:
            with pytest.raises(Fenced, match="'s1' was taken over"):
                await first.execute("post.send('two')")
            assert mine.sent == ["one"]
            assert (await second.execute("x += 1; post.send('by the second'), x")).unwrap() == (1, 2)
    assert (mine.sent, theirs.sent) == (["one"], ["by the second"])


async def test_the_guest_of_the_one_that_is_fenced_is_ended(store: Path) -> None:
    async with first_of(store, Post()) as first:
        await first.execute("x = 1")
        assert guest_is_alive(first)
        async with second_of(store, Post()) as second:
            with pytest.raises(Fenced):
                await first.execute("x")
            assert not guest_is_alive(first)
            assert guest_is_alive(second)


async def test_one_that_is_fenced_stays_so_whatever_is_asked_of_it(store: Path) -> None:
    post = Post()
    async with first_of(store, post) as first:
        await first.execute("x = 1")
        async with second_of(store, Post()) as second:
            for _ in range(3):
                with pytest.raises(Fenced):
                    await first.execute("post.send('never')")
            with pytest.raises(Fenced):
                await first.rollback(0)
            with pytest.raises(Fenced):
                await first.outcome()
            with pytest.raises(Fenced):
                await first.fork()
            assert (await second.execute("x")).unwrap() == 1
    assert post.sent == []


async def test_a_cell_under_way_ends_at_its_next_effect_which_does_not_happen(store: Path) -> None:
    mine = Post()
    async with first_of(store, mine) as first:
        await first.execute("x = 1")
        cell = asyncio.create_task(first.execute("await post.hold('one')\npost.send('two')"))
        await asyncio.wait_for(mine.at_gate.wait(), PATIENCE_S)
        async with second_of(store, Post()) as second:
            mine.gate.set()
            with pytest.raises(Fenced):
                await asyncio.wait_for(cell, PATIENCE_S)
            assert mine.sent == ["one"]
            assert not guest_is_alive(first)
            # what was under way when it was taken over is in doubt
            told = await second.outcome()
            assert "post.hold('one') had begun" in str(told.error)
            assert (await second.execute("x")).unwrap() == 1


async def test_a_cell_that_only_reads_ends_too(store: Path) -> None:
    mine = Post()
    async with first_of(store, mine) as first:
        cell = asyncio.create_task(first.execute("while True: await post.look()"))
        await asyncio.wait_for(mine.at_gate.wait(), PATIENCE_S)
        take_over(store)
        with pytest.raises(Fenced):
            await asyncio.wait_for(cell, PATIENCE_S)
        assert not guest_is_alive(first)


async def test_host_code_that_calls_a_function_of_the_fenced_guest_does_nothing_through_it(store: Path) -> None:
    mine = Post()
    code = "def heard(what):\n    seen = post.send(what)\n    return seen\npost.listen(heard)"
    async with first_of(store, mine) as first:
        (await first.execute(code)).unwrap()
        assert mine.listener is not None
        assert await asyncio.to_thread(mine.listener, "before") == 1
        take_over(store)
        with pytest.raises(ToolwrightError):
            await asyncio.wait_for(asyncio.to_thread(mine.listener, "after"), PATIENCE_S)
        assert mine.sent == ["before"]
        with pytest.raises(Fenced):
            await first.execute("1")


async def test_the_first_closes_without_a_word_and_leaves_the_session_as_the_second_wrote_it(store: Path) -> None:
    first = first_of(store, Post())
    await first.__aenter__()
    await first.execute("x = 1")
    async with second_of(store, Post()) as second:
        await second.execute("x = 2")
        await first.close()
        assert (await second.execute("x")).unwrap() == 2
    async with second_of(store, Post()) as third:
        assert (await third.execute("x")).unwrap() == 2
    assert (await toolwright.replay("s1", store=store)).same


async def test_a_third_fences_the_second(store: Path) -> None:
    async with first_of(store, Post()) as first:
        await first.execute("x = 1")
        async with second_of(store, Post()) as second, second_of(store, Post()) as third:
            for fenced in (first, second):
                with pytest.raises(Fenced):
                    await fenced.execute("x")
            assert (await third.execute("x")).unwrap() == 1


async def test_a_second_process_takes_the_session_over(store: Path) -> None:
    mine = Post()
    async with first_of(store, mine) as first:
        await first.execute("x = post.send('one')")
        command = [sys.executable, "-c", SECOND, str(store)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
            assert other.stdout is not None
            assert await asyncio.to_thread(other.stdout.readline) == "here\n"
            with pytest.raises(Fenced):
                await first.execute("post.send('two')")
            said, _ = await asyncio.to_thread(other.communicate, "go\n", PATIENCE_S)
        assert (other.returncode, said) == (0, "(1, 2) ['by the second']\n")
    assert mine.sent == ["one"]
    assert str(await toolwright.replay("s1", store=store)) == "same: 2 cells, 2 calls"
