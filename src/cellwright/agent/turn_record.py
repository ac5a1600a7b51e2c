"""A turn in the journal: `TurnRecord` writes its row when the task is set and again when the turn ends;
`UnfinishedTurn` reads a turn whose process died in between: its replies, and the outcomes of its cells.

It knows rows and errors; not how a turn is run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from cellwright.agent.context_window import ContextWindow
from cellwright.agent.conversation_head import REDIRECTED, quoted, words_in
from cellwright.agent.finish import Finish, Finished
from cellwright.agent.steps import steps_of
from cellwright.catalog import is_repaired
from cellwright.doors import Reply
from cellwright.errors import CodeError, Diverged, Fenced, JournalFailed, RestoreFailed, TurnCancelled, TurnWaiting
from cellwright.events import Event
from cellwright.journal import Turns
from cellwright.messages import AssistantMessage, Message, ToolMessage, UserMessage
from cellwright.model_texts import sendable
from cellwright.runtime import Runtime
from cellwright.sandboxes import Outcome
from cellwright.scope import shown
from cellwright.short_texts import cut, named_error
from cellwright.store import TurnRow, TurnStatus

BEGINNING = 40  # characters by which a task is known that is not there as a whole


class UnfinishedTurn:
    """The recorded part of the last turn of a resumed session.

    `reply` is its last reply; None if the process died before the first one: then the task is set again. `begun`: cells
    of that reply were begun. `offered`: the names of the tools that its request offered.
    """

    def __init__(self, runtime: Runtime, turns: Turns) -> None:
        said = turns.conversation()
        self.messages: tuple[Message, ...] = (*said.messages, said.reply) if said.reply is not None else said.messages
        self._written, self._requests = turns.last(), said.requests
        self._measured = said.usage, len(said.messages)
        has_reply = said.reply is not None and (self._written is None or said.requests > self._written.asked)
        self.reply = Reply(message=said.reply, cut=said.cut) if has_reply and said.reply is not None else None
        self._runtime = runtime
        self._turns = turns
        self._cells = turns.cells_since_reply()
        self.begun = bool(self._cells)

    @property
    def offered(self) -> frozenset[str]:
        return self._turns.offered() if self.reply is not None else frozenset[str]()

    @property
    def is_there(self) -> bool:
        """Whether the session has a turn, ended or not."""
        return self.reply is not None or (self._written is not None and self._written.status != "done")

    @property
    def ended(self) -> bool:
        """Whether the turn had its answer: by `done` in its last cell, or by a reply without code and calls."""
        if self._written is not None:
            return self._written.status == "done"
        if self.reply is None:
            return True
        if self._cells:
            error = self._cells[-1][1].error
            return isinstance(error, CodeError) and error.type == Finished.__name__
        return not steps_of(self.reply.message, fenced=True)

    @property
    def row(self) -> TurnRow:
        """The row of the turn; if the journal has none, a row from the recorded conversation."""
        if self._written is not None:
            return self._written
        asked = self.messages[self._task] if self.messages else None
        since = sum(isinstance(message, AssistantMessage) for message in self.messages[self._task :])
        numbers = [turn.number for turn in self._turns.rows()]
        return TurnRow(
            number=max(numbers, default=0) + 1,
            task=asked.text if isinstance(asked, UserMessage) else "",
            cell=self._turns.cell_before(since),
            asked=max(self._turns.conversation().requests - since, 0),
        )

    @property
    def last(self) -> Outcome | None:
        """The outcome of the last cell before the reply; None if the task had none."""
        said = [i for i, message in enumerate(self.messages[:-1]) if isinstance(message, AssistantMessage)]
        another = (i for i, message in enumerate(self.messages) if REDIRECTED in words_in(message))
        cell = self._turns.cell_before(1)
        acted = cell > self.row.cell and any(i > max([self._task, *another]) for i in said)
        return self._turns.outcome(cell) if acted else None

    def context(self, window: int) -> ContextWindow:
        """The conversation so far, with that turn's messages."""
        context = ContextWindow(window, self.messages, 0 if self.reply is None else self._task)
        context.measure(*self._measured)
        return context

    @property
    def _task(self) -> int:
        """The number of the message that set the task."""
        asked = [(i, message.text) for i, message in enumerate(self.messages) if isinstance(message, UserMessage)]
        if self._written is not None:
            replies = [i for i, message in enumerate(self.messages) if isinstance(message, AssistantMessage)]
            since = self._requests - self._written.asked  # replies of this turn; some of them may have left
            first = replies[-since] - 1 if 0 < since <= len(replies) else 0
            task = quoted(sendable(self._written.task))
            beginnings = (task, task[:BEGINNING])  # of a task that was too long, less is there
            return next((i for text in beginnings for i, t in asked if i >= first and t.startswith(text)), 0)
        # Where results come as messages of the same kind, the first is the only sure one.
        by_call = any(isinstance(message, ToolMessage) for message in self.messages)
        return 0 if not asked else asked[-1][0] if by_call else asked[0][0]

    async def ran(self, code: str, finish: Finish, tell: Callable[[Event], None]) -> Outcome | None:
        """The outcome of a cell of the last reply that had begun; an interrupted cell is carried on to its end."""
        if not self._cells or not is_repaired(code, self._cells[0][0]):
            self._cells = []
            return None
        _, outcome = self._cells.pop(0)
        if not self._cells and not isinstance(outcome.error, Diverged):
            outcome = await self._runtime.outcome(on_event=tell)
        error = outcome.error
        if not finish.ended and isinstance(error, CodeError) and error.type == Finished.__name__:
            finish.accept(await self._turns.read(lambda: self._turns.first_argument(outcome.cell, "done")))
        return outcome


ANSWER = 2000  # characters of it that the row has
REPLACED = "another task was set in its place"


class TurnRecord:
    """An async context manager round one turn. `turns` is None for a session without a store: then nothing is written.

    A `BaseException` that is neither an `Exception` nor a cancellation counts as the death of the process: the row
    stays as it is, and the turn can be carried on. So it does where the guest could not be brought back.
    """

    def __init__(self, turns: Turns | None, row: TurnRow) -> None:
        self.row = row
        self._turns = turns
        self._answer = ""

    async def __aenter__(self) -> TurnRecord:
        if self._turns is not None:
            last = await self._turns.read(self._turns.last)
            if last is not None and last.number < self.row.number and last.status in ("running", "waiting"):
                await self._turns.write(replace(last, status="cancelled", answer=REPLACED))
            begun = replace(self.row, status="running", answer="")
            if last != begun:
                self.row = await self._turns.write(begun)
        return self

    def came_to(self, value: Any, hide: Callable[[str], str]) -> None:
        """The turn has its answer. `hide` takes out of its text what the row may not have."""
        self._answer = cut(hide(value if isinstance(value, str) else shown(value, ANSWER)), ANSWER)

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self._turns is None or isinstance(error, Fenced | JournalFailed | RestoreFailed):
            return
        if error is None:
            await self._turns.write(replace(self.row, status="done", answer=self._answer))
            return
        status = _status(error)
        if status is not None:
            words = "cancelled" if isinstance(error, asyncio.CancelledError) else named_error(error)
            with suppress(Fenced, JournalFailed):  # what ended the turn is told
                await self._turns.write(replace(self.row, status=status, answer=cut(words, ANSWER)))


def _status(error: BaseException) -> TurnStatus | None:
    if isinstance(error, TurnWaiting):
        return "waiting"
    if isinstance(error, asyncio.CancelledError | TurnCancelled):
        return "cancelled"
    return "failed" if isinstance(error, Exception) else None
