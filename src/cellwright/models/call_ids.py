"""`OwnCallIds`: a model whose tool calls have ids of our own. Servers repeat theirs, or leave them out.

It stands inside the journal: a recorded reply keeps the ids that it was written with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from cellwright.doors import Model, ModelWrapper, Reply, Request
from cellwright.messages import AssistantMessage, Message, OnPiece

_OWN = re.compile(r"c(\d{8})")  # nine letters and digits, which every provider takes


class OwnCallIds(ModelWrapper):
    """See `Model`. The calls of one session are numbered; those that its conversation has are not used again."""

    def __init__(self, inner: Model) -> None:
        super().__init__(inner)
        self._last = 0

    async def request(self, request: Request, on_piece: OnPiece | None = None) -> Reply:
        reply = await self.inner.request(request, on_piece)
        said = reply.message
        if not said.calls:
            return reply
        first = max(self._last, _last_in(request.messages)) + 1
        self._last = first + len(said.calls) - 1
        calls = (replace(call, id=f"c{first + place:08}") for place, call in enumerate(said.calls))
        return replace(reply, message=replace(said, calls=tuple(calls)))


def _last_in(messages: Iterable[Message]) -> int:
    """The highest number among the calls of a conversation."""
    calls = (call for message in messages if isinstance(message, AssistantMessage) for call in message.calls)
    return max((int(own[1]) for call in calls if (own := _OWN.fullmatch(call.id))), default=0)
