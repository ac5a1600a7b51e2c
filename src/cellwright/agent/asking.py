"""`Asking`: one request after the other to the model, with room made in the window, told piece by piece."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from cellwright.agent.offer import Offer
from cellwright.agent.pieces import Pieces
from cellwright.agent.result import Trace
from cellwright.agent.talk import SUMMARY, Talk
from cellwright.doors import Model, Reply, Request
from cellwright.events import Compacted, Replied, Used
from cellwright.messages import Asked, Generation, Message, Tool, Usage

WARMER = 0.7
ASIDE_TOKENS = 1_000  # of an answer beside the task


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

    async def beside(self, question: str) -> str:
        """What the model says to a question of a person's. The conversation does not hear of it."""
        most = min(self._generation.max_tokens or ASIDE_TOKENS, ASIDE_TOKENS)
        return await self._aside(tuple(self.talk.messages), question, replace(self._generation, max_tokens=most))

    async def _summary(self, messages: tuple[Message, ...]) -> str:
        return await self._aside(messages, SUMMARY, self._generation)

    async def _aside(self, messages: tuple[Message, ...], wish: str, generation: Generation) -> str:
        last = messages[-1] if messages else None
        if isinstance(last, Asked):  # not every provider takes two in a row
            messages, wish = messages[:-1], f"{last.text}\n\n{wish}"
        asked = (*messages, Asked(text=wish))
        request = Request(
            messages=asked, instructions=self.offer.instructions, generation=self._with_stop(generation), aside=True
        )
        return self._used(await self._model.request(request)).message.text

    async def _ask(self, messages: tuple[Message, ...], tools: tuple[Tool, ...], warmer: bool) -> Reply:
        generation = replace(self._generation, temperature=WARMER) if warmer else self._generation
        pieces = Pieces(self.trace.tell, fenced=not self.offer.calls)
        request = Request(
            messages=messages,
            instructions=self.offer.instructions,
            tools=tools,
            generation=self._with_stop(generation),
        )
        reply = await self._model.request(request, pieces.hear if self.trace.heard else None)
        pieces.end()
        return self._used(reply)

    def _with_stop(self, generation: Generation) -> Generation:
        """Where a reply is read for its code, one block is what is run."""
        return generation if self.offer.calls else replace(generation, stop=(*generation.stop, "\n```\n"))

    def _used(self, reply: Reply) -> Reply:
        self.usage += reply.usage
        self.trace.tell(Used(usage=self.usage, last=reply.usage))
        return reply
