"""The processes that hold leases: which one this is, and whether another is alive.

On Linux a process is known by the boot, its pid namespace, its number and when it began; elsewhere by its host's name
and its number. Nothing here waits or writes.
"""

from __future__ import annotations

import functools
import os
import platform
from pathlib import Path

from cellwright.errors import Fenced, SessionBusy
from cellwright.store.rows import Claim, LeaseHolder

_PROC = Path("/proc")
_DEAD = ("Z", "X", "x")  # states of a process that ended, and that its parent has not waited for


def this_process() -> LeaseHolder:
    """This process."""
    return _holder(os.getpid())


@functools.lru_cache(maxsize=4)
def _holder(process: int) -> LeaseHolder:  # by its number: a fork is another process
    name = platform.node()
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
        machine = f"{boot}/{os.readlink('/proc/self/ns/pid')}"
    except OSError:
        machine = f"host {name}"
    return LeaseHolder(machine=machine, process=process, started=_began(process)[1], name=name)


def is_alive(holder: LeaseHolder) -> bool:
    """Whether that process is alive, as far as can be known: one on another machine may be."""
    if holder.machine != this_process().machine:
        return True
    if not 0 < holder.process < 1 << 31:
        return False
    try:
        os.kill(holder.process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # it is alive, and another user's
    state, began = _began(holder.process)
    return state not in _DEAD and (not began or not holder.started or began == holder.started)


def _began(process: int) -> tuple[str, str]:
    """The state of a process, and when it began, in ticks since boot; empty where the system does not say."""
    try:
        text = (_PROC / str(process) / "stat").read_text(errors="replace")
    except OSError:
        return "", ""
    fields = text.rpartition(")")[2].split()  # its name stands in brackets, and may contain brackets
    return (fields[0], fields[19]) if len(fields) > 19 else ("", "")


def check_free(session: str, other: LeaseHolder | None, holder: LeaseHolder | None) -> None:
    """`SessionBusy` where `other`, whose lease has not run out, is another process than `holder` and is alive."""
    if other is not None and other != holder and is_alive(other):
        raise SessionBusy(busy(session, other))


def fenced(claim: Claim, *, gone: bool = False) -> Fenced:
    """The error for a process whose claim was taken."""
    what = "was forgotten" if gone else "was taken over by another process"
    return Fenced(f"session {claim.session!r} {what}; this one writes nothing more to it")


def busy(session: str, holder: LeaseHolder) -> str:
    """For people: which process has the session open, and what to do."""
    place = f" on {holder.name}" if holder.name and holder.name != platform.node() else ""
    by = f"process {holder.process}{place}"
    return f"session {session!r} is open in {by}; close it there, or take it over with take_over=True"
