"""A model whose cell was cut off reads which calls it had made, so that it does not make them again."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from tests.agent.test_lasting import Died, dies
from tests.agent.worlds import FENCED, agent_with, last_observation
from tests.cells import PATIENCE_S

from cellwright import Limits, Undoing, operation
from cellwright.agent import Agent, Session
from cellwright.errors import TurnCancelled, UsageError
from cellwright.messages import ToolMessage, Traits, UserMessage
from cellwright.store import MemoryStore
from cellwright.testing import ScriptedModel, call, code, fenced

pytestmark = pytest.mark.usefixtures("warm")


def _unsend(_: int, call: Undoing) -> None:
    call.target.sent.remove(call.args[0])


class Post:
    """Letters."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.begun = asyncio.Event()

    @operation(reads=True)
    def names(self) -> list[str]:
        """Whom to write to."""
        return ["ada", "bo"]

    @operation(direct=True)
    def send(self, name: str) -> int:
        """Send a letter."""
        self.sent.append(name)
        return len(self.sent)

    @operation(undo=_unsend)
    def draft(self, name: str) -> int:
        """Put a letter on the table."""
        self.sent.append(name)
        return len(self.sent)

    async def wait(self, what: str) -> None:
        """Never comes back."""
        self.begun.set()
        await asyncio.Event().wait()


CELL = "for name in post.names():\n    post.send(name)\nawait post.wait('for it')"
TOLD = "- post.send('ada') -> 1\n- post.send('bo') -> 2\n- post.wait('for it'): begun; whether it happened is not known"


def told(model: ScriptedModel) -> str:
    """What the last request says of the reply before its task."""
    messages = model.requests[-1].messages
    texts = [r.text for m in messages if isinstance(m, ToolMessage) for r in m.results]
    return "\n".join([*texts, *(m.text for m in messages if isinstance(m, UserMessage))])


@contextlib.asynccontextmanager
async def cut_off(agent: Agent, post: Post, how: str, id: str | None = None) -> AsyncGenerator[Session]:
    """A session whose first turn was ended in its cell."""
    async with asyncio.timeout(PATIENCE_S), agent.session(id) as session:
        running = asyncio.ensure_future(session.run("Write to all."))
        await post.begun.wait()
        if how == "a person":
            session.cancel(now=True)
        else:
            running.cancel()
        with pytest.raises((TurnCancelled, asyncio.CancelledError)):
            await running
        yield session


@pytest.mark.parametrize("how", ["a person", "Ctrl-C"])
@pytest.mark.parametrize("traits", [Traits(), FENCED], ids=["calls", "fenced"])
async def test_the_next_turn_reads_which_calls_were_made(how: str, traits: Traits) -> None:
    post, write = Post(), code if traits.calls else fenced
    agent, model = agent_with(
        write(CELL), write("done(1)"), scope={"post": post}, store=MemoryStore(), traits=traits, check="off"
    )
    async with cut_off(agent, post, how) as session:
        await session.run("What was sent?")
    assert told(model).count(TOLD) == 1
    assert "Cancelled: the cell was cancelled. The names are as they were before the cell" in told(model)
    assert "post.names" not in told(model)


@pytest.mark.parametrize("how", ["a person", "Ctrl-C"])
@pytest.mark.parametrize("traits", [Traits(), FENCED], ids=["calls", "fenced"])
async def test_without_a_store_it_reads_their_names(how: str, traits: Traits) -> None:
    post, write = Post(), code if traits.calls else fenced
    agent, model = agent_with(write(CELL), write("done(1)"), scope={"post": post}, traits=traits, check="off")
    async with cut_off(agent, post, how) as session:
        await session.run("What was sent?")
    assert "the interpreter was ended, and its names are gone" in told(model)
    assert "Calls that the cell had made: post.names, post.send (2). Begun, without an answer: post.wait." in told(
        model
    )


@pytest.mark.parametrize("next", ["turn", "carry_on"])
async def test_another_process_reads_it_too(next: str) -> None:
    post, store = Post(), MemoryStore()
    agent, _ = agent_with(code(CELL), scope={"post": post}, store=store, check="off")
    async with cut_off(agent, post, "a person", "s1"):
        pass
    again, model = agent_with(code("done(1)"), scope={"post": post}, store=store, check="off")
    async with again.resume("s1") as session:
        await (session.run("What was sent?") if next == "turn" else session.carry_on())
    assert told(model).count(TOLD) == 1
    assert post.sent == ["ada", "bo"]


async def test_a_fork_reads_it_too() -> None:
    post = Post()
    agent, model = agent_with(code(CELL), code("done(1)"), scope={"post": post}, store=MemoryStore(), check="off")
    async with cut_off(agent, post, "a person", "s1") as session, session.fork("s2") as branch:
        await branch.run("What was sent?")
    assert "- post.send('ada') -> 1\n- post.send('bo') -> 2" in told(model)


@pytest.mark.parametrize("store", [MemoryStore(), None], ids=["kept", "not kept"])
async def test_a_cell_that_a_limit_ended_tells_it_in_the_same_turn(store: MemoryStore | None) -> None:
    post = Post()
    agent, model = agent_with(
        code(CELL), code("done(1)"), scope={"post": post}, store=store, limits=Limits(wall_s=1), check="off"
    )
    await agent.run("Write to all.")
    text = last_observation(model)
    assert text.startswith("TimeLimit: ")
    assert (TOLD if store else "post.send (2). Begun, without an answer: post.wait.") in text


