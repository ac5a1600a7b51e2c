"""`Unfinished`: a turn whose process died, as the journal has it. Its replies are there, and what its cells came to."""

from __future__ import annotations

from collections.abc import Callable

from toolwright.agent.finish import Finish, Finished
from toolwright.doors import Reply
from toolwright.errors import CodeError
from toolwright.events import Event
from toolwright.journal import Turns
from toolwright.messages import Asked, Message
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
    def task(self) -> str:
        """The last task that was set, as far as the conversation still has it."""
        asked = [message.text for message in self.messages if isinstance(message, Asked)]
        return asked[0] if asked else ""

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
