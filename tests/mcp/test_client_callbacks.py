from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import mcp_types as types
import pytest
from tests.mcp.everything import everything

from cellwright.doors import Request
from cellwright.errors import ModelBusy, UpstreamError
from cellwright.mcp import MCP
from cellwright.mcp.client_callbacks import ClientCallbacks, request_of
from cellwright.mcp.mcp_caller import CallClocks
from cellwright.messages import AssistantMessage, UserMessage
from cellwright.testing import ScriptedModel


def declines(server: str, message: str, schema: Mapping[str, Any]) -> None:
    """A person who wants nothing to do with it."""


def unsure(server: str, message: str, schema: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"sure": "perhaps"}


@pytest.fixture(params=["auto", "legacy"])
def mode(request: pytest.FixtureRequest) -> str:
    return request.param


async def test_a_person_is_asked_by_the_host(mode: str) -> None:
    asked: list[Any] = []

    async def answer(server: str, message: str, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        asked.append((server, message, list(schema["properties"])))
        return {"sure": True}

    async with await MCP.open(everything(), mode=mode, on_elicit=answer, cache=False) as server:
        said = await server.call("ask", {"question": "really?"})
    assert said == "accept sure=True why='because'"
    assert asked == [("everything", "really?", ["sure", "why"])]


async def test_a_person_who_declines_is_heard(mode: str) -> None:
    async with await MCP.open(everything(), mode=mode, on_elicit=declines, cache=False) as server:
        assert await server.call("ask", {"question": "really?"}) == "decline"


async def test_an_answer_that_does_not_fit_is_not_sent(mode: str) -> None:
    lines: list[str] = []
    async with await MCP.open(everything(), mode=mode, on_elicit=unsure, on_log=lines.append, cache=False) as server:
        assert await server.call("ask", {"question": "really?"}) == "cancel"
    assert lines == ["everything: was not answered: answer.sure: 'perhaps' is no boolean"]


async def test_a_server_cannot_ask_where_nobody_answers(mode: str) -> None:
    async with await MCP.open(everything(), mode=mode, cache=False) as server:
        with pytest.raises(UpstreamError, match=r"^everything\.ask: "):
            await server.call("ask", {"question": "really?"})
        with pytest.raises(UpstreamError, match=r"^everything\.think: "):
            await server.call("think", {"question": "really?"})
        with pytest.raises(UpstreamError, match=r"^everything\.look: "):
            await server.call("look", {})


async def test_a_call_may_wait_for_a_person_longer_than_for_the_server(mode: str) -> None:
    async def slowly(*_: Any) -> Mapping[str, Any]:
        await asyncio.sleep(0.6)
        return {"sure": False}

    async with await MCP.open(everything(), mode=mode, on_elicit=slowly, timeout_s=0.3, cache=False) as server:
        assert await server.call("ask", {"question": "really?"}) == "accept sure=False why='because'"


async def test_a_page_that_is_to_be_opened_is_told(mode: str) -> None:
    async with await MCP.open(everything(), mode=mode, cache=False) as server:
        with pytest.raises(UpstreamError, match=r"sign_up: .*open https://sign\.example/up first"):
            await server.call("sign_up", {})


async def test_a_page_that_a_server_asks_for_is_declined_and_said() -> None:
    lines: list[str] = []
    callback = ClientCallbacks("far", CallClocks().waiting, lines.append).elicitation(unsure)
    page = types.ElicitRequestURLParams(message="pay", url="https://pay.example/1", elicitation_id="1")
    assert (await callback(None, page)).action == "decline"
    assert lines == ["asks you to open https://pay.example/1 (pay); declined"]


async def test_a_model_is_asked_by_the_host(mode: str) -> None:
    model = ScriptedModel("four", name="scripted")
    async with await MCP.open(everything(), mode=mode, sample=model, cache=False) as server:
        assert await server.call("think", {"question": "2 + 2"}) == "scripted: four (endTurn)"
    assert model.requests[0].messages == (UserMessage(text="2 + 2"),)
    assert model.requests[0].instructions == "Be brief."
    assert model.requests[0].generation.max_tokens == 50


async def test_a_model_that_fails_is_told_to_the_server(mode: str) -> None:
    async with await MCP.open(everything(), mode=mode, sample=ScriptedModel(ModelBusy("later")), cache=False) as server:
        with pytest.raises(UpstreamError, match="later"):
            await server.call("think", {"question": "2 + 2"})


async def test_roots_are_told_where_there_are_any(mode: str) -> None:
    async with await MCP.open(everything(), mode=mode, roots=["file:///srv"], cache=False) as server:
        assert await server.call("look", {}) == "file:///srv"


def test_only_text_is_sampled() -> None:
    image = types.ImageContent(type="image", data="", mime_type="image/png")
    text = types.TextContent(type="text", text="hi")
    messages = [
        types.SamplingMessage(role="user", content=[text, text]),
        types.SamplingMessage(role="assistant", content=text),
    ]
    request = request_of(types.CreateMessageRequestParams(messages=messages, max_tokens=10**9))
    assert isinstance(request, Request)
    assert request.messages == (UserMessage(text="hi\nhi"), AssistantMessage(text="hi"))
    assert request.generation.max_tokens == 16_384
    with_image = types.CreateMessageRequestParams(
        messages=[types.SamplingMessage(role="user", content=image)], max_tokens=1
    )
    assert "only text" in str(request_of(with_image))
