"""The other providers: one request each, plain and streamed, where aimock speaks their protocol."""

from __future__ import annotations

import asyncio
import json

import pytest
from pydantic_ai.models.mistral import MistralModel
from pydantic_ai.providers.mistral import MistralProvider
from tests.models.wire.aimock import Aimock
from tests.models.wire.conftest import KEY, Opened
from tests.models.wire.tap import Tap, listening
from tests.models.wire.test_replies import BOTH, CODE, asked, kept, told

from toolwright.doors import Model
from toolwright.errors import ModelBusy
from toolwright.messages import Answered, Asked, Piece, ToolResult
from toolwright.models import ProviderModel, open_model

NAMES = {
    "google:gemini-3.8-flash": ("/v1/models", "/v1beta/models"),  # where aimock has it
    "groq:openai/gpt-oss-120b": ("", ""),
    "ollama:qwen3-coder": ("", ""),
    "bedrock:global.anthropic.claude-sonnet-5-5": ("", ""),
    "mistral:codestral-latest": ("", ""),
}
OTHERS = pytest.mark.parametrize("name", NAMES)


def model_at(name: str, tap: Tap, opened: Opened) -> Model:
    if not name.startswith("mistral"):  # its SDK has no variable for an address
        return opened(name, tap.url)
    provider = MistralProvider(api_key=KEY, base_url=tap.url)
    return ProviderModel(name, model=MistralModel("codestral-latest", provider=provider))


@OTHERS
@BOTH
async def test_a_call_and_its_result_go_there_and_back(
    name: str, streamed: bool, aimock: Aimock, opened: Opened
) -> None:
    async with listening(Tap(aimock.port, NAMES[name])) as tap:
        model, pieces = model_at(name, tap, opened), list[Piece]()
        first = Asked(text="what is six times seven")
        reply = await model.request(asked(first), pieces.append if streamed else None)
        (call,) = reply.message.calls
        assert (call.name, json.loads(call.arguments)) == ("execute", {"code": CODE})
        if streamed:
            assert json.loads(told(pieces, "call")) == {"code": CODE}
        results = Answered(results=(ToolResult(id=call.id, name="execute", text="42"),))
        reply = await model.request(asked(first, kept(reply.message), results), pieces.append if streamed else None)
        assert reply.message.text == "It is 42."
        await model.close()


@OTHERS
@BOTH
async def test_a_server_that_fails_is_busy_and_is_asked_once(
    name: str, streamed: bool, aimock: Aimock, opened: Opened
) -> None:
    async with listening(Tap(aimock.port, NAMES[name])) as tap:
        model = model_at(name, tap, opened)
        with pytest.raises(ModelBusy, match="Something broke"):
            await model.request(asked(Asked(text="break down")), list[Piece]().append if streamed else None)
        assert len(tap.sent) == 1
        await model.close()


async def test_bedrock_is_asked_to_cache(aimock: Aimock, opened: Opened) -> None:
    async with listening(Tap(aimock.port)) as tap:
        await opened("bedrock:global.anthropic.claude-sonnet-5-5", tap.url).request(asked(Asked(text="say hello")))
        body = tap.sent[0].body
    assert "cachePoint" in body["system"][-1]
    assert "cachePoint" in body["toolConfig"]["tools"][-1]
    assert "cachePoint" in body["messages"][-1]["content"][-1]


def test_one_model_serves_one_event_loop_after_another(aimock: Aimock, monkeypatch: pytest.MonkeyPatch) -> None:
    model = open_model(f"http://127.0.0.1:{aimock.port}/v1#qwen")

    async def once() -> str:
        return (await model.request(asked(Asked(text="say hello")))).message.text

    assert asyncio.run(once()) == asyncio.run(once())
    asyncio.run(model.close())


async def test_a_model_that_was_closed_opens_again(tap: Tap, opened: Opened) -> None:
    model = opened("openai-chat:gpt-4.1", tap.url)
    await model.request(asked(Asked(text="say hello")))
    await model.close()
    assert (await model.request(asked(Asked(text="say hello")))).message.text
