"""`JournalLineage`: where the host objects of a session came from, as its journal tells.

What only an import tells of is a stranger's word: an object of it is brought back when a person says yes.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cellwright.doors import Host, Made, ObjectOrigin
from cellwright.events import ApprovalWanted
from cellwright.journal.call_rows import call_of
from cellwright.journal.call_text import escaped, whole_line, whole_text
from cellwright.journal.history import History
from cellwright.store import Note

if TYPE_CHECKING:
    from cellwright.journal.session_journal import SessionJournal

_CAME = "it came with an import"


class ImportConsent:
    """Asks a person before the host acts on what only an import tells of. A yes is written down, and is for once."""

    def __init__(self, session: SessionJournal) -> None:
        self._session = session

    async def refusal(self, what: str, details: str, cell: int = 0) -> str:
        """Why it must not be done; "" after a yes."""
        session = self._session
        wanted = ApprovalWanted(session=session.id, cell=cell, call=0, name=what, arguments=details)
        decision = None if session.asker is None else await session.asker.consent(wanted)
        if decision is None:
            return f"{_CAME}, and there is nobody to ask: Runtime(approve=…) says who is"
        reason = f": {decision.reason}" if decision.reason else ""
        text = f"{what}: {'yes' if decision.yes else 'no'}{reason}"
        await session.writer.now(Note(kind="decided", text=text, who=decision.who, at=decision.at or time.time()))
        return "" if decision.yes else f"{_CAME}, and a person said no{reason}"


class JournalLineage:
    """See `cellwright.doors.Lineage`."""

    def __init__(self, history: History, consent: ImportConsent, host: Host) -> None:
        self._host = host
        self._history = history
        self._consent = consent
        self._has_imports = any(part.facts.imported for part in history.parts)

    def known(self) -> Sequence[Made]:
        return self._history.known()

    def origin(self, handle: int) -> ObjectOrigin | None:
        if handle in self._history.beginnings:
            return None
        for row in self._history.ever:
            if any(m.number == handle for m in row.made):
                return ObjectOrigin(
                    call=call_of(row),
                    title=row.title,
                    alone=sum(m.number > 0 for m in row.made) == 1,
                    touched=self._touched(handle),
                    kept=row.kept,
                    imported=row.imported,
                )
        return None

    def _touched(self, handle: int) -> bool:
        """Whether something that may change it was called on the object, or on what was read from it."""
        family = {handle}
        for row in self._history.ever:
            if row.target in family:
                if not row.reads and row.status != "asked":  # what only waits for a yes has changed nothing
                    return True
                family |= {m.number for m in row.made if m.number > 0}
        return False

    def imported(self, number: int) -> bool:
        if not self._has_imports:
            return False
        first = self._history.first
        began = first.imported and any(made.number == number for made in first.made)
        return began or any(row.imported and any(m.number == number for m in row.made) for row in self._history.ever)

    async def refusal(self, made: Made, origin: ObjectOrigin) -> str:
        if not origin.imported:
            return ""
        call = origin.call
        title = self._host.about(call.verb, call.target, call.name).title  # that in the row is the file's
        details = f"{escaped(made.kind)}#{made.number}, from {whole_line(title, call)} in cell {call.cell}"
        if origin.kept is not None:
            details += f", rebuilt of {whole_text(origin.kept)}"
        return await self._consent.refusal("bring back an imported object", details, origin.call.cell)
