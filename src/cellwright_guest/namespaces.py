"""The namespaces that a zygote makes once, for itself and its children: user, net, ipc, uts, and its own pid.

A layer that this machine refuses is left out and recorded with the refused call. Knows nothing of mounts.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import select
import socket
from collections.abc import Callable
from typing import NoReturn

from cellwright_guest import kernel

_CAP_NET_ADMIN, _CAP_SYS_CHROOT, _CAP_SYS_ADMIN = 12, 18, 21


class Layers:
    """Which layers are in force, and why the others are not: the refused call and the kernel's words."""

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
            self.missing[name] = reason(error)
            self.got.discard(name)
        else:
            self.got.add(name)

    def attempt_whole(self, name: str, rehearse: Callable[[], object], apply: Callable[[], object]) -> None:
        """For steps from which there is no way back half-way: a child rehearses them. Raises OSError where only the
        rehearsal passed."""
        if not self.wants(name):
            return
        refused = refusal_in_child(rehearse)
        if refused:
            self.missing[name] = refused
        else:
            apply()
            self.got.add(name)

    def settle(self, names: tuple[str, ...], missing: dict[str, str]) -> None:
        """Takes over what a rehearsal in another process found."""
        self.missing.update(missing)
        self.got = {name for name in (*self.got, *names) if self.wants(name)}


def reason(error: OSError) -> str:
    words = error.strerror or str(error)
    return f"{error.filename}: {words}" if error.filename else words


