"""The model's door under a journal: paid for once, given again in order, and never another reply than the recorded."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.journal.lasting import Sessions, value

from cellwright import Runtime
from cellwright.doors import Reply, Request
from cellwright.errors import Diverged, JournalFailed, ModelBusy, UsageError
from cellwright.journal import Conversation, History, ReplayedModel, SessionJournal, conversation, replies
from cellwright.journal.conversations import usage_in
from cellwright.journal.writer import JournalWriter
from cellwright.messages import (
    AssistantMessage,
    Generation,
    Message,
    Piece,
    Tool,
    ToolCall,
    ToolMessage,
    ToolResult,
    Traits,
    Usage,
    UserMessage,
)
from cellwright.runtime import replay
from cellwright.store import Facts, MemoryStore, Row, SqliteStore, Store
from cellwright.testing import ScriptedModel, code, fenced
from cellwright_guest.packer import Packer, plain
from cellwright_guest.wire import NOTHING

TOOL = Tool(name="execute", description="run it", parameters={"type": "object", "properties": {"code": {}}})


def ask(*messages: Message | str, **fields: Any) -> Request:
    said = tuple(UserMessage(text=m) if isinstance(m, str) else m for m in messages)
    return replace(Request(messages=said, instructions="be brief", tools=(TOOL,)), **fields)


def counting(**options: Any) -> ScriptedModel:
    """Says how often it was asked."""
    model = ScriptedModel(otherwise=lambda _: f"reply {len(model.requests)}", **options)
    return model


@pytest.fixture
def kept(tmp_path: Path) -> Any:
    made = SqliteStore(tmp_path / "j.db")
    yield made
    made.close()


def writer(journal: Store) -> JournalWriter:
    facts = Facts(id="s1", created=1.0, seed=os.urandom(32), pins={}, names=NOTHING)
    writer = JournalWriter(journal)
    writer.hold(journal.create(facts))
    return writer


async def test_a_reply_that_was_paid_for_is_given_again(kept: Store) -> None:
    own = {"id": "r\ud800", "raw": b"\x00", "long": "x" * 3_000, "parts": [{"a": (1, 2.5, None)}]}
    usage = Usage(requests=1, input_tokens=3, output_tokens=4, cached_tokens=2, cost=None)
    whole = Reply(message=AssistantMessage(text="é", calls=code("1").calls, own=own), usage=usage, model="m", cut=True)
    model = ScriptedModel(whole, "two")
    live = ReplayedModel(model, (), writer(kept))
    first = await live.request(ask("a"))
    second = await live.request(ask("a", first.message, "b"))
    again = ReplayedModel(model, kept.rows("s1"), None)
    assert [await again.request(ask("a")), await again.request(ask("a", first.message, "b"))] == [first, second]
    assert first.message.own == own
    assert (first.usage, first.model, first.cut) == (usage, "m", True)
    assert len(model.requests) == 2
    assert replies(kept.rows("s1")) == [first, second]


async def test_what_is_not_recorded_is_asked_where_there_is_a_model(kept: Store) -> None:
    model, pen = counting(), writer(kept)
    await ReplayedModel(model, (), pen).request(ask("a"))
    again = ReplayedModel(model, kept.rows("s1"), pen)
    await again.request(ask("a"))
    assert (await again.request(ask("b"))).message.text == "reply 2"
    assert [row.path for row in kept.rows("s1")] == ["model#1", "model#2"]


async def test_offline_nothing_is_asked(kept: Store) -> None:
    weak = Traits(calls=False, window=9)
    await ReplayedModel(counting(name="m", traits=weak), (), writer(kept)).request(ask("a"))
    offline = ReplayedModel(None, kept.rows("s1"), None)
    assert (offline.name, offline.traits) == ("m", weak)
    await offline.request(ask("a"))
    with pytest.raises(Diverged, match="request 2 to the model is not recorded, and there is no model"):
        await offline.request(ask("b"))
    await offline.close()


async def test_a_reply_given_again_is_told_whole() -> None:
    kept = MemoryStore()
    await ReplayedModel(ScriptedModel(fenced("1")), (), writer(kept)).request(ask("a"))
    told: list[Piece] = []
    reply = await ReplayedModel(None, kept.rows("s1"), None).request(ask("a"), told.append)
    assert told == [Piece(text=reply.message.text)]


LONG = "You are careful. " * 40
SAID = AssistantMessage(text="x", calls=(ToolCall(id="1", name="execute", arguments="{}"),))
OTHERS: list[tuple[Request, str]] = [
    (ask("a", SAID, "b", instructions=LONG + "!"), r"its instructions had '….*careful\. ', and now '….*careful\. !'"),
    (ask("a", SAID, "b", instructions=LONG, tools=()), "its tools had .*execute.*, and now"),
    (
        ask("a", SAID, "b", instructions=LONG, tools=(replace(TOOL, description="run"),)),
        "its tools had .*'run it', .* and now .*'run',",
    ),
    (ask("z", SAID, "b", instructions=LONG), "message 0 had .*'a'.*, and now .*'z'"),
    (ask("a", replace(SAID, own=1), "b", instructions=LONG), "message 1 had .*own=None.*, and now .*own=1"),
    (ask("a", SAID, instructions=LONG), "it had 3 messages, and has 2"),
    (ask("a", SAID, "b", "c", instructions=LONG), "it had 3 messages, and has 4"),
    (ask("a", SAID, "b", instructions=LONG, generation=Generation(temperature=1)), "its settings"),
    (ask("a", SAID, "b", instructions=LONG, generation=Generation(extra={"seed": 2})), "its settings"),
]


@pytest.mark.parametrize(("other", "said"), OTHERS)
async def test_another_request_than_the_recorded_one_diverges(other: Request, said: str) -> None:
    kept = MemoryStore()
    pen = writer(kept)
    live = ReplayedModel(counting(), (), pen)
    await live.request(ask("a", instructions=LONG))
    await live.request(ask("a", SAID, "b", instructions=LONG))
    again = ReplayedModel(counting(), kept.rows("s1"), pen)
    await again.request(ask("a", instructions=LONG))
    with pytest.raises(Diverged, match=f"request 2 to the model is not the one that was recorded: {said}"):
        await again.request(other)
    await again.request(ask("a", SAID, "b", instructions=LONG))


async def test_how_long_a_request_may_take_is_no_difference() -> None:
    kept = MemoryStore()
    await ReplayedModel(counting(), (), writer(kept)).request(ask("a"))
    await ReplayedModel(None, kept.rows("s1"), None).request(ask("a", generation=Generation(timeout_s=1)))


async def test_settings_of_a_provider_are_not_kept_in_clear() -> None:
    kept = MemoryStore()
    asked = ask("a", generation=Generation(extra={"headers": {"authorization": "sk-secret"}, "odd": object()}))
    await ReplayedModel(counting(), (), writer(kept)).request(asked)
    assert "sk-secret" not in repr(kept.rows("s1"))
    await ReplayedModel(None, kept.rows("s1"), None).request(asked)


async def test_a_request_that_failed_is_asked_again_under_its_number() -> None:
    kept = MemoryStore()
    pen = writer(kept)
    live = ReplayedModel(ScriptedModel(ModelBusy("429"), "one", "two"), (), pen)
    with pytest.raises(ModelBusy):
        await live.request(ask("a"))
    assert kept.rows("s1") == []
    await live.request(ask("a"))
    await live.request(ask("b"))
    assert [row.path for row in kept.rows("s1")] == ["model#1", "model#2"]
    assert live.requests == 2


async def test_an_aside_is_paid_for_once_and_is_no_part_of_the_conversation(kept: Store) -> None:
    model, writing = counting(), writer(kept)
    first = ReplayedModel(model, (), writing)
    await first.request(ask("a"))
    aside = ask("a", AssistantMessage(text="reply 1"), "how far?", tools=(), aside=True)
    assert (await first.request(aside)).message.text == "reply 2"
    rows = list(kept.rows("s1"))
    again = ReplayedModel(model, rows, writing, begun=1)
    assert (await again.request(aside)).message.text == "reply 2"  # it was written down
    assert (await again.request(replace(aside, instructions="be long"))).message.text == "reply 3"
    assert (await again.request(ask("b"))).message.text == "reply 4"
    said = conversation(kept.rows("s1"))
    assert (said.messages, said.reply, said.requests) == ((UserMessage(text="b"),), AssistantMessage(text="reply 4"), 2)
    assert usage_in(kept.rows("s1")).requests == 4
    assert [reply.message.text for reply in replies(kept.rows("s1"))] == ["reply 1", "reply 4"]
    offline = ReplayedModel(None, kept.rows("s1"), None)
    assert (await offline.request(aside)).message.text == "reply 2"
    with pytest.raises(Diverged, match="an aside to the model is not recorded"):
        await offline.request(replace(aside, instructions="otherwise"))


async def test_requests_at_once_are_known_by_the_order_in_which_they_were_made() -> None:
    gates = [asyncio.Event(), asyncio.Event()]

    async def slow(request: Request) -> str:
        first = request.messages[-1]
        assert isinstance(first, UserMessage)
        await gates[int(first.text)].wait()
        return f"to {first.text}"

    kept = MemoryStore()
    live = ReplayedModel(ScriptedModel(slow, slow, "last"), (), writer(kept))
    tasks = [asyncio.create_task(live.request(ask("x", str(n)))) for n in range(2)]
    gates[1].set()
    await tasks[1]
    gates[0].set()
    await tasks[0]
    await live.request(ask("x", "1", "end"))
    again = ReplayedModel(None, kept.rows("s1"), None)
    texts = [(await again.request(ask("x", str(n)))).message.text for n in range(2)]
    assert texts == ["to 0", "to 1"]
    assert conversation(kept.rows("s1")).messages == ask("x", "1", "end").messages


async def test_what_is_not_plain_is_refused() -> None:
    with pytest.raises(UsageError, match="plain data"):
        await ReplayedModel(ScriptedModel(AssistantMessage(text="", own=object())), (), writer(MemoryStore())).request(
            ask("a")
        )


# reading back


async def test_a_conversation_is_read_back(kept: Store) -> None:
    calls = (ToolCall(id="1", name="execute", arguments="{"),)
    said = AssistantMessage(text="", calls=calls, own={"k": "v" * 2_000})
    results = ToolMessage(results=(ToolResult(id="1", name="execute", text="no\ud800", failed=True),))
    model = ScriptedModel(said, "done", "more")
    live = ReplayedModel(model, (), writer(kept))
    assert conversation(kept.rows("s1")) == Conversation()
    await live.request(ask("a"))
    await live.request(ask("a", said, results))
    third = ask("a", said, results, AssistantMessage(text="done"), "and?", tools=(), instructions="be long")
    await live.request(third)
    found = conversation(kept.rows("s1"))
    assert (found.instructions, found.tools, found.messages) == ("be long", (), third.messages)
    assert (found.reply, found.requests) == (AssistantMessage(text="more"), 3)
    used = usage_in(kept.rows("s1"))
    assert used == sum((reply.usage for reply in replies(kept.rows("s1"))), Usage())
    assert used.requests == 3


async def test_a_shortened_conversation_is_read_back_as_it_was_asked() -> None:
    kept = MemoryStore()
    live = ReplayedModel(counting(), (), writer(kept))
    talks = [
        ask("a"),
        ask("a", AssistantMessage(text="reply 1"), "b"),
        ask("a", AssistantMessage(text="reply 1"), "b", AssistantMessage(text="reply 2"), "sum up", tools=()),
        ask("a, in short", AssistantMessage(text="reply 2"), "c"),
        ask("a, in short", AssistantMessage(text="reply 2"), "c and d"),
        ask(),
    ]
    for talk in talks:
        await live.request(talk)
        assert conversation(kept.rows("s1")).messages == talk.messages
        assert conversation(kept.rows("s1")).tools == talk.tools
    again = ReplayedModel(None, kept.rows("s1"), None)
    for talk in talks:
        await again.request(talk)


async def test_a_long_conversation_is_kept_once() -> None:
    kept = MemoryStore()
    pen = writer(kept)
    model = ScriptedModel(otherwise="r" * 500)
    talk: list[Message] = []
    for turn in range(0, 120, 10):  # each as another process, which goes on after what is over
        live = ReplayedModel(model, kept.rows("s1"), pen, begun=turn)
        for number in range(turn, turn + 10):
            talk.append(UserMessage(text=f"{number} " + "q" * 500))
            talk.append((await live.request(ask(*talk, instructions="i" * 900))).message)
    assert conversation(kept.rows("s1")).messages == tuple(talk[:-1])
    assert pen.written < 120 * (500 + 500 + 800)


async def test_damage_is_told_as_damage() -> None:
    kept = MemoryStore()
    live = ReplayedModel(counting(), (), writer(kept))
    await live.request(ask("a"))
    await live.request(ask("a", "b"))
    first, second = kept.rows("s1")
    wrong: list[list[Row]] = [
        [second],
        [first, replace(second, path="model#x")],
        [first, replace(second, path="model#1", arguments=second.arguments)],
        [replace(first, value=Packer(plain).packed({"message": {"kind": "asked", "text": ""}}))],
        [replace(first, value=Packer(plain).packed(3))],
        [replace(first, arguments=Packer(plain).packed({"base": 0}))],
    ]
    for rows in wrong:
        with pytest.raises(JournalFailed):
            conversation(rows)


# with cells: the rows stand beside those of guest code, and disturb nothing


def journaled(rt: Runtime, model: ScriptedModel, *, begun: int | None = None) -> ReplayedModel:
    opened: Any = rt._open  # pyright: ignore[reportPrivateUsage] - what an agent's session stands on
    session: SessionJournal = opened.session.session
    rows = History(session.store, session.id).rows
    at = conversation(rows).requests if begun is None else begun
    return ReplayedModel(model, rows, session.writer, lambda: session.last, begun=at)


class Post:
    def __init__(self) -> None:
        self.sent: list[str] = []

    def send(self, what: str) -> int:
        self.sent.append(what)
        return len(self.sent)


async def talked(rt: Runtime, model: ScriptedModel) -> ReplayedModel:
    """Two cells, with a request before each and one after."""
    door = journaled(rt, model)
    talk: list[Message] = [UserMessage(text="task")]
    for cell in ("x = [post.send('a')]", "x.append(post.send('b')); x"):
        talk.append((await door.request(ask(*talk))).message)
        talk.append(UserMessage(text=repr(await value(rt, cell))))
    await door.request(ask(*talk))
    return door


@pytest.mark.usefixtures("warm")
async def test_a_session_with_requests_is_resumed_and_goes_on(sessions: Sessions) -> None:
    post, model = Post(), counting()
    async with sessions.life(scope={"post": post}) as rt:
        await talked(rt, model)
    async with sessions.life(scope={"post": post}) as rt:
        assert await value(rt, "x") == [1, 2]
        found = conversation(sessions.journal.rows("s1"))
        assert [m.text for m in found.messages if isinstance(m, UserMessage)] == ["task", "[1]", "[1, 2]"]
        assert found.reply == AssistantMessage(text="reply 3")
        door = journaled(rt, model)
        await door.request(ask(*found.messages, AssistantMessage(text="reply 3"), "next"))
        assert door.requests == 4
    assert post.sent == ["a", "b"]
    rows = [row for row in sessions.journal.rows("s1") if row.door == "model"]
    assert [(row.path, row.cell) for row in rows] == [("model#1", 0), ("model#2", 1), ("model#3", 2), ("model#4", 3)]


@pytest.mark.usefixtures("warm")
async def test_a_session_with_requests_is_the_same_when_it_is_replayed(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'j.db'}"
    async with Runtime({"post": Post()}, store=store, session="s1") as rt:
        await talked(rt, counting())
    async with Runtime.resume("s1", scope={"post": Post()}, store=store) as rt:  # from a checkpoint
        assert await value(rt, "x") == [1, 2]
        await journaled(rt, counting()).request(ask("more"))
    found = await replay("s1", store=store)
    assert found.same, str(found)
    assert (found.cells, found.calls) == (3, 2)


@pytest.mark.usefixtures("warm")
async def test_a_fork_has_the_conversation_up_to_its_cell(sessions: Sessions) -> None:
    post, model = Post(), counting()
    async with sessions.life(scope={"post": post}) as rt:
        await talked(rt, model)
        async with await rt.fork(at=1, session="branch") as branch:
            rows = History(sessions.journal, "branch").rows
            found = conversation(rows, upto=1)
            assert [m.text for m in found.messages if isinstance(m, UserMessage)] == ["task", "[1]"]
            assert (found.reply, found.requests) == (AssistantMessage(text="reply 2"), 2)
            door = journaled(branch, model)
            await door.request(ask(*found.messages, "otherwise"))
            assert await value(branch, "x") == [1]
        forked = conversation(History(sessions.journal, "branch").rows)
        assert forked.messages == (*found.messages, UserMessage(text="otherwise"))
        assert forked.requests == 3
        assert conversation(sessions.journal.rows("s1")).reply == AssistantMessage(text="reply 3")
    assert (await replay("branch", store=sessions.journal)).same


@pytest.mark.usefixtures("warm")
async def test_a_reply_that_led_to_a_cell_is_not_part_of_what_was_before_it(sessions: Sessions) -> None:
    async with sessions.life(scope={"post": Post()}) as rt:
        await talked(rt, ScriptedModel(code("1"), code("2"), "done"))
        rows = sessions.journal.rows("s1")
        assert conversation(rows, upto=1).reply is None
        assert len(conversation(rows, upto=1).messages) == 3
        assert conversation(rows, upto=2).reply == AssistantMessage(text="done")
        assert conversation(rows, upto=0).messages == (UserMessage(text="task"),)


@pytest.mark.usefixtures("warm")
async def test_after_a_rollback_the_conversation_goes_on_from_before(sessions: Sessions) -> None:
    post, model = Post(), counting()
    async with sessions.life(scope={"post": post}) as rt:
        await talked(rt, model)
        await rt.rollback(1, yes=True)
        found = conversation(sessions.journal.rows("s1"), upto=1)
        assert found.requests == 3
        door = journaled(rt, model)
        await door.request(ask(*found.messages, "another way"))
        assert await value(rt, "x.append('c'); x") == [1, "c"]
        await door.request(ask(*found.messages, "another way", AssistantMessage(text="reply 4"), "[1, 'c']"))
    async with sessions.life(scope={"post": post}) as rt:
        assert await value(rt, "x") == [1, "c"]
        last = conversation(sessions.journal.rows("s1"))
        assert last.messages[-3:] == (
            UserMessage(text="another way"),
            AssistantMessage(text="reply 4"),
            UserMessage(text="[1, 'c']"),
        )
        assert last.requests == 5
    assert (await replay("s1", store=sessions.journal)).same


@pytest.mark.usefixtures("warm")
async def test_a_turn_that_was_cut_off_is_not_paid_for_twice(sessions: Sessions) -> None:
    post, model = Post(), counting()
    async with sessions.life(scope={"post": post}) as rt:
        await talked(rt, model)
    async with sessions.life(scope={"post": post}) as rt:
        door = journaled(rt, model, begun=0)  # the loop begins the turn again
        talk: list[Message] = [UserMessage(text="task")]
        for observed in ("[1]", "[1, 2]"):
            talk += [(await door.request(ask(*talk))).message, UserMessage(text=observed)]
        assert (await door.request(ask(*talk))).message.text == "reply 3"
        assert len(model.requests) == 3
        await door.request(ask(*talk, AssistantMessage(text="reply 3"), "next"))
        assert len(model.requests) == 4
