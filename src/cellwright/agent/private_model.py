"""`PrivateModel`: what a model is asked has tokens instead of private values, wherever a text came from.

Words of people, answers of calls and prints are hidden where they come in. This is the last look, at what has no other
way in: instructions, descriptions of what is in scope, and a value that is known only now.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from cellwright.doors import Model, ModelWrapper, Reply, Request
from cellwright.guard import SessionPrivacy
from cellwright.messages import AssistantMessage, Message, OnPiece, ToolMessage, UserMessage

KEPT = 5_000  # texts of a conversation; each is looked through once


class PrivateModel(ModelWrapper):
    """`privacy` gives that of the session, None where it has none."""

    def __init__(self, inner: Model, privacy: Callable[[], SessionPrivacy | None]) -> None:
        super().__init__(inner)
        self._privacy = privacy
        self._texts: dict[str, str] = {}

    async def request(self, request: Request, on_piece: OnPiece | None = None) -> Reply:
        privacy = self._privacy()
        if privacy is not None:
            request = await asyncio.to_thread(self._hidden, request, privacy)
            privacy.keep()
        return await self.inner.request(request, on_piece)

    def _hidden(self, request: Request, privacy: SessionPrivacy) -> Request:
        def text(given: str) -> str:
            if len(self._texts) > KEPT:
                self._texts.clear()
            if given not in self._texts:
                self._texts[given] = privacy.hide_text(given)
            return self._texts[given]

        tools = tuple(replace(tool, description=text(tool.description)) for tool in request.tools)
        messages = tuple(_with_text(message, text) for message in request.messages)
        return replace(request, messages=messages, instructions=text(request.instructions), tools=tools)


def _with_text(message: Message, text: Callable[[str], str]) -> Message:
    match message:
        case UserMessage():
            return replace(message, text=text(message.text))
        case AssistantMessage():
            calls = tuple(replace(call, arguments=text(call.arguments)) for call in message.calls)
            return replace(message, text=text(message.text), calls=calls)
        case ToolMessage():
            return replace(message, results=tuple(replace(one, text=text(one.text)) for one in message.results))
