"""`SessionFiles`: the files of one session, for its operator. No guest is started.

Methods that change files need a session that nobody has open. Everything here blocks.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path, PurePath

from cellwright.errors import UsageError
from cellwright.journal import (
    EMPTY,
    FileChange,
    FileDiff,
    History,
    Trees,
    Versions,
    existing_workspace,
    kept_after,
    workspace_from_tree,
)
from cellwright.sandboxes import MOST_FILES, DiskUsage, FileEntry, Files, Limits, Workspace
from cellwright.sessions.branches import held
from cellwright.store import CellRow, Store


class SessionFiles:
    """List, compare and put back the files of a session; hand files in and take them out.

    `limits` has the quota: `workspace_mb`. For a session without a directory on this machine, only `list` and `restore`
    work, from its store; the others raise `UsageError`.
    """

    def __init__(self, store: Store, session: str, limits: Limits | None = None) -> None:
        self._store = store
        self._session = session
        self._limits = limits or Limits()
        self._trees = Trees(store, session, self._limits)

    def list(self, at: int | None = None) -> list[FileEntry]:
        """The files as they are now, or as the store has them after cell `at`."""
        story = History(self._store, self._session)
        workspace = existing_workspace(self._store, self._session) if at is None else None
        if workspace is not None:
            with closing(workspace):
                return [entry for entry in self._files(workspace).listed(most=MOST_FILES) if not entry.is_dir]
        tree = story.tree if at is None else Versions(self._store, story, self._trees).at(at)
        entries = self._trees.entries(tree).values()
        return [FileEntry(path=entry.path, size=entry.size, is_dir=False) for entry in entries if entry.kind == "file"]

    def diff(self, since: int | None = None, *, texts: bool = True) -> tuple[FileDiff, ...]:
        """What has changed since the end of cell `since`, or since before the last cell."""
        with self._opened() as workspace:
            versions = Versions(self._store, History(self._store, self._session), self._trees, workspace)
            return versions.diff(since, texts=texts)

    def undo(self) -> Sequence[FileChange]:
        """Put the files back as they were before the last cell."""
        with held(self._store, self._session) as claim, self._opened() as workspace:
            versions = self._settled(workspace)
            changes = versions.restore(versions.before_last(), versions.last - 1)
            self._store.write(claim, *self._amended(workspace))
        return changes

    def restore(self, at: int | None = None) -> Sequence[FileChange]:
        """Put the files back as they were after cell `at`, or after the last cell. A missing directory is made."""
        with held(self._store, self._session) as claim:
            workspace = existing_workspace(self._store, self._session)
            versions = self._settled(workspace)
            tree = History(self._store, self._session).tree if at is None else versions.at(at)
            if not tree:
                raise UsageError(f"session {self._session!r} has no copy of its files; it has run no cell yet")
            if workspace is None:
                versions.require(tree, at or versions.last)
                workspace_from_tree(self._store, self._session, tree, self._limits).close()
                return self._trees.difference(EMPTY, tree)
            with closing(workspace):
                changes = versions.restore(tree, versions.last if at is None else at)
                self._store.write(claim, *self._amended(workspace))
        return changes

    def put(self, local: Path, path: str | PurePath) -> None:
        """Copy a file of this machine into the workspace."""
        with self._opened() as workspace:
            self._files(workspace).put_now(local, path)

    def take(self, path: str | PurePath, local: Path) -> None:
        """Copy a file of the workspace to this machine. `FileNotFoundError` where there is none."""
        with self._opened() as workspace:
            self._files(workspace).take_now(path, local)

    def _settled(self, workspace: Workspace | None) -> Versions:
        story = History(self._store, self._session)
        if story.cut_off is not None:
            cell = f"cell {story.cut_off.number} of session {self._session!r}"
            raise UsageError(f"{cell} is not over; carry it on, or rewind it, first")
        return Versions(self._store, story, self._trees, workspace)

    def _amended(self, workspace: Workspace) -> list[CellRow]:
        """The last cell's row, with the files as they are now."""
        cells = self._store.cells(self._session)
        row = kept_after(cells[-1], self._trees.take(workspace)) if cells else None
        return [row] if row is not None else []

    @contextmanager
    def _opened(self) -> Generator[Workspace]:
        workspace = existing_workspace(self._store, self._session)
        if workspace is None:
            raise UsageError(
                f"session {self._session!r} has no files on this machine; `cellwright files restore {self._session}` "
                "puts back what its store has"
            )
        with closing(workspace):
            yield workspace

    def _files(self, workspace: Workspace) -> Files:
        return Files(workspace, quota=DiskUsage(bytes=self._limits.workspace_mb << 20, files=MOST_FILES))
