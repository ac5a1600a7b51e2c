"""Sessions of an agent that are kept: carried on after a death, gone on with, forked, undone. Replies are paid once."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.agent.worlds import Contact, Crm, agent_with, last_observation

from cellwright import Undoing, operation
from cellwright.agent import Agent
from cellwright.doors import Model, Request
from cellwright.errors import Fenced, NoSession, RollbackRefused, UsageError
from cellwright.events import TurnStarted
from cellwright.journal import Turns
from cellwright.messages import ToolMessage, UserMessage
from cellwright.store import MemoryStore
from cellwright.testing import call, code


class Died(BaseException):
    """The process is gone. No layer may answer to it."""


def dies(_: Request) -> str:
    raise Died


STEPS = (
    code("idle = [c.name for c in crm.contacts() if not c.deals]"),
    code("for name in idle:\n    crm.write(name, 'hello')\nlen(idle)"),
    code("crm.fail(1)"),
    code("done(idle)"),
)


@pytest.mark.parametrize("lived", range(len(STEPS)))
async def test_a_turn_is_carried_on_where_its_process_left_it(lived: int) -> None:
    crm, journal = Crm(), MemoryStore()
    first, paid = agent_with(*STEPS[:lived], dies, scope={"crm": crm}, store=journal)
    with pytest.raises(Died):
        async with first.session("s1") as session:
            await session.run("Write to the idle ones.", returns=list[str])
    again, rest = agent_with(*STEPS[lived:], scope={"crm": crm}, store=journal)
    async with again.resume("s1") as session:
        result = await session.carry_on(returns=list[str])
    assert result.value == ["Bo", "Cy"]
    assert crm.letters == ["Bo: hello", "Cy: hello"]
    assert len(paid.requests) - 1 + len(rest.requests) == len(STEPS)
    assert rest.left == 0


async def test_the_resumed_conversation_is_the_one_that_was_cut_off() -> None:
    journal = MemoryStore()
    whole, all_in_one = agent_with(*STEPS, store=MemoryStore())
    await whole.run("Write to the idle ones.")
    first, _ = agent_with(*STEPS[:3], dies, store=journal)
    with pytest.raises(Died):
        async with first.session("s1") as session:
            await session.run("Write to the idle ones.")
    again, rest = agent_with(STEPS[3], store=journal)
    async with again.resume("s1") as session:
        await session.carry_on()
    assert rest.requests[-1].messages == all_in_one.requests[-1].messages


@pytest.mark.needs_layers
async def test_a_cell_that_was_cut_off_goes_on_and_its_effects_are_there_once() -> None:
    crm, journal = Crm(), MemoryStore()
    stuck = [asyncio.Event()]

    @operation(idempotent=True)
    async def stamp() -> int:
        if stuck:
            stuck[0].set()
            await asyncio.Event().wait()
        return 7

    scope: dict[str, Any] = {"crm": crm, "stamp": stamp}
    first, _ = agent_with(code("crm.write('Ada', 'x')\nn = await stamp()\ndone(n)"), scope=scope, store=journal)
    abandoned = asyncio.ensure_future(_turn(first))
    await asyncio.wait_for(stuck[0].wait(), 20)
    stuck.clear()
    again, _ = agent_with(scope=scope, store=journal)
    async with again.resume("s1", take_over=True) as session:  # as another process would; the first may write no more
        assert (await session.carry_on(returns=int)).value == 7
    abandoned.cancel()
    with pytest.raises((Fenced, asyncio.CancelledError)):
        await abandoned
    assert crm.letters == ["Ada: x"]


async def _turn(agent: Agent) -> None:
    async with agent.session("s1") as session:
        await session.run("…")


async def test_a_turn_that_had_ended_gives_its_answer_again() -> None:
    journal = MemoryStore()
    agent, _ = agent_with(code("done([c for c in crm.contacts() if c.city == 'Rome'])"), store=journal)
    async with agent.session("s1", returns=list[Contact]) as session:
        first = await session.run("Who?")
    again, model = agent_with(store=journal)
    async with again.resume("s1", returns=list[Contact]) as session:
        result = await session.carry_on()
    assert result.value == first.value == [Contact("Cy", "Rome", 0)]
    assert model.requests == []


async def test_a_resumed_session_goes_on_with_its_names_and_its_words(tmp_path: Path) -> None:
    store = tmp_path / "agents.db"
    agent, _ = agent_with(code("people = crm.contacts()\ndone(1)"), store=store)
    async with agent.session("s1") as session:
        await session.run("Load them.")
    again, model = agent_with(code("done(len(people))"), store=store)
    async with again.resume("s1") as session:
        assert (await session.run("How many?", returns=int)).value == 3
    messages = model.requests[0].messages
    assert messages[0] == UserMessage(text="Load them.")
    assert isinstance(messages[2], ToolMessage)


async def test_a_run_that_was_cancelled_while_the_past_was_read_leaves_the_session_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = f"sqlite:///{tmp_path}/a.db"
    first, _ = agent_with(code("x = 1"), "first", store=store)
    async with first.session("s1") as session:
        await session.run("one")
    reads, goes_on, model = threading.Event(), threading.Event(), Turns.model

    def slow(turns: Turns, inner: Model) -> Any:
        reads.set()
        assert goes_on.wait(30)
        return model(turns, inner)

    monkeypatch.setattr(Turns, "model", slow)
    again, scripted = agent_with("third", store=store)
    async with again.resume("s1") as session:
        cancelled = asyncio.ensure_future(session.run("two"))
        assert await asyncio.to_thread(reads.wait, 30)
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        asyncio.get_running_loop().call_later(0.5, goes_on.set)  # the next run waits for it
        assert (await session.run("three")).value == "third"
    assert "one" in str(scripted.requests[0].messages[0])


async def test_a_fork_goes_its_own_way() -> None:
    journal = MemoryStore()
    agent, _ = agent_with(code("x = 1\ndone(x)"), code("x += 1\ndone(x)"), code("done(x)"), store=journal)
    async with agent.session("s1") as session:
        await session.run("one")
        async with session.fork("s2") as branch:
            assert (await branch.run("two")).value == 2
        assert (await session.run("three")).value == 1
    assert journal.facts("s2").parent == "s1"


def _take_out(_: None, call: Undoing) -> None:
    call.target.things.remove(call.args[0])


class Box:
    """Things, which can be taken out again."""

    def __init__(self) -> None:
        self.things: list[str] = []

    @operation(undo=_take_out)
    def put(self, thing: str) -> None:
        """Put a thing in."""
        self.things.append(thing)


async def test_undo_takes_the_last_turn_back() -> None:
    box = Box()
    agent, model = agent_with(
        code("box.put('a')\nn = 1\ndone(n)"), code("box.put('b')\nn = 2\ndone(n)"), code("done(n)"),
        scope={"box": box}, store=MemoryStore(),
    )  # fmt: skip
    async with agent.session() as session:
        await session.run("one")
        await session.run("two")
        await session.undo()
        assert box.things == ["a"]
        assert (await session.run("three")).value == 1
    texts = [m.text for m in model.requests[-1].messages if isinstance(m, UserMessage)]
    assert texts == ["one", "three"]


async def test_an_undo_that_cannot_undo_everything_asks_first() -> None:
    crm = Crm()
    agent, _ = agent_with(code("crm.write('Ada', 'x')\ndone(1)"), scope={"crm": crm}, store=MemoryStore())
    async with agent.session() as session:
        await session.run("one")
        with pytest.raises(RollbackRefused, match=r"crm\.write"):
            await session.undo()
        await session.undo(yes=True)
        with pytest.raises(UsageError, match="no turn to undo"):
            await session.undo()


async def test_direct_calls_are_carried_on_too() -> None:
    crm, journal = Crm(), MemoryStore()
    steps: Any = ([call("crm__write", name="Ada", text="x")], [call("done", value=5)])
    first, _ = agent_with(steps[0], dies, scope={"crm": crm}, store=journal, mode="direct")
    with pytest.raises(Died):
        async with first.session("s1", returns=int) as session:
            await session.run("…")
    again, rest = agent_with(steps[1], scope={"crm": crm}, store=journal, mode="direct")
    async with again.resume("s1", returns=int) as session:
        assert (await session.carry_on()).value == 5
    assert crm.letters == ["Ada: x"]
    assert "1" in last_observation(rest)


async def test_a_session_that_is_not_there_is_told() -> None:
    agent, _ = agent_with(store=MemoryStore())
    with pytest.raises(NoSession):
        async with agent.resume("nothing"):
            pass
    with pytest.raises(UsageError, match="needs the store"):
        agent_with()[0].resume("s1")


async def test_a_turn_that_ended_is_not_unfinished_and_one_that_was_cut_off_is() -> None:
    for replies, unfinished in (((code("x = 1"), code("done(x)")), False), ((code("x = 1"), dies), True)):
        journal = MemoryStore()
        agent, _ = agent_with(*replies, store=journal)
        with contextlib.suppress(Died):
            async with agent.session("s1") as session:
                await session.run("…")
        async with agent_with(store=journal)[0].resume("s1") as session:
            assert session.is_unfinished == unfinished
            assert session.has_turn


async def test_what_is_carried_on_is_the_last_task_and_undo_takes_all_of_it_back() -> None:
    box, journal = Box(), MemoryStore()
    agent, _ = agent_with(code("box.put('a')\ndone(1)"), code("box.put('b')"), dies, scope={"box": box}, store=journal)
    with contextlib.suppress(Died):
        async with agent.session("s1") as session:
            await session.run("one")
            await session.run("two")
    again, _ = agent_with(code("box.put('c')\ndone(2)"), scope={"box": box}, store=journal)
    async with again.resume("s1") as session:
        result = await session.carry_on()
        assert [e.task for e in result.trace if isinstance(e, TurnStarted)] == ["two"]
        assert box.things == ["a", "b", "c"]
        await session.undo()
    assert box.things == ["a"]


async def test_show_reopens_an_output_of_an_earlier_process() -> None:
    journal = MemoryStore()
    first, _ = agent_with(code("print('row ' * 5)"), code("done(1)"), store=journal)
    async with first.session("s1") as session:
        await session.run("…")
    again, _ = agent_with(code("done(show('output:1'))"), store=journal)
    async with again.resume("s1") as session:
        assert (await session.run("again")).value.split() == ["row"] * 5


async def test_without_a_store_fork_and_undo_say_what_they_need() -> None:
    agent, _ = agent_with("hi")
    async with agent.session() as session:
        await session.run("…")
        with pytest.raises(UsageError, match=r"undo needs the session to be kept: Agent\(store="):
            await session.undo()
        with pytest.raises(UsageError, match="fork needs"):
            session.fork()
