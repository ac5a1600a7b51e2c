"""`TurnTexts`: texts of people and for models, with tokens where the session has private values; else as they are.

Answers of calls and prints have tokens where they come in; words of people get them here. `PrivateModel` is the last
look, at what comes in no other way: instructions, descriptions of what is in scope, what the model wrote by itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from cellwright.agent.task_data import TaskContent, kept_data
from cellwright.doors import Model, ModelWrapper, Reply, Request
from cellwright.guard import SessionPrivacy
from cellwright.messages import AssistantMessage, Message, OnPiece, ToolMessage, UserMessage

KEPT = 5_000  # texts of a conversation; each is looked through once


class TurnTexts:
    """Of one session; `privacy` gives that of its runtime, once it is open."""

    def __init__(self, privacy: Callable[[], SessionPrivacy | None]) -> None:
        self._privacy = privacy

    def hidden(self, text: str) -> str:
        privacy = self._privacy()
        return text if privacy is None else privacy.hide_text(text)

    def hidden_guess(self, text: str) -> str:
        """A text with words of a model, which may be a guess."""
        privacy = self._privacy()
        return text if privacy is None else privacy.hide_text(text, guessed=True)

    def given(self, task: str, data: TaskContent) -> tuple[str, str]:
        """A task, and its data as it is kept."""
        privacy = self._privacy()
        if privacy is not None:
            task, data = privacy.hide_text(task), privacy.hide_value(dict(data or {}))
            privacy.keep()
        return task, kept_data(data)

    def answer(self, value: Any) -> Any:
        """An answer with the values that it may have."""
        privacy = self._privacy()
        if privacy is not None and privacy.is_below and isinstance(value, str):
            return privacy.hide_text(value, guessed=True)  # words of a model, on their way to code that may compare
        return value if privacy is None else privacy.reveal_value(value, privacy.options.answers)

    def around(self, model: Model) -> Model:
        return PrivateModel(model, self._privacy)


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
            if given not in self._texts:  # what the model writes by itself may be a guess; a resumed turn asks the same
                self._texts[given] = privacy.hide_text(given, guessed=True, steady=True)
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
