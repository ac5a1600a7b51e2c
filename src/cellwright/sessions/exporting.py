"""A session as one file: readable, whole, and enough to be brought back elsewhere. Reads only.

What it was forked from stands before it, each up to the fork. Leases, checkpoints and how it was opened stay here.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

from cellwright.errors import JournalFailed
from cellwright.journal import Trees
from cellwright.sessions.branching import reaches
from cellwright.sessions.lines import FORMAT, entry_line, facts_line, text_of
from cellwright.store import CellRow, Reach, Store, digest_of

PIECE = 3 << 20  # bytes of a blob in one line; by three, so that base64 needs no padding in between


@dataclass(frozen=True, kw_only=True, slots=True)
class Exported:
    """What went into a file. `sessions` has those that it was forked from, too."""

    sessions: tuple[str, ...]
    entries: int
    blobs: int
    bytes: int


def export(store: Store, session: str, file: BinaryIO) -> Exported:
    """Write a session to a file."""
    parts = list(reversed(reaches(store, session, whole=True)))
    exporting = _Exporting(store, file)
    for number, part in enumerate(parts):
        exporting.session(part, head=number == 0)
    return Exported(
        sessions=tuple(part.session for part in parts),
        entries=exporting.entries,
        blobs=len(exporting.told),
        bytes=exporting.bytes,
    )


class _Exporting:
    def __init__(self, store: Store, file: BinaryIO) -> None:
        self._store = store
        self._file = file
        self.told: set[str] = set()  # digests of blobs that are in the file
        self.entries = 0
        self.bytes = 0

    def session(self, part: Reach, *, head: bool) -> None:
        facts = facts_line(self._store.facts(part.session))
        self._write(({"cellwright": FORMAT} if head else {}) | facts)
        trees = Trees(self._store, part.session)
        for entry in self._store.entries(part.session, 1, part.upto):
            if isinstance(entry.change, CellRow):
                for name in dict.fromkeys((entry.change.tree, entry.change.tree_after)):
                    self._tree(trees, name)
            self._write(entry_line(entry, self._blob))
            self.entries += 1

    def _tree(self, trees: Trees, name: str) -> None:
        if name in self.told:
            return
        for digest in trees.needs(name):
            if digest not in self.told:
                try:
                    self._blob(self._store.blob(digest))
                except KeyError:
                    raise JournalFailed(f"the store does not hold {digest}, which the files of a cell need") from None

    def _blob(self, content: bytes) -> None:
        digest = digest_of(content)
        if digest in self.told:
            return
        self.told.add(digest)
        for piece, more in _pieces(content):
            line = {"blob": digest, "base64": base64.b64encode(piece).decode("ascii")}
            self._write(line | ({"more": True} if more else {}))

    def _write(self, line: Mapping[str, Any]) -> None:
        text = text_of(line)
        self.bytes += len(text)
        self._file.write(text)


def _pieces(content: bytes) -> Iterator[tuple[bytes, bool]]:
    for at in range(0, max(len(content), 1), PIECE):
        yield content[at : at + PIECE], at + PIECE < len(content)
