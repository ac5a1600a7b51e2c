"""What the journal has of an agent's turns, and what is carried on: by hand, and by `recover`."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path
from typing import Any

import pytest
from tests.agent.test_lasting import Box, Died, dies
from tests.agent.worlds import agent_with

from cellwright import operation
from cellwright.agent import Agent
from cellwright.agent.recovery import TRIES
from cellwright.errors import BudgetSpent, ModelRefused, Stuck, TurnFailed, TurnWaiting, UsageError
from cellwright.messages import AssistantMessage, UserMessage
from cellwright.models import Budget
from cellwright.sessions import Sessions
from cellwright.store import LEASE_S, Decision, LeaseHolder, MemoryStore, SqliteStore, TurnRow
from cellwright.testing import ScriptedModel, code

ELSEWHERE = LeaseHolder(machine="another boot", process=7, started="1", name="far-away")


def turns(store: Any, session: str = "s1") -> list[tuple[int, str, str, str]]:
    return [(t.number, t.task, t.status, t.answer) for t in store.turns(session)]


async def left(store: Any, *replies: Any, session: str = "s1", task: str = "the task", **options: Any) -> None:
    """A turn whose process died in the request after these replies."""
    agent, _ = agent_with(*replies, dies, store=store, **options)
    with pytest.raises(Died):
        async with agent.session(session) as opened:
            await opened.run(task)


# what is written


async def test_a_turn_is_written_down_before_the_model_is_asked_and_again_with_its_answer() -> None:
    store, seen = MemoryStore(), list[Any]()

    def reply(_: Any) -> Any:
        seen.extend(store.turns("s1"))
        return code("done({'n': 6 * 7})")

    agent, _ = agent_with(reply, "Bye.", store=store)
    async with agent.session("s1") as session:
        await session.run("How much?")
        assert [(t.number, t.status, t.cell, t.asked) for t in seen] == [(1, "running", 0, 0)]
        await session.run("Say bye.")
    assert turns(store) == [(1, "How much?", "done", "{'n': 42}"), (2, "Say bye.", "done", "Bye.")]
    assert [(t.cell, t.asked) for t in store.turns("s1")] == [(0, 0), (1, 1)]


async def test_an_answer_is_written_down_in_short() -> None:
    store = MemoryStore()
    agent, _ = agent_with("x" * 100_000, store=store)
    async with agent.session("s1") as session:
        await session.run("Say much.")
    assert len(store.turns("s1")[0].answer) == 2000


@pytest.mark.parametrize(
    ("replies", "error"),
    [((ModelRefused("401"),), ModelRefused), ((code("{}['k']"),) * 9, Stuck), (("x",), AssertionError)],
)
async def test_a_turn_that_came_to_nothing_has_failed(replies: Any, error: type[Exception]) -> None:
    store = MemoryStore()
    agent, _ = agent_with(*replies, store=store)
    async with agent.session("s1") as session:
        with pytest.raises(error):
            await session.run("the task", returns=int)
    ((_, _, status, answer),) = turns(store)
    assert (status, answer.startswith(error.__name__)) == ("failed", True)


async def test_a_turn_that_was_cancelled_is_written_down_as_that() -> None:
    store, asked = MemoryStore(), asyncio.Event()

    async def never(_: Any) -> str:
        asked.set()
        await asyncio.Event().wait()
        return ""

    agent, _ = agent_with(never, store=store)
    async with agent.session("s1") as session:
        running = asyncio.ensure_future(session.run("the task"))
        await asyncio.wait_for(asked.wait(), 20)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert turns(store) == [(1, "the task", "cancelled", "cancelled")]


async def test_a_stream_that_is_left_is_a_turn_that_was_cancelled() -> None:
    store = MemoryStore()
    agent, _ = agent_with(code("x = 1"), code("done(x)"), store=store)
    async with agent.session("s1") as session:
        events = session.stream("the task")
        await anext(events)
        await events.aclose()
    assert turns(store)[0][2] == "cancelled"


async def test_a_child_and_a_function_are_written_down_as_whose_they_are() -> None:
    store = MemoryStore()

    def reply(request: Any) -> Any:
        words = str(request.messages[0].text)
        return code("done(await spawn('of the child'))" if words == "of the parent" else "done('yes')")

    agent = Agent(ScriptedModel(otherwise=reply), store=store, spawn=True, name="head", check="off")
    async with agent.session("s1") as session:
        assert (await session.run("of the parent")).value == "yes"

    @agent.function
    async def agree() -> str:
        """Say yes."""
        raise NotImplementedError

    assert await agree() == "yes"
    facts = [store.facts(id) for id in store.sessions()]
    assert [(f.agent, f.child_of) for f in facts] == [("head", ""), ("head", "s1"), ("head@agree", "")]
    assert turns(store, facts[1].id) == [(1, "of the child", "done", "yes")]


# carrying on by hand


async def test_a_turn_that_died_before_its_first_reply_is_asked_for_again_and_earlier_ones_are_not_disturbed() -> None:
    store = MemoryStore()
    agent, _ = agent_with("One.", dies, store=store)
    async with agent.session("s1") as session:
        await session.run("first")
        with pytest.raises(Died):
            await session.run("second")
    again, model = agent_with("Two.", store=store)
    async with again.resume("s1") as session:
        assert session.is_unfinished
        assert (await session.carry_on()).value == "Two."
    assert model.requests[0].messages == (
        UserMessage(text="first"),
        AssistantMessage(text="One."),
        UserMessage(text="second"),
    )
    assert turns(store) == [(1, "first", "done", "One."), (2, "second", "done", "Two.")]


async def test_a_turn_that_failed_is_carried_on_in_the_same_session() -> None:
    store = MemoryStore()
    agent, model = agent_with(code("x = 5"), ModelRefused("401"), code("done(x)"), store=store)
    async with agent.session("s1") as session:
        with pytest.raises(ModelRefused):
            await session.run("the task")
        assert (await session.carry_on()).value == 5
        with pytest.raises(UsageError, match="no turn to carry on"):
            await session.carry_on()
    assert len(model.requests) == 3
    assert turns(store) == [(1, "the task", "done", "5")]


async def test_another_task_takes_the_place_of_one_that_was_cut_off() -> None:
    store = MemoryStore()
    await left(store, code("x = 1"))
    agent, _ = agent_with("Hello.", store=store)
    async with agent.resume("s1") as session:
        await session.run("another")
    assert [(number, status) for number, _, status, _ in turns(store)] == [(1, "cancelled"), (2, "done")]
    assert await agent.recover() == []


async def test_turns_are_numbered_across_processes() -> None:
    store = MemoryStore()
    for number in (1, 2, 3):
        agent, _ = agent_with("Yes.", store=store)
        session = agent.session("s1") if number == 1 else agent.resume("s1")
        async with session:
            result = await session.run(f"task {number}")
        assert {event.turn for event in result.trace} == {number}
    assert [t[0] for t in turns(store)] == [1, 2, 3]


async def test_a_turn_of_an_earlier_process_is_taken_back() -> None:
    box, store = Box(), MemoryStore()
    agent, _ = agent_with(code("box.put('a')\ndone(1)"), code("box.put('b')\ndone(2)"), scope={"box": box}, store=store)
    async with agent.session("s1") as session:
        await session.run("one")
        await session.run("two")
    again, model = agent_with("Three.", scope={"box": box}, store=store)
    async with again.resume("s1") as session:
        await session.undo()
        assert box.things == ["a"]
    async with again.resume("s1") as session:
        await session.run("three")
        assert [m.text for m in model.requests[0].messages if isinstance(m, UserMessage)] == ["one", "three"]
        await session.undo()
        await session.undo()
        assert box.things == []
        with pytest.raises(UsageError, match="no turn to undo"):
            await session.undo()


# recover


async def test_recover_carries_on_what_was_cut_off_and_nothing_else(tmp_path: Path) -> None:
    store = tmp_path / "agents.db"
    await left(store, code("x = 20"), session="cut", task="A task.")
    await left(store, session="early", task="Another.")
    await left(store, code("x = 1"), session="other", name="somebody else")
    agent, _ = agent_with("Done.", store=store)
    async with agent.session("done") as session:
        await session.run("Ready.")

    def reply(request: Any) -> Any:
        return "Nothing." if len(request.messages) == 1 else code("done(x + 1)")

    again, model = agent_with(store=store, otherwise=reply)
    heard = list[Any]()
    done = await again.recover(on_event=heard.append)
    assert {one.session: (one.task, one.value) for one in done} == {
        "cut": ("A task.", 21), "early": ("Another.", "Nothing."),
    }  # fmt: skip
    assert {event.session for event in heard} == {"cut", "early"}
    assert len(model.requests) == 2
    assert await again.recover() == []


async def test_recover_gives_the_type_that_is_asked_for_and_needs_a_store_and_no_file(tmp_path: Path) -> None:
    store = tmp_path / "agents.db"
    agent, _ = agent_with(code("done(4)"), store=store)
    assert await agent.recover() == []
    assert not store.exists()
    await left(store)
    (done,) = await agent.recover(returns=float)
    assert type(done.value) is float
    with pytest.raises(UsageError, match="needs the store"):
        await agent_with()[0].recover()


async def test_a_turn_that_fails_again_does_not_stop_the_others(tmp_path: Path) -> None:
    store = tmp_path / "agents.db"
    for name in ("a", "b", "c"):
        await left(store, session=name, task=name)

    def reply(request: Any) -> Any:
        return ModelRefused("401") if request.messages[0].text == "b" else "Fine."

    agent, _ = agent_with(store=store, otherwise=reply)
    done = {one.session: one for one in await agent.recover(at_once=1)}
    assert [done[name].value for name in ("a", "b", "c")] == ["Fine.", None, "Fine."]
    assert isinstance(done["b"].error, ModelRefused)
    assert await agent.recover() == []  # one that failed is left alone


async def test_what_another_machine_works_on_is_carried_on_when_its_lease_has_run_out() -> None:
    store = MemoryStore()
    await left(store, code("x = 1"))
    store.claim("s1", ELSEWHERE)
    agent, _ = agent_with(code("done(x)"), store=store)
    assert await agent.recover() == []
    now = store.clock()
    store.clock = lambda: now + LEASE_S + 1
    (done,) = await agent.recover()
    assert done.value == 1


async def test_what_this_process_works_on_is_left_alone() -> None:
    store, asked, go = MemoryStore(), asyncio.Event(), asyncio.Event()

    async def slow(_: Any) -> str:
        asked.set()
        await go.wait()
        return "Ready."

    agent, _ = agent_with(slow, store=store)
    async with agent.session("s1") as session:
        running = asyncio.ensure_future(session.run("the task"))
        await asyncio.wait_for(asked.wait(), 20)
        assert await agent.recover() == []
        go.set()
        assert (await running).value == "Ready."


async def test_two_that_recover_at_once_in_one_process_share_the_turns() -> None:
    store = MemoryStore()
    for name in ("a", "b", "c"):
        await left(store, session=name)
    agents = [agent_with(store=store, otherwise="Fine.") for _ in range(2)]
    done = await asyncio.gather(*(agent.recover() for agent, _ in agents))
    assert sorted(one.session for each in done for one in each) == ["a", "b", "c"]
    assert sum(len(model.requests) for _, model in agents) == 3


async def test_a_turn_that_takes_its_process_down_each_time_is_left_alone_in_the_end() -> None:
    store = MemoryStore()
    await left(store, code("x = 1"))
    agent, _ = agent_with(store=store, otherwise=dies)
    for _ in range(TRIES):
        with pytest.raises(Died):
            await agent.recover()
    (done,) = await agent.recover()
    assert isinstance(done.error, TurnFailed)
    assert f"{TRIES} processes died in this turn at the same place, after cell 1" in str(done.error)
    assert turns(store)[0][2] == "failed"
    assert await agent.recover() == []
    again, _ = agent_with(code("done(x)"), store=store)
    async with again.resume("s1") as session:
        assert (await session.carry_on()).value == 1


async def test_a_turn_that_comes_further_each_time_is_carried_on_as_often_as_it_takes() -> None:
    store = MemoryStore()
    await left(store, code("n = 0"))
    for _ in range(8):
        agent, _ = agent_with(code("n += 1"), dies, store=store)
        with pytest.raises(Died):
            await agent.recover()
    agent, _ = agent_with(code("done(n)"), store=store)
    (done,) = await agent.recover()
    assert done.value == 8


async def test_a_budget_that_was_spent_is_a_failure_and_not_cut_off(tmp_path: Path) -> None:
    store = tmp_path / "agents.db"
    agent, _ = agent_with(otherwise=code("1"), store=store, budget=Budget(steps=2))
    async with agent.session("s1") as session:
        with pytest.raises(BudgetSpent):
            await session.run("the task")
    assert await agent.recover() == []
    kept = SqliteStore(store)
    assert kept.turns("s1")[0] == TurnRow(
        number=1, task="the task", status="failed", at=kept.turns("s1")[0].at,
        answer="BudgetSpent: spent 2 of 2 steps; raise Budget(steps=…)",
    )  # fmt: skip
    kept.close()


@operation(ask=True, idempotent=True)
def pay(amount: int) -> str:
    """Pay money."""
    return f"paid {amount}"


async def test_a_turn_that_waits_for_a_yes_is_carried_on_when_that_is_there() -> None:
    store = MemoryStore()
    agent, model = agent_with(code("done(pay(70))"), scope={"pay": pay}, store=store)
    async with agent.session("s1") as session:
        with pytest.raises(TurnWaiting):
            await session.run("Pay.")
    assert turns(store)[0][2] == "waiting"
    for _ in range(6):
        assert await agent.recover() == []
    (question,) = store.questions()
    store.decide(question.id, Decision(yes=True, who="Ada"))
    (done,) = await agent.recover()
    assert (done.value, len(model.requests)) == ("paid 70", 1)
    assert turns(store) == [(1, "Pay.", "done", "paid 70")]


async def test_a_turn_whose_child_waits_is_carried_on_when_the_child_can_go_on() -> None:
    store = MemoryStore()

    def reply(request: Any) -> Any:
        parent = request.messages[0].text == "of the parent"
        return code("done(await spawn('of the child'))" if parent else "done(pay(70))")

    agent = Agent(ScriptedModel(otherwise=reply), scope={"pay": pay}, store=store, spawn=True, check="off")
    async with agent.session("s1") as session:
        with pytest.raises(TurnWaiting):
            await session.run("of the parent")
    assert await agent.recover() == []
    (question,) = store.questions()
    assert question.session != "s1"
    store.decide(question.id, Decision(yes=True, who="Ada"))
    (done,) = await agent.recover()
    assert (done.session, done.value) == ("s1", "paid 70")


async def test_a_turn_that_came_with_an_import_is_carried_on_by_hand_alone() -> None:
    store, file = MemoryStore(), io.BytesIO()
    await left(store, code("x = 1"))
    sessions = Sessions(store)
    sessions.export("s1", file)
    file.seek(0)
    copy = sessions.import_(file).session
    agent, _ = agent_with("first", "second", store=store)
    assert [one.session for one in await agent.recover()] == ["s1"]
    assert [one.session for one in await agent.recover()] == []
    async with agent.resume(copy) as session:
        assert (await session.carry_on()).value == "second"
    assert turns(store, copy) == [(1, "the task", "done", "second")]
