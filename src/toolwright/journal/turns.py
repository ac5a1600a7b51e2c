"""`Turns`: what an agent's turn finds of itself in the journal of its session, and the door its model is asked through.

It knows requests, replies and cells; not what an agent does with them.
"""

from __future__ import annotations

from typing import Any

from toolwright.doors import Host, Model
from toolwright.journal.conversations import Conversation, conversation, requests_in
from toolwright.journal.models import ReplayedModel
from toolwright.journal.outcomes import outcome_of
from toolwright.journal.rows import Row
from toolwright.journal.session import SessionJournal
from toolwright.sandboxes import Outcome
from toolwright.scope import arguments


class Turns:
    """The turns of one session."""

    def __init__(self, session: SessionJournal, host: Host) -> None:
        self._session = session
        self._host = host

    def model(self, inner: Model) -> Model:
        """The model, with each reply written down. Requests of earlier processes are over and not made again."""
        rows = self._rows()
        begun = conversation(rows).requests
        return ReplayedModel(inner, rows, self._session.writer, lambda: self._session.last, begun=begun)

    def conversation(self) -> Conversation:
        """What was said, as far as what came of it was not rolled back."""
        story = self._session.story()
        standing = max((c.number for c in story.cells if not c.undone), default=story.facts.parent_cell)
        undone = any(c.undone and c.number > standing for c in story.cells)
        cut = (undone or self._is_fork()) and not self._asked_since()
        return conversation(self._rows(), standing if cut else None)

    def _asked_since(self) -> bool:
        """Whether the model was asked in this session after the last rollback, or since it was forked."""
        doors = [row.door for row in self._session.journal.rows(self._session.id) if row.door in ("model", "undo")]
        return bool(doors) and doors[-1] == "model"

    def cells_since_reply(self) -> list[tuple[str, Outcome]]:
        """The cells that were begun after the last reply, each with what came of it."""
        asked = max((row.cell for row in self._rows() if row.door == "model"), default=0)
        story = self._session.story()
        return [(row.code, outcome_of(row, self._host)) for row in story.cells if row.number > asked and not row.undone]

    def cell_before(self, requests: int) -> int:
        """The last cell before the last so many requests."""
        asked = sorted(requests_in(self._rows()).items())[-requests:]
        return asked[0][1].cell if asked else 0

    def outcome(self, cell: int) -> Outcome | None:
        """What came of a cell; None where there is none of that number."""
        found = [row for row in self._session.story().cells if row.number == cell and row.status != "running"]
        return outcome_of(found[0], self._host) if found else None

    def first_argument(self, cell: int, name: str) -> Any:
        """What a call of `name` in that cell was given first: the last such call; None where there is none."""
        rows = [row for row in self._session.journal.rows(self._session.id, cell - 1) if row.cell == cell]
        given = [row.arguments for row in rows if row.door == "host" and row.title == name]
        if not given:
            return None
        args, kwargs = arguments(self._host.value(given[-1]))
        return args[0] if args else next(iter(kwargs.values()), None)

    def _is_fork(self) -> bool:
        story = self._session.story()
        return bool(story.facts.parent) and not any(c.number > story.facts.parent_cell for c in story.cells)

    def _rows(self) -> list[Row]:
        return self._session.story().through("model")
