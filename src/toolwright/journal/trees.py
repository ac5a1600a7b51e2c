"""`Trees`: the workspace of a session, kept under a name: taken, restored, compared.

A name is the digest of a manifest: each path with its kind, mode, time, size, and the digest of its content. Manifest
and contents are blobs of the journal. Everything here blocks; call it in a thread.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any, Literal

from toolwright.errors import JournalFailed, PlatformError, UsageError
from toolwright.journal.rows import Blobs
from toolwright.sandboxes import MODE, Entry, Limits, Listing, Reading, Workspace, place
from toolwright_guest.wire import type_of

EMPTY = "empty"  # the name of a workspace with nothing in it, which no journal has to keep


@dataclass(frozen=True, kw_only=True, slots=True)
class FileChange:
    """One path that two trees do not have alike. The time of a file is no difference."""

    path: str
    what: Literal["added", "changed", "removed"]
    kind: Literal["file", "dir", "link"]


class Trees:
    """The trees of one session. Not for two threads at once.

    `take` reads only what changed since the last one, and never fails for what a guest did: what cannot be kept (a
    fifo, a socket, a file beyond `workspace_mb`, what lies more than 64 directories deep) is told by `left_out`.
    `restore` leaves such paths alone. A name that the journal does not hold raises `JournalFailed`; the name "" is that
    of a tree that was not taken, and changes nothing.
    """

    def __init__(self, blobs: Blobs, session: str, limits: Limits | None = None) -> None:
        self._blobs = blobs
        self._session = session
        self._most_bytes = (limits or Limits()).workspace_mb << 20
        self.kept = 0  # bytes that were given to the journal, again and again for what changes
        self._known: dict[tuple[int, int, int, int, int], str] = {}
        self._last: tuple[Listing, str] = Listing(), EMPTY

    def take(self, workspace: Workspace) -> str:
        """The workspace as it is, and its name."""
        reading = Reading(self._keep, self._known, most_bytes=self._most_bytes)
        listing = reading.walk(workspace.open())
        self._known = reading.known
        if listing != self._last[0]:
            self._last = listing, self._keep(_encoded(listing)) if listing != Listing() else EMPTY
        return self._last[1]

    def restore(self, name: str, workspace: Workspace) -> None:
        """Make the workspace what it was: create, replace and remove."""
        if not name:
            return
        listing = self._listing(name)
        taken = sum(entry.size for entry in listing.entries)
        if taken > self._most_bytes:
            most = f"workspace_mb={self._most_bytes >> 20}"
            raise PlatformError(f"the files of the session take {taken >> 20} MB, more than {most}; give more")
        place(workspace, listing, self._content, self._known)

    def populate(self, name: str, workspace: Workspace) -> None:
        """The same for a workspace that is empty."""
        if workspace.size().files:
            raise UsageError(f"workspace {workspace.path} is not empty; give a fresh one")
        self.restore(name, workspace)

    def left_out(self, name: str) -> tuple[str, ...]:
        """Paths that were there and are not in the tree, and directories of which not all is in it ("" is the top)."""
        return self._listing(name).left

    def difference(self, before: str, after: str) -> tuple[FileChange, ...]:
        """What happened from one tree to the other, by path."""
        old = {entry.path: entry for entry in self._listing(before).entries}
        new = {entry.path: entry for entry in self._listing(after).entries}
        found = [FileChange(path=path, what="removed", kind=old[path].kind) for path in old.keys() - new.keys()]
        for path, entry in new.items():
            if path not in old:
                found.append(FileChange(path=path, what="added", kind=entry.kind))
            elif _matter(entry) != _matter(old[path]):
                found.append(FileChange(path=path, what="changed", kind=entry.kind))
        return tuple(sorted(found, key=lambda change: change.path))

    def _keep(self, content: bytes) -> str:
        self.kept += len(content)
        return self._blobs.keep(self._session, content)

    def _content(self, digest: str) -> bytes:
        try:
            return self._blobs.blob(digest)
        except KeyError:
            raise JournalFailed(f"the journal does not hold {digest}, which a tree of the workspace needs") from None

    def _listing(self, name: str) -> Listing:
        if name in ("", EMPTY):
            return Listing()
        return self._last[0] if name == self._last[1] else _decoded(name, self._content(name))


def _matter(entry: Entry) -> tuple[object, ...]:
    return entry.kind, entry.mode, entry.size, entry.content


def _encoded(listing: Listing) -> bytes:
    # In ASCII, names that are no text too: what could not be decoded is a lone surrogate, which JSON can escape.
    rows = [[e.path, e.kind, e.mode, e.mtime_ns, e.size, e.content] for e in listing.entries]
    return json.dumps({"entries": rows, "left": listing.left}, separators=(",", ":")).encode()


def _decoded(name: str, text: bytes) -> Listing:
    """Whoever can write to the journal may have made this up: it is taken only where `take` could have made it."""
    try:
        found = json.loads(text)
        entries = tuple(_entry(*row) for row in found["entries"])
        listing = Listing(entries=entries, left=tuple(map(_text, found["left"])))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise JournalFailed(f"{name} is no tree of a workspace ({type(error).__name__})") from None
    if any({"", ".", ".."} & set(entry.path.split("/")) for entry in listing.entries):
        raise JournalFailed(f"{name} is no tree of a workspace: it leads out of it")
    return listing


def _entry(path: Any, kind: Any, mode: Any, mtime_ns: Any, size: Any, content: Any) -> Entry:
    numbers = (mode, mtime_ns, size)
    if kind not in ("file", "dir", "link") or any(type_of(n) is not int or abs(n) >= 1 << 63 for n in numbers):
        raise ValueError
    if size < 0 or (kind != "file" and size):
        raise ValueError
    return Entry(path=_text(path), kind=kind, mode=mode & MODE, mtime_ns=mtime_ns, size=size, content=_text(content))


def _text(told: Any) -> str:
    if type_of(told) is not str or "\0" in told:
        raise ValueError
    os.fsencode(told)
    return told
