"""A workspace's entries as values, `Entry` and `Listing`; and all of them in memory, kept up to date: `WorkspaceIndex`.

Knows nothing of how they are read, nor when something changed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal["file", "dir", "link"]
Key = tuple[int, int, int, int, int]  # device, inode, size, time of the content's change, of any change


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkspaceEntry:
    """One file, directory or symlink. `content` names a file's bytes, and is a symlink's target."""

    path: str
    kind: Kind
    mode: int
    mtime_ns: int
    size: int = 0
    content: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkspaceListing:
    """A whole workspace, by path. `left` names paths that were left out, and directories that are incomplete."""

    entries: tuple[WorkspaceEntry, ...] = ()
    left: tuple[str, ...] = ()


WorkspaceDiff = dict[str, tuple[WorkspaceEntry | None, WorkspaceEntry | None]]  # by path: old and new


class _Node:
    __slots__ = ("entry", "key", "names")

    def __init__(self, entry: WorkspaceEntry, key: Key) -> None:
        self.entry = entry
        self.key = key
        self.names: set[str] | None = set() if entry.kind == "dir" else None


class WorkspaceIndex:
    """Entries by path, each with its key: what the file system said of it.

    `digests` names the contents of files whose times prove that they did not change since. `whole` is False where
    something was left out for want of room, or because it could not be read: a later walk may read it. `linked` are the
    files with more than one name. Changes are noted until `settled` takes them.
    """

    def __init__(self) -> None:
        self.digests: dict[Key, str] = {}
        self.left: set[str] = set()
        self.linked: set[str] = set()
        self.whole = True
        self.size = 0  # bytes of all files
        self.letters = 0  # of all paths, and of what symlinks lead to
        self._nodes: dict[str, _Node] = {}
        self._top: set[str] = set()
        self._by_inode: dict[int, str] = {}
        self._before: dict[str, WorkspaceEntry | None] = {}
        self._stale: set[Key] = set()

    def __len__(self) -> int:
        return len(self._nodes)

    def entry(self, path: str) -> WorkspaceEntry | None:
        node = self._nodes.get(path)
        return None if node is None else node.entry

    def key(self, path: str) -> Key | None:
        node = self._nodes.get(path)
        return None if node is None else node.key

    def has_directory(self, path: str) -> bool:
        node = self._nodes.get(path)
        return not path or (node is not None and node.names is not None)

    def paths_of(self, inode: int) -> Iterator[str]:
        """The paths of the file with this inode."""
        if inode in self._by_inode:
            yield self._by_inode[inode]
        yield from [path for path in self.linked if self._nodes[path].key[1] == inode]

    def put(self, entry: WorkspaceEntry, about: os.stat_result, key: Key, *, steady: bool = False) -> None:
        """Set the entry at a path. A directory that stays a directory keeps what is below it."""
        path, old = entry.path, self._nodes.get(entry.path)
        if old is not None and old.names is not None and entry.kind == "dir":
            self._note(path, old.entry)
            old.entry, old.key = entry, key
            return
        if old is not None:
            self.drop(path)
        self._note(path, None)
        self._nodes[path] = _Node(entry, key)
        directory, _, name = path.rpartition("/")
        self._names(directory).add(name)
        self.size += entry.size
        self.letters += len(path) + (len(entry.content) if entry.kind == "link" else 0)
        if entry.kind == "file":
            self._by_inode[key[1]] = path
            if about.st_nlink > 1:
                self.linked.add(path)
            if steady:
                self.digests[key] = entry.content
                self._stale.discard(key)

    def drop(self, path: str) -> list[str]:
        """Remove the entry at a path and everything below it. Gives the directories that were removed."""
        if path in self.left:
            self.left.discard(path)
            self.letters -= len(path)
        pending, directories = [path], list[str]()
        while pending:
            below = pending.pop()
            node = self._nodes.pop(below, None)
            if node is None:
                continue
            if node.names is not None:
                directories.append(below)
                pending += [f"{below}/{name}" for name in node.names]
            self._forget(below, node)
        if directories and self.left:
            self.left = {left for left in self.left if not any(left.startswith(f"{gone}/") for gone in directories)}
        directory, _, name = path.rpartition("/")
        if self.has_directory(directory):
            self._names(directory).discard(name)
        return directories

    def _forget(self, path: str, node: _Node) -> None:
        self._note(path, node.entry)
        self.size -= node.entry.size
        self.letters -= len(path) + (len(node.entry.content) if node.entry.kind == "link" else 0)
        if node.entry.kind == "file":
            self._stale.add(node.key)
            self.linked.discard(path)
            if self._by_inode.get(node.key[1]) == path:
                del self._by_inode[node.key[1]]

    def leave(self, path: str) -> None:
        """Record a path that is left out."""
        self.letters += len(path)
        self.left.add(path)

    def _names(self, directory: str) -> set[str]:
        if not directory:
            return self._top
        names = self._nodes[directory].names
        assert names is not None
        return names

    def _note(self, path: str, entry: WorkspaceEntry | None) -> None:
        self._before.setdefault(path, entry)

    def settled(self) -> WorkspaceDiff:
        """The changes since the last call."""
        before, self._before = self._before, {}
        stale, self._stale = self._stale, set()
        for key in stale:
            self.digests.pop(key, None)
        step: WorkspaceDiff = {}
        for path, old in before.items():
            new = self.entry(path)
            if new != old:
                step[path] = old, new
        return step

    def since(self, older: WorkspaceIndex) -> WorkspaceDiff:
        """The differences from an older index."""
        step: WorkspaceDiff = {
            path: (node.entry, None) for path, node in older._nodes.items() if path not in self._nodes
        }
        for path, node in self._nodes.items():
            old = older.entry(path)
            if old != node.entry:
                step[path] = old, node.entry
        return step

    def listing(self) -> WorkspaceListing:
        entries = tuple(self._nodes[path].entry for path in sorted(self._nodes))
        return WorkspaceListing(entries=entries, left=tuple(sorted(self.left)))


def composed(first: WorkspaceDiff, second: WorkspaceDiff) -> WorkspaceDiff:
    """One diff in place of two that follow each other."""
    both: WorkspaceDiff = {path: (old, new) for path, (old, new) in first.items() if path not in second}
    for path, (old, new) in second.items():
        begun = first[path][0] if path in first else old
        if begun != new:
            both[path] = begun, new
    return both
