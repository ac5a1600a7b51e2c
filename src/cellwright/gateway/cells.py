"""One cell under way for a client: what it says while it runs, what it asks, and what comes of it.

The cell is a task of its own: the request that began it may end before it, because a client that cannot be asked in the
middle of a request answers in the next one. It knows no protocol.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any

from cellwright.events import ApprovalWanted, CallFinished, CallStarted, Event, Printed
from cellwright.sandboxes import Outcome

LINES = 1_000  # of progress that wait to be sent; what comes beyond is left out
LINE = 500  # characters of one
ASKED = 4_000  # characters of the arguments that a person is shown


Reply = Mapping[str, Any] | str | None
"""What a person filled in; None for a no; a text where nobody could be asked, and why."""

ALLOW: Mapping[str, Any] = {
    "type": "object",
    "properties": {"allow": {"type": "boolean", "title": "Allow this call"}},
    "required": ["allow"],
}


@dataclass(kw_only=True, slots=True, eq=False)
class Question:
    """A form for the person at the client. `sent`: it is on its way."""

    text: str
    schema: Mapping[str, Any] = field(default_factory=lambda: ALLOW)
    sent: bool = False
    answer: asyncio.Future[Reply] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def settle(self, said: Reply) -> None:
        if not self.answer.done():
            self.answer.set_result(said)


class Cell:
    """A cell that runs. `lines` are what it says meanwhile; a None among them says that something happened."""

    def __init__(self) -> None:
        self.lines: asyncio.Queue[str | None] = asyncio.Queue()
        self.questions: list[Question] = []
        self.asker: Callable[[Question], Coroutine[Any, Any, None]] | None = None  # who can ask at once
        self.can_ask = False
        self.task: asyncio.Task[tuple[int, Outcome]] | None = None
        self._begun: str = ""
        self._calls: dict[int, str] = {}  # under way, by number

    def begin(self, run: Coroutine[Any, Any, tuple[int, Outcome]]) -> None:
        self.task = asyncio.ensure_future(run)
        self.task.add_done_callback(lambda _: self.lines.put_nowait(None))

    @property
    def done(self) -> bool:
        return self.task is not None and self.task.done()

    def hear(self, event: Event) -> None:
        """For `Runtime.execute(on_event=…)`."""
        if isinstance(event, Printed):
            self._begun += event.text
            *lines, self._begun = self._begun.split("\n")
            for line in lines:
                self._say(line)
            self._begun = self._begun[-LINE:]
        elif isinstance(event, CallStarted):
            self._calls[event.call] = event.name
        elif isinstance(event, CallFinished):
            self._calls.pop(event.call, None)
            took = f"{event.duration_s * 1000:.0f} ms"
            self._say(f"{event.name}: {event.error or took}")

    def is_calling(self, source: str) -> bool:
        """Whether a call of that source is under way."""
        return any(name.partition(".")[0] == source for name in self._calls.values())

    def _say(self, line: str) -> None:
        if line.strip() and self.lines.qsize() < LINES:
            self.lines.put_nowait(line[:LINE])

    async def approve(self, wanted: ApprovalWanted) -> bool | str:
        """For `Runtime(approve=…)`: nothing but a form that says so is a yes."""
        arguments, left = wanted.arguments, len(wanted.arguments) - ASKED
        cut = f"{arguments[:ASKED]}… [{left:,} characters more]" if left > 0 else arguments
        said = await self.ask(Question(text=f"Code wants to call {wanted.name}{cut}. Allow it?"))
        if isinstance(said, str):
            return said
        return True if said is not None and said.get("allow") is True else "the user declined"

    async def ask(self, question: Question) -> Reply:
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
        """Cancel it, and wait until its calls are cancelled too."""
        if self.task is not None and not self.task.done():
            self.task.cancel()
            await asyncio.wait([self.task])


def _failed(asking: asyncio.Future[None], question: Question) -> None:
    """Asking that broke off, as when the client has left, is a no."""
    if not asking.cancelled() and asking.exception() is not None:
        question.settle("the client could not be asked")
