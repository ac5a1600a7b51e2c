"""Which layers this machine gives, each proven by a jailed child that tries what the layer forbids.

A layer can hide behind another (Landlock refuses an open before the mount namespace shows that nothing is there), so
three jails are tried: the whole one, one without seccomp and Landlock, and one whose files only Landlock guards.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cellwright.errors import PlatformError, SandboxDied
from cellwright.sandboxes import cgroup, zygotes
from cellwright.sandboxes.base import Limits
from cellwright.sandboxes.containers import TEMPORARY, USER_NAMESPACES, Container, detect_container, remedy
from cellwright.sandboxes.guest_uid import guest_uid
from cellwright.sandboxes.jail import INNER_UID, LAYERS, NAMESPACES, STANDARD, JailPlan
from cellwright.sandboxes.outer_limits import OuterLimits
from cellwright.sandboxes.packages import host_python
from cellwright.sandboxes.workspace import temporary_directory

_FIXES = dict.fromkeys(("user", "mount", "pid", "net", "ipc", "caps"), USER_NAMESPACES) | {
    "uts": "without it guests can read the machine's name, and no more is lost",
    "uid": "run the host as an ordinary user, or as root with the usual capabilities of a container",
    "rlimits": "raise the hard limits of the host: ulimit -H -a shows them",
    "no_new_privs": "needs Linux 3.5",
    "landlock": "needs Linux 5.13 with landlock among the boot parameter lsm=…",
    "seccomp": "needs a kernel with CONFIG_SECCOMP_FILTER, on x86_64 or aarch64",
    "cgroup": "run under a delegated group: systemd-run --user --scope -p Delegate=yes …; with version 1, run as root; "
    "a container has none",
}
_WHOLE: frozenset[str] = frozenset()
_UNDERNEATH = frozenset({"seccomp", "landlock"})
_LANDLOCK_ALONE = frozenset({"mount"})
# which jail shows which layer
_JAILS = {
    _WHOLE: ("user", "pid", "rlimits", "no_new_privs", "seccomp"),
    _UNDERNEATH: ("mount", "net", "ipc", "uts", "caps"),
    _LANDLOCK_ALONE: ("landlock",),
}
_ANSWER_S = 20.0


@dataclass(frozen=True, kw_only=True)
class LayerFinding:
    """One layer: whether it held, what was tried and seen, and what adds it where it did not.

    `refused` is the system call that the layer needs and this machine refuses. `tried` is False where no jail could be
    started that shows the layer: `seen` then says why, and nothing is known of the layer.
    """

    name: str
    ok: bool
    seen: str
    fix: str = ""
    refused: str = ""
    tried: bool = True


@dataclass(frozen=True, kw_only=True)
class LayerReport:
    """All layers, in the order of `LAYERS`. `dataclasses.asdict` of it is JSON.

    `container` is what the host runs in. `remedy` is the one line that adds what the standard minimum lacks here.
    """

    findings: tuple[LayerFinding, ...]
    container: Container | None = None
    remedy: str = ""

    @property
    def ok(self) -> bool:
        """Whether the standard minimum is there."""
        return STANDARD <= {finding.name for finding in self.findings if finding.ok}


@dataclass(kw_only=True)
class _Trials:
    """What jails have shown so far, by layer."""

    seen: dict[str, tuple[bool, str]] = field(default_factory=dict[str, tuple[bool, str]])
    refused: dict[str, str] = field(default_factory=dict[str, str])
    untried: dict[str, str] = field(default_factory=dict[str, str])


async def probe(python: Path | None = None, *, kubernetes: bool = False) -> LayerReport:
    """Starts three zygotes and a child of each; under a second. `kubernetes`: see `detect_container`."""
    python = python or host_python()
    trials = _Trials()
    for without, layers in _JAILS.items():
        await _try_jail(python, without, (*layers, "uid"), trials)
    trials.seen["cgroup"] = await asyncio.to_thread(_try_cgroup)
    container = detect_container(kubernetes=kubernetes)
    lacking = {name for name, (held, _) in trials.seen.items() if not held} | trials.refused.keys()
    if container is not None and container.gvisor:
        lacking |= trials.untried.keys()
    line = remedy(container, (STANDARD & lacking) | _without_temporary())
    findings = tuple(_finding(name, trials, line) for name in LAYERS)
    return LayerReport(findings=findings, container=container, remedy=line)


def _finding(name: str, trials: _Trials, line: str) -> LayerFinding:
    # what a zygote could not set up has not held, whatever a trial saw
    if name in trials.refused:
        refused = trials.refused[name]
        return LayerFinding(name=name, ok=False, seen=refused, refused=refused, fix=_fix(name, line))
    if name in trials.seen:
        held, seen = trials.seen[name]
        return LayerFinding(name=name, ok=held, seen=seen, fix="" if held else _fix(name, line))
    why = trials.untried[name]
    return LayerFinding(name=name, ok=False, seen=f"not tried: {why}", fix=why, tried=False)


def _without_temporary() -> frozenset[str]:
    try:
        temporary_directory()
    except PlatformError:
        return frozenset({TEMPORARY})
    return frozenset()


def _fix(name: str, line: str) -> str:
    return line if line and name in (NAMESPACES | {"uid", "caps"}) & STANDARD else _FIXES[name]


async def _try_jail(python: Path, without: frozenset[str], layers: tuple[str, ...], trials: _Trials) -> None:
    """One jail, which shows these layers. Where it fails, the other jails may still show what they show."""
    outer = OuterLimits()
    try:
        zygote = await zygotes.acquire(JailPlan(python=python, without=without, probing=True))
        try:
            trials.refused |= {name: why for name, why in zygote.missing.items() if name in layers}
            base = "/dev/shm" if _without_temporary() else None  # a root that is read-only is no reason to try nothing
            with tempfile.TemporaryDirectory(prefix="cellwright-probe-", dir=base) as directory:
                trials.seen |= await asyncio.wait_for(_ask(zygote, Path(directory), layers), _ANSWER_S)
        finally:
            await zygotes.release(zygote)
    except TimeoutError:
        why = f"a jailed process did not answer within {_ANSWER_S:g} s; try again when the machine is less busy"
    except (PlatformError, OSError) as error:
        why = outer.explained(str(error)) + outer.ended_by()
    else:
        return
    trials.untried |= dict.fromkeys(layers, why)


async def _ask(zygote: zygotes.Zygote, directory: Path, layers: tuple[str, ...]) -> dict[str, tuple[bool, str]]:
    workspace = _furnish(directory)
    listener = socket.create_server(("127.0.0.1", 0))
    shm_key = _make_shm()
    sought: dict[str, Any] = {
        "layers": [name for name in layers if name != "uid"],  # that is seen from outside
        "secret": str(directory / "secret"),
        "port": listener.getsockname()[1],
        "host_pid": zygote.pid,  # in a container the host may be process 1, and so may the guest in its namespace
        "shm_key": shm_key,
        "hostname": os.uname().nodename,
        "inner_uid": INNER_UID,
    }
    ours, theirs = socket.socketpair()
    printed, output = os.pipe()
    child = zygote.spawn(
        conn=theirs,
        output=output,
        workspace=workspace,
        limits=Limits(memory_mb=64),
        entry="cellwright_guest.probe",
        sought=sought,
    )
    try:
        reader, writer = await asyncio.open_connection(sock=ours)
        line = await reader.readline()
        if not line:
            words = child.refusal or await _last_words(child, printed)
            raise SandboxDied(f"a jailed process ended before it answered: {words}")
        answers = _read_answers(line)
        uid = _outer_uid(await child.pid())
        writer.close()
    finally:
        child.kill()
        await child.exited
        os.close(printed)
        listener.close()
        _remove_shm(shm_key)
    return answers | {"uid": (uid != 0, f"the child's uid is {uid} outside")}


def _read_answers(line: bytes) -> dict[str, tuple[bool, str]]:
    try:
        return {name: (held, seen) for name, (held, seen) in json.loads(line).items()}
    except (ValueError, TypeError, AttributeError):
        raise SandboxDied(f"a jailed process gave no answer but {line[:200]!r}") from None


async def _last_words(child: zygotes.Child, printed: int) -> str:
    """Why a jailed process ended, in its own words if it left any."""
    code = os.waitstatus_to_exitcode(await child.exited)
    os.set_blocking(printed, False)
    with contextlib.suppress(BlockingIOError):
        lines = os.read(printed, 1 << 16).decode(errors="replace").split("\n")
        if words := [line for line in lines if line.strip()]:
            return words[-1]
    return f"its exit code is {code}"


def _furnish(directory: Path) -> Path:
    directory.chmod(0o755)  # the guest's uid may pass: what stops it must be the layer
    (directory / "secret").write_text("of the host's")
    workspace = directory / "workspace"
    workspace.mkdir()
    if (uid := guest_uid()) is not None:
        os.chown(workspace, uid, uid)
    return workspace


def _outer_uid(pid: int) -> int:
    return Path(f"/proc/{pid}").stat().st_uid


def _make_shm() -> int:
    key = int.from_bytes(os.urandom(3)) | 1
    ctypes.CDLL(None).shmget(key, 4096, 0o1666)
    return key


def _remove_shm(key: int) -> None:
    libc = ctypes.CDLL(None)
    libc.shmctl(libc.shmget(key, 0, 0), 0, None)


def _try_cgroup() -> tuple[bool, str]:
    group = cgroup.create(Limits(memory_mb=64))
    if group is None:
        return False, "make a group with memory and pids: refused, or no such controllers here"
    member = subprocess.Popen([sys.executable, "-I", "-S", "-c", "input()"], stdin=subprocess.PIPE)
    try:
        group.add(member.pid)
        group.kill()
        status = member.wait(_ANSWER_S)
        return status == -signal.SIGKILL, f"put a process into {group.directories['memory']} and ended it there"
    except OSError as error:
        return False, f"put a process into {group.directories['memory']}: {error.strerror}"
    finally:
        member.kill()
        member.communicate()
        group.remove()
