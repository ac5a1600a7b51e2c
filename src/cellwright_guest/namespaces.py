"""The namespaces that a zygote makes once, for itself and its children: user, mount, net, ipc, uts, and its own pid.

A layer that this machine refuses is left out and recorded with the reason. Knows nothing of children or of mounts.
"""

from __future__ import annotations

import os
import select
import socket
from collections.abc import Callable

from cellwright_guest import kernel

_CAP_SYS_ADMIN = 21
_SHARED = {
    "mount": kernel.CLONE_NEWNS,
    "net": kernel.CLONE_NEWNET,
    "ipc": kernel.CLONE_NEWIPC,
    "uts": kernel.CLONE_NEWUTS,
}


class Layers:
    """Which layers are in force, and why the others are not."""

    def __init__(self, wanted: list[str]) -> None:
        self._wanted = wanted
        self.got: set[str] = set()
        self.missing: dict[str, str] = {}

    def wants(self, name: str) -> bool:
        return name in self._wanted and name not in self.missing

    def attempt(self, name: str, apply: Callable[[], object]) -> None:
        if not self.wants(name):
            return
        try:
            apply()
        except OSError as error:
            self.missing[name] = error.strerror or str(error)
            self.got.discard(name)
        else:
            self.got.add(name)

    def settle(self, names: tuple[str, ...], missing: dict[str, str]) -> None:
        """Takes over what a rehearsal in another process found."""
        self.missing.update(missing)
        self.got = {name for name in (*self.got, *names) if self.wants(name)}


class ZygoteOwner:
    """Who started the zygote, seen before it changed anything."""

    def __init__(self) -> None:
        self.uid = os.getuid()
        self.privileged = _may_make_namespaces()


def _may_make_namespaces() -> bool:
    with open("/proc/self/status") as status:
        effective = next(line.split()[1] for line in status if line.startswith("CapEff:"))
    return bool(int(effective, 16) >> _CAP_SYS_ADMIN & 1)


def map_ids(inner_uid: int, uid: int, gid: int, proc_self: int) -> None:
    """One id inside for one outside. `proc_self` is an open /proc/self: the child has no /proc any more."""
    for name, text in (
        ("setgroups", b"deny"),
        ("gid_map", b"%d %d 1" % (inner_uid, gid)),
        ("uid_map", b"%d %d 1" % (inner_uid, uid)),
    ):
        fd = os.open(name, os.O_WRONLY, dir_fd=proc_self)
        try:
            os.write(fd, text)
        finally:
            os.close(fd)


def _become_root_of_own() -> None:
    uid, gid = os.getuid(), os.getgid()
    kernel.unshare(kernel.CLONE_NEWUSER)
    proc_self = os.open("/proc/self", os.O_PATH | os.O_DIRECTORY)
    map_ids(0, uid, gid, proc_self)
    os.close(proc_self)


def enter(layers: Layers, origin: ZygoteOwner) -> None:
    """Moves into new namespaces. It returns in another process: the first of the new pid namespace."""
    if not origin.privileged:
        layers.attempt("user", _become_root_of_own)
    for name, flag in _SHARED.items():
        layers.attempt(name, lambda flag=flag: kernel.unshare(flag))
    if "uts" in layers.got:
        socket.sethostname("guest")  # the machine's own name is none of a guest's business
    if "mount" in layers.got:
        kernel.mount(b"none", b"/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    layers.attempt("pid", lambda: kernel.unshare(kernel.CLONE_NEWPID))
    if "pid" in layers.got:
        _continue_as_first_of_pid_namespace()


def _continue_as_first_of_pid_namespace() -> None:
    # The kernel kills all that lives in a pid namespace with its first process, and reaps it all before that one ends.
    waiting = os.pidfd_open(os.getpid())
    inner = os.fork()
    if inner:
        os.closerange(0, 1024)
        _, status = os.waitpid(inner, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    die_with(waiting)


def die_with(parent: int) -> None:
    """SIGKILL for this process when its parent ends. `parent` is a pidfd: getppid is 0 across a pid namespace."""
    kernel.prctl(kernel.PR_SET_PDEATHSIG, 9)
    if select.select([parent], [], [], 0)[0]:  # it ended before the line above
        os._exit(1)
