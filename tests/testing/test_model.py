"""`ScriptedModel`: replies in order, told in awkward pieces, and a clear end."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from cellwright.doors import Model, Reply, Request
from cellwright.errors import ModelBusy, UsageError
from cellwright.messages import (
    AssistantMessage,
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
from cellwright.testing import ScriptedModel, broken, call, code, fenced


def ask(*messages: Message) -> Request:
    return Request(messages=messages or (UserMessage(text="hello"),))


async def test_replies_come_in_order_and_requests_are_kept() -> None:
    model: Model = ScriptedModel("one", AssistantMessage(text="two"), name="fake")
    first, second = await model.request(ask(UserMessage(text="a"))), await model.request(ask(UserMessage(text="b")))
    assert [first.message, second.message] == [AssistantMessage(text="one"), AssistantMessage(text="two")]
    assert first.model == "fake"
    assert isinstance(model, ScriptedModel)
    assert [request.messages for request in model.requests] == [(UserMessage(text="a"),), (UserMessage(text="b"),)]


async def test_a_request_beyond_the_last_says_how_many_were_expected() -> None:
    model = ScriptedModel("one", "two")
    for _ in range(2):
        await model.request(ask())
    assert model.left == 0
    with pytest.raises(AssertionError, match=r"2 requests were expected, and this is number 3; .*'more'"):
        await model.request(ask(UserMessage(text="more")))


async def test_otherwise_answers_whatever_is_beyond() -> None:
    model = ScriptedModel("one", otherwise=lambda request: f"number {len(request.messages)}")
    texts = [(await model.request(ask())).message.text for _ in range(3)]
    assert texts == ["one", "number 1", "number 1"]


async def test_an_exception_is_raised() -> None:
    model = ScriptedModel(ModelBusy("busy", retry_after_s=2), "one")
    with pytest.raises(ModelBusy, match="busy"):
        await model.request(ask())
    assert (await model.request(ask())).message.text == "one"


async def test_a_function_of_the_request_may_give_any_reply_and_may_be_async() -> None:
    async def later(request: Request) -> AssistantMessage:
        return code(f"len({len(request.messages)})")

    model = ScriptedModel(lambda _: ModelBusy("no"), later)
    with pytest.raises(ModelBusy):
        await model.request(ask())
    (made,) = (await model.request(ask())).message.calls
    assert json.loads(made.arguments) == {"code": "len(1)"}


async def test_a_whole_reply_keeps_its_usage() -> None:
    whole = Reply(message=AssistantMessage(text="x"), usage=Usage(requests=1, input_tokens=7, cost=None), cut=True)
    assert await ScriptedModel(whole).request(ask()) == replace(whole, model="scripted")


async def test_calls_get_ids_from_their_place_in_the_conversation() -> None:
    model = ScriptedModel([call("a"), call("b", x=1)], [call("a")], otherwise=[call("a")])
    first = (await model.request(ask())).message
    assert [made.id for made in first.calls] == ["call-1-0", "call-1-1"]
    results = ToolMessage(results=tuple(ToolResult(id=made.id, name=made.name, text="") for made in first.calls))
    second = (await model.request(ask(UserMessage(text="x"), first, results))).message
    assert [made.id for made in second.calls] == ["call-2-0"]
    shortened = ask(AssistantMessage(text="", calls=(ToolCall(id="call-2-0", name="a", arguments="{}"),)))
    assert [made.id for made in (await model.request(shortened)).message.calls] == ["call-3-0"]


CODE = 'print("é\\n")\nx = """\n```\n"""\n'


@pytest.mark.parametrize(
    "said", [fenced(CODE, say="So:"), code(CODE, say="So:"), fenced("1"), AssistantMessage(text="")]
)
@pytest.mark.parametrize("pieces", [0, 1, 2, 5, 100])
async def test_the_pieces_are_the_reply(said: AssistantMessage, pieces: int) -> None:
    told: list[Piece] = []
    reply = (await ScriptedModel(said, pieces=pieces).request(ask(), told.append)).message
    assert "".join(piece.text for piece in told if piece.kind == "text") == reply.text
    calls = [piece for piece in told if piece.kind == "call"]
    assert "".join(piece.text for piece in calls) == "".join(made.arguments for made in reply.calls)
    assert {(piece.call, piece.name) for piece in calls} == ({(0, "execute")} if reply.calls else set())


async def test_every_fence_and_every_escape_is_cut() -> None:
    told: list[Piece] = []
    model = ScriptedModel(fenced("a\n```\n"), code("x = 'é'\n"), pieces=100)
    await model.request(ask(), told.append)
    await model.request(ask(), told.append)
    assert not [piece for piece in told if "```" in piece.text or "\\n" in piece.text or "\\u" in piece.text]


async def test_a_broken_reply_tells_its_beginning_first() -> None:
    told: list[Piece] = []
    with pytest.raises(ModelBusy, match="cut"):
        await ScriptedModel(broken("half a", ModelBusy("cut"))).request(ask(), told.append)
    assert "".join(piece.text for piece in told) == "half a"


def test_fenced_code_that_holds_a_fence_has_a_longer_one() -> None:
    assert fenced("s = '```'").text == "````python\ns = '```'\n````"
    assert fenced("x\n").text == "```python\nx\n```"


async def test_usage_grows_with_what_is_asked() -> None:
    tool = Tool(name="t", description="d" * 400, parameters={"type": "object"})
    small = (await ScriptedModel("x").request(ask())).usage
    large = (await ScriptedModel("x").request(replace(ask(), tools=(tool,), instructions="i" * 40))).usage
    assert (small.requests, small.cost) == (1, 0.0)
    assert small.output_tokens > 0
    assert large.input_tokens >= small.input_tokens + 110


@pytest.mark.parametrize("wrong", [3, None, ["text"], ModelBusy])
async def test_what_is_no_reply_is_refused(wrong: Any) -> None:
    with pytest.raises(UsageError, match="is no reply"):
        ScriptedModel(wrong)
    if wrong is not None:
        with pytest.raises(UsageError, match="is no reply"):
            await ScriptedModel(lambda _: wrong).request(ask())


async def test_traits_are_those_given_and_close_is_seen() -> None:
    model = ScriptedModel(traits=Traits(calls=False, window=2_000))
    assert model.traits == Traits(calls=False, window=2_000)
    await model.close()
    assert model.closed
