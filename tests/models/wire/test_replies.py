"""What a model says arrives whole: the official SDKs, driven through `ProviderModel`, against aimock."""

from __future__ import annotations

import json

import pytest
from tests.models.wire.conftest import Opened
from tests.models.wire.tap import Sent, Tap

from cellwright.doors import Request
from cellwright.messages import (
    AssistantMessage,
    Generation,
    Message,
    Piece,
    Tool,
    ToolCall,
    ToolMessage,
    ToolResult,
    UserMessage,
    from_plain,
    to_plain,
)

ANTHROPIC, RESPONSES, CHAT, URL = "anthropic:claude-sonnet-5-5", "openai:gpt-6.1-sol", "openai-chat:gpt-4.1", "at"
EVERY = pytest.mark.parametrize("name", [ANTHROPIC, RESPONSES, CHAT, URL])
BOTH = pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])

EXECUTE = Tool(
    name="execute",
    description="Runs code.",
    parameters={"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]},
)
WEATHER = Tool(
    name="weather",
    description="Tells the weather.",
    parameters={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
CODE = "print(6 * 7)  # a comment that is cut in pieces"


def asked(*messages: Message, generation: Generation | None = None) -> Request:
    return Request(
        messages=messages,
        instructions="You write Python.",
        tools=(EXECUTE, WEATHER),
        generation=generation or Generation(),
    )


def told(pieces: list[Piece], kind: str = "text", call: int = 0) -> str:
    return "".join(piece.text for piece in pieces if piece.kind == kind and piece.call == call)


def kept(message: Message) -> Message:
    """As a journal gives it back."""
    return from_plain(json.loads(json.dumps(to_plain(message))))


@EVERY
@BOTH
async def test_text_and_usage_arrive(name: str, streamed: bool, tap: Tap, opened: Opened) -> None:
    model, pieces = opened(name, tap.url), list[Piece]()
    reply = await model.request(asked(UserMessage(text="say hello")), pieces.append if streamed else None)
    assert reply.message.text == "Hello there, this is a reply of some length, so that it comes in pieces."
    assert (reply.message.calls, reply.cut, reply.model) == ((), False, model.name)
    assert (reply.usage.requests, reply.usage.input_tokens, reply.usage.output_tokens) == (1, 120, 17)
    if streamed:
        assert told(pieces) == reply.message.text
        assert len(pieces) > 2


@pytest.mark.parametrize(
    ("name", "priced"), [(ANTHROPIC, True), (RESPONSES, True), (CHAT, True), (URL, False)], ids=lambda x: str(x)
)
async def test_the_cost_is_told_where_it_is_known(name: str, priced: bool, tap: Tap, opened: Opened) -> None:
    cost = (await opened(name, tap.url).request(asked(UserMessage(text="say hello")))).usage.cost
    assert (cost is not None and cost > 0) if priced else cost is None


@EVERY
@BOTH
async def test_a_call_arrives_with_its_arguments(name: str, streamed: bool, tap: Tap, opened: Opened) -> None:
    pieces = list[Piece]()
    reply = await opened(name, tap.url).request(
        asked(UserMessage(text="what is six times seven")), pieces.append if streamed else None
    )
    (call,) = reply.message.calls
    assert (call.id, call.name, json.loads(call.arguments)) == ("call_a1", "execute", {"code": CODE})
    assert reply.message.text == "I compute it."
    if streamed:
        assert told(pieces, "call") == call.arguments
        assert {piece.name for piece in pieces if piece.kind == "call"} == {"execute"}


@EVERY
@BOTH
async def test_calls_side_by_side_are_kept_apart(name: str, streamed: bool, tap: Tap, opened: Opened) -> None:
    pieces = list[Piece]()
    reply = await opened(name, tap.url).request(
        asked(UserMessage(text="look at both")), pieces.append if streamed else None
    )
    assert [(call.id, call.name, json.loads(call.arguments)) for call in reply.message.calls] == [
        ("call_b1", "execute", {"code": "print('first')"}),
        ("call_b2", "weather", {"city": "Oslo"}),
    ]
    if streamed:
        assert [told(pieces, "call", n) for n in (0, 1)] == [call.arguments for call in reply.message.calls]


@pytest.mark.parametrize("name", [ANTHROPIC, CHAT, URL])  # aimock's Responses do not say why they are incomplete
@BOTH
async def test_a_reply_that_ran_out_of_room_says_so(name: str, streamed: bool, tap: Tap, opened: Opened) -> None:
    pieces = list[Piece]()
    reply = await opened(name, tap.url).request(
        asked(UserMessage(text="too long")), pieces.append if streamed else None
    )
    assert reply.cut
    assert reply.message.text == "And so on and"


@pytest.mark.parametrize("name", [RESPONSES, CHAT, URL])  # aimock itself mends them in Anthropic's protocol
@BOTH
async def test_malformed_arguments_are_passed_on_as_text(name: str, streamed: bool, tap: Tap, opened: Opened) -> None:
    pieces = list[Piece]()
    model = opened(name, tap.url)
    first = UserMessage(text="write badly")
    reply = await model.request(asked(first), pieces.append if streamed else None)
    assert reply.message.calls == (ToolCall(id="call_m1", name="execute", arguments='{"code": "print(1'),)
    result = ToolResult(id="call_m1", name="execute", text="the arguments are no JSON", failed=True)
    again = UserMessage(text="say hello")
    assert (await model.request(asked(first, kept(reply.message), ToolMessage(results=(result,)), again))).message.text


def conversation(sent: Sent) -> str:
    """The messages of a request as they were written, without the bracket that ends them."""
    return sent.raw("input" if sent.path.endswith("/responses") else "messages").rstrip("]").rstrip()


@EVERY
@BOTH
async def test_each_request_begins_with_the_bytes_of_the_one_before(
    name: str, streamed: bool, tap: Tap, opened: Opened
) -> None:
    model, on_piece = opened(name, tap.url), (list[Piece]().append if streamed else None)
    messages: tuple[Message, ...] = (UserMessage(text="what is six times seven"),)
    first = await model.request(asked(*messages), on_piece)
    messages += (kept(first.message), ToolMessage(results=(ToolResult(id="call_a1", name="execute", text="42"),)))
    second = await model.request(asked(*messages), on_piece)
    assert second.message.text == "It is 42."
    messages += (kept(second.message), UserMessage(text="say hello"))
    await model.request(asked(*messages), on_piece)
    assert len(tap.sent) == 3
    for before, after in zip(tap.sent, tap.sent[1:], strict=False):
        assert conversation(after).startswith(conversation(before))
        assert len(conversation(after)) > len(conversation(before))
        assert after.raw("tools") == before.raw("tools")
        fixed = ("messages", "input")
        assert {k: v for k, v in after.body.items() if k not in fixed} == {
            k: v for k, v in before.body.items() if k not in fixed
        }


async def test_anthropic_is_asked_to_cache_the_prefix_and_the_conversation(tap: Tap, opened: Opened) -> None:
    await opened(ANTHROPIC, tap.url).request(asked(UserMessage(text="say hello")))
    body = tap.sent[0].body
    assert body["system"][-1]["cache_control"]["type"] == "ephemeral"
    assert body["tools"][-1]["cache_control"]["type"] == "ephemeral"
    assert body["cache_control"]["type"] == "ephemeral"


@pytest.mark.parametrize(("name", "keyed"), [(RESPONSES, True), (CHAT, True), (URL, False)], ids=lambda x: str(x))
async def test_openai_alone_is_given_a_cache_key(name: str, keyed: bool, tap: Tap, opened: Opened) -> None:
    model = opened(name, tap.url)
    await model.request(asked(UserMessage(text="say hello")))
    await model.request(asked(UserMessage(text="please say hello")))
    keys = [sent.body.get("prompt_cache_key") for sent in tap.sent]
    assert keys[0] == keys[1]
    assert (keys[0] is not None) is keyed


async def test_extra_settings_have_the_last_word(tap: Tap, opened: Opened) -> None:
    generation = Generation(extra={"cache": False, "top_p": 0.5}, max_tokens=99, stop=("END",))
    await opened("anthropic:claude-haiku-4-5", tap.url).request(
        asked(UserMessage(text="say hello"), generation=generation)
    )
    body = tap.sent[0].body
    assert "cache_control" not in tap.sent[0].text
    assert (body["top_p"], body["max_tokens"], body["stop_sequences"]) == (0.5, 99, ["END"])


async def test_a_thought_goes_back_with_its_signature(tap: Tap, opened: Opened) -> None:
    model, first = opened(ANTHROPIC, tap.url), UserMessage(text="think first")
    reply = await model.request(asked(first), list[Piece]().append)
    result = ToolResult(id="call_t1", name="execute", text="2")
    assert (await model.request(asked(first, kept(reply.message), ToolMessage(results=(result,))))).message.text
    (thought, _) = tap.sent[1].body["messages"][1]["content"]
    assert (thought["thinking"], thought["signature"]) == ("I weigh it.", "c2lnbmF0dXJlLW9mLXRoaXMtdGhvdWdodA==")


@pytest.mark.parametrize("name", [RESPONSES, CHAT, URL])
async def test_another_provider_gets_the_text_and_the_calls(name: str, tap: Tap, opened: Opened) -> None:
    first = UserMessage(text="think first")
    reply = await opened(ANTHROPIC, tap.url).request(asked(first))
    messages = (first, kept(reply.message), ToolMessage(results=(ToolResult(id="call_t1", name="execute", text="2"),)))
    assert (await opened(name, tap.url).request(asked(*messages))).message.text == "It is 2."
    assert "call_t1" in tap.sent[1].text
    assert "c2lnbmF0dXJl" not in tap.sent[1].text
    assert "I weigh it" not in tap.sent[1].text


@EVERY
async def test_a_reply_that_was_shortened_since_goes_back_shortened(name: str, tap: Tap, opened: Opened) -> None:
    model, first = opened(name, tap.url), UserMessage(text="say hello")
    reply = await model.request(asked(first))
    short = AssistantMessage(text="Hello …", own=reply.message.own)
    await model.request(asked(first, short, UserMessage(text="say hello again")))
    assert "Hello …" in json.dumps(tap.sent[1].body, ensure_ascii=False)
    assert "of some length" not in tap.sent[1].text


@EVERY
async def test_a_failed_result_is_told_as_it_is(name: str, tap: Tap, opened: Opened) -> None:
    call = ToolCall(id="call_a1", name="execute", arguments=json.dumps({"code": "1/0"}))
    result = ToolResult(id="call_a1", name="execute", text="ZeroDivisionError", failed=True)
    messages = (
        UserMessage(text="what is six times seven"),
        AssistantMessage(text="", calls=(call,)),
        ToolMessage(results=(result,)),
    )
    await opened(name, tap.url).request(asked(*messages))
    assert "ZeroDivisionError" in tap.sent[0].text
    if name == ANTHROPIC:
        assert tap.sent[0].body["messages"][2]["content"][0]["is_error"] is True


async def test_a_model_that_takes_a_temperature_is_asked_for_zero(tap: Tap, opened: Opened) -> None:
    await opened(CHAT, tap.url).request(asked(UserMessage(text="say hello")))
    assert tap.sent[0].body["temperature"] == 0


@pytest.mark.parametrize("name", [ANTHROPIC, RESPONSES])
async def test_a_model_that_thinks_is_not_asked_for_a_temperature(
    name: str, tap: Tap, opened: Opened, recwarn: pytest.WarningsRecorder
) -> None:
    await opened(name, tap.url).request(asked(UserMessage(text="say hello")))
    assert "temperature" not in tap.sent[0].body
    assert [str(warning.message) for warning in recwarn if "ampling" in str(warning.message)] == []


async def test_a_model_that_refuses_the_temperature_is_asked_once_more_without(tap: Tap, opened: Opened) -> None:
    model = opened(URL, tap.url)
    reply = await model.request(asked(UserMessage(text="refuse the temperature")))
    assert reply.message.text == "Fine without."
    await model.request(asked(UserMessage(text="say hello")))
    assert ["temperature" in sent.body for sent in tap.sent] == [True, False, False]
