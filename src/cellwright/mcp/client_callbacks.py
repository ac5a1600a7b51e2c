"""What a server may ask of its client: an answer of a person, a completion of a model, and the client's roots.

The host decides about all three. A capability for which nobody gave a callback is not declared to the server.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, cast

import mcp_types as types

from cellwright.doors import Model, Request
from cellwright.errors import ModelError
from cellwright.mcp.sdk_errors import one_line
from cellwright.messages import AssistantMessage, Generation, Message, UserMessage
from cellwright.schemas import as_object, jsonable, local_resolve, mismatch

Answer = Mapping[str, Any] | None
OnElicit = Callable[[str, str, Mapping[str, Any]], Answer | Awaitable[Answer]]
"""(server, message, schema) -> the answer, None to decline. The schema is that of a flat object."""

Waiting = Callable[[], AbstractContextManager[None]]
"""Stops the clocks of calls while a person or a model is asked."""

_MOST_TOKENS = 16_384


class ClientCallbacks:
    """The callbacks of the SDK's client for one server. `log` gets a line for each request that was declined."""

    def __init__(self, server: str, waiting: Waiting, log: Callable[[str], None]) -> None:
        self._server = server
        self._waiting = waiting
        self._log = log

    def elicitation(self, on_elicit: OnElicit) -> Any:
        async def elicit(context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
            if isinstance(params, types.ElicitRequestURLParams):
                self._log(f"asks you to open {one_line(params.url, 500)} ({one_line(params.message, 200)}); declined")
                return types.ElicitResult(action="decline")
            schema = params.requested_schema
            with self._waiting():
                answer: Any = on_elicit(self._server, params.message, schema)
                answer = await answer if inspect.isawaitable(answer) else answer
            return self._checked(answer, schema)

        return elicit

    def _checked(self, answer: Any, schema: dict[str, Any]) -> types.ElicitResult:
        if answer is None:
            return types.ElicitResult(action="decline")
        content = _defaults(schema) | cast("dict[str, Any]", jsonable(dict(answer)))
        wrong = mismatch(content, schema, local_resolve(schema), where="answer")
        if wrong is not None:
            self._log(f"was not answered: {wrong}")
            return types.ElicitResult(action="cancel")
        return types.ElicitResult(action="accept", content=content)

    def sampling(self, model: Model) -> Any:
        async def sample(
            context: Any, params: types.CreateMessageRequestParams
        ) -> types.CreateMessageResult | types.ErrorData:
            request = request_of(params)
            if isinstance(request, str):
                return types.ErrorData(code=types.INVALID_PARAMS, message=request)
            try:
                with self._waiting():
                    reply = await model.request(request)
            except ModelError as error:
                return types.ErrorData(code=types.INTERNAL_ERROR, message=one_line(str(error)))
            return types.CreateMessageResult(
                role="assistant",
                content=types.TextContent(type="text", text=reply.message.text),
                model=reply.model or model.name,
                stop_reason="maxTokens" if reply.cut else "endTurn",
            )

        return sample


def roots(uris: tuple[str, ...]) -> Any:
    async def list_roots(context: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root.model_validate({"uri": uri}) for uri in uris])

    return list_roots


def request_of(params: types.CreateMessageRequestParams) -> Request | str:
    """The server's sampling request as a request to our model; a sentence if it asks for more than text."""
    if params.tools:
        return "sampling with tools is not offered here; ask for text"
    messages: list[Message] = []
    for message in params.messages:
        text = _text(message.content)
        if text is None:
            return "only text can be sampled here; send no images, audio or tool results"
        messages.append(AssistantMessage(text=text) if message.role == "assistant" else UserMessage(text=text))
    generation = Generation(
        temperature=params.temperature,
        max_tokens=min(params.max_tokens, _MOST_TOKENS),
        stop=tuple(params.stop_sequences or ()),
    )
    return Request(messages=tuple(messages), instructions=params.system_prompt or "", generation=generation)


def _text(content: Any) -> str | None:
    parts = cast("list[Any]", content) if isinstance(content, list) else [content]
    if not all(isinstance(part, types.TextContent) for part in parts):
        return None
    return "\n".join(part.text for part in parts)


def _defaults(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema's defaults, for fields that the answer leaves out."""
    fields = {key: as_object(field) for key, field in as_object(schema.get("properties")).items()}
    return {key: field["default"] for key, field in fields.items() if "default" in field}