async def test_direct_calls_are_told_too() -> None:
    post = Post()
    both: Any = [call("post__send", name="ada"), call("post__wait", what="for it")]
    agent, model = agent_with(both, "Fine.", scope={"post": post}, store=MemoryStore(), mode="direct", check="off")
    async with cut_off(agent, post, "a person") as session:
        await session.run("What was sent?")
    assert "- post.send(name='ada') -> 1\n- post.wait(what='for it'): begun" in told(model)


async def test_many_calls_are_counted_and_undone_ones_left_out() -> None:
    post = Post()
    cell = "with transaction():\n    post.draft('cy')\n    for n in range(99):\n        post.draft(f'a{n}')\n    1 / 0"
    many = "for n in range(50):\n    post.send(f'name {n}')\nawait post.wait('x')"
    agent, model = agent_with(
        code(f"try:\n    {cell.replace(chr(10), chr(10) + '    ')}\nexcept ZeroDivisionError: pass\n{many}"),
        code("done(1)"),
        scope={"post": post},
        store=MemoryStore(),
        check="off",
    )
    async with cut_off(agent, post, "a person") as session:
        await session.run("What was sent?")
    lines = [line for line in told(model).splitlines() if line.startswith("- ")]
    assert len(lines) == 21
    assert lines[0] == "- post.send('name 0') -> 1"
    assert "- … 31 more …" in lines
    assert lines[-2] == "- post.send('name 49') -> 50"
    assert "draft" not in told(model)


async def test_a_cell_whose_process_died_is_finished_before_another_task_and_its_outcome_is_told() -> None:
    store, post = MemoryStore(), Post()

    @operation(idempotent=True)
    async def stamp() -> int:
        if post.begun.is_set():
            return 7
        post.begun.set()
        await asyncio.Event().wait()
        return 0

    scope: dict[str, Any] = {"post": post, "stamp": stamp}
    first, _ = agent_with(code("post.send('ada')\nn = await stamp()\nn"), scope=scope, store=store, check="off")

    async def turn() -> None:
        async with first.session("s1") as session:
            await session.run("Write.")

    abandoned = asyncio.ensure_future(turn())
    await asyncio.wait_for(post.begun.wait(), PATIENCE_S)
    again, model = agent_with(code("done(n)"), code("done(0)"), scope=scope, store=store, check="off")
    async with again.resume("s1", take_over=True) as session:  # as another process would
        branch = session.fork("s2")
        async with branch:
            assert (await session.run("Which stamp?")).value == 7
            await branch.run("What was sent?")
    assert "- post.send('ada') -> 1\n- stamp(): begun; whether it happened is not known" in told(model)
    abandoned.cancel()
    with contextlib.suppress(BaseException):
        await abandoned
    answered = model.requests[0].messages[2]
    assert isinstance(answered, ToolMessage)
    assert answered.results[0].text == "7"
    assert post.sent == ["ada"]


async def test_an_outcome_that_was_not_told_is_told_in_the_next_turn_of_another_process() -> None:
    store, post = MemoryStore(), Post()
    agent, _ = agent_with(code("post.send('ada')"), dies, scope={"post": post}, store=store, check="off")
    with pytest.raises(Died):
        async with agent.session("s1") as session:
            await session.run("Write.")
    again, model = agent_with(code("done(1)"), scope={"post": post}, store=store, check="off")
    async with again.resume("s1") as session:
        await session.run("How many were sent?")
    answered = model.requests[0].messages[2]
    assert isinstance(answered, ToolMessage)
    assert answered.results[0].text == "1"


OTHERWISE = """
import ctypes
now = (ctypes.c_long * 2)()
ctypes.CDLL(None).clock_gettime(1, now)
post.send(str(now[0] * 10**9 + now[1]))
"""


@pytest.mark.parametrize("next", ["turn", "carry_on"])
async def test_a_cell_that_cannot_be_repeated_is_not_run_again(next: str) -> None:
    store, post = MemoryStore(), Post()
    agent, _ = agent_with(code(OTHERWISE), dies, scope={"post": post}, store=store, check="off")
    with pytest.raises(Died):
        async with agent.session("s1") as session:
            await session.run("Write.")
    again, model = agent_with(code("done(1)"), scope={"post": post}, store=store, check="off")
    async with again.resume("s1") as session:
        await (session.run("What was sent?") if next == "turn" else session.carry_on())
    assert len(post.sent) == 1
    assert f"- post.send('{post.sent[0]}') -> 1" in told(model)
    assert "Names lost: ctypes, now" in told(model)


async def test_a_turn_that_is_given_up_tells_what_its_cell_had_done() -> None:
    store, post = MemoryStore(), Post()
    ask = operation(ask=True)(lambda: "yes")
    agent, model = agent_with(
        code("post.send('ada')\nask()"), code("done(1)"), scope={"post": post, "ask": ask}, store=store, check="off"
    )
    async with agent.session("s1") as session:
        with pytest.raises(Exception, match="waits"):
            await session.run("Write.")
        with pytest.raises(UsageError):
            await session.run("Another.")
        await session.give_up()
        await session.run("What was sent?")
    assert "the cell was given up" in told(model)
    assert "- post.send('ada') -> 1" in told(model)
    assert "ask()" not in told(model).partition("given up")[2]
