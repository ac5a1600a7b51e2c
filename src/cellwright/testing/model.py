"""`ScriptedModel`: a language model for tests that replies what it was told to. Knows no agent and no provider."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from inspect import isawaitable
from typing import Any

from cellwright.doors import Reply, Request
from cellwright.errors import UsageError
from cellwright.messages import AssistantMessage, OnPiece, Piece, ToolCall, ToolMessage, Traits, Usage, estimated_tokens


@dataclass(frozen=True, kw_only=True, slots=True)
class BrokenReply:
    """A reply that breaks off: the pieces of `said` are told, then `error` is raised."""

    said: AssistantMessage
    error: Exception


Line = str | AssistantMessage | Reply | Sequence[ToolCall] | Exception | BrokenReply
Script = Line | Callable[[Request], Line | Awaitable[Line]]


def call(name: str, /, **arguments: Any) -> ToolCall:
    """A call of the tool `name`. The model that says it gives it an id."""
    return ToolCall(id="", name=name, arguments=json.dumps(arguments))


def code(text: str, *, say: str = "") -> AssistantMessage:
    """A reply with one call of `execute`, as models write it that take tools. `say` is the text before it."""
    return AssistantMessage(text=say, calls=(call("execute", code=text),))


def fenced(text: str, *, say: str = "") -> AssistantMessage:
    """A reply with one block of Python, as models write it that take no tools. `say` is the text before it."""
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall(r"`{3,}", text))])
    end = "" if text.endswith("\n") else "\n"
    return AssistantMessage(text=f"{say}\n\n" * bool(say) + f"{fence}python\n{text}{end}{fence}")


def broken(said: str | AssistantMessage, error: Exception) -> BrokenReply:
    """A reply of which the beginning arrives, and then `error`."""
    return BrokenReply(said=AssistantMessage(text=said) if isinstance(said, str) else said, error=error)


class ScriptedModel:
    """A `Model` whose replies are given beforehand, one for each request, in order.

    A reply is a text, an `AssistantMessage` (`code` and `fenced` make them), calls of tools (`call` makes one), a whole
    `Reply`, an exception to be raised, `broken(…)`, or a function of the request that gives any of these, async or not.
    A request beyond the last gets `otherwise`, and without it an `AssertionError`. `requests` is what was asked, `left`
    how many replies nobody has asked for.

        model = ScriptedModel(code("total = sum([1, 2])\\ndone(total)"), "The sum is 3.")
        result = await Agent(model).run("what is 1 + 2?")
        assert model.requests[0].messages[-1].text == "what is 1 + 2?"
        assert not model.left

    Whoever listens is told pieces of at most `pieces` characters (0: the whole at once), cut where it is awkward: in
    every fence, behind every backslash. Calls without an id get one. Usage is an estimate: a token for four characters.
    """

    def __init__(
        self,
        *replies: Script,
        traits: Traits | None = None,
        name: str = "scripted",
        pieces: int = 5,
        otherwise: Script | None = None,
    ) -> None:
        for reply in (*replies, *(() if otherwise is None else (otherwise,))):
            if isinstance(reply, type) or not callable(reply):  # a class of exceptions is no function of the request
                _check(reply)
        self.requests: list[Request] = []
        self.closed = False
        self._replies = replies
        self._traits = traits or Traits()
        self._name = name
        self._pieces = pieces
        self._otherwise = otherwise

    @property
    def name(self) -> str:
        return self._name

    @property
    def traits(self) -> Traits:
        return self._traits

    @property
    def left(self) -> int:
        return max(len(self._replies) - len(self.requests), 0)

    async def request(self, request: Request, on_piece: OnPiece | None = None) -> Reply:
        self.requests.append(request)
        line = await self._line(len(self.requests), request)
        if isinstance(line, Exception):
            raise line
        if isinstance(line, BrokenReply):
            await self._tell(line.said, on_piece)
            raise line.error
        reply = self._reply(line, request)
        await self._tell(reply.message, on_piece)
        return reply

    async def close(self) -> None:
        self.closed = True

    async def _line(self, number: int, request: Request) -> Line:
        script = self._replies[number - 1] if number <= len(self._replies) else self._otherwise
        if script is None:
            last = request.messages[-1] if request.messages else None
            raise AssertionError(
                f"{self._name}: {len(self._replies)} requests were expected, and this is number {number}; "
                f"its last message is {last!r}"
            )
        if not callable(script):
            return script
        line = script(request)
        return _check(await line if isawaitable(line) else line)

    def _reply(self, line: str | AssistantMessage | Reply | Sequence[ToolCall], request: Request) -> Reply:
        if isinstance(line, Reply):
            return replace(line, message=_with_ids(line.message, request), model=line.model or self._name)
        if isinstance(line, str):
            said = AssistantMessage(text=line)
        else:
            said = _with_ids(
                line if isinstance(line, AssistantMessage) else AssistantMessage(text="", calls=tuple(line)), request
            )
        asked = estimated_tokens(request.instructions, *request.tools, *request.messages)
        usage = Usage(requests=1, input_tokens=asked, output_tokens=estimated_tokens(said))
        return Reply(message=said, usage=usage, model=self._name)

    async def _tell(self, said: AssistantMessage, on_piece: OnPiece | None) -> None:
        await asyncio.sleep(0)  # a reply never comes in the same turn of the loop, as with a real model
        if on_piece is None:
            return
        for text in self._cut(said.text):
            on_piece(Piece(text=text))
            await asyncio.sleep(0)
        for number, made in enumerate(said.calls):
            for text in self._cut(made.arguments):
                on_piece(Piece(text=text, kind="call", call=number, name=made.name))
                await asyncio.sleep(0)

    def _cut(self, text: str) -> Iterator[str]:
        if not self._pieces:
            return iter([text] if text else [])
        least = min(self._pieces, 2)
        return iter(re.findall(rf"`{{1,{least}}}|\\|[^`\\]{{1,{self._pieces}}}", text))


def _check(line: Any) -> Line:
    if isinstance(line, str | AssistantMessage | Reply | Exception | BrokenReply):
        return line
    if isinstance(line, Sequence) and all(isinstance(part, ToolCall) for part in line):  # pyright: ignore[reportUnknownVariableType] - of anything
        return line  # pyright: ignore[reportUnknownVariableType] - all of it was looked at
    raise UsageError(
        f"{line!r} is no reply: give a text, an AssistantMessage, a Reply, calls of tools, an exception or a function"
    )


def _with_ids(said: AssistantMessage, request: Request) -> AssistantMessage:
    """Ids come from the place in the conversation, so that a run that is repeated has the same."""
    if all(made.id for made in said.calls):
        return said
    taken = {result.id for m in request.messages if isinstance(m, ToolMessage) for result in m.results}
    taken |= {made.id for m in request.messages if isinstance(m, AssistantMessage) for made in m.calls}
    turn = 1 + sum(isinstance(m, AssistantMessage) for m in request.messages)
    while any(f"call-{turn}-{n}" in taken for n in range(len(said.calls))):  # after a compaction
        turn += 1
    calls = (made if made.id else replace(made, id=f"call-{turn}-{n}") for n, made in enumerate(said.calls))
    return replace(said, calls=tuple(calls))
