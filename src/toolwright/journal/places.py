"""Where the files of a session are kept that a journal does not hold itself: beside its file."""

from __future__ import annotations

from pathlib import Path

from toolwright.errors import PlatformError
from toolwright.journal.rows import Journal
from toolwright.sandboxes import GUEST_UID, Workspace


def workspace_of(journal: Journal, session: str) -> Workspace | None:
    """The session's own directory, made if it is not there; None where the journal is no file."""
    path: Path | None = getattr(journal, "path", None)
    if path is None:
        return None
    base = Path(path).resolve()
    place = base.with_name(f"{base.name}.workspaces") / session
    try:
        place.parent.mkdir(exist_ok=True, mode=0o700)
        place.mkdir(exist_ok=True, mode=0o700)
    except OSError as error:
        raise PlatformError(f"no workspace can be made at {place} ({error.strerror}); give workspace=") from None
    if place.resolve() != place:  # who wrote the journal's directory would choose what guest code gets
        raise PlatformError(f"the workspace {place} is a symlink; put a directory in its place, or give workspace=")
    return Workspace.at(place, GUEST_UID)
