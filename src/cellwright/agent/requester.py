"""`Requester`: makes the requests of one turn to the model, with room made in the window and replies told in pieces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from cellwright.agent.context_window import SUMMARY, ContextWindow
from cellwright.agent.reply_stream import ReplyStream
from cellwright.agent.result import Trace
from cellwright.agent.toolset import Toolset
from cellwright.doors import Model, Reply, Request
from cellwright.events import Compacted, Replied, Used
from cellwright.messages import Generation, Message, Tool, Usage, UserMessage

WARMER = 0.7
ASIDE_TOKENS = 1_000  # of an answer to a person's question


class Requester:
    """Makes the requests of one turn. `step` counts a step of the budget and raises when none is left."""

    def __init__(
        self,
        model: Model,
        toolset: Toolset,
        context: ContextWindow,
        trace: Trace,
        generation: Generation,
        step: Callable[[], None],
    ) -> None:
        self.toolset = toolset
        self.context = context
        self.trace = trace
        self.usage = Usage()
        self._model = model
        self._generation = generation
        self._step = step

    async def next(self, *, warmer: bool = False, tools: bool = True) -> Reply:
        """The next reply; it is added to the conversation."""
        self._step()
        self.trace.step += 1
        if self.context.full:
            before, after = await self.context.compact(self._summary)
            if after < before:
                self.trace.tell(Compacted(before_tokens=before, after_tokens=after))
        reply = await self._ask(tuple(self.context.messages), self.toolset.tools if tools else (), warmer)
        self.context.say(reply.message, reply.usage)
        if reply.message.text:
            self.trace.tell(Replied(text=reply.message.text))
        return reply

    async def beside(self, question: str) -> str:
        """The model's answer to a question of a person. Neither becomes part of the conversation."""
        most = min(self._generation.max_tokens or ASIDE_TOKENS, ASIDE_TOKENS)
        return await self._aside(tuple(self.context.messages), question, replace(self._generation, max_tokens=most))

    async def _summary(self, messages: tuple[Message, ...]) -> str:
        return await self._aside(messages, SUMMARY, self._generation)

    async def _aside(self, messages: tuple[Message, ...], wish: str, generation: Generation) -> str:
        last = messages[-1] if messages else None
        if isinstance(last, UserMessage):  # not every provider takes two in a row
            messages, wish = messages[:-1], f"{last.text}\n\n{wish}"
        asked = (*messages, UserMessage(text=wish))
        request = Request(
            messages=asked, instructions=self.toolset.instructions, generation=self._with_stop(generation), aside=True
        )
        return self._used(await self._model.request(request)).message.text

    async def _ask(self, messages: tuple[Message, ...], tools: tuple[Tool, ...], warmer: bool) -> Reply:
        generation = replace(self._generation, temperature=WARMER) if warmer else self._generation
        pieces = ReplyStream(self.trace.tell, fenced=not self.toolset.calls)
        request = Request(
            messages=messages,
            instructions=self.toolset.instructions,
            tools=tools,
            generation=self._with_stop(generation),
        )
        reply = await self._model.request(request, pieces.hear if self.trace.heard else None)
        pieces.end()
        return self._used(reply)

    def _with_stop(self, generation: Generation) -> Generation:
        """A model without tool calls stops after one block of code: only one is run."""
        return generation if self.toolset.calls else replace(generation, stop=(*generation.stop, "\n```\n"))

    def _used(self, reply: Reply) -> Reply:
        self.usage += reply.usage
        self.trace.tell(Used(usage=self.usage, last=reply.usage))
        return reply
