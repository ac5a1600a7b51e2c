"""A store in memory, for tests and for sessions that need not outlive their process.

It keeps entries in the same form as the one on disk: what it takes, refuses and gives back is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cellwright.errors import UsageError
from cellwright.store import encoding, leases
from cellwright.store.contract import LEASE_S
from cellwright.store.encoding import Large
from cellwright.store.entries import stored
from cellwright.store.memory_deciding import MemoryDeciding
from cellwright.store.memory_reading import MemoryReading
from cellwright.store.memory_searching import MemorySearching
from cellwright.store.memory_sessions import MemoryEntry, MemorySession
from cellwright.store.rows import Change, Checkpoint, Claim, Dropped, Facts, Forgotten, Holder, Kept, Note
from cellwright.store.standing import LIVE, after, counts, follows, whole


class MemoryStore(MemoryReading, MemoryDeciding, MemorySearching):
    """See `Store`. Gone with the object."""

    def close(self) -> None:
        """Nothing to close: what was written stays as long as the object does."""

    # claims

    def create(self, facts: Facts, holder: Holder | None = None) -> Claim:
        large: Large = {}
        body = encoding.facts_body(facts, large)
        with self._lock:
            if facts.id in self._sessions:
                raise UsageError(f"there is a session {facts.id!r} already; name another, or resume it")
            self._numbers += 1
            session = MemorySession(
                number=self._numbers,
                epoch=0,
                made=facts,
                facts=body,
                parent=facts.parent,
                child_of=facts.child_of,
                updated=facts.created,
            )
            self._sessions[facts.id] = session
            self._store(session, large)
            return self._lease(session, facts.id, holder)

    def claim(self, session: str, holder: Holder | None = None, *, take_over: bool = True) -> Claim:
        with self._lock:
            found = self._known(session)
            if not take_over and found.until > self.clock():
                leases.check_free(session, found.holder, holder)
            return self._lease(found, session, holder)

    def _lease(self, session: MemorySession, id: str, holder: Holder | None) -> Claim:
        # Counted for the whole store: no claim of a session that was forgotten fits one that has its name later.
        self._epochs += 1
        session.epoch, session.holder = self._epochs, holder
        session.until = self.clock() + LEASE_S if holder is not None else 0.0
        return Claim(session=id, epoch=session.epoch)

    def renew(self, *claims: Claim) -> Sequence[Claim]:
        with self._lock:
            held = [claim for claim in claims if self._holds(claim)]
            for claim in held:
                session = self._sessions[claim.session]
                session.until = self.clock() + LEASE_S if session.holder is not None else 0.0
        return held

    def release(self, claim: Claim) -> None:
        with self._lock:
            if self._holds(claim):
                self._sessions[claim.session].holder = None

    def _holds(self, claim: Claim) -> bool:
        found = self._sessions.get(claim.session)
        return found is not None and found.epoch == claim.epoch

    # entries

    def write(self, claim: Claim, *changes: Change) -> int:
        large: Large = {}
        bodies = [_parts(change, large) for change in changes]
        with self._lock:
            found = self._claimed(claim)
            added, last = self._store(found, large), len(found.entries)
            for change, parts in zip(changes, bodies, strict=True):
                if isinstance(change, Checkpoint):
                    found.checkpoints[change.cell] = parts[-1]
                elif isinstance(change, Dropped):
                    self._drop(found, change.cell)
                else:
                    self._add(found, change, parts)
                added += len(parts[-1])
            if any(map(counts, changes)) or (found.standing.state not in LIVE and len(found.entries) > last):
                found.updated = self.clock()
        return added

    def _add(self, session: MemorySession, change: Kept, parts: tuple[Any, ...]) -> None:
        kind, cell, path, body = parts
        last = len(session.entries)
        parent = _before(session, change) if isinstance(change, Note) else last
        session.standing = after(session.standing, change, lambda kind, n: (kind, n) in session.numbered)
        entry = MemoryEntry(parent=parent, at=self.clock(), kind=kind, cell=cell, path=path, body=body)
        session.entries.append(entry)
        if kind in ("cell", "turn"):
            session.numbered.add((kind, cell))
        if isinstance(change, Note) and change.kind == "message":
            session.inbox.pop(whole(change.about) or 0, None)

    def _drop(self, session: MemorySession, cell: int) -> None:
        body = session.checkpoints.pop(cell, None)
        if body is None:
            return
        digest = encoding.checkpoint_of(cell, body).digest
        session.uses.discard(digest)
        if not any(digest in other.uses for other in self._sessions.values()):
            self._blobs.pop(digest, None)

    def forget(self, session: str) -> Forgotten:
        with self._lock:
            found = self._known(session)
            for id, other in self._sessions.items():
                if other is not found and session in (other.parent, other.child_of):
                    what = "fork" if other.parent == session else "child"
                    raise UsageError(f"session {session!r} has a {what}, {id!r}; forget that one first")
            del self._sessions[session]
            used = {digest for other in self._sessions.values() for digest in other.uses}
            gone = [self._blobs.pop(digest) for digest in found.uses - used]
            self._forget_questions(session)
            return Forgotten(
                entries=len(found.entries),
                blobs=len(gone),
                bytes=sum(map(len, gone)) + sum(len(entry.body) for entry in found.entries),
                indexed=self._forget_texts(found),
            )


def _before(session: MemorySession, note: Note) -> int:
    known = follows(note, len(session.entries))
    if known is not None:
        return known
    about = whole(note.about) or 0
    cells = [(one.cell, n) for n, one in enumerate(session.entries, 1) if one.kind == "cell" and one.cell <= about]
    return max(cells)[1] if cells else 0


def _parts(change: Change, large: Large) -> tuple[Any, ...]:
    """Kind, cell, path and body of an entry; for what is none, the body alone."""
    if isinstance(change, Checkpoint):
        return (encoding.checkpoint_body(change, large),)
    return ("",) if isinstance(change, Dropped) else stored(change, large)
