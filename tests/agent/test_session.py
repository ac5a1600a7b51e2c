"""A session: turns that share an interpreter and a conversation, streamed, cancelled, and gone on with."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.agent.worlds import FENCED, agent_with, kinds, last_observation

from cellwright.agent import Agent
from cellwright.doors import Request
from cellwright.errors import ModelBusy, ModelError, ModelRefused, Stuck, UsageError
from cellwright.events import Event, Failed, Retried
from cellwright.messages import AssistantMessage, OnPiece, ToolMessage, UserMessage
from cellwright.store import MemoryStore
from cellwright.testing import ScriptedModel, code


async def test_names_and_messages_stay_for_the_next_turn() -> None:
    agent, model = agent_with(code("people = crm.contacts()\ndone(len(people))"), code("done(people[0].name)"))
    async with agent.session() as session:
        assert (await session.run("How many?", returns=int)).value == 3
        second = await session.run("Who is first?", returns=str)
    assert second.value == "Ada"
    assert {e.turn for e in second.trace} == {2}
    assert isinstance(model.requests[1].messages[2], ToolMessage)  # the call that ended the first turn has its answer
    assert isinstance(model.requests[1].messages[-1], UserMessage)


async def test_a_turn_is_streamed_to_its_end() -> None:
    agent, _ = agent_with(code("print('hi')"), "Done.")
    seen = [event async for event in agent.stream("…")]
    assert kinds(seen)[0] == "TurnStarted"
    assert kinds(seen)[-1] == "Done"
    assert "Printed" in kinds(seen)


async def test_a_failure_is_streamed_and_then_raised() -> None:
    agent, _ = agent_with(otherwise=code("crm.fail(1)"))
    seen: list[Event] = []

    async def hear() -> None:
        async for event in agent.stream("…"):
            seen.append(event)

    with pytest.raises(Stuck):
        await hear()
    assert kinds(seen)[-1] == "Failed"


async def test_leaving_the_stream_cancels_the_turn_and_the_session_goes_on() -> None:
    asked = asyncio.Event()

    async def never(_: Request) -> AssistantMessage:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    agent, _ = agent_with(code("x = 5"), never, code("done(x)"))
    async with agent.session() as session:
        stream = session.stream("…")
        async for event in stream:
            if type(event).__name__ == "CellFinished":
                break
        await asyncio.wait_for(asked.wait(), 10)
        await stream.aclose()
        assert (await session.run("And now?")).value == 5


async def test_a_cell_under_way_is_cancelled_with_its_turn() -> None:
    began = asyncio.Event()

    async def wait() -> None:
        began.set()
        await asyncio.Event().wait()

    agent, model = agent_with(code("await wait()"), code("done(1)"), scope={"wait": wait})
    async with agent.session() as session:
        turn = asyncio.ensure_future(session.run("…"))
        await asyncio.wait_for(began.wait(), 10)
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
        assert (await session.run("again")).value == 1
    answered = model.requests[-1].messages[-2]
    assert isinstance(answered, ToolMessage)
    assert answered.results[0].text.startswith("the turn was cancelled here; the interpreter was ended")


async def test_a_busy_model_is_asked_again_and_that_is_told() -> None:
    agent, _ = agent_with(ModelBusy("529 overloaded", retry_after_s=0.0), code("done(1)"))
    result = await agent.run("…")
    assert result.value == 1
    assert [e.why for e in result.trace if isinstance(e, Retried)] == ["529 overloaded"]


async def test_a_model_that_refuses_ends_the_turn_and_not_the_session() -> None:
    agent, _ = agent_with(ModelRefused("401: wrong key"), code("done(1)"))
    seen: list[Event] = []
    async with agent.session() as session:
        with pytest.raises(ModelRefused):
            await session.run("…", on_event=seen.append)
        assert (await session.run("again")).value == 1
    assert kinds(seen)[-1] == "Failed"


async def test_a_session_that_is_not_open_says_so() -> None:
    agent, _ = agent_with()
    with pytest.raises(UsageError, match="not open"):
        await agent.session().run("…")


async def test_agents_work_side_by_side() -> None:
    async def one(n: int) -> int:
        agent, _ = agent_with(code(f"done({n} + len(crm.contacts()))"))
        return (await agent.run("…", returns=int)).value

    assert await asyncio.gather(*map(one, range(10))) == [n + 3 for n in range(10)]


async def test_a_model_is_named_by_the_developer_and_closed_by_them() -> None:
    agent, model = agent_with("hi")
    await agent.run("…")
    await agent.close()
    assert isinstance(model, ScriptedModel)
    assert not model.closed


class NoReply(ScriptedModel):
    """Gives what is no reply."""

    async def request(self, request: Request, on_piece: OnPiece | None = None) -> Any:
        return None


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (ScriptedModel(otherwise=KeyError("choices")), "scripted: KeyError: 'choices'"),
        (
            ScriptedModel(otherwise=ExceptionGroup("both", [OSError("a")])),
            "scripted: ExceptionGroup: both (1 sub-excep",
        ),
        (ScriptedModel(otherwise=TimeoutError("a\nb")), "scripted: TimeoutError: a b"),
        (NoReply(), "scripted: its `request` gave a NoneType and no Reply"),
    ],
)
async def test_whatever_a_model_raises_is_one_error_and_a_failed_turn(model: ScriptedModel, said: str) -> None:
    store, heard = MemoryStore(), list[Event]()
    agent = Agent(model, store=store)
    with pytest.raises(ModelError) as caught:
        async with agent.session("s1") as session:
            await session.run("…", on_event=heard.append)
    assert str(caught.value).startswith(said)
    assert "\n" not in str(caught.value)
    assert [turn.status for turn in store.turns("s1")] == ["failed"]
    assert [type(event) for event in heard][-1] is Failed


@pytest.mark.parametrize("options", [{}, {"mode": "direct"}, {"traits": FENCED}])
@pytest.mark.parametrize("returns", [str, None])
async def test_an_empty_reply_is_no_answer(returns: Any, options: dict[str, Any]) -> None:
    agent, model = agent_with("", AssistantMessage(text=" \n"), "Here.", **options)
    assert (await agent.run("…", returns=returns)).value == "Here."
    assert all("Your reply was empty" in last_observation(model, number) for number in (1, 2))


async def test_empty_replies_come_to_an_end() -> None:
    agent, model = agent_with(otherwise="")
    with pytest.raises(Stuck, match="Your reply was empty"):
        await agent.run("…")
    assert len(model.requests) == 6
