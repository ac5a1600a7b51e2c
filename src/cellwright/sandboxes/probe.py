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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cellwright.errors import PlatformError, SandboxDied
from cellwright.sandboxes import cgroup, zygotes
from cellwright.sandboxes.base import Limits
from cellwright.sandboxes.guest_uid import guest_uid
from cellwright.sandboxes.jail import INNER_UID, LAYERS, STANDARD, JailPlan
from cellwright.sandboxes.packages import host_python

_USERNS = (
    "allow user namespaces: sysctl -w user.max_user_namespaces=10000; on Debian kernel.unprivileged_userns_clone=1, "
    "on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0; a container needs --security-opt seccomp=unconfined"
)
_FIXES = dict.fromkeys(("user", "mount", "pid", "net", "ipc", "uts", "uid", "caps"), _USERNS) | {
    "uid": "run the host as an ordinary user, or as root with CAP_SETUID and CAP_SYS_ADMIN",
    "rlimits": "raise the hard limits of the host: ulimit -H -a shows them",
    "no_new_privs": "needs Linux 3.5",
    "landlock": "needs Linux 5.13 with landlock among the boot parameter lsm=…",
    "seccomp": "needs a kernel with CONFIG_SECCOMP_FILTER, on x86_64 or aarch64",
    "cgroup": "run under a delegated group: systemd-run --user --scope -p Delegate=yes …; with version 1, run as root",
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

    `tried` is False where no jail could be started: `fix` then says why, and nothing is known of the layer.
    """

    name: str
    ok: bool
    seen: str
    fix: str = ""
    tried: bool = True


@dataclass(frozen=True, kw_only=True)
class LayerReport:
    """All layers, in the order of `LAYERS`. `dataclasses.asdict` of it is JSON."""

    findings: tuple[LayerFinding, ...]

    @property
    def ok(self) -> bool:
        """Whether the standard minimum is there."""
        return STANDARD <= {finding.name for finding in self.findings if finding.ok}


async def probe(python: Path | None = None) -> LayerReport:
    """Starts three zygotes and a child of each; under a second."""
    python = python or host_python()
    findings: dict[str, LayerFinding] = {}
    for without, layers in _JAILS.items():
        try:
            seen = await _try_jail(python, without, layers)
        except (PlatformError, OSError) as error:
            why = _cause(error)
            findings |= {name: _untried(name, why) for name in (*layers, "uid") if name not in findings}
        else:
            findings |= {name: _finding(name, *seen[name]) for name in seen}
    findings["cgroup"] = _finding("cgroup", *await asyncio.to_thread(_try_cgroup))
    return LayerReport(findings=tuple(findings[name] for name in LAYERS))


def _cause(error: PlatformError | OSError) -> str:
    if isinstance(error, TimeoutError):
        return f"a jailed process did not answer within {_ANSWER_S:g} s; try again when the machine is less busy"
    return str(error)


def _untried(name: str, why: str) -> LayerFinding:
    return LayerFinding(name=name, ok=False, seen="not tried: no jail could be started", fix=why, tried=False)


def _finding(name: str, ok: bool, seen: str) -> LayerFinding:
    return LayerFinding(name=name, ok=ok, seen=seen, fix="" if ok else _FIXES[name])


async def _try_jail(python: Path, without: frozenset[str], layers: tuple[str, ...]) -> dict[str, tuple[bool, str]]:
    zygote = await zygotes.acquire(JailPlan(python=python, without=without, probing=True))
    try:
        with tempfile.TemporaryDirectory(prefix="cellwright-probe-") as directory:
            answers = await asyncio.wait_for(_ask(zygote, Path(directory), layers), _ANSWER_S)
    finally:
        await zygotes.release(zygote)
    # what a zygote could not set up has not held, whatever the trial saw
    return answers | {name: (False, why) for name, why in zygote.missing.items() if name in (*layers, "uid")}


async def _ask(zygote: zygotes.Zygote, directory: Path, layers: tuple[str, ...]) -> dict[str, tuple[bool, str]]:
    workspace = _furnish(directory)
    listener = socket.create_server(("127.0.0.1", 0))
    shm_key = _make_shm()
    sought: dict[str, Any] = {
        "layers": layers,
        "secret": str(directory / "secret"),
        "port": listener.getsockname()[1],
        "host_pid": os.getpid(),
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
            raise SandboxDied(f"a jailed process ended before it answered: {await _last_words(child, printed)}")
        answers = json.loads(line)
        uid = _outer_uid(await child.pid())
        writer.close()
    finally:
        child.kill()
        await child.exited
        os.close(printed)
        listener.close()
        _remove_shm(shm_key)
    return {name: (held, seen) for name, (held, seen) in answers.items()} | {
        "uid": (uid != 0, f"the child's uid is {uid} outside")
    }


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
