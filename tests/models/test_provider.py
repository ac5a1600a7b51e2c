"""`ProviderModel` without a network: what pydantic-ai is asked, and what becomes of what it says.

The wire itself is in `wire/`.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from pydantic_ai.exceptions import (
    ContentFilterError,
    ModelAPIError,
    ModelHTTPError,
    ModelQuotaExceededError,
    UnexpectedModelBehavior,
    UserError,
)
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.usage import RequestUsage
from tests.linear import check_linear

from cellwright.doors import Request
from cellwright.errors import ModelBusy, ModelRefused
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
from cellwright.models import ProviderModel

EXECUTE = Tool(name="execute", description="Runs code.", parameters={"type": "object", "properties": {}})


class Listener:
    """A model that gives one reply and keeps what it was asked."""

    def __init__(self, reply: ModelResponse | Exception) -> None:
        self.reply = reply
        self.messages: list[ModelMessage] = []
        self.info: AgentInfo | None = None

    def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.messages, self.info = messages, info
        if isinstance(self.reply, Exception):
            raise self.reply
        return self.reply

    @property
    def settings(self) -> dict[str, Any]:
        assert self.info is not None
        return dict(self.info.model_settings or {})


def heard(*parts: Any, **more: Any) -> Listener:
    return Listener(ModelResponse(parts=list(parts), **more))


def model(listener: Listener) -> ProviderModel:
    return ProviderModel("some:model", model=FunctionModel(listener))


async def reply_to(listener: Listener, *messages: Message, generation: Generation | None = None) -> Any:
    request = Request(
        messages=messages or (UserMessage(text="hi"),),
        instructions="Be brief.",
        tools=(EXECUTE,),
        generation=generation or Generation(),
    )
    return await model(listener).request(request)


async def test_the_conversation_is_told_in_order() -> None:
    listener = heard(TextPart(content="fine"))
    call = ToolCall(id="c1", name="execute", arguments='{"code": "1"}')
    await reply_to(
        listener,
        UserMessage(text="hi"),
        AssistantMessage(text="I look.", calls=(call,)),
        ToolMessage(results=(ToolResult(id="c1", name="execute", text="1", failed=True),)),
    )
    first, second, third = listener.messages
    assert isinstance(first, ModelRequest)
    assert isinstance(second, ModelResponse)
    assert isinstance(third, ModelRequest)
    (prompt,), (text, called), (answer,) = first.parts, second.parts, third.parts
    assert isinstance(prompt, UserPromptPart)
    assert prompt.content == "hi"
    assert isinstance(text, TextPart)
    assert text.content == "I look."
    assert isinstance(called, ToolCallPart)
    assert (called.tool_call_id, called.args) == ("c1", '{"code": "1"}')
    assert isinstance(answer, ToolReturnPart)
    assert (answer.tool_call_id, answer.content, answer.outcome) == ("c1", "1", "failed")


async def test_instructions_and_tools_are_passed_on() -> None:
    listener = heard(TextPart(content="fine"))
    await reply_to(listener)
    assert listener.info is not None
    assert [tool.name for tool in listener.info.function_tools] == ["execute"]
    assert listener.info.instructions == "Be brief."


async def test_settings_are_asked_for_and_retries_are_not() -> None:
    listener = heard(TextPart(content="fine"))
    wanted = Generation(temperature=0.5, max_tokens=7, stop=("END",), timeout_s=30, extra={"seed": 3})
    await reply_to(listener, generation=wanted)
    asked = listener.settings
    assert (asked["temperature"], asked["max_tokens"], asked["stop_sequences"]) == (0.5, 7, ["END"])
    assert (asked["request_timeout"], asked["seed"], asked["max_retries"]) == (30, 3, 0)


async def test_the_temperature_is_zero_unless_it_is_said() -> None:
    listener = heard(TextPart(content="fine"))
    await reply_to(listener)
    assert listener.settings["temperature"] == 0
    await reply_to(listener, generation=Generation(temperature=None))
    assert "temperature" not in listener.settings


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ({"code": "print('é')"}, '{"code": "print(\'é\')"}'),
        ('{"code":  1}', '{"code":  1}'),
        ('{"code": "pri', '{"code": "pri'),
        ("", "{}"),
        (None, "{}"),
    ],
)
async def test_arguments_are_text_as_they_were_written(written: Any, text: str) -> None:
    reply = await reply_to(heard(ToolCallPart(tool_name="execute", args=written, tool_call_id="c1")))
    assert reply.message.calls == (ToolCall(id="c1", name="execute", arguments=text),)


async def test_usage_counts_what_was_read_from_the_cache() -> None:
    used = RequestUsage(input_tokens=100, output_tokens=5, cache_read_tokens=80)
    usage = (await reply_to(heard(TextPart(content="fine"), usage=used))).usage
    assert (usage.requests, usage.input_tokens, usage.output_tokens, usage.cached_tokens) == (1, 100, 5, 80)
    assert usage.cost is None  # nobody sells this model


async def test_what_only_a_provider_understands_can_be_kept_in_a_journal() -> None:
    thought = ThinkingPart(content="hm", signature="sig", provider_name="function")
    listener = heard(thought, TextPart(content="fine"), provider_name="function", finish_reason="stop")
    said = (await reply_to(listener)).message
    assert said.text == "fine"
    kept = from_plain(json.loads(json.dumps(to_plain(said))))
    assert kept == said
    await reply_to(listener, UserMessage(text="hi"), kept, UserMessage(text="and?"))
    assert listener.messages[1].parts == [thought, TextPart(content="fine")]


@pytest.mark.parametrize(
    "own", [None, "text", 7, [], {}, {"provider_name": "other"}, {"provider_name": "function", "parts": 3}]
)
async def test_what_is_not_its_own_is_told_by_text_and_calls(own: object) -> None:
    listener = heard(TextPart(content="fine"))
    await reply_to(listener, UserMessage(text="hi"), AssistantMessage(text="before", own=own), UserMessage(text="and?"))
    assert [part.content for part in listener.messages[1].parts if isinstance(part, TextPart)] == ["before"]


def http(status: int, body: object = None, **more: Any) -> ModelHTTPError:
    return ModelHTTPError(status_code=status, model_name="m", body=body, **more)


REFUSED = [
    http(400, {"error": {"message": "too odd"}}),
    http(401, {"message": "too odd"}),
    http(403, {"error": "too odd"}),
    http(404, '{"error": {"message": "too odd"}}'),
    http(413, {"detail": [{"msg": "too odd", "input": "a secret"}]}),
    ModelQuotaExceededError("m", "too odd"),
    ContentFilterError("too odd", body="a secret"),
    UserError("too odd"),
]
BUSY = [
    http(408, {"message": "wait"}),
    http(429, {"message": "wait"}, headers={"Retry-After": "3"}),
    http(500, {"message": "wait"}),
    http(503, {"message": "wait"}),
    http(529, {"message": "wait"}),
    ModelAPIError("m", "wait"),
    UnexpectedModelBehavior("wait", body="a secret"),
]


@pytest.mark.parametrize("error", REFUSED, ids=repr)
async def test_what_it_will_never_do_is_refused(error: Exception) -> None:
    with pytest.raises(ModelRefused, match=r"^some:model: .*too odd") as caught:
        await reply_to(Listener(error))
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("error", BUSY, ids=repr)
async def test_what_it_may_do_later_is_busy(error: Exception) -> None:
    with pytest.raises(ModelBusy, match=r"^some:model: .*wait$") as caught:
        await reply_to(Listener(error))
    assert caught.value.retry_after_s == (3 if "429" in str(error) else None)
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ("<html>Bad Gateway</html>", "some:model: 502: no further word"),
        ("two\n  lines", "some:model: 502: two lines"),
        ("x" * 400, f"some:model: 502: {'x' * 299}…"),
        ("your key sk-proj-0123456789abcdef is bad", "some:model: 502: your key *** is bad"),
        ("Bearer abcdefghijklmn0p", "some:model: 502: Bearer ***"),
        ("Bearer authorization", "some:model: 502: Bearer authorization"),
        ({"other": "fields"}, "some:model: 502: no further word"),
        ("{not json", "some:model: 502: no further word"),
    ],
)
async def test_an_error_is_one_short_line(told: object, said: str) -> None:
    with pytest.raises(ModelBusy) as caught:
        await reply_to(Listener(http(502, told)))
    assert str(caught.value) == said


@pytest.mark.parametrize("at", range(270, 310, 3))
async def test_a_key_at_the_end_of_what_is_told_is_not_told_by_half(at: int) -> None:
    key = "sk-proj-0123456789abcdef"
    for before in ("w " * (at // 2), " " * 5_000 + "w " * (at // 2), f"{key} " * 100 + "w " * (at // 2)):
        with pytest.raises(ModelBusy) as caught:
            await reply_to(Listener(http(502, f"{before}{key}{' more' * 3_000}")))
        assert "sk-" not in str(caught.value)


async def test_the_time_to_read_an_error_grows_with_its_length_only() -> None:
    for word in ("sk-", "key_", "a", "Bearer ", "sk-a-", "AIza", " ", "\ud800", '"=', "a1"):
        await check_linear(lambda text: reply_to(Listener(http(502, text))), word)


async def test_pieces_are_told_as_they_arrive() -> None:
    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        yield "I "
        yield "look."
        yield {1: DeltaToolCall(name="execute", json_args='{"a', tool_call_id="c1")}
        yield {2: DeltaToolCall(name="show", json_args="{", tool_call_id="c2")}
        yield {1: DeltaToolCall(json_args='": 1}')}
        yield {2: DeltaToolCall(json_args="}")}

    pieces = list[Piece]()
    streaming = ProviderModel("some:model", model=FunctionModel(stream_function=stream))
    reply = await streaming.request(Request(messages=(UserMessage(text="hi"),)), pieces.append)
    assert [(piece.kind, piece.call, piece.name, piece.text) for piece in pieces] == [
        ("text", 0, "", "I "),
        ("text", 0, "", "look."),
        ("call", 0, "execute", '{"a'),
        ("call", 1, "show", "{"),
        ("call", 0, "execute", '": 1}'),
        ("call", 1, "show", "}"),
    ]
    assert reply.message.text == "I look."
    assert [call.arguments for call in reply.message.calls] == ['{"a": 1}', "{}"]


def test_it_shows_its_name_and_nothing_else() -> None:
    assert repr(model(heard())) == "ProviderModel('some:model')"


def test_a_model_that_nobody_knows_has_a_usual_window_and_takes_calls() -> None:
    traits = model(heard()).traits
    assert (traits.calls, traits.window) == (True, 128_000)


@pytest.mark.parametrize(
    ("theirs", "sent"), [(["a", "b"], ["a", "b"]), (["a", "a"], ["c1", "c2"]), (["", "b"], ["c1", "c2"])]
)
async def test_a_provider_gets_its_own_ids_back_where_they_tell_calls_apart(theirs: list[str], sent: list[str]) -> None:
    parts = [
        ToolCallPart(tool_name="execute", args=f'{{"code": "{n}"}}', tool_call_id=id) for n, id in enumerate(theirs)
    ]
    listener = heard(*parts, provider_name="function")
    said = (await reply_to(listener)).message
    ours = tuple(replace(call, id=f"c{n + 1}") for n, call in enumerate(said.calls))
    results = tuple(ToolResult(id=call.id, name=call.name, text=call.id) for call in ours)
    asked = (UserMessage(text="hi"), replace(said, calls=ours), ToolMessage(results=results))
    await reply_to(listener, *asked)
    _, second, third = listener.messages
    assert [part.tool_call_id for part in second.parts if isinstance(part, ToolCallPart)] == sent
    assert [(p.tool_call_id, p.content) for p in third.parts if isinstance(p, ToolReturnPart)] == [
        (id, f"c{n + 1}") for n, id in enumerate(sent)
    ]


@pytest.mark.parametrize("text", ["", " \n"])
async def test_an_empty_reply_is_told_as_one(text: str) -> None:
    listener = heard(TextPart(content=text), provider_name="function")
    said = (await reply_to(listener)).message
    for again in (said, AssistantMessage(text=text)):
        await reply_to(listener, UserMessage(text="hi"), again, UserMessage(text="and?"))
        assert listener.messages[1].parts == [TextPart(content="(an empty reply)")]
