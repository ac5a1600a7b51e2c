"""Why a guest or a cell ended, as an error that tells the agent what to do about it."""

from __future__ import annotations

import os
import signal
from typing import Any

from cellwright.errors import (
    CodeError,
    Crashed,
    FileSizeLimit,
    GuestError,
    LimitExceeded,
    MemoryLimit,
    OpenFilesLimit,
    ProcessLimit,
    WorkspaceLimit,
)
from cellwright.sandboxes.base import Limits
from cellwright.sandboxes.outer_limits import OuterLimits
from cellwright_guest.wire import type_of

GONE = "The names of earlier cells are gone; the next cell starts afresh."
# The first process of a pid namespace cannot end itself by a signal: libc's abort() goes on to a fault.
_ABORTS = (signal.SIGABRT, signal.SIGSEGV, signal.SIGILL, signal.SIGTRAP)
_OUT_OF_MEMORY = ("memory allocation of", "MemoryError", "bad_alloc", "Cannot allocate memory", "Out of memory")


def of_report(report: Any, limits: Limits, outer: OuterLimits | None = None) -> GuestError:
    """The error that a guest reported for its cell. Its fields are used as text only: the guest may lie."""
    fields: dict[str, Any] = report if type_of(report) is dict else {}
    message, text = (str(fields.get(k, ""))[:60_000] for k in ("message", "text"))
    kind = str(fields.get("type", ""))[:200]
    line = fields.get("line")
    code = CodeError(text or f"{kind}: {message}", type=kind, message=message, line=line if type(line) is int else None)
    limit_passed = _limit(fields.get("limit"), limits, outer)
    if limit_passed is None:
        return code
    error, words = limit_passed
    limit = error(f"{words}\n{code}")
    limit.__cause__ = code
    return limit


def _limit(name: Any, limits: Limits, outer: OuterLimits | None) -> tuple[type[LimitExceeded], str] | None:
    match name:
        case "memory":
            return MemoryLimit, f"the cell needed more than memory_mb={limits.memory_mb}; use less at a time"
        case "open_files":
            return OpenFilesLimit, f"more than open_files={limits.open_files} were open at once; close some"
        case "file":
            return FileSizeLimit, f"a file grew beyond file_mb={limits.file_mb}; write smaller files"
        case "space":
            return WorkspaceLimit, "no space is left where the cell wrote (/tmp holds 64 MB); delete what is not needed"
        case "threads":
            most = f"threads={limits.threads} or processes={limits.processes}"
            return ProcessLimit, f"more than {most} at once{outer.refused_by() if outer else ''}; run fewer"
        case _:
            return None


def of_status(status: int, printed: str, limits: Limits, outer: OuterLimits) -> GuestError:
    """The error for a guest process that the host did not end."""
    last = printed[-4000:]
    if any(words in last for words in _OUT_OF_MEMORY) and (os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 1):
        return MemoryLimit(f"the cell needed more than memory_mb={limits.memory_mb}; use less at a time. {GONE}")
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number in _ABORTS and "Fatal Python error: Aborted" in last:
            number = signal.SIGABRT
        name = signal.Signals(number).name if number in signal.valid_signals() else f"signal {number}"
        hint = " (a stack overflow or a fault in C code)" if number == signal.SIGSEGV else ""
        hint = " (a system call that the sandbox does not have)" if number == signal.SIGSYS else hint
        hint = outer.ended_by() if number == signal.SIGKILL else hint
        return Crashed(f"the guest process was ended by {name}{hint}. {GONE}")
    return Crashed(f"the guest process ended itself with exit code {os.waitstatus_to_exitcode(status)}. {GONE}")
