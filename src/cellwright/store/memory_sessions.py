"""What a store in memory keeps of each session, and how the parts of it find that."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from cellwright.errors import Fenced, JournalFailed, NoSession
from cellwright.store import encoding
from cellwright.store.encoding import Body, Large
from cellwright.store.rows import Claim, Facts, Holder, Message
from cellwright.store.standing import Standing


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryEntry:
    """An entry as it is stored. Its number is its place in the session, counted from 1."""

    parent: int
    at: float
    kind: str
    cell: int
    path: str
    body: Body


@dataclass(kw_only=True, slots=True)
class MemorySession:
    """One session. `number` tells it from one that was forgotten and had its name; it is the order of making too."""

    number: int
    epoch: int
    made: Facts  # for what a summary shows of it; `facts` is as it was written
    facts: Body
    parent: str
    child_of: str
    updated: float
    standing: Standing = field(default_factory=Standing)
    entries: list[MemoryEntry] = field(default_factory=list[MemoryEntry])
    numbered: set[tuple[str, int]] = field(default_factory=set[tuple[str, int]])  # cells and turns that are there
    checkpoints: dict[int, Body] = field(default_factory=dict[int, Body])
    uses: set[str] = field(default_factory=set[str])
    inbox: dict[int, Message] = field(default_factory=dict[int, Message])
    holder: Holder | None = None
    until: float = 0.0
    indexed: int = 0


class MemorySessions:
    """What the parts of `MemoryStore` share. `clock` is the wall clock: of leases, and of what expires."""

    def __init__(self) -> None:
        self.clock: Callable[[], float] = time.time
        self._lock = threading.RLock()
        self._sessions: dict[str, MemorySession] = {}
        self._blobs: dict[str, bytes] = {}
        self._epochs = 0
        self._numbers = 0

    def keep(self, session: str, content: bytes) -> str:
        content = bytes(content)
        digest = encoding.digest_of(content)
        with self._lock:
            self._store(self._known(session), {digest: content})
        return digest

    def blob(self, digest: str) -> bytes:
        return self._blobs[digest]

    def _part(self, digest: str) -> bytes:
        try:
            return self._blobs[digest]
        except KeyError:
            raise JournalFailed(f"blob {digest} is missing, and a row needs it") from None

    # with the lock held

    def _known(self, session: str) -> MemorySession:
        found = self._sessions.get(session)
        if found is None:
            raise NoSession(f"the journal has no session {session!r}")
        return found

    def _claimed(self, claim: Claim) -> MemorySession:
        found = self._sessions.get(claim.session)
        if found is None or found.epoch != claim.epoch:
            what = "was forgotten" if found is None else "was taken over"
            raise Fenced(f"session {claim.session!r} {what}; this one writes nothing more to it")
        return found

    def _store(self, session: MemorySession, large: Large) -> int:
        added = sum(len(content) for digest, content in large.items() if digest not in self._blobs)
        session.uses |= large.keys()
        self._blobs |= large
        return added