def refusal_in_child(step: Callable[[], object]) -> str:
    """Why a child of this process could not make the step; empty where it could."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            step()
        except OSError as error:
            os.write(writer, reason(error).encode())
        else:
            os._exit(0)
        finally:
            os._exit(1)
    os.close(writer)
    with open(reader, "rb") as answer:
        words = answer.read().decode()
    _, status = os.waitpid(child, 0)
    return words or (f"its rehearsal ended with status {status}" if status else "")


class ZygoteOwner:
    """Who started the zygote, seen before it changed anything. `guest_uid` is what guests are to become; -1: no other.

    Other namespaces need one of users first, unless the kernel gives them to this process as it is.
    """

    def __init__(self, guest_uid: int, *, network: bool = False) -> None:
        self.uid = 0 if 0 in os.getresuid() else os.getuid()  # whoever is root in part can be it wholly
        self.guest_uid = guest_uid if self.uid == 0 else -1
        with open("/proc/self/status") as status:
            effective = next(int(line.split()[1], 16) for line in status if line.startswith("CapEff:"))
        needed = (_CAP_SYS_ADMIN, _CAP_SYS_CHROOT, *((_CAP_NET_ADMIN,) if network else ()))
        self.privileged = all(effective >> capability & 1 for capability in needed)


def map_ids(uids: bytes, gids: bytes, proc_self: int) -> None:
    """By a process with the right to, outside. `proc_self` is an open /proc/self: a child has no /proc any more."""
    _write(proc_self, "gid_map", gids)
    _write(proc_self, "uid_map", uids)


def map_own_ids(inner: int, uid: int, gid: int, proc_self: int) -> None:
    """One id inside for one outside, by the process itself."""
    with contextlib.suppress(FileNotFoundError):  # a kernel without it maps groups without that word
        _write(proc_self, "setgroups", b"deny")
    map_ids(b"%d %d 1" % (inner, uid), b"%d %d 1" % (inner, gid), proc_self)


def _write(proc_self: int, name: str, text: bytes) -> None:
    fd = os.open(name, os.O_WRONLY, dir_fd=proc_self)
    try:
        with kernel.named(f"write({name})"):
            os.write(fd, text)
    finally:
        os.close(fd)


def _become_root_of_own(guest_uid: int) -> None:
    """A user namespace in which this process is root.

    Where it is root already, and guests get a uid of their own, both are mapped. Only a process outside the namespace,
    with its rights there, may map two.
    """
    uid, gid = os.getuid(), os.getgid()
    proc_self = os.open("/proc/self", os.O_PATH | os.O_DIRECTORY)
    try:
        if guest_uid < 0:
            kernel.unshare(kernel.CLONE_NEWUSER)
            map_own_ids(0, uid, gid, proc_self)
            return
        guest = b"\n%d %d 1" % (guest_uid, guest_uid)
        uids, gids = b"0 %d 1" % uid + guest, b"0 %d 1" % gid + guest
        entered, enter_now = os.pipe()
        mapper = os.fork()
        if mapper == 0:
            os.close(enter_now)
            _map_when(entered, lambda: map_ids(uids, gids, proc_self))
        os.close(entered)
        try:
            kernel.unshare(kernel.CLONE_NEWUSER)
            os.write(enter_now, b"x")
        finally:
            os.close(enter_now)
            _, status = os.waitpid(mapper, 0)
        if code := os.waitstatus_to_exitcode(status):
            raise OSError(code, f"write(uid_map): {os.strerror(code)} (root needs CAP_SETFCAP)")
    finally:
        os.close(proc_self)


def _map_when(entered: int, apply: Callable[[], object]) -> NoReturn:
    code = 1
    try:
        if os.read(entered, 1):
            apply()
            code = 0
    except OSError as error:
        code = error.errno or code
    finally:
        os._exit(code)


def enter(layers: Layers, owner: ZygoteOwner) -> None:
    """Moves into new namespaces but that of mounts. It may return in another process: the first of a pid namespace."""
    if not owner.privileged:
        become = functools.partial(_become_root_of_own, owner.guest_uid)
        layers.attempt_whole("user", become, become)
    layers.attempt("net", lambda: kernel.unshare(kernel.CLONE_NEWNET))
    layers.attempt("ipc", lambda: kernel.unshare(kernel.CLONE_NEWIPC))
    layers.attempt("uts", _leave_machine_name)
    layers.attempt_whole("pid", _rehearse_pid_namespaces, _continue_as_first_of_pid_namespace)


def _leave_machine_name() -> None:
    kernel.unshare(kernel.CLONE_NEWUTS)
    with kernel.named("sethostname"):  # the machine's own name is none of a guest's business
        socket.sethostname("guest")


def _rehearse_pid_namespaces() -> None:
    kernel.unshare(kernel.CLONE_NEWPID)
    refused = refusal_in_child(_rehearse_pid_namespace_of_child)
    if refused:
        raise OSError(errno.EPERM, refused)


def _rehearse_pid_namespace_of_child() -> None:
    """In the first process of the new one: what a zygote does for each child."""
    own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    kernel.pidfd_open(os.getpid())
    kernel.unshare(kernel.CLONE_NEWPID)
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    kernel.setns(own, kernel.CLONE_NEWPID)


def _continue_as_first_of_pid_namespace() -> None:
    # The kernel kills all that lives in a pid namespace with its first process, and reaps it all before that one ends.
    kernel.unshare(kernel.CLONE_NEWPID)
    waiting = ParentProcess(apart=True)
    inner = os.fork()
    if inner:
        os.closerange(0, 1024)
        _, status = os.waitpid(inner, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    waiting.die_with()


class ParentProcess:
    """This process, for its children. `apart`: they are in pid namespaces of their own, where getppid is 0."""

    def __init__(self, *, apart: bool) -> None:
        self._pid = os.getpid()
        self._pidfd = kernel.pidfd_open(self._pid) if apart else -1

    def die_with(self) -> None:
        """In a child: SIGKILL for it when the parent ends."""
        kernel.prctl(kernel.PR_SET_PDEATHSIG, 9)
        ended = select.select([self._pidfd], [], [], 0)[0] if self._pidfd >= 0 else os.getppid() != self._pid
        if ended:  # before the first line
            os._exit(1)
