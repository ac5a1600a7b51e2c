"""The other providers: one request each, plain and streamed, where aimock speaks their protocol."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from pydantic_ai.models.mistral import MistralModel
from pydantic_ai.providers.mistral import MistralProvider
from tests.models.wire.aimock import Aimock
from tests.models.wire.conftest import KEY, Opened
from tests.models.wire.tap import Canned, Tap, listening
from tests.models.wire.test_replies import BOTH, CODE, asked, kept, told

from cellwright.doors import Model
from cellwright.errors import ModelBusy, ModelRefused
from cellwright.messages import Generation, Piece, ToolMessage, ToolResult, UserMessage
from cellwright.models import ProviderModel, open_model

GOOGLE, GROQ, OLLAMA = "google:gemini-3.8-flash", "groq:openai/gpt-oss-120b", "ollama:qwen3-coder"
BEDROCK, MISTRAL = "bedrock:global.anthropic.claude-sonnet-5-5", "mistral:codestral-latest"
OTHERS = (GOOGLE, GROQ, OLLAMA, BEDROCK, MISTRAL)
MOVED = {GOOGLE: ("/v1/models", "/v1beta/models")}  # where aimock has it
# aimock knows no cache points, and with room for a long reply Bedrock's is streamed even when nobody listens.
PLAIN = Generation(max_tokens=1000, extra={"cache": False})


@asynccontextmanager
async def model_of(name: str, aimock: Aimock, opened: Opened) -> AsyncGenerator[tuple[Model, Tap]]:
    async with listening(Tap(aimock.port, MOVED.get(name, ("", "")))) as tap:
        if name != MISTRAL:
            yield opened(name, tap.url), tap
            return
        provider = MistralProvider(api_key=KEY, base_url=tap.url)  # there is no variable for its address
        model = ProviderModel(name, model=MistralModel("codestral-latest", provider=provider))
        yield model, tap
        await model.close()


@pytest.mark.filterwarnings("ignore:FUNCTION_CALL is not a valid FinishReason")  # aimock's, told by Google's SDK
@pytest.mark.parametrize("name", OTHERS)
async def test_a_call_and_its_result_go_there_and_back(name: str, aimock: Aimock, opened: Opened) -> None:
    async with model_of(name, aimock, opened) as (model, _):
        first = UserMessage(text="what is six times seven")
        reply = await model.request(asked(first, generation=PLAIN))
        (call,) = reply.message.calls
        assert (call.name, json.loads(call.arguments)) == ("execute", {"code": CODE})
        results = ToolMessage(results=(ToolResult(id=call.id, name="execute", text="42"),))
        reply = await model.request(asked(first, kept(reply.message), results, generation=PLAIN))
        assert reply.message.text == "It is 42."


@pytest.mark.filterwarnings("ignore:FUNCTION_CALL is not a valid FinishReason")
@pytest.mark.parametrize("name", [GOOGLE, GROQ, OLLAMA, BEDROCK])  # Mistral's SDK refuses how aimock streams calls
async def test_calls_are_streamed(name: str, aimock: Aimock, opened: Opened) -> None:
    pieces = list[Piece]()
    async with model_of(name, aimock, opened) as (model, _):
        reply = await model.request(asked(UserMessage(text="look at both"), generation=PLAIN), pieces.append)
    assert [call.name for call in reply.message.calls] == ["execute", "weather"]
    written = [json.loads(told(pieces, "call", number)) for number in (0, 1)]
    assert written == [json.loads(call.arguments) for call in reply.message.calls]
    assert written == [{"code": "print('first')"}, {"city": "Oslo"}]


@pytest.mark.parametrize("name", [GOOGLE, GROQ, OLLAMA, MISTRAL])  # Bedrock's SDK refuses how aimock streams text
async def test_text_is_streamed(name: str, aimock: Aimock, opened: Opened) -> None:
    pieces = list[Piece]()
    async with model_of(name, aimock, opened) as (model, _):
        reply = await model.request(asked(UserMessage(text="say hello"), generation=PLAIN), pieces.append)
    assert told(pieces) == reply.message.text
    assert reply.message.text.startswith("Hello there")


@pytest.mark.parametrize("name", OTHERS)
@BOTH
async def test_a_server_that_fails_is_busy_and_is_asked_once(
    name: str, streamed: bool, aimock: Aimock, opened: Opened
) -> None:
    async with model_of(name, aimock, opened) as (model, tap):
        request = asked(UserMessage(text="break down"), generation=PLAIN)
        words = (
            "no further word" if name == BEDROCK else "Something broke"
        )  # aimock's errors are not as AWS writes them
        with pytest.raises(ModelBusy, match=f"500: {words}"):
            await model.request(request, list[Piece]().append if streamed else None)
        assert len(tap.sent) == 1


@pytest.mark.parametrize("name", [GOOGLE, GROQ, OLLAMA, MISTRAL])
async def test_a_key_that_the_server_repeats_is_taken_out(
    name: str, aimock: Aimock, opened: Opened, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with model_of(name, aimock, opened) as (model, tap):
        with pytest.raises(ModelRefused, match=r"400: who is \*\*\* \?"):
            await model.request(asked(UserMessage(text="hide and seek"), generation=PLAIN))
        assert KEY in json.dumps(tap.sent[0].headers)
    assert {record.name for record in caplog.records if KEY in record.getMessage()} == set()


async def test_an_answer_that_the_sdk_cannot_read_is_busy(aimock: Aimock, opened: Opened) -> None:
    async with model_of(BEDROCK, aimock, opened) as (model, _):
        with pytest.raises(ModelBusy, match="Invalid service response"):
            await model.request(asked(UserMessage(text="say hello"), generation=PLAIN), list[Piece]().append)


async def test_bedrock_without_credentials_is_refused(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    opened(BEDROCK, "http://127.0.0.1:9")
    for variable in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(ModelRefused, match="credentials"):
        await open_model(BEDROCK).request(asked(UserMessage(text="say hello")))


async def test_a_token_for_bedrock_is_used_and_is_never_sent_in_clear(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with listening(Canned(b"")) as server:
        opened(BEDROCK, server.url)
        monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", KEY)
        with pytest.raises(ModelRefused, match="Bearer authorization requires an HTTPS endpoint"):
            await open_model(BEDROCK).request(asked(UserMessage(text="say hello")))
    assert server.sent == []


async def test_bedrock_is_asked_to_cache(opened: Opened) -> None:
    async with listening(Canned(b"HTTP/1.1 500 Sorry\r\ncontent-length: 0\r\n\r\n")) as server:
        with pytest.raises(ModelBusy):
            await opened(BEDROCK, server.url).request(asked(UserMessage(text="say hello")))
        body = server.sent[0].body
    assert "cachePoint" in body["system"][-1]
    assert "cachePoint" in body["toolConfig"]["tools"][-1]
    assert "cachePoint" in body["messages"][-1]["content"][-1]


def test_one_model_serves_one_event_loop_after_another(aimock: Aimock) -> None:
    model = open_model(f"http://127.0.0.1:{aimock.port}/v1#qwen")

    async def once() -> str:
        return (await model.request(asked(UserMessage(text="say hello")))).message.text

    assert asyncio.run(once()) == asyncio.run(once())
    asyncio.run(model.close())


async def test_a_model_that_was_closed_opens_again(tap: Tap, opened: Opened) -> None:
    model = opened("openai-chat:gpt-4.1", tap.url)
    await model.request(asked(UserMessage(text="say hello")))
    await model.close()
    assert (await model.request(asked(UserMessage(text="say hello")))).message.text
