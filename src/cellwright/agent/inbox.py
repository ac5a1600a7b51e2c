"""The messages of people to a session while its turn works, which the turn reads between two steps.

The messages of a kept session go through the store, so that those of all processes have one order and outlive them.
It knows the conversation and the journal's mail; not which model is asked, nor how a cell is run.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import replace
from typing import Any, TypeVar

from cellwright.agent.conversation_head import ADDED, REDIRECTED
from cellwright.agent.requester import Requester
from cellwright.errors import CellwrightError, ModelError, TurnCancelled, UsageError
from cellwright.events import Answered, MessageTaken
from cellwright.guard import BY_CODE, SERVED_FLOW
from cellwright.journal import Mail, new_message
from cellwright.store import Message, MessageKind, Note

T = TypeVar("T")
WATCH_S = 0.5  # how often another process's `stop` is looked for, while a turn works
ENDING = ("cancel", "stop")
ASKED = (
    "A person asks, while you work:\n{text}\n\nAnswer that now, in a few sentences of plain text and without code. "
    "Your work goes on after it, as if it had not been asked."
)


class SessionInbox:
    """The messages to one session. `above` is the inbox of its parent session: a cancel there ends both turns."""

    def __init__(self, above: SessionInbox | None = None) -> None:
        self.above = above
        self._mail: Mail | None = None
        self._add_words: Callable[[Message], None] = lambda message: None
        self._hide: Callable[[str], str] = lambda text: text
        self._is_open = False
        self._here: deque[Message] = deque()  # messages of a session without a store
        self._numbers = itertools.count(1)
        self._untold: list[Message] = []  # read by an earlier process, and not yet told to the model
        self._before = 0  # number of the last message before the turn's task
        self._working: tuple[asyncio.AbstractEventLoop, asyncio.Future[Any]] | None = None
        self._stopped = False

    def open(
        self,
        mail: Mail | None,
        add_words: Callable[[Message], None] = lambda message: None,
        hide: Callable[[str], str] = lambda text: text,
    ) -> None:
        """The session is open. `mail` is None if it has no store; `add_words` is told what was written to it, as `hide`
        gives it.
        """
        self._mail, self._is_open, self._add_words, self._hide = mail, True, add_words, hide

    def close(self) -> None:
        self._is_open = False

    async def begin(self, untold: Iterable[Note] = (), *, new: bool = True) -> None:
        """A turn begins; one that is not new goes on, with the messages that an earlier process had read."""
        waiting = await self._waiting() if new else ()
        self._before = max((message.number for message in waiting), default=0)
        self._untold = [
            Message(kind=note.what, text=note.text, who=note.who, at=note.at)  # pyright: ignore[reportArgumentType] - it was one
            for note in untold
        ]

    @property
    def works(self) -> bool:
        """Whether a turn is under way, which will read new messages."""
        return self._working is not None

    def post(self, kind: MessageKind, text: str = "", who: str = "") -> Message:
        """Add a message, from any thread."""
        above = SERVED_FLOW.get()  # host code that serves a call may write what outsiders chose
        message = new_message(kind, self._hide(text), BY_CODE if above is not None and above.taints_words else who)
        if not self._is_open:
            raise UsageError("this session is not open: use `async with agent.session() as session:`")
        if self._mail is not None:
            message = self._mail.post(message)
        else:
            message = replace(message, number=next(self._numbers))
            self._here.append(message)
        working = self._working
        if kind == "stop" and working is not None:
            working[0].call_soon_threadsafe(self._stop)
        return message

    async def take_all(self) -> tuple[Message, ...]:
        """Take all waiting messages out of the inbox, to make a task of them."""
        messages = tuple(await self._waiting())
        for message in messages:
            await self._take(message)
        return messages

    # between two steps

    async def taken_up(self, requester: Requester, task: Callable[[str], str]) -> bool:
        """Act on the waiting messages, in order. True if the task was replaced; `task` gives the text of a new task."""
        await self.check()
        untold, self._untold = self._untold, []
        another = False
        for message in (*untold, *await self._waiting()):
            if message.kind != "ask":  # a question is recorded with its answer, outside of the conversation
                await self._take(message)
            if self._is_stale(message) and message.kind in ENDING:
                continue
            requester.trace.tell(MessageTaken(kind=message.kind, text=message.text, who=message.who))
            self._add_words(message)
            match message.kind:
                case "ask":
                    await self._answer(message, requester)
                case "redirect" if not self._is_stale(message):
                    requester.context.hear(REDIRECTED + task(message.text), task=True)
                    another = True
                case "cancel" | "stop":
                    raise cancelled(message)
                case _:
                    requester.context.hear(ADDED + message.text)
        return another

    async def check(self) -> None:
        """`TurnCancelled` if a person has cancelled. Other messages wait for the next step."""
        waiting = (*self._untold, *await self._waiting())
        place = next((i for i, m in enumerate(waiting) if m.kind in ENDING and not self._is_stale(m)), None)
        if place is not None:
            for message in waiting[: place + 1]:  # earlier messages were for this turn too
                await self._take(message)
            raise cancelled(waiting[place])
        above = self.above
        while above is not None:
            if any(m.kind in ENDING and not above._is_stale(m) for m in await above._waiting()):
                raise TurnCancelled("the turn whose code spawned this one was cancelled")
            above = above.above

    def _is_stale(self, message: Message) -> bool:
        """Whether the message is older than this turn's task. By its number, because clocks of two machines differ."""
        return 0 < message.number <= self._before

    async def _answer(self, message: Message, requester: Requester) -> None:
        text, error = "", None
        try:
            text = await requester.beside(ASKED.format(text=message.text))
        except ModelError as failed:
            error = str(failed)
        await self._take(message, answer=text if error is None else f"It could not be answered: {error}")
        requester.trace.tell(Answered(question=message.text, text=text, who=message.who, error=error))

    async def _waiting(self) -> list[Message]:
        waiting = self._here if self._mail is None else await self._mail.waiting()
        return [replace(message, text=self._hide(message.text)) for message in waiting]

    async def _take(self, message: Message, answer: str | None = None) -> None:
        if not message.number:  # an earlier process did
            return
        if self._mail is not None:
            await self._mail.take(message, answer)
        else:
            self._here.popleft()

    # at once

    async def until_stopped(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of the work. A `stop` cancels it, with the cell under way, and raises `TurnCancelled`."""
        working = asyncio.ensure_future(work)
        self._stopped, self._working = False, (asyncio.get_running_loop(), working)
        watch = asyncio.ensure_future(self._watch())
        outside: asyncio.CancelledError | None = None
        try:
            while not working.done():
                try:
                    await asyncio.wait({working})
                except asyncio.CancelledError as error:
                    outside = error
                    working.cancel()
        finally:
            self._working = None
            watch.cancel()
        if working.cancelled() and outside is None and self._stopped:
            await self.check()
            raise TurnCancelled("a person ended the turn")
        if outside is not None and (working.cancelled() or working.exception() is None):
            raise outside
        return working.result()

    def _stop(self) -> None:
        if self._working is not None and not self._stopped:  # a second cancel would interrupt an undo
            self._stopped = True
            self._working[1].cancel()

    async def _watch(self) -> None:
        """Look for a `stop` from another process."""
        while self._mail is not None:
            await asyncio.sleep(WATCH_S)
            try:
                waiting = await self._waiting()
            except CellwrightError:  # the next write raises it again
                return
            if any(m.kind == "stop" and not self._is_stale(m) for m in waiting):
                self._stop()


class Recipient:
    """Takes the messages of people, from any thread. The turn reads them before its next step."""

    inbox: SessionInbox

    def tell(self, text: str, *, who: str = "") -> Message:
        """Add to the task. If no turn is under way, the next turn begins with this message."""
        return self.inbox.post("add", text, who)

    def ask(self, question: str, *, who: str = "") -> Message:
        """Ask a question. The event `Answered` has the model's answer; the task goes on."""
        return self.inbox.post("ask", question, who)

    def redirect(self, task: str, *, who: str = "") -> Message:
        """Replace the task of the turn."""
        return self.inbox.post("redirect", task, who)

    def cancel(self, *, now: bool = False, who: str = "") -> Message:
        """End the turn at its next step, by `TurnCancelled`; or now, with the cell that runs."""
        return self.inbox.post("stop" if now else "cancel", "", who)


def cancelled(message: Message) -> TurnCancelled:
    who = f" ({message.who})" if message.who else ""
    why = f": {message.text}" if message.text.strip() else ""
    return TurnCancelled(f"a person ended the turn{who}{why}")
