"""`WorkspaceLabels`: what the files of a shared directory carry, kept where no guest can write.

A guest that has read something labelled may have written it into any file. So a file that changed since then carries
the label, and whoever opens the directory later, or works in it now, has it delivered. It knows no sessions.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import time
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

from cellwright.atomic import write_atomic
from cellwright.errors import PlatformError
from cellwright.sandboxes import Workspace

SOONER_S = 2.0  # clocks of file systems are coarse


class WorkspaceLabels:
    """Of one `workspace`; the record is below `place`. `read` blocks as long as the directory is large."""

    def __init__(self, workspace: Workspace, place: Path) -> None:
        self._workspace = workspace
        name = hashlib.sha256(os.fsencode(workspace.path)).hexdigest()[:32]
        self._record = place / "labels" / f"{name}.json"
        self._seen = 0

    def read(self) -> tuple[str, ...]:
        """The labels that some file carries."""
        since = self._since()
        self._seen = self._stamp()
        if not since:
            return ()
        newest = _newest(self._workspace)
        return tuple(label for label, at in since.items() if newest >= at)

    def news(self) -> tuple[str, ...]:
        """The labels that another session has noted since `read`, whatever it wrote."""
        stamp = self._stamp()
        if stamp == self._seen:
            return ()
        self._seen = stamp
        return tuple(self._since())

    def note(self, label: str) -> None:
        """From now on files may carry the label. `PlatformError` where that cannot be kept."""
        if label in self._since():
            return
        place = self._record.parent
        try:
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            with _alone(place):  # another session may note another label now
                since = {label: time.time() - SOONER_S} | self._since()
                write_atomic(self._record, json.dumps({"workspace": str(self._workspace.path), "since": since}))
        except OSError as error:
            raise PlatformError(f"{self._record} cannot be written: {error.strerror or error}") from None
        self._seen = self._stamp()

    def _stamp(self) -> int:
        try:
            return self._record.stat().st_mtime_ns
        except OSError:
            return 0

    def _since(self) -> dict[str, float]:
        """When each label reached the directory. A record that cannot be read says: everything, from the beginning."""
        try:
            found: Any = json.loads(self._record.read_text())
            since: Mapping[str, Any] = found["since"]
            return {str(label): float(at) for label, at in since.items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return {"untrusted": 1.0, "private": 1.0}


@contextlib.contextmanager
def _alone(directory: Path) -> Generator[None]:
    """Nobody else is in this block with the same directory."""
    fd = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _newest(workspace: Workspace) -> float:
    """When an entry was changed last: the time of its inode, which a guest cannot set back."""
    root, newest = workspace.open(), 0.0
    try:
        for _, directories, files, fd in os.fwalk(".", dir_fd=root):
            for name in (*directories, *files):
                with contextlib.suppress(FileNotFoundError):
                    newest = max(newest, os.stat(name, dir_fd=fd, follow_symlinks=False).st_ctime)
    finally:
        os.close(root)
    return newest
