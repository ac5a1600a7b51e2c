"""`Asking`: one request after the other to the model, with room made in the window, told piece by piece."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from toolwright.agent.offer import Offer
from toolwright.agent.pieces import Pieces
from toolwright.agent.result import Trace
from toolwright.agent.talk import SUMMARY, Talk
from toolwright.doors import Model, Reply, Request
from toolwright.events import Compacted, Replied, Used
from toolwright.messages import Asked, Generation, Message, Tool, Usage

WARMER = 0.7


class Asking:
    """The model's side of one turn. `step` counts a step of the budget and raises when none is left."""

    def __init__(
        self, model: Model, offer: Offer, talk: Talk, trace: Trace, generation: Generation, step: Callable[[], None]
    ) -> None:
        self.offer = offer
        self.talk = talk
        self.trace = trace
        self.usage = Usage()
        self._model = model
        self._generation = generation
        self._step = step

    async def next(self, *, warmer: bool = False, tools: bool = True) -> Reply:
        """The next reply of the conversation, which it becomes part of."""
        self._step()
        self.trace.step += 1
        if self.talk.full:
            before, after = await self.talk.compact(self._summary)
            if after < before:
                self.trace.tell(Compacted(before_tokens=before, after_tokens=after))
        reply = await self._ask(tuple(self.talk.messages), self.offer.tools if tools else (), warmer)
        self.talk.say(reply.message, reply.usage)
        if reply.message.text:
            self.trace.tell(Replied(text=reply.message.text))
        return reply

    async def _summary(self, messages: tuple[Message, ...]) -> str:
        *earlier, last = messages
        wish = Asked(text=f"{last.text}\n\n{SUMMARY}") if isinstance(last, Asked) else Asked(text=SUMMARY)
        asked = (*earlier, wish) if isinstance(last, Asked) else (*messages, wish)
        return (await self._ask(asked, (), False)).message.text

    async def _ask(self, messages: tuple[Message, ...], tools: tuple[Tool, ...], warmer: bool) -> Reply:
        generation = replace(self._generation, temperature=WARMER) if warmer else self._generation
        if not self.offer.calls:
            generation = replace(generation, stop=(*generation.stop, "\n```\n"))  # one block is what is run
        pieces = Pieces(self.trace.tell, fenced=not self.offer.calls)
        request = Request(messages=messages, instructions=self.offer.instructions, tools=tools, generation=generation)
        reply = await self._model.request(request, pieces.hear if self.trace.heard else None)
        pieces.end()
        self.usage += reply.usage
        self.trace.tell(Used(usage=self.usage, last=reply.usage))
        return reply
