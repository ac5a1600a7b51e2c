"""`WorkspaceTracker`: the entries of one workspace, kept up to date by looking only where something changed.

The kernel says where (`inotify`). In doubt the whole workspace is read again: where the kernel lost a report, where
there are too many directories to watch, where not everything could be read last time, or on a file system that other
machines write to. Not for two threads at once. It does not know where contents are kept.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager

from cellwright.sandboxes import directory_tree
from cellwright.sandboxes.inotify import APPEARED, IGNORED, IS_DIR, NAMES, Change, DirectoryWatch, is_local, mapped
from cellwright.sandboxes.workspace import Workspace
from cellwright.sandboxes.workspace_index import WorkspaceDiff, WorkspaceIndex, composed
from cellwright.sandboxes.workspace_reader import Contents, WorkspaceReader, reading

MOST_WATCHES = 16_384  # each holds a directory in the kernel's memory
MOST_LINKED = 1_000  # files with several names: a change by one name is not reported for the others
Touched = dict[str, bool]  # by path: whether it is a directory that came here, with all that is below it


class WorkspaceTracker:
    """`nodes` is the workspace as `look` found it. `close` it before the workspace."""

    def __init__(self, workspace: Workspace, contents: Contents, most_bytes: int) -> None:
        self.workspace = workspace
        self.nodes = WorkspaceIndex()
        self.walks = 0  # how often everything was looked at
        self._contents = contents
        self._most_bytes = most_bytes
        self._device = workspace.device
        self._changes: DirectoryWatch | None = None
        self._gave_up = False
        self._path_of: dict[int, str] = {}  # by watch
        self._watch_of: dict[str, int] = {}

    def look(self) -> WorkspaceDiff:
        """The changes since the last look. Raises `PlatformError` where the machine fails."""
        held = self._held()
        touched = self._touched() if self.nodes.whole and held is not None else None
        with reading():
            if touched is not None and self._look_at(touched, held or set()):
                return self.nodes.settled()
            return self._look_at_all(held or set())

    def _held(self) -> set[int] | None:
        """Inodes that a guest may write to without a report of the kernel; None where that cannot be known."""
        try:
            return mapped(self.workspace.guests())
        except PermissionError:
            return None

    # what was touched

    def _touched(self) -> Touched | None:
        changes = self._changes.drain() if self._changes is not None else None
        if changes is None or len(self.nodes.linked) > MOST_LINKED:
            return None
        touched: Touched = {}
        for change in changes:
            if not self._heard(change, touched):
                return None
        for path in self.nodes.linked:
            touched.setdefault(path, False)
        return touched

    def _heard(self, change: Change, touched: Touched) -> bool:
        watch, what, name = change
        path = self._path_of.get(watch)
        if path is None:  # of a directory that had gone from here
            return True
        if what & IGNORED:
            del self._path_of[watch]
            if self._watch_of.get(path) == watch:
                del self._watch_of[path]
            return bool(path)
        if path and (not name or what & NAMES):
            touched.setdefault(path, False)
        if name:
            child = f"{path}/{name}" if path else name
            came = bool(what & APPEARED and what & IS_DIR)
            touched[child] = came or touched.get(child, False)
        return True

    # looking

    def _look_at(self, touched: Touched, held: set[int]) -> bool:
        """Look at these paths. False where that is not enough."""
        linked = set(self.nodes.linked)
        for inode in held:
            for path in self.nodes.paths_of(inode):
                touched.setdefault(path, False)
        if not touched:
            return True
        read = WorkspaceReader(
            self.nodes, self._contents, self.nodes.digests, most_bytes=self._most_bytes, enter=self._entered
        )
        read.afresh = held
        here: tuple[str, int] | None = None
        root = self.workspace.open()
        try:
            for path in sorted(touched):  # a directory before what is in it
                directory = path.rpartition("/")[0]
                if not self.nodes.has_directory(directory):
                    continue  # it is gone, with all that was in it
                if here is None or here[0] != directory:
                    if here is not None:
                        os.close(here[1])
                    here = None
                    fd = _opened(root, directory)
                    if fd is None:
                        continue
                    here = directory, fd
                self._look_at_one(read, here[1], path, came=touched[path])
        except PermissionError:
            return False
        finally:
            if here is not None:
                os.close(here[1])
            os.close(root)
        # A file that is now linked twice may have been changed by its second name before.
        return self.nodes.whole and not self._gave_up and self.nodes.linked <= linked

    def _look_at_one(self, read: WorkspaceReader, parent: int, path: str, *, came: bool) -> None:
        directory, _, name = path.rpartition("/")
        try:
            about = os.stat(name, dir_fd=parent, follow_symlinks=False)
        except FileNotFoundError:
            self._drop(path)
            return
        known = stat.S_ISDIR(about.st_mode) and self.nodes.has_directory(path) and self.nodes.key(path)
        if known and not came and known[:2] == (about.st_dev, about.st_ino):
            read.same_directory(path, about)
            return
        self._drop(path)
        read.part(parent, f"{directory}/" if directory else "", name, about)

    def _look_at_all(self, held: set[int]) -> WorkspaceDiff:
        self._begin()
        self.walks += 1
        old, watched = self.nodes, self._path_of
        self._path_of, self._watch_of = {}, {}
        fresh = WorkspaceIndex()
        read = WorkspaceReader(fresh, self._contents, old.digests, most_bytes=self._most_bytes, enter=self._entered)
        read.afresh = held
        read.walk(self.workspace.open())
        if self._changes is not None:
            for watch in watched.keys() - self._path_of.keys():
                self._changes.remove(watch)
        fresh.settled()
        self.nodes = fresh
        return composed(old.settled(), fresh.since(old))

    # watches

    def _begin(self) -> None:
        """From here on the kernel reports changes. Earlier reports are dropped: everything is read now."""
        if self._changes is not None:
            self._changes.drain()
        elif not self._gave_up:
            try:
                with _descriptor(self.workspace) as root:
                    if not is_local(root):
                        raise OSError(errno.EXDEV, "others may write to this file system")
                self._changes = DirectoryWatch()
            except OSError:
                self._give_up()

    def _entered(self, fd: int, path: str) -> None:
        """Watch a directory before it is listed, so that later changes are reported."""
        if self._changes is None:
            return
        try:
            if len(self._path_of) >= MOST_WATCHES or os.fstat(fd).st_dev != self._device:
                raise OSError(errno.ENOSPC, "this cannot be watched")
            watch = self._changes.add(fd)
        except OSError:
            self._give_up()
            return
        before = self._path_of.get(watch)
        if before is not None and self._watch_of.get(before) == watch:
            del self._watch_of[before]
        self._path_of[watch] = path
        self._watch_of[path] = watch

    def _drop(self, path: str) -> None:
        for directory in self.nodes.drop(path):
            watch = self._watch_of.pop(directory, None)
            if watch is not None and self._path_of.get(watch) == directory:
                del self._path_of[watch]
                if self._changes is not None:
                    self._changes.remove(watch)

    def close(self) -> None:
        """Close the kernel's queue. A later look reads the whole workspace."""
        self._give_up()

    def _give_up(self) -> None:
        """From here on each look reads the whole workspace."""
        self._gave_up = True
        changes, self._changes = self._changes, None
        if changes is not None:
            changes.close()
        self._path_of, self._watch_of = {}, {}


@contextmanager
def _descriptor(workspace: Workspace) -> Generator[int]:
    fd = workspace.open()
    try:
        yield fd
    finally:
        os.close(fd)


def _opened(root: int, directory: str) -> int | None:
    """A directory below `root`, open; None where it is gone: the kernel will report that."""
    here = os.open(".", directory_tree.DIRECTORY, dir_fd=root)
    for part in directory.split("/") if directory else ():
        try:
            below = os.open(part, directory_tree.DIRECTORY, dir_fd=here)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
                return None
            raise
        finally:
            os.close(here)
        here = below
    return here
