"""`Turns`: what an agent's turn finds of itself in the journal of its session, and the door its model is asked through.

It knows requests, replies and cells; not what an agent does with them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from cellwright.doors import Host, Model
from cellwright.errors import Diverged
from cellwright.journal.conversations import (
    MODEL,
    Conversation,
    ModelExchange,
    conversation,
    exchange_in,
    is_request,
    number_of,
    reply_in,
    request_in,
    requests_in,
    tools_in,
    usage_in,
)
from cellwright.journal.effects import effects_text
from cellwright.journal.history import ROLLBACK, History
from cellwright.journal.mail import Mail
from cellwright.journal.outcomes import outcome_of
from cellwright.journal.replayed_model import ReplayedModel
from cellwright.journal.rollback import is_undone
from cellwright.journal.session_journal import SessionJournal
from cellwright.messages import Message, Usage
from cellwright.sandboxes import Outcome
from cellwright.scope import arguments
from cellwright.store import CellRow, Row, RowsByPath, TurnRow

T = TypeVar("T")
LOST = "the cell ran to its end, and could not be repeated to restore its names. What it did outside is done."
CELLS_AT_ONCE, FASTER = 64, 4  # cells whose requests are read, from the end; then so many times more


@dataclass(frozen=True, kw_only=True, slots=True)
class RecentExchange:
    """The last request and its reply; `rows` are those of the model, as many as were read, the answered ones by number.

    `cells` are those of the session from `first` on, the last one when it was asked.
    """

    rows: Sequence[Row]
    requests: Mapping[int, Row]
    last: ModelExchange
    cells: Sequence[CellRow]
    first: int


class Turns:
    """The turns of one session. All but `read` and `write` read the store, and block: `read` calls them."""

    def __init__(self, session: SessionJournal, host: Host) -> None:
        self.mail = Mail(session)
        self._session = session
        self._host = host
        self._read: tuple[int, History] | None = None
        self._near: tuple[int, RecentExchange | None] | None = None
        self._turns: tuple[int, Sequence[TurnRow]] | None = None

    async def read(self, work: Callable[[], T]) -> T:
        """What `work` finds with the methods below, in a thread, when all is written that waits."""
        return await self._session.read(work)

    def model(self, inner: Model) -> ReplayedModel:
        """The model, with each reply written down. Requests of earlier processes are over and not made again."""
        if (recent := self._recent()) is not None:
            rows, last = recent.rows, recent.last
            return ReplayedModel(
                inner, rows, self._session.writer, lambda: self._session.last, begun=last.number, last=last
            )
        rows = self._rows()
        begun = max((number_of(row) for row in rows if is_request(row)), default=0)
        return ReplayedModel(inner, rows, self._session.writer, lambda: self._session.last, begun=begun)

    def rows(self) -> list[TurnRow]:
        """The turns of this session, those of the sessions it was forked from among them, by number."""
        found: dict[int, TurnRow] = {}
        for part in self._history().parts:
            own = part.entry is None and part.facts.id == self._session.id
            turns = self._own() if own else self._session.store.turns(part.facts.id, part.entry)
            found |= {turn.number: turn for turn in turns if part.upto is None or turn.cell < part.upto}
        return [found[number] for number in sorted(found)]

    def last(self) -> TurnRow | None:
        """The last turn that was begun in this session and not taken back."""
        return next((turn for turn in reversed(self._own()) if not is_undone(turn)), None)

    def _own(self) -> Sequence[TurnRow]:
        """The turns of this session alone. Read once for all that is asked while nothing is written."""
        written = self._session.writer.written
        if self._turns is None or self._turns[0] != written:
            self._turns = written, self._session.store.turns(self._session.id)
        return self._turns[1]

    async def write(self, row: TurnRow) -> TurnRow:
        """Write down that a turn begins, or its outcome. `Fenced` or `JournalFailed` where that cannot be."""
        row = replace(row, at=row.at or self._session.clock.now())
        await self._session.writer.now(row)
        return row

    def said(self, request: int) -> tuple[Message, ...]:
        """The conversation up to that request and its reply; none before the first."""
        rows = requests_in(self._rows())
        return (*request_in(rows, request)[0].messages, reply_in(rows[request]).message) if request in rows else ()

    def conversation(self) -> Conversation:
        """What was said, as far as its outcome was not rolled back."""
        if (recent := self._recent()) is not None:
            reply = reply_in(recent.requests[recent.last.number])
            return Conversation(
                messages=recent.last.request.messages,
                reply=recent.last.reply,
                cut=reply.cut,
                requests=recent.last.number,
                usage=reply.usage,
            )
        return self._whole_conversation()

    def _whole_conversation(self) -> Conversation:
        history = self._history()
        standing = max((c.number for c in history.cells if not c.undone), default=history.facts.parent_cell)
        undone = any(c.undone and c.number > standing for c in history.cells)
        cut = (undone or self._is_fork()) and not self._asked_since()
        said = conversation(self._rows(), standing if cut else None)
        kept = self._kept()
        if kept is not None and said.requests > kept:
            rows = [row for row in self._rows() if is_request(row) and number_of(row) <= kept]
            return replace(conversation(rows), requests=said.requests)
        return replace(said, reply=None) if not cut and self._is_of_parent(said) else said

    def offered(self) -> frozenset[str]:
        """The names of the tools that the last request of the conversation offered."""
        recent = self._recent()
        tools = None if recent is None else tools_in(recent.requests, recent.last.number)
        return frozenset(tool.name for tool in (self._whole_conversation().tools if tools is None else tools))

    def usage(self) -> Usage:
        """What all requests of this session took, and of those that it was forked from."""
        return usage_in(self._rows())

    def _kept(self) -> int | None:
        """The number of the last request before those turns that were taken back; None where the last one was not."""
        kept: int | None = None
        for turn in reversed(self._own()):
            if not is_undone(turn):
                break
            kept = turn.asked
        return kept

    def _is_of_parent(self, said: Conversation) -> bool:
        """Whether the last reply asks for what the session that this one was forked from ran, or was about to run."""
        if not self._history().facts.parent or said.reply is None or not said.reply.calls:
            return False
        asked = any(is_request(row) for row in self._session.store.rows(self._session.id))
        return not asked and not self.cells_since_reply()

    def _asked_since(self) -> bool:
        """Whether the model was asked after the last rollback, in this session, or in what it began with."""
        history = self._history()
        for part in reversed(history.parts):
            rows = self._session.store.rows(part.facts.id, 0, part.entry)
            doors = [row.door for row in rows if row.door == "undo" or is_request(row)]
            if doors or history.is_cut_short:
                return bool(doors) and doors[-1] == "model"
        return False

    def standing(self, cell: int) -> int:
        """The last cell up to that one which was not rolled back; where a fork begins, or 0, if there is none."""
        history = self._history()
        numbers = (c.number for c in history.cells if c.number <= cell and not c.undone)
        return max(numbers, default=history.facts.parent_cell)

    def cells_since_reply(self) -> list[tuple[str, Outcome]]:
        """The cells that were begun after the last reply, each with its outcome."""
        if (recent := self._recent()) is not None:
            rows, cells = recent.rows, recent.cells
        else:
            rows, cells = self._rows(), self._history().cells
        asked = max((row.cell for row in rows if is_request(row)), default=0)
        since = [row for row in cells if row.number > asked]
        went_back = any(row.undone for row in since) and self._went_back()
        return [(row.code, self._outcome(row)) for row in since if not row.undone or not went_back]

    def _outcome(self, row: CellRow) -> Outcome:
        outcome = outcome_of(row, self._host)
        return replace(outcome, value=None, error=Diverged(LOST)) if row.undone else outcome

    def _went_back(self) -> bool:
        """Whether somebody went back to before a cell since the last request. Otherwise it could not be repeated."""
        verbs = [row.verb if row.door == "undo" else row.door for row in self._session.store.rows(self._session.id)]
        return ROLLBACK in verbs[len(verbs) - verbs[::-1].index("model") if "model" in verbs else 0 :]

    def is_cut_off(self) -> bool:
        """Whether the last cell has not come to its end: its process died, or it waits for a person."""
        cells = self._session.store.cells(self._session.id, self._session.last)
        return bool(cells) and cells[-1].status == "running"

    def effects_of(self, cell: int) -> str:
        """What a cell did outside that did not come to its end, or could not be repeated; "" for another cell."""
        history = self._history()
        found = [
            row for row in history.cells if row.number == cell and (row.status in ("ended", "running") or row.undone)
        ]
        undone = [row for row in history.through("undo") if row.cell == cell]
        return effects_text([*history.rows_of(found), *undone], self._host) if found else ""

    def cell_before(self, requests: int) -> int:
        """The last cell before the last so many requests."""
        recent = self._recent()
        known = requests_in(self._rows()) if recent is None or len(recent.requests) < requests else recent.requests
        asked = sorted(known.items())[-requests:]
        return asked[0][1].cell if asked else 0

    def outcome(self, cell: int) -> Outcome | None:
        """The outcome of a cell; None where there is no cell of that number."""
        recent = self._recent()
        cells = self._history().cells if recent is None or cell < recent.first else recent.cells
        found = [row for row in cells if row.number == cell and row.status != "running"]
        return outcome_of(found[0], self._host) if found else None

    def first_argument(self, cell: int, name: str) -> Any:
        """The first argument of the last call of `name` in that cell; None where there is no such call."""
        rows = [row for row in self._session.store.rows(self._session.id, cell - 1) if row.cell == cell]
        given = [row.arguments for row in rows if row.door == "host" and row.title == name]
        if not given:
            return None
        args, kwargs = arguments(self._host.value(given[-1]))
        return args[0] if args else next(iter(kwargs.values()), None)

    def _is_fork(self) -> bool:
        history = self._history()
        return history.is_cut_short and not any(c.number > history.facts.parent_cell for c in history.cells)

    def _history(self) -> History:
        """Read once for all that is asked while nothing is written."""
        written = self._session.writer.written
        if self._read is None or self._read[0] != written:
            self._read = written, History(self._session.store, self._session.id)
        return self._read[1]

    def _rows(self) -> list[Row]:
        return self._history().through("model")

    def _recent(self) -> RecentExchange | None:
        """The last exchange, read from the end as far back as it goes; None where the whole history must be asked.

        That is a fork, a session of which something was taken back last, and one that asked no model.
        """
        facts = self._history().facts
        if self._near is None or self._near[0] != self._session.writer.written:
            nothing = facts.parent or self._kept() is not None
            self._near = self._session.writer.written, None if nothing else self._read_back()
        return self._near[1]

    def _read_back(self) -> RecentExchange | None:
        store, id, first, cells = self._session.store, self._session.id, self._session.last + 1, CELLS_AT_ONCE
        rows: list[Row] = []
        while first:
            before, first = first if rows else None, max(0, first - cells)
            cells *= FASTER
            if isinstance(store, RowsByPath):
                earlier = store.rows_by_path(id, MODEL, first, before)
            else:
                earlier, rows = store.rows(id, first), []
            rows = [*(row for row in earlier if row.door == "model"), *rows]
            requests = requests_in(rows)
            last = exchange_in(requests, max(requests)) if requests else None
            if last is not None:
                asked = requests[last.number].cell
                near = store.cells(id, asked)
                if near and near[-1].undone:
                    return None
                return RecentExchange(rows=rows, requests=requests, last=last, cells=near, first=asked)
        return None
