"""Where the files of a session are: beside the journal's file; and how they come back where they are not."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from cellwright.errors import PlatformError
from cellwright.journal.history import History
from cellwright.journal.trees import Trees
from cellwright.sandboxes import GUEST_UID, Limits, Workspace
from cellwright.store import Store

LISTED = 1000


def workspace_of(journal: Store, session: str) -> Workspace | None:
    """The session's own directory, made if it is not there; None where the journal is gone with its process."""
    place = place_of(journal, session)
    if place is None:
        return None
    _make(place.parent)
    _make(place)
    return _opened(place)


def _make(place: Path) -> None:
    try:
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise PlatformError(f"no workspace can be made at {place} ({error.strerror}); give workspace=") from None


def place_of(journal: Store, session: str) -> Path | None:
    """Where that directory is, or would be."""
    if session in ("", ".", "..") or {"/", "\0"} & set(session):
        return None  # of a stranger's journal: it would lead to a directory of somebody else's
    apart: Path | None = getattr(journal, "workspaces", None)  # of a store that is no file here
    if apart is not None:
        return apart.resolve() / session
    path: Path | None = getattr(journal, "path", None)
    if path is None:
        return None
    base = Path(path).resolve()
    return base.with_name(f"{base.name}.workspaces") / session


def existing_workspace(journal: Store, session: str) -> Workspace | None:
    """The session's own directory where it is there; None where nothing was ever made of it."""
    place = place_of(journal, session)
    return _opened(place) if place is not None and place.is_dir() else None


def _opened(place: Path) -> Workspace:
    if place.resolve() != place:  # who wrote the journal's directory would choose what guest code gets
        raise PlatformError(f"the workspace {place} is a symlink; put a directory in its place, or give workspace=")
    return Workspace.at(place, GUEST_UID)


def lost_tree(journal: Store, session: str) -> str:
    """What the files of a session were, where it has no directory here: that is gone, or on another machine."""
    workspace = existing_workspace(journal, session)
    if workspace is not None:
        workspace.close()
        return ""
    history = History(journal, session)
    if not history.tree and any(cell.tree or cell.tree_after for cell in history.cells):
        raise PlatformError(
            f"the workspace of session {session!r} is gone, and the journal has no copy of it as it was last; put the "
            "directory back, or give workspace= with one, which may be empty"
        )
    return history.tree


def workspace_from_tree(journal: Store, session: str, tree: str, limits: Limits) -> Workspace:
    """A workspace for a session with the files of that tree. Its own directory is there whole, or not at all."""
    place = place_of(journal, session)
    if place is None:
        workspace = Workspace.create(None, GUEST_UID)
    else:
        _make(place.parent)
        passing = place.with_name(f".{secrets.token_hex(12)}")  # no session has such a name
        _make(passing)
        workspace = _opened(passing)
    try:
        Trees(journal, session, limits).restore(tree, workspace)
        if place is None:
            return workspace
        workspace.path.rename(place)
    except BaseException as error:
        with suppress(PlatformError):
            workspace.remove()
        if isinstance(error, OSError):
            raise PlatformError(f"no workspace can be made at {place} ({error.strerror}); give workspace=") from None
        raise
    workspace.close()
    return _opened(place)


def files_of(journal: Store, session: str) -> tuple[str, ...]:
    """The paths of the files in it, a bounded number of them; none where it is not there."""
    workspace = existing_workspace(journal, session)
    if workspace is None:
        return ()
    root, found = workspace.path, list[str]()
    try:
        for directory, below, files in os.walk(root):  # which follows no symlinks
            below.sort()
            found += sorted(os.path.relpath(os.path.join(directory, file), root) for file in files)
            if len(found) > LISTED:
                break
    finally:
        workspace.close()
    return tuple(found[:LISTED])


def remove_workspace(journal: Store, session: str) -> int:
    """Delete the session's own directory with all that is in it; gives about how many bytes that was."""
    workspace = existing_workspace(journal, session)
    if workspace is None:
        return 0
    try:
        freed = workspace.size().bytes
        workspace.remove()
    finally:
        workspace.close()
    return freed
