"""Turns whose code waits for a person: they end with `TurnWaiting`, and are carried on when it is decided."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.cells import PATIENCE_S, eventually
from tests.guard.keeping import Office
from tests.guard.people import Mail

from cellwright import operation
from cellwright.agent import Agent, Session
from cellwright.doors import Request
from cellwright.errors import TurnCancelled, TurnWaiting, UsageError
from cellwright.guard import decide
from cellwright.messages import UserMessage
from cellwright.store import Message
from cellwright.testing import ScriptedModel, code

pytestmark = pytest.mark.usefixtures("warm")

LOOP = "done([await mail.send(to) for to in ('ann', 'bob')])"


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office(tmp_path)


def agent_of(office: Office, model: ScriptedModel, mail: Mail, **options: Any) -> Agent:
    return Agent(model, scope={"mail": mail}, store=office.store, check="off", **options)


async def answered(session: Session, office: Office) -> Any:
    """The answer of a turn that was carried on, with a person who says yes to all."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                return (await session.carry_on()).value
            except TurnWaiting:
                office.say()


async def test_a_turn_that_waits_says_for_what_and_is_carried_on_without_asking_the_model_again(
    office: Office,
) -> None:
    mail, model = Mail(), ScriptedModel(code(LOOP))
    agent = agent_of(office, model, mail)
    async with agent.session("s1") as session:
        with pytest.raises(TurnWaiting, match=r"mail\.send") as raised:
            await session.run("write to both")
        assert (raised.value.session, raised.value.questions) == ("s1", tuple(q.id for q in office.questions))
        assert "ann" not in str(raised.value)
    assert office.store.turns("s1")[-1].status == "waiting"
    office.say()
    async with agent.resume("s1") as session:
        assert await answered(session, office) == [1, 2]
    assert (mail.sent, len(model.requests)) == (["ann", "bob"], 1)
    assert office.store.turns("s1")[-1].status == "done"


async def test_a_turn_is_carried_on_in_the_process_that_has_it_open(office: Office) -> None:
    mail, model = Mail(), ScriptedModel(code(LOOP))
    async with agent_of(office, model, mail).session("s1") as session:
        with pytest.raises(TurnWaiting):
            await session.run("write to both")
        office.say()
        assert await answered(session, office) == [1, 2]
    assert (mail.sent, len(model.requests)) == (["ann", "bob"], 1)


async def test_no_other_task_is_begun_while_a_turn_waits_and_the_model_is_not_asked(office: Office) -> None:
    model = ScriptedModel(code(LOOP), otherwise="nothing to do")
    async with agent_of(office, model, Mail()).session("s1") as session:
        with pytest.raises(TurnWaiting):
            await session.run("write to both")
        with pytest.raises(UsageError, match="waits for a person's yes"):
            await session.run("something else")
        assert len(model.requests) == 1
        await session.give_up()
        assert office.questions == []
        assert (await session.run("something else")).value == "nothing to do"
    assert [turn.status for turn in office.store.turns("s1")] == ["cancelled", "done"]


def family(parent: str, child: str) -> ScriptedModel:
    def reply(request: Request) -> Any:
        first = request.messages[0]
        assert isinstance(first, UserMessage)
        return code(parent if first.text.startswith("parent") else child)

    return ScriptedModel(otherwise=reply)


async def test_a_child_that_waits_pauses_the_whole_family_and_is_carried_on_with_it(office: Office) -> None:
    parent = "import asyncio\ndone(await asyncio.gather(*(spawn(f'child {n}') for n in range(2))))"
    mail, model = Mail(), family(parent, "done(await mail.send('ann'))")
    agent = agent_of(office, model, mail, spawn=True)
    async with agent.session("s1") as session:
        with pytest.raises(TurnWaiting) as raised:
            await session.run("parent")
        questions = office.questions
        assert (len(questions), {q.id for q in questions}) == (2, set(raised.value.questions))
        assert all(q.session.startswith("s1.") for q in questions)
    asked = len(model.requests)
    async with agent.resume("s1") as session:
        with pytest.raises(TurnWaiting):
            await session.carry_on()
        assert sorted(await answered(session, office)) == [1, 2]
    assert (mail.sent, len(model.requests)) == (["ann", "ann"], asked)


async def test_a_turn_that_waits_is_recovered_when_it_is_decided_and_not_before(office: Office) -> None:
    mail, model = Mail(), ScriptedModel(code(LOOP))
    agent = agent_of(office, model, mail)
    async with agent.session("s1") as session:
        with pytest.raises(TurnWaiting):
            await session.run("write to both")
    assert await agent.recover() == []
    office.say(always="session")
    (done,) = await agent.recover()
    assert (done.value, mail.sent) == ([1, 2], ["ann", "bob"])


async def test_a_turn_that_is_cancelled_while_it_waits_asks_nobody_any_more_and_makes_no_call(office: Office) -> None:
    mail, model = Mail(), ScriptedModel(code(LOOP), code("done(7)"))
    agent = agent_of(office, model, mail)
    async with agent.session("s1") as session:
        with pytest.raises(TurnWaiting):
            await session.run("write to both")
    office.store.post("s1", Message(kind="cancel", who="bob"))
    (ended,) = await agent.recover()
    assert isinstance(ended.error, TurnCancelled)
    assert (office.questions, office.store.turns("s1")[-1].status) == ([], "cancelled")
    async with agent.resume("s1") as session:
        assert (await session.run("something else")).value == 7
    assert mail.sent == []


async def test_a_turn_that_is_cancelled_when_it_is_decided_makes_no_call_in_the_next_turn(office: Office) -> None:
    mail, model = Mail(), ScriptedModel(code(LOOP), code("done(7)"))
    async with agent_of(office, model, mail).session("s1") as session:
        with pytest.raises(TurnWaiting):
            await session.run("write to both")
        session.cancel()
        office.say()
        with pytest.raises(TurnCancelled):
            await session.carry_on()
        assert (await session.run("something else")).value == 7
    assert mail.sent == []


async def test_who_gives_a_turn_up_withdraws_what_its_children_ask(office: Office) -> None:
    mail, model = Mail(), family("await spawn('child')", "done(await mail.send('ann'))")
    async with agent_of(office, model, mail, spawn=True).session("s1") as session:
        with pytest.raises(TurnWaiting):
            await session.run("parent")
        (question,) = office.questions
        await session.give_up()
        assert office.questions == []
    with pytest.raises(UsageError, match="withdrawn"):
        decide(office.store, question.id, yes=True)


async def test_a_child_of_an_earlier_cell_still_waits_when_a_later_one_is_ended(office: Office) -> None:
    mail, model = Mail(), family("", "done(await mail.send('ann'))")

    @operation(reads=True)
    async def asked() -> None:
        async def is_asked() -> bool:
            return bool(office.questions)

        await eventually(is_asked)

    agent = Agent(model, scope={"mail": mail, "asked": asked}, store=office.store, check="off", spawn=True)
    async with asyncio.timeout(PATIENCE_S), agent.session("s1") as session:
        rt = session.runtime
        assert (await rt.execute("import asyncio\ntask = asyncio.create_task(spawn('child'))\nawait asked()")).ok
        assert len((await rt.execute("await asyncio.gather(task, mail.send('bob'))")).waiting) == 2
        await rt.give_up()
        assert [question.arguments for question in office.questions] == ["('ann')"]
