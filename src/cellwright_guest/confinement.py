"""What a child does to itself between the fork and the first guest byte: nine steps, each a named layer.

The zygote rehearses the steps once in a child that runs nothing, so that a layer which this machine refuses is known
before the first guest; for guests every step that passed the rehearsal must pass again. Knows no policy: paths, limits
and the assembled seccomp program come from the plan.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import errno
import fcntl
import os
import resource
import socket
import struct
from collections.abc import Callable
from typing import Any

from cellwright_guest import guest_listener, kernel, mounts, namespaces, workspace_name

STEPS = ("network", "mount", "uid", "user", "rlimits", "caps", "no_new_privs", "landlock", "seccomp")

_CLOSED = "closed"
_OUT_OF_THE_WAY = 32  # of the numbers that a guest's own descriptors get
_MB = 1 << 20
_ADDRESSES = 16 << 30  # beyond those of the warm interpreter: each 2 MB that is only read costs a page of page tables
_NO_SETUID_FIXUP_NOROOT_LOCKED = 0b1110_1111  # every secure bit but KEEP_CAPS itself, which is locked off
_PR_CAP_AMBIENT_CLEAR_ALL = 4
_RLIMITS = {getattr(resource, name): name for name in dir(resource) if name.startswith("RLIMIT_")}

# Landlock's file rights, by the version that brought them: 13 bits in the first, then refer, truncate, device ioctl.
_RIGHTS_OF_ABI = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _TRUNCATE = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_DEVICE = _READ_FILE | _READ_DIR | _WRITE_FILE | _TRUNCATE
_MAKE_SPECIAL = 1 << 6 | 1 << 9 | 1 << 10 | 1 << 11 | 1 << 15  # char, sock, fifo, block; device ioctl


class Confinement:
    """The plan's part for children, in the form that a child applies without further work."""

    def __init__(
        self, plan: dict[str, Any], layers: namespaces.Layers, owner: namespaces.ZygoteOwner, proc: str
    ) -> None:
        self._layers = layers
        self._owner = owner
        self._inner_uid: int = plan["inner_uid"]
        self._tmp: bytes = plan["tmp"].encode()
        self._filters = {name: kernel.Filter(base64.b64decode(text)) for name, text in plan["seccomp"].items()}
        self._proc = os.path.join(proc, "self")
        self._proc_self = -1
        self._own_mounts = self.open_mounts()
        self._zygote = namespaces.ParentProcess(apart="pid" in layers.got)
        self._baseline = 0
        self._mapped = 0
        self._paths: dict[str, dict[str, list[str]]] = plan["landlock"]
        self._landlock = _landlock_attributes(kernel.landlock_abi())
        self._handled: int = struct.unpack_from("Q", self._landlock)[0] if self._landlock else 0
        self._ruleset = -1
        self._readable: list[tuple[str, int]] = []
        self._held: list[int] = []  # without the mount layer: the directories that the guest works in
        self._count_nproc: bool = plan["count_nproc"]
        self._network: dict[str, Any] = plan["network"]
        self._listener: socket.socket | None = None

    def measure(self) -> None:
        """Takes the address space and the private writable memory of now as what a child has before it begins."""
        with open(os.path.join(self._proc, "statm")) as statm:
            fields = [int(pages) * resource.getpagesize() for pages in statm.read().split()]
        self._mapped, self._baseline = fields[0], fields[5]

    def steps(
        self, workspace: str, limits: dict[str, int], scratch: str = "", line: int = -1, certificate: str = ""
    ) -> list[tuple[str, Callable[[], object]]]:
        return [
            ("network", lambda: self._hand_over(line)),
            ("mount", lambda: self._move_in(workspace, scratch, certificate)),
            ("uid", self._become),
            ("user", self._nest),
            ("rlimits", lambda: self._limit(limits)),
            ("caps", _drop_capabilities),
            ("no_new_privs", lambda: kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)),
            ("landlock", lambda: self._restrict_paths(workspace)),
            ("seccomp", lambda: self._filter(limits).install()),
        ]

    def _filter(self, limits: dict[str, int]) -> kernel.Filter:
        kind = "programs" if limits["processes"] else "threads" if "mount" in self._layers.got else "bare"
        return self._filters[kind]

    def rehearse(self, limits: dict[str, int], modules: dict[str, str]) -> str:
        """Runs the steps in a child that then ends; what failed there is left out from then on.

        `modules` are the directories that guests import from, each with its name outside. Gives the one that a guest
        may not read, if any.
        """
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                self._try_out(writer, limits, modules)
            finally:
                os._exit(1)
        os.close(writer)
        with open(reader, "rb") as answer:
            told = dict(line.split("\t", 1) for line in answer.read().decode().splitlines())
        _, status = os.waitpid(child, 0)
        if status:
            raise OSError(errno.ECHILD, f"the rehearsal of the jail ended with status {status}")
        closed = told.pop(_CLOSED, "")
        if "mount" in told and "mount" in self._layers.got:
            raise OSError(errno.EPERM, told["mount"])  # the zygote lives in that root already
        self._layers.settle(STEPS, told)
        return closed

    def _try_out(self, writer: int, limits: dict[str, int], modules: dict[str, str]) -> None:
        self._hold_on()
        self._layers.attempt("network", self._listen)
        self._layers.attempt("mount", lambda: mounts.begin(self._tmp))
        self._layers.attempt("landlock", self._open_ruleset)
        for name, step in self.steps("/dev", limits):
            self._layers.attempt(name, step)
        told = self._layers.missing.copy()
        told |= [(_CLOSED, outside) for place, outside in modules.items() if not _may_read(place)]
        os.write(writer, "\n".join(f"{name}\t{why}" for name, why in told.items()).encode())
        os._exit(0)

    def ahead(self) -> None:
        """What the zygote does for its next child just before the fork: in its memory, the child's is not touched.

        The zygote goes along into the child's mount namespace; `back` takes it home.
        """
        if "mount" in self._layers.got:
            mounts.begin(self._tmp)
        if "landlock" in self._layers.got:
            self._open_ruleset()

    def back(self) -> None:
        if self._ruleset >= 0:
            os.close(self._ruleset)
            self._ruleset = -1
        if "mount" in self._layers.got:
            try:
                kernel.setns(self._own_mounts, kernel.CLONE_NEWNS)
            except OSError:
                os._exit(1)  # astray in a child's namespace it must not go on; the host starts another

    def open_mounts(self) -> int:
        """The mount namespace; between `ahead` and `back` that of the next child, for `reveal`. -1: there is none."""
        if "mount" not in self._layers.got:
            return -1
        return os.open(os.path.join(self._proc, "ns", "mnt"), os.O_RDONLY | os.O_CLOEXEC)

    def reveal(self, child: int) -> None:
        """Takes the scratch away from a child, whose mount namespace `child` is. Raises OSError."""
        kernel.setns(child, kernel.CLONE_NEWNS)
        try:
            mounts.uncover()
        finally:
            self.back()

    def begin(self) -> None:
        """In the child, before its request."""
        self._hold_on()
        if "network" in self._layers.got:
            with contextlib.suppress(OSError):  # tried again, and told, when there is a request
                self._listen()

    def _hold_on(self) -> None:
        self._zygote.die_with()
        self._proc_self = os.open(self._proc, os.O_PATH | os.O_DIRECTORY)

    def apply(
        self, workspace: str, limits: dict[str, int], scratch: str = "", line: int = -1, certificate: str = ""
    ) -> None:
        """All layers that are in force, in order. Descriptors above 3 are closed. Raises OSError.

        `line` leads to who takes the listener of a guest with a network.
        """
        steps = self.steps(workspace, limits, scratch, line, certificate)
        got = self._layers.got
        self._hold_bare(workspace, scratch)
        for name, step in steps[:-1]:
            if name in got:
                step()
        if "rlimits" not in got:
            with contextlib.suppress(OSError):
                self._limit(limits)  # those that this kernel takes
        kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
        self._zygote.die_with()  # last, since a change of uid takes it back
        for number, fd in enumerate(self._held, workspace_name.SEEN_FD):
            os.dup2(fd, number, inheritable=False)
        kernel.close_from(workspace_name.SEEN_FD + len(self._held))
        if self._held:
            os.chdir(workspace_name.BARE)
        if "seccomp" in got:
            steps[-1][1]()

    def _hold_bare(self, workspace: str, scratch: str = "") -> None:
        """Without the mount layer: open the directories while their parents are open to this uid."""
        if "mount" not in self._layers.got:
            for path in (scratch or workspace, workspace):  # always two: the numbers of later ones are recorded
                fd = os.open(path, os.O_PATH | os.O_DIRECTORY)
                self._held.append(fcntl.fcntl(fd, fcntl.F_DUPFD, _OUT_OF_THE_WAY))
                os.close(fd)

    def _listen(self) -> None:
        self._listener = guest_listener.listening(self._network["port"], os.path.dirname(self._proc))

    def _hand_over(self, line: int) -> None:
        if self._listener is None:
            self._listen()
        listener, self._listener = self._listener, None
        if listener is not None and line >= 0:
            guest_listener.hand_over(listener, line)

    def _move_in(self, workspace: str, scratch: str, certificate: str) -> None:
        mounts.place(workspace)
        if self._network:
            mounts.publish(self._network["certificate"], certificate)
        if scratch:
            if self._ruleset >= 0:
                self._allow("/workspace", ~_MAKE_SPECIAL)  # now: from here on the name leads to what covers it
            mounts.place(scratch)
        mounts.enter()

    def _become(self) -> None:
        if self._owner.uid != 0:
            return  # the host's own user, who is not root
        uid = self._owner.guest_uid
        if uid < 0:
            raise OSError(
                errno.EPERM,
                "the host is root without the capabilities that give guests another uid; run it as another user",
            )
        kernel.drop_bounding_set()  # without a user namespace of its own a guest has no right to later
        with kernel.named("setgroups"):
            os.setgroups([])
        with kernel.named("setresgid"):
            os.setresgid(uid, uid, uid)
        with kernel.named("setresuid"):
            os.setresuid(uid, uid, uid)

    def _nest(self) -> None:
        uid, gid = os.getuid(), os.getgid()
        kernel.prctl(kernel.PR_SET_DUMPABLE, 1)  # else the change of uid leaves /proc/self to root
        kernel.unshare(kernel.CLONE_NEWUSER)
        namespaces.map_own_ids(self._inner_uid, uid, gid, self._proc_self)

    def _limit(self, limits: dict[str, int]) -> None:
        # Without its own user namespace (and before Linux 5.14) a guest would be counted with all others of its uid.
        counted = self._count_nproc and "user" in self._layers.got
        tasks = 1 + limits["processes"] + limits["threads"]
        refused: OSError | None = None
        for kind, value in (
            (resource.RLIMIT_DATA, self._baseline + limits["memory_mb"] * _MB),
            (resource.RLIMIT_AS, self._mapped + limits["memory_mb"] * _MB + _ADDRESSES),
            (resource.RLIMIT_FSIZE, limits["file_mb"] * _MB),
            (resource.RLIMIT_NOFILE, limits["open_files"]),
            (resource.RLIMIT_NPROC, tasks if counted else -1),
            (resource.RLIMIT_STACK, 8 * _MB),
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_MEMLOCK, 64 << 10),
            (resource.RLIMIT_MSGQUEUE, 0),
            (resource.RLIMIT_SIGPENDING, 256),
        ):
            try:
                _, hard = resource.getrlimit(kind)
                least = value if hard == -1 else hard if value == -1 else min(value, hard)
                resource.setrlimit(kind, (least, least))
            except (OSError, ValueError) as error:  # ValueError is how `resource` tells of what the kernel refuses
                refused = OSError(errno.EPERM, f"setrlimit({_RLIMITS[kind]}): {error}")
        if refused is not None:  # the others hold
            raise refused

    def _open_ruleset(self) -> None:
        """Landlock's rules but for the workspace."""
        if self._landlock is None:
            raise OSError(errno.ENOSYS, "this kernel has no Landlock, or booted without it")
        rooted = "mount" in self._layers.got
        if not rooted and not self._handled & _TRUNCATE:
            raise OSError(errno.ENOSYS, "the Landlock of this kernel does not refuse truncate: needs Linux 6.2")
        self._ruleset = kernel.landlock_create(self._landlock)
        paths = self._paths["rooted" if rooted else "bare"]
        if not self._readable:
            self._readable = _spelled_out(paths["read"], paths["hidden"])
        for path, access in self._readable:
            self._allow(path, access)
        for path in paths["device"]:
            self._allow(path, _DEVICE)
        if rooted:
            self._allow("/tmp", ~_MAKE_SPECIAL)
        if self._network and len(self._landlock) > 8:
            kernel.landlock_allow_connecting(self._ruleset, self._network["port"])

    def _allow(self, path: str, access: int) -> None:
        kernel.landlock_allow(self._ruleset, os.fsencode(path), access & self._handled)

    def _restrict_paths(self, workspace: str) -> None:
        if not self._held:
            self._hold_bare(workspace)
        for path in [f"/proc/self/fd/{fd}" for fd in self._held] or ["/workspace"]:
            self._allow(path, ~_MAKE_SPECIAL)
        kernel.landlock_restrict(self._ruleset)


