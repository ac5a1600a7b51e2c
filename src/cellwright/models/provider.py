"""`ProviderModel`: a provider's language model, through pydantic-ai. Knows no names and no retries.

One request is one attempt: whoever wants more wraps it in `Retrying`.
"""

from __future__ import annotations

from typing import Any

from pydantic_ai import direct
from pydantic_ai.messages import (
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
)
from pydantic_ai.models import Model as ProviderLayer
from pydantic_ai.models import StreamedResponse

from cellwright.doors import Reply, Request
from cellwright.errors import ModelBusy, ModelError
from cellwright.messages import OnPiece, Piece, Traits
from cellwright.models import provider_errors, translation
from cellwright.models.foreign_errors import Hearing

WINDOW = 128_000  # of a model that nobody knows
# Why a reply ended that ran out of room, in the words of servers that pydantic-ai does not translate.
OUT_OF_ROOM = frozenset({"length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded"})


class ProviderModel:
    """The model `model` of pydantic-ai's, known here by `name`.

    Temperature, caching and timeouts are set as far as this model takes them. Requests after `close` open new
    connections.
    """

    def __init__(self, name: str, *, model: ProviderLayer) -> None:
        self.name = name
        self._model = model
        self._temperature = translation.takes_temperature(model)

    def __repr__(self) -> str:
        return f"ProviderModel({self.name!r})"

    @property
    def traits(self) -> Traits:
        return Traits(
            calls=bool(self._model.profile.get("supports_tools", True)), window=self._model.context_window or WINDOW
        )

    async def request(self, request: Request, on_piece: OnPiece | None = None) -> Reply:
        reply = await self._attempt(request, on_piece)
        if reply is None:  # the model takes no temperature, which is remembered
            reply = await self._attempt(request, on_piece)
        if isinstance(reply, Reply):
            return reply
        # Raised here, after the provider's own exception is gone: it reaches the client, and with it the key.
        raise reply or ModelBusy(f"{self.name}: it did not reply")

    async def close(self) -> None:
        async with self._model:  # leaving closes the connections
            pass

    async def _attempt(self, request: Request, on_piece: OnPiece | None) -> Reply | ModelError | None:
        """One request; None if it was refused because of its temperature, and can be made again without one."""
        hearing = Hearing(on_piece)
        try:
            response = await self._ask(request, hearing.hear)
        except provider_errors.raised() as error:
            if self._temperature and provider_errors.about_temperature(error):
                self._temperature = False
                return None
            return provider_errors.failed(self.name, error, self._model)
        except Exception as error:  # an outer edge: packages raise anything over a reply that is not of its form
            if error is hearing.failed:
                raise
            return provider_errors.unreadable(self.name, error, self._model)
        if response is None:
            return ModelBusy(f"{self.name}: its reply broke off before the end")
        return Reply(
            message=translation.said(response),
            usage=translation.usage_of(response),
            model=self.name,
            cut=response.finish_reason == "length" or _finish(response).lower() in OUT_OF_ROOM,
        )

    async def _ask(self, request: Request, on_piece: OnPiece | None) -> ModelResponse | None:
        model = self._model
        # A client's connections belong to one event loop; pydantic-ai's own Agent asks for this before each run.
        model._refresh_http_client()  # pyright: ignore[reportPrivateUsage]
        parameters = translation.to_parameters(request)
        asked: dict[str, Any] = {
            "model_settings": translation.to_settings(request, model, temperature=self._temperature),
            "model_request_parameters": parameters,
        }
        messages = translation.to_messages(request.messages, model.system)
        if model.profile.get("tool_call_id_length"):  # ids of other providers are made to fit
            messages = model.prepare_messages(messages, parameters)
        if on_piece is None:  # some are streamed all the same, and may break off
            response = await direct.model_request(model, messages, **asked)
        else:
            async with direct.model_request_stream(model, messages, **asked) as stream:
                await _tell(stream, on_piece)
                response = stream.get()
        return response if model.provider is None or _ended(response) else None


async def _tell(stream: StreamedResponse, on_piece: OnPiece) -> None:
    calls: dict[int, tuple[int, str]] = {}  # part of the response -> number and name of the call
    async for event in stream:
        match event:
            case PartStartEvent(part=TextPart(content=text)) | PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                if text:
                    on_piece(Piece(text=text))
            case PartStartEvent(index=index, part=ToolCallPart(tool_name=name, args=arguments)):
                calls[index] = (len(calls), name)
                text = translation.arguments_text(arguments) if arguments else ""
                on_piece(Piece(kind="call", call=calls[index][0], name=name, text=text))
            case PartDeltaEvent(index=index, delta=ToolCallPartDelta(args_delta=arguments)) if arguments:
                number, name = calls[index]
                on_piece(Piece(kind="call", call=number, name=name, text=translation.arguments_text(arguments)))
            case _:
                pass


def _ended(response: ModelResponse) -> bool:
    """Whether the provider said that the reply is complete. A broken connection may look like an end."""
    return response.finish_reason == "content_filter" or bool(_finish(response))


def _finish(response: ModelResponse) -> str:
    """Why the reply ended, in the provider's own word; "" where it said nothing."""
    word = (response.provider_details or {}).get("finish_reason")
    return "" if word is None else str(word)
