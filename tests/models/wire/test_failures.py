"""What goes wrong is one clear error: who must act, the provider's own words, and nothing that is secret."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator, Mapping
from typing import Any, cast

import pytest
from tests.models.wire.aimock import Aimock
from tests.models.wire.conftest import KEY, Opened
from tests.models.wire.tap import Canned, Tap, events, listening
from tests.models.wire.test_replies import ANTHROPIC, BOTH, CHAT, EVERY, RESPONSES, URL, asked, told

from cellwright import Agent
from cellwright.errors import ModelBusy, ModelError, ModelRefused
from cellwright.events import Event
from cellwright.messages import Generation, Piece, UserMessage, to_plain

SECRET_TASK = "a task that is nobody's business"


async def failure(opened: Opened, name: str, url: str, task: str, streamed: bool = False) -> ModelError:
    request = asked(UserMessage(text=f"{SECRET_TASK}: {task}"))
    with pytest.raises(ModelError) as caught:
        await opened(name, url).request(request, list[Piece]().append if streamed else None)
    return caught.value


@EVERY
@BOTH
async def test_a_429_is_busy_and_says_when_to_come_back(name: str, streamed: bool, tap: Tap, opened: Opened) -> None:
    error = await failure(opened, name, tap.url, "be busy", streamed)
    assert isinstance(error, ModelBusy)
    assert error.retry_after_s == 7
    assert str(error).endswith(": 429: Too many requests")


@EVERY
@BOTH
@pytest.mark.parametrize(
    ("task", "said"), [("break down", "500: Something broke"), ("be overloaded", "529: Overloaded")]
)
async def test_a_server_that_fails_is_busy_and_is_asked_once(
    name: str, streamed: bool, task: str, said: str, tap: Tap, opened: Opened
) -> None:
    error = await failure(opened, name, tap.url, task, streamed)
    assert isinstance(error, ModelBusy)
    assert str(error).endswith(said)
    assert len(tap.sent) == 1


@EVERY
@BOTH
async def test_a_400_is_refused_in_the_providers_words(name: str, streamed: bool, tap: Tap, opened: Opened) -> None:
    error = await failure(opened, name, tap.url, "be refused", streamed)
    assert isinstance(error, ModelRefused)
    assert "400: messages: text is not allowed" in str(error)


@EVERY
@BOTH
async def test_a_wrong_key_is_refused_and_names_its_variable(
    name: str, streamed: bool, strict_aimock: Aimock, opened: Opened
) -> None:
    error = await failure(opened, name, f"http://127.0.0.1:{strict_aimock.port}", "say hello", streamed)
    assert isinstance(error, ModelRefused)
    assert ": 401: " in str(error)
    assert "check " in str(error)


@EVERY
@BOTH
@pytest.mark.parametrize("task", ["hang up", "no json"])
async def test_a_connection_that_breaks_and_a_page_for_an_answer_are_busy(
    name: str, streamed: bool, task: str, tap: Tap, opened: Opened
) -> None:
    error = await failure(opened, name, tap.url, task, streamed)
    assert isinstance(error, ModelBusy), error


@EVERY
async def test_a_stream_that_breaks_off_is_busy_after_its_first_pieces(name: str, tap: Tap, opened: Opened) -> None:
    pieces = list[Piece]()
    with pytest.raises(ModelBusy):
        await opened(name, tap.url).request(asked(UserMessage(text="break off")), pieces.append)
    assert told(pieces).startswith("This reply breaks")
    assert not told(pieces).endswith("who listens.")


@pytest.mark.parametrize("name", [ANTHROPIC, CHAT])
async def test_nobody_at_the_address_is_busy(name: str, opened: Opened) -> None:
    async with listening(Canned(b"")) as gone:
        url = gone.url
    assert isinstance(await failure(opened, name, url, "say hello"), ModelBusy)


def chunk(**choice: Any) -> str:
    whole = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return f"data: {json.dumps(whole | {'choices': [{'index': 0, 'finish_reason': None} | choice]})}\n\n"


@pytest.mark.parametrize("name", [CHAT, URL])
async def test_a_stream_that_ends_early_in_good_order_is_busy(name: str, opened: Opened) -> None:
    early = events(chunk(delta={"role": "assistant", "content": "rm -rf /tmp/a"}))
    async with listening(Canned(early)) as server:
        with pytest.raises(ModelBusy, match="broke off"):
            await opened(name, server.url).request(asked(UserMessage(text="hi")), list[Piece]().append)


def sse(kind: str, **fields: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind} | fields)}\n\n"


MESSAGE: dict[str, Any] = {
    "id": "m1",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-5-5",
    "content": [],
    "stop_reason": None,
    "stop_sequence": None,
    "usage": {"input_tokens": 3, "output_tokens": 1},
}
TOOL_USE: dict[str, Any] = {"type": "tool_use", "id": "toolu_1", "name": "execute", "input": {}}
BAD_CALL = (
    sse("message_start", message=MESSAGE),
    sse("content_block_start", index=0, content_block=TOOL_USE),
    sse("content_block_delta", index=0, delta={"type": "input_json_delta", "partial_json": '{"code": "print(1'}),
    sse("content_block_stop", index=0),
)
ENDING = (
    sse("message_delta", delta={"stop_reason": "tool_use", "stop_sequence": None}, usage={"output_tokens": 5}),
    sse("message_stop"),
)


async def test_malformed_arguments_from_anthropic_are_passed_on_as_text(opened: Opened) -> None:
    pieces = list[Piece]()
    async with listening(Canned(events(*BAD_CALL, *ENDING))) as server:
        reply = await opened(ANTHROPIC, server.url).request(asked(UserMessage(text="hi")), pieces.append)
    assert [call.arguments for call in reply.message.calls] == ['{"code": "print(1']
    assert told(pieces, "call") == '{"code": "print(1'


@BOTH
async def test_a_stream_of_anthropics_that_ends_early_in_good_order_is_busy(streamed: bool, opened: Opened) -> None:
    async with listening(Canned(events(*BAD_CALL))) as server:
        model = opened(ANTHROPIC, server.url)
        with pytest.raises(ModelBusy):
            await model.request(asked(UserMessage(text="hi")), list[Piece]().append if streamed else None)
        assert server.sent[0].body["stream"] is True  # with room for a long reply it is streamed in any case


async def test_a_response_of_openais_that_ran_out_of_room_says_so(opened: Opened) -> None:
    said = {"type": "message", "id": "m1", "status": "incomplete", "role": "assistant"}
    whole: dict[str, Any] = {
        "id": "r1",
        "object": "response",
        "created_at": 1,
        "model": "gpt-6.1-sol",
        "status": "incomplete",
        "incomplete_details": {"reason": "max_output_tokens"},
        "output": [said | {"content": [{"type": "output_text", "text": "And so", "annotations": []}]}],
        "tools": [],
        "tool_choice": "auto",
        "parallel_tool_calls": True,
    }
    body = json.dumps(whole)
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    async with listening(Canned((head + body).encode())) as server:
        reply = await opened(RESPONSES, server.url).request(asked(UserMessage(text="hi")))
    assert (reply.cut, reply.message.text) == (True, "And so")


async def test_an_error_inside_a_stream_is_busy(opened: Opened) -> None:
    broken = sse("error", error={"type": "overloaded_error", "message": "Overloaded"})
    async with listening(Canned(events(*BAD_CALL[:2], broken))) as server:
        with pytest.raises(ModelBusy, match="Overloaded"):
            await opened(ANTHROPIC, server.url).request(asked(UserMessage(text="hi")), list[Piece]().append)


@EVERY
@BOTH
async def test_a_server_that_says_nothing_is_busy_after_the_timeout(name: str, streamed: bool, opened: Opened) -> None:
    request = asked(UserMessage(text="hi"), generation=Generation(timeout_s=0.3))
    async with listening(Canned(None)) as server:
        with pytest.raises(ModelBusy, match=r"0\.3 s|imed out"):
            await opened(name, server.url).request(request, list[Piece]().append if streamed else None)


@EVERY
@BOTH
async def test_cancelling_a_request_hangs_up(name: str, streamed: bool, opened: Opened) -> None:
    async with listening(Canned(None)) as server:
        model = opened(name, server.url)
        task = asyncio.ensure_future(
            model.request(asked(UserMessage(text="hi")), list[Piece]().append if streamed else None)
        )
        await asyncio.wait_for(server.asked.wait(), 20)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(server.left.wait(), 20)


async def test_what_a_listener_raises_is_its_own(tap: Tap, opened: Opened) -> None:
    def angry(piece: Piece) -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        await opened(CHAT, tap.url).request(asked(UserMessage(text="say hello")), angry)


# --- secrets ---


def reachable(start: object) -> Iterator[object]:
    """Everything that an exception leads to without its traceback: arguments, attributes, cause, context, notes."""
    seen, waiting = set[int](), [start]
    while waiting:
        found = waiting.pop()
        if id(found) in seen:
            continue
        seen.add(id(found))
        yield found
        if isinstance(found, BaseException):
            waiting += [found.args, found.__cause__, found.__context__, getattr(found, "__notes__", None)]
        if isinstance(found, Mapping):
            waiting += [*cast(Mapping[Any, Any], found).keys(), *cast(Mapping[Any, Any], found).values()]
        elif isinstance(found, list | tuple | set):
            waiting += list(cast("list[Any]", found))
        elif hasattr(found, "__dict__") and not isinstance(found, type):
            waiting.append(vars(found))


def tells(secret: str, start: object) -> list[str]:
    return [repr(found)[:80] for found in reachable(start) if secret in repr(found)]


TROUBLE = ["be busy", "break down", "be refused", "hang up", "no json", "hide and seek"]


@EVERY
@BOTH
@pytest.mark.parametrize("task", TROUBLE)
async def test_neither_key_nor_task_can_be_reached_from_an_error(
    name: str, streamed: bool, task: str, tap: Tap, opened: Opened
) -> None:
    error = await failure(opened, name, tap.url, task, streamed)
    assert KEY in json.dumps(tap.sent[0].headers)  # it was sent
    assert tells(KEY, error) == []
    assert tells(SECRET_TASK, error) == []
    assert (error.__cause__, error.__context__) == (None, None)
    assert "\n" not in str(error)


@EVERY
@BOTH
async def test_the_key_is_in_no_prompt_no_reply_no_repr_and_no_log(
    name: str, streamed: bool, tap: Tap, opened: Opened, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    model = opened(name, tap.url)
    reply = await model.request(asked(UserMessage(text="say hello")), list[Piece]().append if streamed else None)
    assert KEY in json.dumps(tap.sent[0].headers)
    assert KEY not in tap.sent[0].text
    assert KEY not in json.dumps(to_plain(reply.message))
    assert KEY not in repr(model) + str(model) + repr(reply) + repr(model.traits)
    assert [record.name for record in caplog.records if KEY in record.getMessage()] == []


async def test_the_key_of_a_model_that_was_named_by_url_is_sent_to_it(tap: Tap, opened: Opened) -> None:
    await opened(URL, tap.url).request(asked(UserMessage(text="say hello")))
    await opened(RESPONSES, tap.url).request(asked(UserMessage(text="say hello")))
    assert [sent.headers["authorization"] for sent in tap.sent] == [f"Bearer {KEY}"] * 2


def whole(choices: Any) -> bytes:
    body = json.dumps({"id": "c1", "object": "chat.completion", "created": 1, "model": "m", "choices": choices})
    return f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode()


def ended(word: str, **message: Any) -> bytes:
    return whole([{"index": 0, "finish_reason": word, "message": {"role": "assistant", "content": None} | message}])


HI = chunk(delta={"role": "assistant", "content": "hi"})
STOP = chunk(delta={}, finish_reason="stop")
NO_FORM = [whole([]), whole([None]), whole(None)]
NO_EVENTS = ["null", "[]", '"x"', '{"choices": [null]}', '{"choices": [{"index": 0, "delta": {"tool_calls": [null]}}]}']


@pytest.mark.parametrize("name", [CHAT, URL])
@pytest.mark.parametrize("answer", NO_FORM + [events(HI, f"data: {event}\n\n", STOP) for event in NO_EVENTS])
async def test_a_reply_that_is_not_of_its_form_is_busy(name: str, answer: bytes, opened: Opened) -> None:
    listener = None if b"application/json" in answer else list[Piece]().append
    async with listening(Canned(answer)) as server:
        with pytest.raises(ModelBusy) as caught:
            await opened(name, server.url).request(asked(UserMessage(text=SECRET_TASK)), listener)
    assert "\n" not in str(caught.value)
    assert SECRET_TASK not in str(caught.value)
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)


async def test_what_a_listener_raises_is_no_failure_of_the_model(opened: Opened) -> None:
    def hear(_: Piece) -> None:
        raise KeyError("a listener's own")

    async with listening(Canned(events(HI, STOP))) as server:
        with pytest.raises(KeyError, match="a listener's own"):
            await opened(URL, server.url).request(asked(UserMessage(text="hi")), hear)


@pytest.mark.parametrize("word", ["length", "max_tokens", "MAX_TOKENS", "model_length"])
async def test_a_server_that_ran_out_of_room_says_so_in_its_own_word(word: str, opened: Opened) -> None:
    async with listening(Canned(ended(word, content="And so"))) as server:
        assert (await opened(URL, server.url).request(asked(UserMessage(text="hi")))).cut


@BOTH
async def test_empty_replies_are_told_to_the_model_and_broken_ones_asked_for_again(
    streamed: bool, opened: Opened
) -> None:
    empty, broken = (events(STOP), events(HI, "data: null\n\n")) if streamed else (ended("stop"), whole([]))
    good = events(HI, STOP) if streamed else ended("stop", content="hi")
    async with listening(Canned(empty, broken, good)) as server:
        agent = Agent(opened(URL, server.url))
        result = await agent.run("…", returns=str, on_event=list[Event]().append if streamed else None)
    assert (result.value, result.steps, len(server.sent)) == ("hi", 2, 3)
    *_, reply, told = server.sent[-1].body["messages"]
    assert reply == {"role": "assistant", "content": "(an empty reply)"}
    assert "Your reply was empty" in told["content"]