def _spelled_out(shown: list[str], hidden: list[str]) -> list[tuple[str, int]]:
    """What may be read: each path with its rights.

    A rule of Landlock holds for all that is below. So of a directory with something hidden below it only the names may
    be read, and what is in it is spelled out.
    """
    rules: list[tuple[str, int]] = []
    pending = list(shown)
    while pending:
        path = pending.pop()
        if not any(place == path or place.startswith(f"{path}/") for place in hidden):
            rules.append((path, _READ))
        elif path not in hidden:
            rules.append((path, _READ_DIR))
            with os.scandir(path) as below:  # a rule for a link would be one for what it leads to
                pending += [entry.path for entry in below if not entry.is_symlink()]
    return rules


def _landlock_attributes(abi: int) -> ctypes.Array[ctypes.c_char] | None:
    """All that this version can refuse: file rights; TCP ports from 4 on; signals and abstract sockets from 6 on."""
    if abi < 1:
        return None
    files = (1 << _RIGHTS_OF_ABI.get(abi, 16)) - 1
    raw = struct.pack("QQQ", files, 0b11 if abi >= 4 else 0, 0b11 if abi >= 6 else 0)
    size = 24 if abi >= 6 else 16 if abi >= 4 else 8
    return ctypes.create_string_buffer(raw[:size], size)


def _may_read(directory: str) -> bool:
    try:
        os.listdir(directory)
    except PermissionError:
        return False
    except OSError:  # not there, or a file
        return True
    return True


def _drop_capabilities() -> None:
    kernel.drop_bounding_set()
    with contextlib.suppress(OSError):  # a kernel without the ambient set; emptying the others empties it too
        kernel.prctl(kernel.PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
    with contextlib.suppress(OSError):  # only where this process came with the right to: in its own user namespace
        kernel.prctl(kernel.PR_SET_SECUREBITS, _NO_SETUID_FIXUP_NOROOT_LOCKED)
    kernel.drop_capabilities()
