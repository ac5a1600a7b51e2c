"""`Mail`: what people told a session, for the turn that takes it up. Knows entries and notes; not what a turn does.

A message that is taken up is written down as a note before the request that tells the model of it. So one that is noted
after the last request has not been told yet, when its process died there.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import get_args

from cellwright.errors import UsageError
from cellwright.journal.conversations import is_request, number_of
from cellwright.journal.session_journal import SessionJournal
from cellwright.store import JournalEntry, Message, MessageKind, Note, Row, TurnRow, off_loop

READ = 64  # entries at once, from the end
LONGEST_MESSAGE = 20_000  # characters of a message
ENDING = ("cancel", "stop")


def new_message(kind: MessageKind, text: str = "", who: str = "") -> Message:
    """A message, to be posted. `UsageError` for one that says nothing, or more than a turn would take up."""
    if kind not in get_args(MessageKind):
        raise UsageError(f"a message of the kind {kind!r}: give one of {', '.join(get_args(MessageKind))}")
    if kind not in ENDING and not text.strip():
        raise UsageError("the message is empty: say what the agent should know")
    if len(text) > LONGEST_MESSAGE:
        raise UsageError(
            f"a message of {len(text):,} characters, and at most {LONGEST_MESSAGE:,} are taken up: put the rest where "
            "the agent can read it, and say where"
        )
    return Message(kind=kind, text=text, who=who, at=time.time())


class Mail:
    """The messages of one session."""

    def __init__(self, session: SessionJournal) -> None:
        self._session = session

    def post(self, message: Message) -> Message:
        """Blocks, from whichever thread."""
        return self._session.store.post(self._session.id, message)

    async def waiting(self) -> Sequence[Message]:
        """Those that no turn has taken up yet, in the order in which they came."""
        return await off_loop(self._session.store, self._session.store.inbox, self._session.id)

    async def take(self, message: Message, answer: str | None = None) -> None:
        """It is taken up, and waits no more. `answer` is what the model said to it, where it asked something."""
        about, now = str(message.number), time.time()
        notes = [Note(kind="message", text=message.text, who=message.who, about=about, at=now, what=message.kind)]
        if answer is not None:
            notes.append(Note(kind="answered", text=answer, about=about, at=now))
        await self._session.writer.now(*notes)

    async def untold(self) -> list[Note]:
        """What was taken up in the last turn after its last request: the model has not heard of it."""
        return await self._session.read(self._untold)

    def _untold(self) -> list[Note]:
        found: list[Note] = []  # of the turn, the latest first
        maybe: list[Note] = []  # these too, unless the turn began after them
        turn: TurnRow | None = None
        ended = False  # and was set going again: a cancel has had its effect
        for entry in self._backwards():
            match entry.change:
                case Note(kind="message", what=what) as note if not (ended and what in ENDING):
                    maybe.append(note)
                case TurnRow() as row if turn is None or row.number == turn.number:
                    found, maybe, turn = found + maybe, [], row
                    ended = ended or row.status not in ("running", "waiting")
                case Row() as row if is_request(row):
                    found += maybe if turn is None or number_of(row) > turn.asked else []
                    break
                case TurnRow() | Note(kind="rewound"):
                    break
                case _:
                    pass
        return found[::-1]

    def _backwards(self) -> Iterator[JournalEntry]:
        """The session's entries from the last to the first, no more of them than are wanted."""
        store, id = self._session.store, self._session.id
        last = store.summary(id).entries
        while last > 0:
            first = max(1, last - READ + 1)
            yield from reversed(store.entries(id, first, last))
            last = first - 1
