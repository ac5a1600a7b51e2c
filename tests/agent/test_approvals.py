"""An agent whose code waits for a person's yes: what the trace has, what the model reads, and whom children ask."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.cells import PATIENCE_S
from tests.guard.people import Mail, Person

from cellwright import Scope, operation
from cellwright.agent import Agent
from cellwright.doors import Request
from cellwright.events import ApprovalWanted
from cellwright.messages import AssistantMessage, ToolMessage, UserMessage
from cellwright.testing import ScriptedModel, call, code

pytestmark = pytest.mark.usefixtures("warm")

SECRET = "for the person alone"


def observation(model: ScriptedModel) -> str:
    last = model.requests[-1].messages[-1]
    assert isinstance(last, ToolMessage)
    return "\n".join(result.text for result in last.results)


async def test_the_trace_has_the_question_and_the_answer_goes_on() -> None:
    mail, person = Mail(), Person()
    model = ScriptedModel(code("done(await mail.send('ann'))"))
    agent = Agent(model, scope={"mail": mail}, approve=person.approve, check="off")
    async with asyncio.timeout(PATIENCE_S):
        result = await agent.run("write to ann")
    (told,) = (event for event in result.trace if isinstance(event, ApprovalWanted))
    assert (told.name, told.arguments, told.session, told.turn, told.step) == (
        "mail.send",
        "('ann')",
        result.session_id,
        1,
        1,
    )
    assert result.value == 1
    assert [wanted.session for wanted in person.asked] == [result.session_id]


async def test_the_model_reads_that_it_was_denied_and_why_and_nothing_of_the_question() -> None:
    mail = Mail()
    model = ScriptedModel(code(f"body = '{SECRET}'\nawait mail.send(*[body])"), "I could not.")
    agent = Agent(model, scope={"mail": mail}, approve=lambda wanted: "not on a Sunday", check="off")
    async with asyncio.timeout(PATIENCE_S):
        await agent.run("write to ann")
    assert "Denied: mail.send was denied: not on a Sunday" in observation(model)
    assert SECRET not in observation(model)
    assert mail.sent == []


async def test_without_anybody_to_ask_the_call_is_denied() -> None:
    mail = Mail()
    model = ScriptedModel(code("await mail.send('ann')"), "I could not.")
    async with asyncio.timeout(PATIENCE_S):
        await Agent(model, scope={"mail": mail}, check="off").run("write to ann")
    assert "there is nobody to ask" in observation(model)
    assert mail.sent == []


async def test_a_direct_call_is_asked_for() -> None:
    person, sent = Person(), list[str]()

    @operation(ask=True, direct=True)
    def send(to: str) -> int:
        """Send a letter."""
        sent.append(to)
        return len(sent)

    model = ScriptedModel([call("send", to="ann")], "sent")
    agent = Agent(model, scope={"send": send}, approve=person.approve, mode="direct", check="off")
    async with asyncio.timeout(PATIENCE_S):
        await agent.run("write to ann")
    assert (person.calls, sent) == (["send(to='ann')"], ["ann"])


@pytest.mark.parametrize("scope", ["None", "['mail']", "{'m': mail}"])
async def test_children_ask_the_same_person_whatever_the_object_is_called_there(scope: str) -> None:
    mail, person = Mail(), Person(lambda wanted: "bob" not in wanted.arguments)
    rules = Scope({"mail": mail})
    rules.declare("mail.post", ask=True)
    name = "m" if "m'" in scope else "mail"

    def reply(request: Request) -> Any:
        first, steps = request.messages[0], sum(isinstance(m, AssistantMessage) for m in request.messages)
        assert isinstance(first, UserMessage)
        if "child" in first.text:
            return code(f"done([{name}.post('ann'), {name}.post('bob')])") if steps == 0 else "denied"
        return code(f"done(await spawn('the child', scope={scope}))")

    agent = Agent(ScriptedModel(otherwise=reply), scope=rules, approve=person.approve, spawn=True, check="off")
    async with asyncio.timeout(2 * PATIENCE_S):
        result = await agent.run("the parent")
    assert [wanted.arguments for wanted in person.asked] == ["('ann')", "('bob')"]
    assert mail.sent == ["ann"]
    told = [event for event in result.trace if isinstance(event, ApprovalWanted)]
    assert {event.session for event in told} == {wanted.session for wanted in person.asked} != {result.session_id}


async def test_a_session_that_is_forked_asks_the_same_person() -> None:
    mail, person = Mail(), Person()
    model = ScriptedModel(otherwise=lambda request: code("done(await mail.send('ann'))"))
    agent = Agent(model, scope={"mail": mail}, approve=person.approve, store="memory:", check="off")
    async with asyncio.timeout(2 * PATIENCE_S), agent.session("first") as session:
        await session.run("write")
        async with session.fork("second") as branch:
            await branch.run("write again")
    assert [wanted.session for wanted in person.asked] == ["first", "second"]
