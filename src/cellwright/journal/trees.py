"""`Trees`: the workspace of a session, kept under a name: taken, restored, compared.

A name is the digest of a manifest. Manifest and contents are blobs of the journal. Taking one costs as much as changed
since the last, however many files there are. Everything here blocks; call it in a thread.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from cellwright.errors import JournalFailed, PlatformError, UsageError
from cellwright.journal import manifests
from cellwright.sandboxes import (
    CHUNK,
    Limits,
    Workspace,
    WorkspaceDiff,
    WorkspaceEntry,
    WorkspaceListing,
    WorkspaceTracker,
    chunks,
    composed,
    restore_workspace,
)
from cellwright.store import BlobFiles, Blobs, BoundedFiles

BATCH_BYTES, BATCH = 4 << 20, 256  # of small contents, which are kept together
EMPTY = "empty"  # the name of a workspace with nothing in it, which no journal has to keep
SMALL = 64  # entries: a tree of so few is always told whole
REMEMBERED = 256  # trees taken here, and entries in the steps between them, of which the difference costs nothing
REMEMBERED_ENTRIES = 20_000

Delta = dict[str, WorkspaceEntry | None]


@dataclass(frozen=True, kw_only=True, slots=True)
class FileChange:
    """One path that two trees do not have alike. The time of a file is no difference."""

    path: str
    what: Literal["added", "changed", "removed"]
    kind: Literal["file", "dir", "link"]


class NotKept(JournalFailed):
    """A content of a tree is not in the journal: it was dropped, or the journal is damaged."""


class KeptContents:
    """Contents of files in the blobs of one session, by digest. Large ones go there and back past memory.

    What `keep` named is there after `flush`. Not for two threads at once.
    """

    def __init__(self, blobs: Blobs, session: str) -> None:
        self.given = 0  # bytes that were given to the store, again and again for what changes
        self._blobs = blobs
        self._files = blobs if isinstance(blobs, BlobFiles) else None
        self._session = session
        self._waiting: dict[str, bytes] = {}
        self._waiting_bytes = 0

    def keep(self, content: bytes) -> str:
        self.given += len(content)
        if self._files is None:
            return self._blobs.keep(self._session, content)
        digest = self._files.digest(content)
        if digest not in self._waiting:
            self._waiting[digest] = content
            self._waiting_bytes += len(content)
        if self._waiting_bytes >= BATCH_BYTES or len(self._waiting) >= BATCH:
            self.flush()
        return digest

    def flush(self) -> None:
        """Until here it may not be in the store."""
        waiting, self._waiting, self._waiting_bytes = self._waiting, {}, 0
        if waiting and self._files is not None:
            self._files.keep_all(self._session, list(waiting.values()))

    def keep_file(self, file: int, size: int) -> tuple[str, int]:
        if self._files is None:
            content = b"".join(chunks(file, size))
            return self.keep(content), len(content)
        self.given += size
        return self._files.keep_file(self._session, file, size)

    def content(self, digest: str) -> bytes:
        self.flush()
        try:
            return self._blobs.blob(digest)
        except KeyError:
            raise _missing(digest) from None

    def write(self, name: str, file: int, size: int) -> bool:
        self.flush()
        if self._files is not None:
            try:
                return self._files.copy_to(name, file, size)
            except KeyError:
                raise _missing(name) from None
        content = memoryview(self.content(name))
        if len(content) != size:
            return False
        while content:
            content = content[os.write(file, content[:CHUNK]) :]
        return True

    def lacking(self, digests: Collection[str]) -> set[str]:
        """Those of these contents that were dropped."""
        self.flush()
        return self._blobs.lacking(digests) if isinstance(self._blobs, BoundedFiles) else set()

    def equals(self, name: str, file: int, size: int) -> bool:
        if self._files is not None:
            return self._files.digest_file(file, size) == name
        wanted, at = self.content(name), 0
        for chunk in chunks(file, size):
            if chunk != wanted[at : at + len(chunk)]:
                return False
            at += len(chunk)
        return at == len(wanted)


class Trees:
    """The trees of one session. Not for two threads at once.

    `take` looks only at what changed since the last one of the same workspace, and never fails for what a guest did:
    what cannot be kept (a fifo, a socket, a file beyond `workspace_mb`, what lies more than 64 directories deep) is
    told by `left_out`. `restore` leaves such paths alone. A name that the journal does not hold raises `JournalFailed`;
    the name "" is that of a tree that was not taken, and changes nothing.
    """

    def __init__(self, blobs: Blobs, session: str, limits: Limits | None = None) -> None:
        self._contents = KeptContents(blobs, session)
        self._most_bytes = (limits or Limits()).workspace_mb << 20
        self._taken: dict[Workspace, _Taken] = {}  # as long as each is open

    @property
    def kept(self) -> int:
        """Bytes that were given to the journal, again and again for what changes."""
        return self._contents.given

    def take(self, workspace: Workspace) -> str:
        """The workspace as it is, and its name."""
        taken = self._taken.get(workspace)
        if taken is None:
            taken = self._taken[workspace] = _Taken(workspace, self._contents, self._most_bytes)
            workspace.closing.append(lambda: self._forget(workspace))
        try:
            return taken.take()
        except BaseException:
            self._forget(workspace)  # it is not known how much of it was kept
            raise

    def knows(self, workspace: Workspace) -> bool:
        """Whether one was taken of this workspace: then the next costs what changed."""
        return workspace in self._taken

    def _forget(self, workspace: Workspace) -> None:
        taken = self._taken.pop(workspace, None)
        if taken is not None:
            taken.tracking.close()

    def restore(self, name: str, workspace: Workspace) -> None:
        """Make the workspace what it was: create, replace and remove."""
        if not name:
            return
        listing = self._listing(name)
        taken = sum(entry.size for entry in listing.entries)
        if taken > self._most_bytes:
            most = f"workspace_mb={self._most_bytes >> 20}"
            raise PlatformError(f"the files of the session take {taken >> 20} MB, more than {most}; give more")
        taken = self._taken.get(workspace)
        restore_workspace(workspace, listing, self._contents, taken.tracking.nodes.digests if taken is not None else {})

    def populate(self, name: str, workspace: Workspace) -> None:
        """The same for a workspace that is empty."""
        if workspace.size().files:
            raise UsageError(f"workspace {workspace.path} is not empty; give a fresh one")
        self.restore(name, workspace)

    def left_out(self, name: str) -> tuple[str, ...]:
        """Paths that were there and are not in the tree, and directories of which not all is in it ("" is the top)."""
        return self._listing(name).left

    def entries(self, name: str) -> Mapping[str, WorkspaceEntry]:
        """What is in a tree, by path."""
        return {entry.path: entry for entry in self._listing(name).entries}

    def needs(self, name: str) -> Iterator[str]:
        """The digests of all that it is made of: manifests first, then contents."""
        if name in ("", EMPTY):
            return
        yield name
        yield from self.parts(name)
        yield from self._files(name)

    def _files(self, name: str) -> Iterator[str]:
        return (entry.content for entry in self._listing(name).entries if entry.kind == "file")

    def parts(self, name: str) -> tuple[str, ...]:
        """The other manifests that it is told by."""
        return () if name in ("", EMPTY) else manifests.decoded(name, self._contents.content(name)).parts

    def lacking(self, name: str) -> set[str]:
        """The digests of contents of it that were dropped: `restore` needs them where the workspace has them not."""
        return self._contents.lacking(set(self._files(name)))

    @property
    def current(self) -> set[str]:
        """Those that were taken last, here."""
        return {taken.name for taken in self._taken.values()}

    def content(self, entry: WorkspaceEntry) -> bytes:
        """The bytes of a file of a tree."""
        return self._contents.content(entry.content)

    def difference(self, before: str, after: str) -> tuple[FileChange, ...]:
        """What happened from one tree to the other, by path."""
        ways = (taken.between(before, after) for taken in self._taken.values())
        step = next((way for way in ways if way is not None), None)
        if step is None:
            old, new = self.entries(before), self.entries(after)
            step = {path: (entry, new.get(path)) for path, entry in old.items()}
            step |= {path: (None, entry) for path, entry in new.items() if path not in old}
        found = [_change(path, *both) for path, both in step.items() if _matter(both[0]) != _matter(both[1])]
        return tuple(sorted(found, key=lambda change: change.path))

    def _listing(self, name: str) -> WorkspaceListing:
        if name in ("", EMPTY):
            return WorkspaceListing()
        for taken in self._taken.values():
            if name == taken.name:
                return taken.tracking.nodes.listing()
        return manifests.listing(name, self._contents.content)


class _Taken:
    """One workspace as it was taken last, and what its manifest is made of."""

    def __init__(self, workspace: Workspace, contents: KeptContents, most_bytes: int) -> None:
        self.tracking = WorkspaceTracker(workspace, contents, most_bytes)
        self.name = EMPTY
        self._left: set[str] = set()
        self._contents = contents
        self._whole = ""  # the manifest that tells all
        self._parts: list[tuple[str, Delta]] = []  # those after it
        self._steps: deque[tuple[str, str, WorkspaceDiff]] = deque(maxlen=REMEMBERED)

    def take(self) -> str:
        step = self.tracking.look()
        self._contents.flush()
        nodes = self.tracking.nodes
        if step or nodes.left != self._left:
            before, self.name = self.name, self._named({path: new for path, (_, new) in step.items()})
            self._left = set(nodes.left)
            self._remember(before, step)
        return self.name

    def _named(self, delta: Delta) -> str:
        nodes = self.tracking.nodes
        if not nodes and not nodes.left:
            self._whole, self._parts = "", []
            return EMPTY
        while self._parts and len(self._parts[-1][1]) < 2 * max(1, len(delta)):  # so each is twice as long as the next
            delta = {**self._parts.pop()[1], **delta}
        if not self._whole or len(nodes) <= SMALL or 2 * len(delta) >= len(nodes):
            listing = nodes.listing()
            self._whole, self._parts = self._keep(manifests.encoded(listing.entries, listing.left)), []
            return self._whole
        there = [entry for entry in delta.values() if entry is not None]
        gone = [path for path, entry in delta.items() if entry is None]
        parts = (self._whole, *(name for name, _ in self._parts))
        name = self._keep(manifests.encoded(there, sorted(nodes.left), gone, parts))
        self._parts.append((name, delta))
        return name

    def _keep(self, manifest: bytes) -> str:
        name = self._contents.keep(manifest)
        self._contents.flush()
        return name

    def _remember(self, before: str, step: WorkspaceDiff) -> None:
        self._steps.append((before, self.name, step))
        while self._steps and sum(len(one) for _, _, one in self._steps) > REMEMBERED_ENTRIES:
            self._steps.popleft()

    def between(self, before: str, after: str) -> WorkspaceDiff | None:
        """The way from one tree to a later one, where both were taken here lately."""
        if before == after:
            return {}
        found: WorkspaceDiff | None = None
        for earlier, later, step in reversed(self._steps):
            if found is None and later == after:
                found = {}
            if found is not None:
                found = composed(step, found)
                if earlier == before:
                    return found
        return None


def _matter(entry: WorkspaceEntry | None) -> tuple[object, ...] | None:
    return None if entry is None else (entry.kind, entry.mode, entry.size, entry.content)


def _change(path: str, old: WorkspaceEntry | None, new: WorkspaceEntry | None) -> FileChange:
    if new is None:
        assert old is not None
        return FileChange(path=path, what="removed", kind=old.kind)
    return FileChange(path=path, what="changed" if old is not None else "added", kind=new.kind)


def _missing(digest: str) -> NotKept:
    return NotKept(
        f"the journal does not hold {digest}, which a tree of the workspace needs: an old one was dropped to keep "
        "snapshots_mb, or the journal is damaged"
    )
