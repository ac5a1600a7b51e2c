"""A journal in memory, for tests and for sessions that need not outlive their process.

It keeps rows in the same form as the one on disk: what it takes, refuses and gives back is the same.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from toolwright.errors import Fenced, JournalFailed, NoSession, UsageError
from toolwright.journal import encoding
from toolwright.journal.encoding import Body, Large
from toolwright.journal.rows import CellRow, Change, Checkpoint, Claim, Dropped, Facts, Row


@dataclass(kw_only=True, slots=True)
class _Session:
    epoch: int
    facts: Body
    parent: str
    rows: dict[tuple[int, str], Body] = field(default_factory=dict[tuple[int, str], Body])
    cells: dict[int, Body] = field(default_factory=dict[int, Body])
    checkpoints: dict[int, Body] = field(default_factory=dict[int, Body])
    uses: set[str] = field(default_factory=set[str])


class MemoryJournal:
    """See `Journal`. Gone with the object."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sessions: dict[str, _Session] = {}
        self._blobs: dict[str, bytes] = {}
        self._epochs = 0

    def close(self) -> None:
        """Nothing to close: what was written stays as long as the object does."""

    def create(self, facts: Facts) -> Claim:
        large: Large = {}
        body = encoding.facts_body(facts, large)
        with self._lock:
            if facts.id in self._sessions:
                raise UsageError(f"there is a session {facts.id!r} already; name another, or resume it")
            self._epochs += 1
            session = _Session(epoch=self._epochs, facts=body, parent=facts.parent)
            self._sessions[facts.id] = session
            self._store(session, large)
            return Claim(session=facts.id, epoch=session.epoch)

    def claim(self, session: str) -> Claim:
        with self._lock:
            found = self._known(session)
            # Counted for the whole journal: no claim of a session that was forgotten fits one that has its name later.
            self._epochs += 1
            found.epoch = self._epochs
            return Claim(session=session, epoch=found.epoch)

    def write(self, claim: Claim, *changes: Change) -> int:
        large: Large = {}
        bodies = [_body(change, large) if not isinstance(change, Dropped) else "" for change in changes]
        with self._lock:
            found = self._sessions.get(claim.session)
            if found is None or found.epoch != claim.epoch:
                what = "was forgotten" if found is None else "was taken over"
                raise Fenced(f"session {claim.session!r} {what}; this one writes nothing more to it")
            added = sum(map(len, bodies)) + self._store(found, large)
            for change, body in zip(changes, bodies, strict=True):
                if isinstance(change, Row):
                    found.rows[change.cell, change.path] = body
                elif isinstance(change, CellRow):
                    found.cells[change.number] = body
                elif isinstance(change, Checkpoint):
                    found.checkpoints[change.cell] = body
                else:
                    self._drop(found, change.cell)
        return added

    def _drop(self, session: _Session, cell: int) -> None:
        body = session.checkpoints.pop(cell, None)
        if body is None:
            return
        digest = encoding.checkpoint_of(cell, body).digest
        session.uses.discard(digest)
        if not any(digest in other.uses for other in self._sessions.values()):
            self._blobs.pop(digest, None)

    def forget(self, session: str) -> None:
        with self._lock:
            found = self._known(session)
            fork = [id for id, other in self._sessions.items() if other.parent == session and other is not found]
            if fork:
                raise UsageError(f"session {session!r} has a fork, {fork[0]!r}; forget that one first")
            del self._sessions[session]
            used = {digest for other in self._sessions.values() for digest in other.uses}
            for digest in found.uses - used:
                del self._blobs[digest]

    def keep(self, session: str, content: bytes) -> str:
        content = bytes(content)
        digest = encoding.digest_of(content)
        with self._lock:
            self._store(self._known(session), {digest: content})
        return digest

    def sessions(self) -> Sequence[str]:
        with self._lock:
            return list(self._sessions)

    def facts(self, session: str) -> Facts:
        with self._lock:
            body = self._known(session).facts
        return encoding.facts_of(session, body, self._part)

    def cells(self, session: str, first: int = 0) -> Sequence[CellRow]:
        with self._lock:
            found = sorted(self._known(session).cells.items())
        return [encoding.cell_of(number, body, self._part) for number, body in found if number >= first]

    def rows(self, session: str, first_cell: int = 0) -> Sequence[Row]:
        with self._lock:
            found = list(self._known(session).rows.items())
        return [encoding.row_of(cell, path, body, self._part) for (cell, path), body in found if cell >= first_cell]

    def checkpoints(self, session: str) -> Sequence[Checkpoint]:
        with self._lock:
            found = sorted(self._known(session).checkpoints.items())
        return [encoding.checkpoint_of(cell, body) for cell, body in found]

    def blob(self, digest: str) -> bytes:
        return self._blobs[digest]

    def _part(self, digest: str) -> bytes:
        try:
            return self._blobs[digest]
        except KeyError:
            raise JournalFailed(f"blob {digest} is missing, and a row needs it") from None

    def _known(self, session: str) -> _Session:
        found = self._sessions.get(session)
        if found is None:
            raise NoSession(f"the journal has no session {session!r}")
        return found

    def _store(self, session: _Session, large: Large) -> int:
        added = sum(len(content) for digest, content in large.items() if digest not in self._blobs)
        session.uses |= large.keys()
        self._blobs |= large
        return added


def _body(change: Row | CellRow | Checkpoint, large: Large) -> Body:
    if isinstance(change, Row):
        return encoding.row_body(change, large)
    if isinstance(change, CellRow):
        return encoding.cell_body(change, large)
    return encoding.checkpoint_body(change, large)
