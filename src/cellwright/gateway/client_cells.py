"""One running cell of a client: its progress, its questions, and its outcome.

The cell is a task of its own, because the request that began it may end first: a client that cannot be asked during a
request answers in its next one. It knows no protocol.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any

from cellwright.events import ApprovalWanted, CallFinished, CallStarted, Event, Printed
from cellwright.sandboxes import Outcome
from cellwright.short_texts import cut_counted

LINES = 1_000  # of progress that wait to be sent; further ones are left out
LINE = 500  # characters of a line
ASKED = 4_000  # characters of the arguments that a person is shown


Reply = Mapping[str, Any] | str | None
"""The fields that a person filled in; None for a no; a text that says why nobody could be asked."""

ALLOW: Mapping[str, Any] = {
    "type": "object",
    "properties": {"allow": {"type": "boolean", "title": "Allow this call"}},
    "required": ["allow"],
}


@dataclass(kw_only=True, slots=True, eq=False)
class ClientQuestion:
    """A form for the person at the client. `sent`: the client has got it."""

    text: str
    schema: Mapping[str, Any] = field(default_factory=lambda: ALLOW)
    sent: bool = False
    answer: asyncio.Future[Reply] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def settle(self, said: Reply) -> None:
        if not self.answer.done():
            self.answer.set_result(said)


class ClientCell:
    """A running cell. `lines` are its progress; a None among them says that it asks something, or has ended."""

    def __init__(self) -> None:
        self.lines: asyncio.Queue[str | None] = asyncio.Queue()
        self.questions: list[ClientQuestion] = []
        self.asker: Callable[[ClientQuestion], Coroutine[Any, Any, None]] | None = None  # during the request
        self.can_ask = False
        self.task: asyncio.Task[tuple[int, Outcome]] | None = None
        self._partial: str = ""
        self._calls: dict[int, str] = {}  # the running calls by number

    def begin(self, run: Coroutine[Any, Any, tuple[int, Outcome]]) -> None:
        self.task = asyncio.ensure_future(run)
        self.task.add_done_callback(lambda _: self.lines.put_nowait(None))

    @property
    def done(self) -> bool:
        return self.task is not None and self.task.done()

    def hear(self, event: Event) -> None:
        """For `Runtime.execute(on_event=…)`."""
        if isinstance(event, Printed):
            self._partial += event.text
            *lines, self._partial = self._partial.split("\n")
            for line in lines:
                self._say(line)
            self._partial = self._partial[-LINE:]
        elif isinstance(event, CallStarted):
            self._calls[event.call] = event.name
        elif isinstance(event, CallFinished):
            self._calls.pop(event.call, None)
            took = f"{event.duration_s * 1000:.0f} ms"
            self._say(f"{event.name}: {event.error or took}")

    def is_calling(self, source: str) -> bool:
        """Whether a call of that source is running."""
        return any(name.partition(".")[0] == source for name in self._calls.values())

    def _say(self, line: str) -> None:
        if line.strip() and self.lines.qsize() < LINES:
            self.lines.put_nowait(line[:LINE])

    async def approve(self, wanted: ApprovalWanted) -> bool | str:
        """For `Runtime(approve=…)`. Only a form with `allow` set is a yes."""
        arguments = cut_counted(wanted.arguments, ASKED)
        why = f" {wanted.why}." if wanted.why else ""
        said = await self.ask(ClientQuestion(text=f"Code wants to call {wanted.name}{arguments}.{why} Allow it?"))
        if isinstance(said, str):
            return said
        return True if said is not None and said.get("allow") is True else "the user declined"

    async def ask(self, question: ClientQuestion) -> Reply:
        if not self.can_ask:
            return "this client cannot ask its user; call it from a client with elicitation, or change the policy"
        self.questions.append(question)
        asking = asyncio.ensure_future(self.asker(question)) if self.asker is not None else None
        if asking is not None:
            asking.add_done_callback(lambda done: _failed(done, question))
        self.lines.put_nowait(None)
        try:
            return await question.answer
        finally:
            self.questions.remove(question)
            if asking is not None:
                asking.cancel()

    async def end(self) -> None:
        """Cancel the cell, and wait until its calls are cancelled too."""
        if self.task is not None and not self.task.done():
            self.task.cancel()
            await asyncio.wait([self.task])


def _failed(asking: asyncio.Future[None], question: ClientQuestion) -> None:
    """A question that could not be sent, for example because the client has left, is a no."""
    if not asking.cancelled() and asking.exception() is not None:
        question.settle("the client could not be asked")
