"""`AuditTrail`: what a process's sessions did, one line of JSON each, each with the hash of the line before it.

A process has one file of its own in a directory, its chain. Lines are only ever added. The trail knows no calls:
`Audited` says what a line tells. It cannot keep whoever owns the directory from rewriting a file: see `verify_audit`.
"""

from __future__ import annotations

import atexit
import os
import platform
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from cellwright.errors import PlatformError
from cellwright.guard.audit_file import SUFFIX, AuditHead, sealed

Fields = Mapping[str, Any]


class AuditTrail:
    """The audit of this process in a directory, for any number of `Runtime`s and threads.

    After `os.fork` a child has a chain of its own. Nothing waits for the disk unless `fsync` is said, and then
    whoever wrote waits for it, by `sync`.

    >>> trail = AuditTrail("/var/log/agents")
    >>> async with Runtime(scope=scope, audit=trail) as rt: ...
    """

    def __init__(self, directory: str | Path, *, fsync: bool = False) -> None:
        self.directory = Path(directory).absolute()
        self.fsync = fsync
        self._chains: dict[int, _Chain] = {}  # by process
        self._closed = False

    @classmethod
    def of(cls, place: str | Path | AuditTrail) -> AuditTrail:
        """The trail of a directory: one for the process, which ends when that does."""
        if isinstance(place, AuditTrail):
            return place
        key = os.path.realpath(place)
        known = _OPEN.get(key)
        if known is not None and not known._closed:
            return known
        if known is None:
            known = _OPEN.setdefault(key, cls(place))
        else:
            known = _OPEN[key] = cls(place)
        atexit.register(known.close)
        return known

    def write(self, event: str, fields: Fields, more: str = "") -> int:
        """Add a line; gives its number. `more` are further fields, by `as_json`. `PlatformError` where it cannot be
        written.
        """
        if self._closed:
            raise PlatformError(f"the audit in {self.directory} is closed")
        pid = os.getpid()
        chain = self._chains.get(pid) or self._chains.setdefault(pid, _Chain())
        with chain.lock:
            try:
                if chain.file < 0:
                    chain.begin(self.directory)
                return chain.add(event, fields, more)
            except OSError as error:
                chain.fail(error)
                raise _unwritable(self.directory, error) from None

    def session(self, session: str, *, user: str = "", start: str = "new", imported: bool = False) -> int:
        """A session was opened here: `start` is "new", "resumed" or "forked", `imported` that it came in a file."""
        origin = "imported" if imported else "own"
        return self.write("session", {"session": session, "user": user, "start": start, "origin": origin})

    def sync(self) -> None:
        """Wait until what was written is on the disk."""
        chain = self._chains.get(os.getpid())
        if chain is not None and chain.file >= 0:
            try:
                os.fsync(chain.file)
            except OSError as error:
                raise _unwritable(self.directory, error) from None

    @property
    def head(self) -> tuple[str, AuditHead] | None:
        """This process's chain and its last line; None before the first. Keep it where nobody here can write."""
        chain = self._chains.get(os.getpid())
        return None if chain is None or not chain.n else (chain.id, AuditHead(chain.n, chain.hash))

    def close(self) -> None:
        """Write the last line. What is written later is refused."""
        chain, self._closed = self._chains.get(os.getpid()), True
        if chain is not None:
            with chain.lock:
                if chain.file >= 0:
                    with suppress(OSError):
                        chain.add("end", {})
                    chain.end()


_OPEN: dict[str, AuditTrail] = {}  # by directory


class _Chain:
    """One file. After a write that failed, which may have left half a line, the next line begins another file."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.id = ""
        self.file = -1
        self.n = 0
        self.hash = ""
        self._follows: dict[str, Any] = {}
        self._lost = 0

    def begin(self, directory: Path) -> None:
        if not directory.is_dir():
            directory.mkdir(mode=0o700, parents=True)
        pid, chance = os.getpid(), os.urandom(8).hex()
        name = f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{pid}-{chance[:8]}{SUFFIX}"
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL
        self.file = os.open(directory / name, flags, 0o600)
        self.id, self.n, self.hash = chance, 0, ""
        who = {"machine": platform.node(), "process": pid, "uid": os.getuid()}
        what = {"cellwright": version("cellwright"), "python": platform.python_version(), "program": sys.argv[0]}
        try:
            self.add("begin", {"chain": chance, "form": 1, **who, **what, **self._follows})
        except OSError:
            (directory / name).unlink(missing_ok=True)  # else each call that is refused would leave a file
            raise
        self._follows, self._lost = {}, 0

    def add(self, event: str, fields: Fields, more: str = "") -> int:
        at = datetime.now(UTC).isoformat(timespec="microseconds")
        line, hash = sealed({"n": self.n + 1, "at": at, "event": event, **fields, "prev": self.hash}, more)
        if self.n and not os.fstat(self.file).st_nlink:
            raise FileNotFoundError(2, "its file was removed")
        if os.write(self.file, line) != len(line):
            raise OSError(28, "the line was written in part")
        self.n, self.hash = self.n + 1, hash
        return self.n

    def fail(self, error: OSError) -> None:
        """The chain is over; the next one says which it follows, and how many lines were lost between them."""
        self._lost += 1
        if self.n:
            self._follows = {"follows": {"chain": self.id, "n": self.n, "hash": self.hash}}
        self._follows |= {"lost": self._lost, "why": error.strerror or str(error)}
        self.end()

    def end(self) -> None:
        file, self.file, self.n = self.file, -1, 0
        if file >= 0:
            with suppress(OSError):
                os.close(file)


def _unwritable(directory: Path, error: OSError) -> PlatformError:
    return PlatformError(f"the audit in {directory} cannot be written: {error.strerror or error}")
