"""`Unfinished`: a turn whose process died, as the journal has it. Its replies are there, and what its cells came to."""

from __future__ import annotations

from collections.abc import Callable

from toolwright.agent.finish import Finish, Finished
from toolwright.agent.reading import steps_of
from toolwright.doors import Reply
from toolwright.errors import CodeError
from toolwright.events import Event
from toolwright.journal import Turns
from toolwright.messages import Answered, Asked, Message, Said
from toolwright.runtime import Runtime
from toolwright.sandboxes import Outcome


class Unfinished:
    """What there is of the last turn of a session that was just resumed."""

    def __init__(self, runtime: Runtime, turns: Turns) -> None:
        said = turns.conversation()
        self.reply = None if said.reply is None else Reply(message=said.reply)
        self.messages: tuple[Message, ...] = (*said.messages, said.reply) if said.reply is not None else said.messages
        self._runtime = runtime
        self._turns = turns
        self._cells = turns.cells_since_reply()

    @property
    def ended(self) -> bool:
        """Whether the turn had come to its answer: by `done` in its last cell, or by a reply that asks for nothing."""
        if self.reply is None:
            return True
        if self._cells:
            error = self._cells[-1][1].error
            return isinstance(error, CodeError) and error.type == Finished.__name__
        return not steps_of(self.reply.message, fenced=True)

    @property
    def before(self) -> tuple[Message, ...]:
        """What had been said before the turn."""
        return self.messages[: self._task]

    @property
    def began(self) -> int:
        """The last cell before the turn."""
        return self._turns.cell_before(sum(isinstance(message, Said) for message in self.messages[self._task :]))

    @property
    def task(self) -> str:
        """The last task that was set, as far as the conversation has it."""
        asked = self.messages[self._task] if self.messages else None
        return asked.text if isinstance(asked, Asked) else ""

    @property
    def _task(self) -> int:
        """The number of its message. Where results come as messages of the same kind, the first is the only sure."""
        asked = [i for i, message in enumerate(self.messages) if isinstance(message, Asked)]
        by_call = any(isinstance(message, Answered) for message in self.messages)
        return 0 if not asked else asked[-1] if by_call else asked[0]

    async def ran(self, code: str, finish: Finish, tell: Callable[[Event], None]) -> Outcome | None:
        """What came of a cell of the last reply that had begun: one that was cut off is carried on to its end."""
        if not self._cells or self._cells[0][0] != code:
            self._cells = []
            return None
        _, outcome = self._cells.pop(0)
        if not self._cells:
            outcome = await self._runtime.outcome(on_event=tell)
        error = outcome.error
        if not finish.ended and isinstance(error, CodeError) and error.type == Finished.__name__:
            finish.accept(self._turns.first_argument(outcome.cell, "done"))
        return outcome
