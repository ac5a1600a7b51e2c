"""Requests as the embedded engine reads them, and what is read out of its replies."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cellwright.doors import Request
from cellwright.errors import ModelBusy, ModelRefused
from cellwright.messages import (
    AssistantMessage,
    Generation,
    Message,
    Tool,
    ToolCall,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from cellwright.models.engine_messages import MAX_TOKENS, ReplyReader, calls_in, to_body

WEATHER = Tool(name="weather", description="The weather now", parameters={"type": "object", "properties": {}})
OSLO = ToolCall(id="call_0", name="weather", arguments='{"city": "Oslo"}')
TALK: tuple[Message, ...] = (
    UserMessage(text="What is the weather in Oslo?"),
    AssistantMessage(text="", calls=(OSLO,)),
    ToolMessage(results=(ToolResult(id="call_0", name="weather", text="snow"),)),
)


def chunk(text: str | None = None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "finish_reason": finish, "delta": {"content": text}}], **more}


def read(request: Request, *chunks: dict[str, Any]) -> tuple[AssistantMessage, list[tuple[str, str]]]:
    reading = ReplyReader(request)
    pieces = [piece for each in chunks for piece in reading.take(each)]
    reply, held_back = reading.end("m")
    return reply.message, [(piece.kind, piece.text) for piece in [*pieces, *held_back]]


# --- requests ---


def test_with_tools_results_are_tool_messages() -> None:
    body = to_body(Request(messages=TALK, instructions="Be short.", tools=(WEATHER,)))
    assert [message["role"] for message in body["messages"]] == ["system", "user", "assistant", "tool", "user"]
    assert body["messages"][2]["tool_calls"][0]["function"] == {"name": "weather", "arguments": '{"city": "Oslo"}'}
    assert body["messages"][3] == {"role": "tool", "tool_call_id": "call_0", "name": "weather", "content": "snow"}
    assert body["tools"][0]["function"]["name"] == "weather"


def test_without_tools_results_are_plain_text() -> None:
    body = to_body(Request(messages=TALK))
    assert "tools" not in body
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
    assert json.loads(body["messages"][1]["content"]) == {"name": "weather", "arguments": {"city": "Oslo"}}
    assert body["messages"][2]["content"] == "`weather` returned:\nsnow"


def test_a_call_with_code_is_told_as_a_fenced_block() -> None:
    said = AssistantMessage(text="So:", calls=(ToolCall(id="1", name="execute", arguments='{"code": "1 + 1"}'),))
    (message,) = to_body(Request(messages=(said,)))["messages"]
    assert message["content"] == "So:\n\n```python\n1 + 1\n```"


def test_malformed_arguments_are_sent_in_a_form_that_the_engine_takes() -> None:
    broken = AssistantMessage(text="", calls=(ToolCall(id="1", name="weather", arguments='{"city": Os'),))
    (message,) = to_body(Request(messages=(broken,), tools=(WEATHER,)))["messages"]
    assert json.loads(message["tool_calls"][0]["function"]["arguments"]) == {"malformed": '{"city": Os'}


def test_a_longer_conversation_begins_with_the_same_messages() -> None:
    for tools in ((), (WEATHER,)):
        whole = to_body(Request(messages=TALK, tools=tools))["messages"]
        for count in range(len(TALK)):
            part = to_body(Request(messages=TALK[:count], tools=tools))["messages"]
            assert whole[: len(part)] == part


def test_a_reply_is_greedy_and_bounded_unless_the_request_says_otherwise() -> None:
    body = to_body(Request(messages=TALK))
    assert (body["temperature"], body["max_tokens"]) == (0.0, MAX_TOKENS)
    asked = Generation(temperature=0.5, max_tokens=7, stop=("END",), extra={"seed": 3})
    body = to_body(Request(messages=TALK, generation=asked))
    assert (body["temperature"], body["max_tokens"], body["stop"], body["seed"]) == (0.5, 7, ["END"], 3)


# --- replies ---


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "weather", "arguments": {"city": "Oslo"}}',
        '<tool_call>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call>',
        '```json\n{\n  "name": "weather",\n  "arguments": {"city": "Oslo"}\n}\n```',
        '{{"name": "weather", "arguments": {"city": "Oslo"}}}',
        '[{"name": "weather", "parameters": {"city": "Oslo"}}]',
    ],
    ids=["bare", "tagged", "fenced", "doubled", "listed"],
)
def test_a_call_is_read_in_every_form_that_the_model_writes(text: str) -> None:
    assert calls_in(text, {"weather"}) == ("", [("weather", '{"city": "Oslo"}')])


def test_calls_stand_after_text_and_beside_each_other() -> None:
    one, two = (json.dumps({"name": "weather", "arguments": {"city": city}}) for city in ("Oslo", "Bergen"))
    text, calls = calls_in(f"I look.\n```json\n{one}\n{two}\n```", {"weather"})
    assert text == "I look."
    assert calls == [("weather", '{"city": "Oslo"}'), ("weather", '{"city": "Bergen"}')]


def test_a_call_of_a_tool_that_was_not_offered_is_a_call() -> None:
    assert calls_in('{"name": "greet", "arguments": {}}', {"weather"})[1] == [("greet", "{}")]


def test_newlines_in_a_string_are_forgiven() -> None:
    text = '{"name": "execute", "arguments": {"code": "a = 1\nprint(a)"}}'
    assert calls_in(text, {"execute"})[1] == [("execute", '{"code": "a = 1\\nprint(a)"}')]


def test_arguments_that_are_no_json_are_passed_on_as_they_stand() -> None:
    text = '{"name": "execute", "arguments": {"code": "print("hi")"}}'
    assert calls_in(text, {"execute"}) == ("", [("execute", '{"code": "print("hi")"}}')])


@pytest.mark.parametrize("text", ["It snows.", '{"name": "Ada", "age": 36}', '{"city": "Oslo"}', "{", ""])
def test_what_is_no_call_stays_text(text: str) -> None:
    assert calls_in(text, {"weather"}) == (text, [])


def test_text_is_told_as_it_comes() -> None:
    request = Request(messages=TALK)
    assert read(request, chunk(), chunk("Hel"), chunk("lo"), chunk(finish="stop")) == (
        AssistantMessage(text="Hello"),
        [("text", "Hel"), ("text", "lo")],
    )


def test_a_call_is_told_as_one_and_not_as_text() -> None:
    request = Request(messages=TALK, tools=(WEATHER,))
    said, pieces = read(request, chunk('{"name": "weather", '), chunk('"arguments": {"city": "Bergen"}}'))
    assert said.calls == (ToolCall(id="call_1", name="weather", arguments='{"city": "Bergen"}'),)
    assert pieces == [("call", '{"city": "Bergen"}')]


def test_text_that_was_held_back_for_a_call_and_is_none_is_told_at_the_end() -> None:
    said, pieces = read(Request(messages=TALK, tools=(WEATHER,)), chunk("`snow`"), chunk(" it is"))
    assert (said.text, pieces) == ("`snow` it is", [("text", "`snow` it is")])


def test_calls_that_the_engine_read_itself_are_taken() -> None:
    parts = (
        [{"index": 0, "function": {"name": "weather", "arguments": '{"city": '}}],
        [{"index": 0, "function": {"arguments": '"Oslo"}'}}],
    )
    chunks = [{"choices": [{"index": 0, "delta": {"tool_calls": part}}]} for part in parts]
    said, _ = read(Request(messages=(), tools=(WEATHER,)), *chunks)
    assert said.calls == (OSLO,)


def test_usage_and_a_cut_are_read() -> None:
    reading = ReplyReader(Request(messages=TALK))
    used = {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 7}}
    assert [piece.text for piece in reading.take(chunk("a", finish="length", usage=used))] == ["a"]
    reply, _ = reading.end("m")
    assert reply.cut
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.cached_tokens) == (9, 2, 7)


@pytest.mark.parametrize(("code", "kind"), [(400, ModelRefused), (500, ModelBusy), (503, ModelBusy)])
def test_an_error_is_raised_by_who_may_help(code: int, kind: type[Exception]) -> None:
    with pytest.raises(kind, match="no such thing"):
        list(ReplyReader(Request(messages=TALK)).take({"error": {"code": code, "message": "no such thing"}}))
