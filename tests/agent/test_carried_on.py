"""A turn that is carried on takes its last reply as the process took it that got it, and nothing is run twice."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.agent.test_lasting import Box, Died, dies
from tests.agent.worlds import FENCED, agent_with, last_observation

from cellwright import Scope, operation
from cellwright.agent import Agent
from cellwright.doors import Model, Reply, Request
from cellwright.errors import TurnCancelled, TurnWaiting
from cellwright.events import Event, ModeChosen
from cellwright.messages import OnPiece, ToolCall, ToolMessage
from cellwright.store import Decision, MemoryStore, Message
from cellwright.testing import ScriptedModel, call, code, fenced

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


async def cancel_before_its_cell(store: MemoryStore, post: Post, id: str) -> None:
    """A session whose turn was cancelled when its reply was recorded and nothing of it was run."""

    def reply(_: Request) -> Any:
        store.post(id, Message(kind="cancel", text=""))
        return code("post.put('c')\ndone(1)")

    agent, _ = agent_with(reply, scope={"post": post}, store=store, check="off")
    async with agent.session(id) as session:
        with pytest.raises(TurnCancelled):
            await session.run("Put c.")


async def test_a_recorded_reply_is_held_to_what_was_offered_unless_it_was_begun() -> None:
    store, post = MemoryStore(), Post()
    first, _ = agent_with(code("post.put('a')\ndone(post.send('b'))"), scope={"post": post}, store=store, check="off")
    async with first.session("begun") as session:
        with pytest.raises(TurnWaiting):
            await session.run("Send both.")
    (question,) = store.questions()
    store.decide(question.id, Decision(yes=True))

    await cancel_before_its_cell(store, post, "fresh")
    direct, model = agent_with("No.", scope={"post": post}, store=store, mode="direct")
    async with direct.resume("fresh") as session:
        assert (await session.carry_on()).value == "No."
    assert "there is no function 'execute'" in last_observation(model)
    async with direct.resume("begun") as session:
        assert (await session.carry_on()).value == "b"
    assert post.sent == ["a", "b"]


async def test_a_reply_of_another_mode_is_run_as_it_was_offered() -> None:
    store, post = MemoryStore(), Post()
    await cancel_before_its_cell(store, post, "s1")
    chosen: list[Event] = []
    again = Agent(ScriptedModel(), scope=direct(post), store=store, mode="auto")
    async with again.resume("s1") as session:
        assert (await session.carry_on(on_event=chosen.append)).value == 1
    assert [event.mode for event in chosen if isinstance(event, ModeChosen)] == ["direct"]
    assert post.sent == ["c"]


def as_it_is(model: Model) -> Model:
    return model


async def test_calls_of_one_id_in_an_older_journal_get_each_its_own_result(monkeypatch: pytest.MonkeyPatch) -> None:
    store, box = MemoryStore(), Box()
    calls = [ToolCall(id="call_0", name="execute", arguments=f'{{"code": "{word!r}"}}') for word in ("one", "two")]
    with monkeypatch.context() as older:
        older.setattr("cellwright.agent.session.OwnCallIds", as_it_is)
        first, _ = agent_with(calls, dies, scope={"box": box}, store=store, check="off")
        with pytest.raises(Died):
            async with first.session("s1") as session:
                await session.run("…")
    again, model = agent_with(calls, code("done(1)"), scope={"box": box}, store=store, check="off")
    async with again.resume("s1") as session:
        assert (await session.carry_on()).value == 1
    answered = [[r.text for r in m.results] for m in model.requests[-1].messages if isinstance(m, ToolMessage)]
    assert answered == [["'one'", "'two'"]] * 2


def direct(post: Post) -> Scope:
    scope = Scope({"post": post})
    scope.declare("post.*", direct=True)
    return scope


async def test_direct_calls_that_were_begun_are_carried_on_in_another_mode() -> None:
    store, post = MemoryStore(), Post()
    first = Agent(ScriptedModel([call("post__put", what="a")], dies), scope=direct(post), store=store)
    with pytest.raises(Died):
        async with first.session("s1") as session:
            await session.run("Put a.")
    again, model = agent_with("It is there.", scope={"post": post}, store=store, mode="code")
    async with again.resume("s1") as session:
        assert (await session.carry_on()).value == "It is there."
    assert (post.sent, last_observation(model)) == (["a"], "a")


async def test_a_call_that_was_refused_is_refused_again() -> None:
    store, post = MemoryStore(), Post()
    asked = ScriptedModel(code("post.put('a')\ndone(1)"), dies)
    first = Agent(asked, scope=direct(post), store=store)
    with pytest.raises(Died):
        async with first.session("s1") as session:
            await session.run("Put a.")
    model = ScriptedModel("No.")
    async with Agent(model, scope=direct(post), store=store).resume("s1") as session:
        assert (await session.carry_on()).value == "No."
    assert last_observation(model) == last_observation(asked)
    assert post.sent == []


async def test_code_is_not_run_without_code_because_a_call_beside_it_was_begun() -> None:
    store, post = MemoryStore(), Post()
    both = [call("post__put", what="a"), call("execute", code="post.put('b')")]
    options: dict[str, Any] = {"scope": {"post": post}, "store": store, "mode": "direct"}
    with pytest.raises(Died):
        async with Agent(ScriptedModel(both, dies), **options).session("s1") as session:
            await session.run("Put a.")
    async with Agent(ScriptedModel("So."), **options).resume("s1") as session:
        assert (await session.carry_on()).value == "So."
    assert post.sent == ["a"]


async def test_fenced_code_is_carried_on_by_a_model_that_takes_tools() -> None:
    store, post = MemoryStore(), Post()
    replies = fenced("post.put('a')"), fenced("post.put('b')\n1 / 0"), dies
    first, _ = agent_with(*replies, scope={"post": post}, store=store, check="off", traits=FENCED)
    with pytest.raises(Died):
        async with first.session("s1") as session:
            await session.run("Put both.")
    again, model = agent_with(code("done(1)"), scope={"post": post}, store=store, check="off")
    async with again.resume("s1") as session:
        assert (await session.carry_on()).value == 1
    assert "ZeroDivisionError" in last_observation(model)
    assert post.sent == ["a", "b"]
