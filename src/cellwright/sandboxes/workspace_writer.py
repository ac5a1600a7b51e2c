"""Makes a workspace equal to a `WorkspaceListing`: `restore_workspace`, the opposite of `workspace_reader`.

As careful of the guest as the reader: nothing is written through a symlink or to a file that was there before. New
files belong to the guest.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Mapping

from cellwright.errors import PlatformError
from cellwright.sandboxes import directory_tree
from cellwright.sandboxes.workspace import Workspace
from cellwright.sandboxes.workspace_index import Key, WorkspaceEntry, WorkspaceListing
from cellwright.sandboxes.workspace_reader import MODE, Contents, key_of, open_file

REMOVE_S = 60.0


def restore_workspace(
    workspace: Workspace, listing: WorkspaceListing, contents: Contents, known: Mapping[Key, str]
) -> None:
    """Create, replace and remove until the workspace equals the listing; paths in its `left` stay as they are.

    `contents` has the bytes of files by name; `known` names the contents of present files, which saves reading them.
    Raises `PlatformError` where the machine fails, or where the guest keeps writing what is to be removed.
    """
    _Restorer(workspace, listing, contents, known).run()


class _Restorer:
    def __init__(
        self, workspace: Workspace, listing: WorkspaceListing, contents: Contents, known: Mapping[Key, str]
    ) -> None:
        self._workspace = workspace
        self._left = frozenset(listing.left)
        self._contents = contents
        self._known = known
        self._below: dict[str, dict[str, WorkspaceEntry]] = {}
        for entry in listing.entries:
            directory, _, name = entry.path.rpartition("/")
            self._below.setdefault(directory, {})[name] = entry

    def run(self) -> None:
        root = self._workspace.open()
        try:
            self._fill(root, "")
        except OSError as error:
            raise PlatformError(f"the workspace cannot be restored ({error.strerror}); see to its disk") from None
        finally:
            os.close(root)

    def _fill(self, fd: int, path: str) -> None:
        wanted = self._below.get(path, {})
        present: dict[str, os.stat_result] = {}
        with os.scandir(fd) as entries:
            for there in entries:
                with contextlib.suppress(FileNotFoundError):
                    present[there.name] = there.stat(follow_symlinks=False)
        for name, about in present.items():
            if name not in wanted and not self._is_spared(path, name):
                _remove(fd, name, about)
        for name, entry in wanted.items():
            self._place(fd, name, entry, present.get(name))

    def _is_spared(self, path: str, name: str) -> bool:
        return path in self._left or (f"{path}/{name}" if path else name) in self._left

    def _place(self, fd: int, name: str, entry: WorkspaceEntry, about: os.stat_result | None) -> None:
        kind = stat.S_IFMT(about.st_mode) if about is not None else 0
        if about is not None and (kind == stat.S_IFDIR) != (entry.kind == "dir"):
            _remove(fd, name, about)
            kind = 0
        if entry.kind == "dir":
            self._directory(fd, name, entry, new=not kind)
        elif entry.kind == "link":
            if kind != stat.S_IFLNK or os.readlink(name, dir_fd=fd) != entry.content:
                self._link(fd, name, entry)
            else:
                os.utime(name, ns=(entry.mtime_ns, entry.mtime_ns), dir_fd=fd, follow_symlinks=False)
        elif kind != stat.S_IFREG or not self._is_there(fd, name, entry):
            self._write(fd, name, entry)

    def _directory(self, fd: int, name: str, entry: WorkspaceEntry, *, new: bool) -> None:
        if new:
            os.mkdir(name, 0o700, dir_fd=fd)
        child = directory_tree.open_directory(name, fd)
        try:
            if new:
                self._workspace.hand_over(child)
            self._fill(child, entry.path)
            _set_mode_and_time(child, entry)
        finally:
            os.close(child)

    def _is_there(self, fd: int, name: str, entry: WorkspaceEntry) -> bool:
        """Whether the file has these bytes already; then its mode and time are set, and it stays."""
        file = open_file(name, fd)
        try:
            about = os.fstat(file)
            if about.st_size != entry.size:
                return False
            same = self._known.get(key_of(about)) == entry.content
            if not same and not self._contents.equals(entry.content, file, entry.size):
                return False
            _set_mode_and_time(file, entry)
            return True
        finally:
            os.close(file)

    def _write(self, fd: int, name: str, entry: WorkspaceEntry) -> None:
        with directory_tree.replacing(name, fd) as file:
            if not self._contents.write(entry.content, file, entry.size):
                raise PlatformError(f"the workspace cannot be restored: {entry.path!r} has not its recorded size")
            self._workspace.hand_over(file)
            _set_mode_and_time(file, entry)

    def _link(self, fd: int, name: str, entry: WorkspaceEntry) -> None:
        temporary = f".{secrets.token_hex(12)}"
        os.symlink(entry.content, temporary, dir_fd=fd)
        owner = self._workspace.owner_uid
        if owner is not None:
            os.chown(temporary, owner, owner, dir_fd=fd, follow_symlinks=False)
        os.utime(temporary, ns=(entry.mtime_ns, entry.mtime_ns), dir_fd=fd, follow_symlinks=False)
        os.rename(temporary, name, src_dir_fd=fd, dst_dir_fd=fd)


def _set_mode_and_time(fd: int, entry: WorkspaceEntry) -> None:
    about = os.fstat(fd)
    if about.st_mode & MODE != entry.mode:
        os.fchmod(fd, entry.mode)
    if about.st_mtime_ns != entry.mtime_ns:
        os.utime(fd, ns=(entry.mtime_ns, entry.mtime_ns))


def _remove(fd: int, name: str, about: os.stat_result) -> None:
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISDIR(about.st_mode):
            os.unlink(name, dir_fd=fd)
            return
        child = directory_tree.open_directory(name, fd)
        try:
            directory_tree.empty(child, wait_s=REMOVE_S)
        finally:
            os.close(child)
        os.rmdir(name, dir_fd=fd)
