"""`Requester`: makes the requests of one turn to the model, with room made in the window and replies told in pieces.

`ReplyStream` splits a reply into text and code as it comes: fences are removed, the JSON of a call is decoded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from cellwright.agent.context_window import SUMMARY, ContextWindow
from cellwright.agent.result import Trace
from cellwright.agent.steps import BOM, EXECUTE, OPENING_LINE, PYTHON, closes
from cellwright.agent.toolset import Toolset
from cellwright.doors import Model, Reply, Request
from cellwright.errors import ModelError
from cellwright.events import CodePiece, Compacted, Event, Replied, TextPiece, Used
from cellwright.messages import Generation, Message, Piece, Tool, Usage, UserMessage, estimated_tokens

WARMER = 0.7
ASIDE_TOKENS = 1_000  # of an answer to a person's question
SUMMARY_CUT = "… [the summary was cut off]"


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
        self.context.fixed = estimated_tokens(toolset.instructions, *toolset.tools)
        self.trace = trace
        self.usage = Usage()
        self._model = model
        self._generation = generation
        self._step = step

    async def next(self, *, warmer: bool = False, tools: bool = True) -> Reply:
        """The next reply; it is added to the conversation."""
        await self.trace.room()
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
        generation = replace(self._generation, max_tokens=most)
        return (await self._aside(tuple(self.context.messages), question, generation)).message.text

    async def _summary(self, messages: tuple[Message, ...]) -> str:
        """A summary by the model; "" if it gives none. If it cannot be reached, the next request says so."""
        try:
            reply = await self._aside(messages, SUMMARY, self._generation)
        except ModelError:
            return ""
        return reply.message.text + SUMMARY_CUT * reply.cut

    async def _aside(self, messages: tuple[Message, ...], wish: str, generation: Generation) -> Reply:
        last = messages[-1] if messages else None
        if isinstance(last, UserMessage):  # not every provider takes two in a row
            messages, wish = messages[:-1], f"{last.text}\n\n{wish}"
        asked = (*messages, UserMessage(text=wish))
        request = Request(
            messages=asked, instructions=self.toolset.instructions, generation=self._with_stop(generation), aside=True
        )
        return self._used(await self._model.request(request))

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


_OPENING = re.compile(r'^\s*\{\s*"code"\s*:\s*"')
# What of a JSON string is whole: an escape that is cut in two, and half of a pair, wait for the rest.
_WHOLE = re.compile(
    r'(?:[^"\\]++|\\["\\/bfnrt]|\\u(?![dD][89abAB])[0-9a-fA-F]{4}|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[0-9a-fA-F]{4})*+'
)
_WAITS = 1_000  # characters that wait for the next piece: a longer line is no fence, and no call begins so late


class ReplyStream:
    """Takes the pieces of one reply. A part that the next piece may change waits for it."""

    def __init__(self, tell: Callable[[Event], None], *, fenced: bool) -> None:
        self._tell = tell
        self._fenced = fenced
        self._begin()

    def _begin(self) -> None:
        self._text = ""
        self._fresh = True  # nothing of the line was told yet
        self._inside: Literal["", "code", "other"] = ""
        self._fence = ""  # that opened it
        self._calls: dict[int, _Call] = {}

    def hear(self, piece: Piece) -> None:
        if piece.restart:
            self._begin()
            self._tell(TextPiece(text="", restart=True))
            self._tell(CodePiece(text="", restart=True))
        if piece.kind == "call":
            if piece.name == EXECUTE and piece.call not in self._calls:
                if self._calls:
                    self._tell(CodePiece(text="\n"))  # the next cell begins on a line of its own
                self._calls[piece.call] = _Call()
            known = self._calls.get(piece.call)
            if known is not None and (code := known.more(piece.text)):
                self._tell(CodePiece(text=code))
        elif not self._fenced:
            self._say(piece.text)
        else:
            self._text += piece.text
            self._sort(last=False)

    def end(self) -> None:
        self._sort(last=True)

    def _sort(self, *, last: bool) -> None:
        text, begin, at = self._text, 0, 0  # lines between `begin` and `at` are told together
        while at < len(text):
            end = text.find("\n", at) + 1 or len(text)
            whole = text[end - 1] == "\n"
            line = text[at : end - whole]
            first = line.strip(f"{BOM} \t\r")[:1] if self._fresh else "x"
            if first in ("", "`", "~"):
                if not whole and not last and len(line) < _WAITS:
                    break  # it may still turn out to be a fence
                if first and (whole or last):
                    self._say(text[begin:at])
                    begin = at
                    if self._turns(line):
                        begin = at = end
                        continue
            self._fresh, at = whole, end
        self._say(text[begin:at])
        self._text = text[at:]

    def _turns(self, line: str) -> bool:
        """Whether the line is a fence; it switches between text and code."""
        opening = OPENING_LINE.fullmatch(line)
        if opening is None or (self._inside and not closes(line, self._fence)):
            return False
        before, self._fence = self._inside, opening["fence"]
        self._inside = "" if before else "code" if opening["language"].lower() in PYTHON else "other"
        if "other" in (before, self._inside):
            self._tell(TextPiece(text=f"{line}\n"))
        return True

    def _say(self, text: str) -> None:
        if text:
            self._tell(CodePiece(text=text) if self._inside == "code" else TextPiece(text=text))


class _Call:
    """The arguments of one `execute`, as far as they have arrived."""

    def __init__(self) -> None:
        self._raw = ""
        self._open = self._ended = False

    def more(self, text: str) -> str:
        """The code that is known by this piece."""
        if self._ended:
            return ""
        self._raw += text
        if not self._open:
            opening = _OPENING.match(self._raw)
            if opening is None:
                self._ended = len(self._raw) > _WAITS
                return ""
            self._open, self._raw = True, self._raw[opening.end() :]
        whole = _WHOLE.match(self._raw)
        known = whole[0] if whole is not None else ""
        self._raw = self._raw[len(known) :]
        self._ended = self._raw.startswith('"')
        return json.loads(f'"{known}"', strict=False)
