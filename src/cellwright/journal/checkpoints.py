"""Checkpoints on the host's side: kept and signed, verified and chosen. What is in one only a guest reads.

A checkpoint is used where this machine's key signed it for this session and cell, and for the interpreter and packages
that are there now. Losing one, or not being able to use it, costs time and nothing else.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from importlib import metadata
from pathlib import Path

from cellwright.errors import JournalFailed, PlatformError
from cellwright.journal.checkpoint_start import FORMAT, CheckpointStart, content_in, decoded, encoded
from cellwright.journal.history import History
from cellwright.journal.rollback import rollback_under_way
from cellwright.sandboxes import SavedState
from cellwright.store import Change, Checkpoint, DroppedCheckpoint, Store, digest_of

KEY_FILE, KEY_BYTES = "checkpoints.key", 32
COMPLETE, INCOMPLETE = 2, 1  # how many of each are kept


def read_key(directory: Path) -> bytes:
    """The key of this user on this machine, made on first use. Raises `PlatformError` where there can be none."""
    path = directory / KEY_FILE
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not path.exists():
            _make_key(path)
        key = path.read_bytes()
    except OSError as error:
        raise PlatformError(f"no key for checkpoints can be kept at {path} ({error.strerror})") from None
    if len(key) != KEY_BYTES:
        raise PlatformError(f"{path} is no key of checkpoints; remove it, and a new one is made")
    return key


def _make_key(path: Path) -> None:
    """Where many processes make it at once, the first one's key stands. It is never there in part."""
    handle, name = tempfile.mkstemp(dir=path.parent)  # its mode is 0600
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(os.urandom(KEY_BYTES))
        os.link(name, path)
    except FileExistsError:
        return
    finally:
        os.unlink(name)


class SessionCheckpoints:
    """The checkpoints of one session, and of those it was forked from. Without a key there are none."""

    def __init__(self, journal: Store, session: str, pins: dict[str, str], key: bytes | None) -> None:
        self.notes: list[str] = []  # why some were not used
        self.wanted = False  # one, whatever it takes: old files wait for it
        self._journal = journal
        self._session = session
        self._key = key
        self._pins = pins | {"cloudpickle": metadata.version("cloudpickle"), "format": str(FORMAT)}
        self._last: CheckpointStart | None = (
            None  # the newest that was made or read here: what comes before it is known
        )
        self._useless: set[str] = set()

    @property
    def possible(self) -> bool:
        return self._key is not None

    def begin_anew(self) -> None:
        """Forget what was known of the cells so far: they are being rolled back."""
        self._last = None

    # making

    def changes(self, history: History, cell: int, delivered: int, saved: SavedState) -> list[Change]:
        """What is to be written: the checkpoint of this state, and that older ones are dropped. It may take a while."""
        history = history.since(self._last if self._last is not None and self._last.cell < cell else None)
        start = CheckpointStart(
            session=self._session,
            cell=cell,
            delivered=delivered,
            made=tuple(history.known()),
            began=history.beginnings,
            names=history.bound,
            later=history.times_bound,
            forgotten=history.forgets(cell + 1),
            rollback=rollback_under_way(history),
            missing=saved.missing,
        )
        if start.complete:  # else what is under way may still tell the guest of objects
            self._last = start
        blob = encoded(start, saved.content)
        digest = digest_of(blob)
        made = Checkpoint(
            cell=cell,
            digest=digest,
            signature=self._signature(self._session, cell, digest, saved.missing),
            missing=saved.missing,
            content=blob,
        )
        return [made, *self._surplus(made)]

    def _surplus(self, made: Checkpoint) -> Iterator[DroppedCheckpoint]:
        room = {True: COMPLETE, False: INCOMPLETE}
        room[not made.missing] -= 1
        for one in reversed(self._journal.checkpoints(self._session)):
            if one.cell == made.cell:
                continue
            room[not one.missing] -= 1
            if room[not one.missing] < 0:
                yield DroppedCheckpoint(cell=one.cell)

    def _signature(self, session: str, cell: int, digest: str, missing: tuple[str, ...]) -> str:
        assert self._key is not None
        signed = json.dumps([session, cell, digest, missing, sorted(self._pins.items())])
        return hmac.new(self._key, signed.encode(), hashlib.sha256).hexdigest()

    # using

    def tail(self, history: History) -> History:
        """The same history, read from its newest checkpoint that is complete and good; all of it if there is none."""
        return next(self._usable(history, complete=True), history)

    def rescue(self, history: History, cell: int) -> Iterator[History]:
        """For a cell that cannot be run again: the history told from checkpoints at or after it, whatever they lack."""
        return (tail for tail in self._usable(history, complete=False) if tail.start and tail.start.cell >= cell)

    def refuse(self, start: CheckpointStart, why: str) -> None:
        """The guest could not take it up; it is not tried again."""
        self._useless.add(f"{start.session} {start.cell}")
        self.notes.append(f"the checkpoint of cell {start.cell} was not used: {why}")

    def _usable(self, history: History, *, complete: bool) -> Iterator[History]:
        if self._key is None:
            return
        for session, one in reversed(history.checkpoints):
            if f"{session} {one.cell}" in self._useless or (complete and one.missing):
                continue
            start = self._verified(session, one)
            tail = None if start is None else history.since(start)
            if tail is not None and tail.has(one.cell):
                self._last = start if session == self._session and start is not None and start.complete else None
                yield tail

    def _verified(self, session: str, one: Checkpoint) -> CheckpointStart | None:
        signature = self._signature(session, one.cell, one.digest, one.missing)
        if not hmac.compare_digest(signature.encode(), one.signature.encode("utf-8", "replace")):
            why = "it is not signed by this machine's key for this interpreter and these packages"
        else:
            try:
                start = decoded(self._journal.blob(one.digest), one.missing)
                if (start.session, start.cell) == (session, one.cell):
                    return replace(start, read=lambda: content_in(self._journal.blob(one.digest)))
                why = "it is of another cell"
            except KeyError:
                why = "its content is gone"
            except (JournalFailed, ValueError) as error:
                why = str(error)
        self.notes.append(f"the checkpoint of cell {one.cell} was not used: {why}")
        self._useless.add(f"{session} {one.cell}")
        return None
