"""A turn that is carried on takes its last reply as the process took it that got it, and nothing is run twice."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.agent.test_lasting import Box, Died, dies
from tests.agent.worlds import FENCED, agent_with

from cellwright import operation
from cellwright.agent import Agent
from cellwright.doors import Reply, Request
from cellwright.errors import TurnWaiting
from cellwright.messages import OnPiece
from cellwright.store import Decision, MemoryStore, Message
from cellwright.testing import ScriptedModel, code

pytestmark = pytest.mark.usefixtures("warm")


class Post:
    """Letters; `send` waits for a yes."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    def put(self, what: str) -> str:
        """Put it into the box."""
        self.sent.append(what)
        return what

    @operation(ask=True)
    def send(self, what: str) -> str:
        """Send it."""
        return self.put(what)


async def test_a_cell_that_was_mended_is_not_run_a_second_time() -> None:
    store, post = MemoryStore(), Post()
    agent, _ = agent_with(
        code("await post.put('a')\ndone(post.send('b'))"), scope={"post": post}, store=store, check="strict"
    )
    async with agent.session("s1") as session:
        with pytest.raises(TurnWaiting):
            await session.run("Send both.")
    (question,) = store.questions()
    store.decide(question.id, Decision(yes=True))
    async with agent.resume("s1") as session:
        assert (await session.carry_on()).value == "b"
    assert (post.sent, len(store.cells("s1"))) == (["a", "b"], 1)


async def test_code_in_an_answer_is_no_more_run_than_it_was() -> None:
    post = Post()
    answer = "Done. Once more:\n```python\npost.put('again')\n```"
    agent, model = agent_with(code("post.put('a')"), answer, scope={"post": post}, store=MemoryStore(), check="off")
    async with agent.session("s1") as session:
        first = await session.run("Put a.")
    async with agent.resume("s1") as session:
        assert (await session.carry_on()).value == first.value == answer
    assert (post.sent, len(model.requests)) == (["a"], 2)


async def test_the_value_of_the_last_cell_is_the_answer_again() -> None:
    agent, model = agent_with(code("41 + 1"), "It is there.", scope={}, store=MemoryStore(), check="off")
    async with agent.session("s1", returns=int) as session:
        assert (await session.run("Add.")).value == 42
    async with agent.resume("s1", returns=int) as session:
        assert (await session.carry_on()).value == 42
    assert len(model.requests) == 2


async def test_the_value_of_a_cell_before_another_task_is_no_answer_to_it() -> None:
    store = MemoryStore()

    def redirects(_: Request) -> Any:
        store.post("s1", Message(kind="redirect", text="Subtract."))
        return code("41 + 1")

    agent, _ = agent_with(redirects, "Hm.", dies, scope={}, store=store, check="off")
    with pytest.raises(Died):
        async with agent.session("s1", returns=int) as session:
            await session.run("Add.")
    again, _ = agent_with(code("done(40)"), scope={}, store=store, check="off")
    async with again.resume("s1", returns=int) as session:
        assert (await session.carry_on()).value == 40


class Short(ScriptedModel):
    """Its first reply runs out of room."""

    async def request(self, request: Request, on_piece: OnPiece | None = None) -> Reply:
        reply = await super().request(request, on_piece)
        return replace(reply, cut=len(self.requests) == 1)


async def test_a_reply_that_ran_out_of_room_is_not_run_either() -> None:
    store, box = MemoryStore(), Box()
    model = Short("```python\nbox.put(1)\nbox.pu", dies, "fine", traits=FENCED)
    agent = Agent(model, scope={"box": box}, store=store, check="off")
    with pytest.raises(Died):
        async with agent.session("s1") as session:
            await session.run("Fill it.")
    async with agent.resume("s1") as session:
        assert (await session.carry_on()).value == "fine"
    assert store.cells("s1") == []
