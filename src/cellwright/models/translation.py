"""Our messages as pydantic-ai's, and its responses as ours. Knows no network and no provider in particular.

A reply goes back to the provider that wrote it as it came (`AssistantMessage.own`), with its signatures and ids; the
results of its calls have these ids too. Every other provider gets its text and its calls.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import ValidationError
from pydantic_ai.messages import (
    InstructionPart,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from cellwright.doors import Request
from cellwright.messages import (
    AssistantMessage,
    Generation,
    Message,
    Tool,
    ToolCall,
    ToolMessage,
    ToolResult,
    Usage,
    UserMessage,
)

EMPTY = "(an empty reply)"  # no provider takes a message without content
KEYED_CACHES = frozenset({"openai", "azure"})  # whose cache is found by a key; others may refuse the field


def to_messages(messages: tuple[Message, ...], provider: str) -> list[ModelMessage]:
    """The conversation for `provider`. The same messages give the same bytes: a cache is found by its prefix."""
    told: list[ModelMessage] = []
    theirs: dict[str, str] = {}  # the provider's id of each call of the last reply
    for message in messages:
        match message:
            case UserMessage(text=text):
                told.append(ModelRequest(parts=[UserPromptPart(content=text)]))
            case ToolMessage(results=results):
                told.append(ModelRequest(parts=[_result(result, theirs) for result in results]))
            case AssistantMessage(calls=calls):
                response = _own(message, provider) or _retold(message)
                theirs = {call.id: part.tool_call_id for call, part in zip(calls, _calls(response), strict=True)}
                told.append(response)
    return told


def _result(result: ToolResult, theirs: Mapping[str, str]) -> ToolReturnPart:
    return ToolReturnPart(
        tool_name=result.name,
        content=result.text,
        tool_call_id=theirs.get(result.id, result.id),
        outcome="failed" if result.failed else "success",
    )


def _own(said: AssistantMessage, provider: str) -> ModelResponse | None:
    """The response as its provider gave it; None if it is from another provider, or differs from `said`."""
    own = said.own
    if not isinstance(own, Mapping) or own.get("provider_name") != provider:  # pyright: ignore[reportUnknownMemberType]
        return None
    try:
        (response,) = ModelMessagesTypeAdapter.validate_python([own])
    except ValidationError:  # written by another version of pydantic-ai
        return None
    if not isinstance(response, ModelResponse) or not (said.calls or said.text.strip()):
        return None
    parts = _calls(response)
    if (text_of(response), list(map(_called, calls_of(response)))) != (said.text, list(map(_called, said.calls))):
        return None
    if len({part.tool_call_id for part in parts} - {""}) < len(parts):  # a server that repeats ids, or leaves them out
        ours = iter(said.calls)
        return replace(
            response,
            parts=[
                replace(part, tool_call_id=next(ours).id) if isinstance(part, ToolCallPart) else part
                for part in response.parts
            ],
        )
    return response


def _called(call: ToolCall) -> tuple[str, str]:
    return call.name, call.arguments


def _retold(said: AssistantMessage) -> ModelResponse:
    blank = not said.text.strip()
    text = [TextPart(content=EMPTY if blank else said.text)] if not blank or not said.calls else []
    calls = [ToolCallPart(tool_name=call.name, args=call.arguments, tool_call_id=call.id) for call in said.calls]
    return ModelResponse(parts=[*text, *calls])


def to_parameters(request: Request) -> ModelRequestParameters:
    return ModelRequestParameters(
        function_tools=[_definition(tool) for tool in request.tools],
        instruction_parts=[InstructionPart(content=request.instructions)] if request.instructions else [],
    )


def _definition(tool: Tool) -> ToolDefinition:
    return ToolDefinition(
        name=tool.name, description=tool.description, parameters_json_schema=json.loads(json.dumps(tool.parameters))
    )


def to_settings(request: Request, model: Model, *, temperature: bool) -> ModelSettings:
    """The generation options that this model takes. `extra` overrides them."""
    wanted: Generation = request.generation
    settings: dict[str, Any] = {"max_retries": 0, "cache": True}
    if temperature and wanted.temperature is not None:
        settings["temperature"] = wanted.temperature
    if wanted.max_tokens is not None:
        settings["max_tokens"] = wanted.max_tokens
    if wanted.stop:
        settings["stop_sequences"] = list(wanted.stop)
    if wanted.timeout_s is not None:
        settings["timeout"] = settings["request_timeout"] = wanted.timeout_s
    if model.system in KEYED_CACHES:
        settings["openai_prompt_cache_key"] = _prefix_key(request)
    taken = {name: value for name, value in settings.items() if name not in model.unsupported_settings}
    return ModelSettings(**{**taken, **wanted.extra})


def _prefix_key(request: Request) -> str:
    """A key for the prefix that requests of one agent share. It is a hash: nothing can be read from it."""
    tools = [[tool.name, tool.description, tool.parameters] for tool in request.tools]
    return hashlib.sha256(json.dumps([request.instructions, tools], sort_keys=True).encode()).hexdigest()[:32]


def takes_temperature(model: Model) -> bool:
    """Whether the model takes a temperature. Models of OpenAI and Anthropic that think by default refuse it."""
    profile: Mapping[str, Any] = model.profile
    if profile.get("anthropic_disallows_sampling_settings") or profile.get("bedrock_disallows_sampling_settings"):
        return False
    thinks = profile.get("thinking_enabled_by_default") or profile.get("thinking_always_enabled")
    return not (profile.get("openai_supports_reasoning") and thinks)


def said(response: ModelResponse) -> AssistantMessage:
    (own,) = ModelMessagesTypeAdapter.dump_python([response], mode="json")
    return AssistantMessage(text=text_of(response), calls=calls_of(response), own=own)


def text_of(response: ModelResponse) -> str:
    return response.text or ""


def calls_of(response: ModelResponse) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(id=part.tool_call_id, name=part.tool_name, arguments=arguments_text(part.args))
        for part in _calls(response)
    )


def _calls(response: ModelResponse) -> list[ToolCallPart]:
    return [part for part in response.parts if isinstance(part, ToolCallPart)]


def arguments_text(arguments: str | Mapping[str, Any] | None) -> str:
    """The arguments as the model wrote them, also malformed ones; some providers parse them."""
    if isinstance(arguments, str):
        return arguments or "{}"
    return json.dumps(arguments or {}, ensure_ascii=False)


def usage_of(response: ModelResponse) -> Usage:
    used = response.usage
    return Usage(
        requests=1,
        input_tokens=used.input_tokens,
        output_tokens=used.output_tokens,
        cached_tokens=used.cache_read_tokens,
        cost=_cost(response),
    )


def _cost(response: ModelResponse) -> float | None:
    if response.usage.cost is not None:  # a gateway says what it took
        return float(response.usage.cost)
    if not response.model_name:
        return None
    try:
        return float(response.cost().total_price)
    except (LookupError, ValueError):  # nobody knows the price, or the reply did not say what was used
        return None
