"""The system calls that Python's standard library lacks. Each raises an OSError whose text begins with the call's name.

It knows no policy: who calls what, and in which order, stands in `namespaces`, `mounts` and `confinement`. Numbers are
used only for calls that are the same on every architecture; the rest goes by libc's own name.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import stat
import struct
from collections.abc import Callable, Generator
from ctypes import c_char_p, c_int, c_long, c_ulong
from typing import Any

CLONE_NEWNS = 0x0002_0000
CLONE_NEWUTS = 0x0400_0000
CLONE_NEWIPC = 0x0800_0000
CLONE_NEWUSER = 0x1000_0000
CLONE_NEWPID = 0x2000_0000
CLONE_NEWNET = 0x4000_0000
_CLONES = {value: name for name, value in list(globals().items()) if name.startswith("CLONE_")}

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 32, 4096, 16384, 1 << 18
MNT_DETACH, UMOUNT_NOFOLLOW = 2, 8

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_CAPBSET_DROP = 1, 4, 22, 24
PR_SET_SECUREBITS, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 28, 38, 47
_PRCTLS = {value: name for name, value in list(globals().items()) if name.startswith("PR_")}

_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT, _CLOSE_RANGE, _MOUNT_SETATTR = 444, 445, 446, 436, 442
_PIDFD_OPEN = 434
_LANDLOCK_OF_FILES = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15  # execute, write, read; truncate; device ioctl
_CONNECT_TCP = 1 << 1
_AT_RECURSIVE = 0x8000
_CAPABILITY_VERSION_3 = 0x2008_0522

_libc = ctypes.CDLL(None, use_errno=True)
_Function = Callable[..., int]


def _bind(name: str, *argtypes: Any) -> _Function:
    function = getattr(_libc, name)
    function.argtypes = argtypes
    return function


_unshare = _bind("unshare", c_int)
_setns = _bind("setns", c_int, c_int)
_mount = _bind("mount", c_char_p, c_char_p, c_char_p, c_ulong, c_char_p)
_umount2 = _bind("umount2", c_char_p, c_int)
_pivot_root = _bind("pivot_root", c_char_p, c_char_p)
_prctl = _bind("prctl", c_int, c_ulong, c_ulong, c_ulong, c_ulong)
_capset = _bind("capset", c_char_p, c_char_p)
_syscall5 = ctypes.CDLL(None, use_errno=True).syscall
_syscall5.argtypes = (c_long, c_long, c_long, c_long, c_long, c_long)
_syscall5.restype = c_long
_most_files = min(resource.getrlimit(resource.RLIMIT_NOFILE)[0] % (1 << 64), 1 << 20)  # a child inherits no more
_set_default_attr: _Function | None = getattr(_libc, "pthread_setattr_default_np", None)


def _checked(name: str, result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")
    return result


@contextlib.contextmanager
def named(call: str) -> Generator[None]:
    """Of a call that Python has: its error gets the call's name too."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, f"{call}: {error.strerror}") from None


def unshare(flag: int) -> None:
    _checked(f"unshare({_CLONES[flag]})", _unshare(flag))


def setns(fd: int, kind: int) -> None:
    _checked(f"setns({_CLONES[kind]})", _setns(fd, kind))


def mount(source: bytes, target: bytes, kind: bytes | None, flags: int, options: bytes | None = None) -> None:
    if _mount(source, target, kind, flags, options) < 0:
        _checked(f"mount({source.decode()}, {target.decode()})", -1)


def pidfd_open(pid: int) -> int:
    """Not inherited by programs."""
    return _checked("pidfd_open", _syscall5(_PIDFD_OPEN, pid, 0, 0, 0, 0))


def umount(target: bytes, flags: int) -> None:
    _checked("umount2", _umount2(target, flags))


def pivot_root(new: bytes, old: bytes) -> None:
    _checked("pivot_root", _pivot_root(new, old))


def mount_setattr_recursive(target: bytes, attributes: int) -> None:
    """Adds attributes to every mount below `target` (Linux 5.12)."""
    attr = ctypes.create_string_buffer(struct.pack("QQQQ", attributes, 0, 0, 0), 32)
    path = ctypes.create_string_buffer(target)
    at_cwd = -100
    address = ctypes.addressof
    done = _syscall5(_MOUNT_SETATTR, at_cwd, address(path), _AT_RECURSIVE, address(attr), 32)
    _checked("mount_setattr", done)


def prctl(option: int, value: int = 0, third: int = 0) -> int:
    return _checked(f"prctl({_PRCTLS[option]})", _prctl(option, value, third, 0, 0))


def drop_bounding_set() -> None:
    """Drop every capability that this kernel knows; a no-op without the right to."""
    for capability in range(64):
        if _prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0:
            return


def drop_capabilities() -> None:
    """Empties the inheritable, permitted and effective sets of this thread."""
    _checked("capset", _capset(struct.pack("=Ii", _CAPABILITY_VERSION_3, 0), bytes(24)))


def close_from(first: int) -> None:
    if _syscall5(_CLOSE_RANGE, first, 0xFFFF_FFFF, 0, 0, 0) < 0:  # before Linux 5.9, or refused
        os.closerange(first, _most_files)


def landlock_abi() -> int:
    """The version this kernel speaks; 0 where Landlock is absent or off."""
    return max(0, _syscall5(_LANDLOCK_CREATE, 0, 0, 1, 0, 0))


def landlock_create(attributes: ctypes.Array[ctypes.c_char]) -> int:
    made = _syscall5(_LANDLOCK_CREATE, ctypes.addressof(attributes), len(attributes), 0, 0, 0)
    return _checked("landlock_create_ruleset", made)


def landlock_allow(ruleset: int, path: bytes, access: int) -> None:
    """Grants `access` on `path` and on all below it; of a file, what a file can have."""
    fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            access &= _LANDLOCK_OF_FILES
        rule = ctypes.create_string_buffer(struct.pack("=Qi", access, fd), 12)
        _checked("landlock_add_rule", _syscall5(_LANDLOCK_ADD, ruleset, 1, ctypes.addressof(rule), 0, 0))
    finally:
        os.close(fd)


def landlock_allow_connecting(ruleset: int, port: int) -> None:
    """To this TCP port, of any address."""
    rule = ctypes.create_string_buffer(struct.pack("=QQ", _CONNECT_TCP, port), 16)
    _checked("landlock_add_rule", _syscall5(_LANDLOCK_ADD, ruleset, 2, ctypes.addressof(rule), 0, 0))


def landlock_restrict(ruleset: int) -> None:
    _checked("landlock_restrict_self", _syscall5(_LANDLOCK_RESTRICT, ruleset, 0, 0, 0, 0))


class Filter:
    """An assembled seccomp program in the shape the kernel reads, built once and installed by every child."""

    def __init__(self, program: bytes) -> None:
        self._code = ctypes.create_string_buffer(program, len(program))
        head = struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(self._code))
        self._head = ctypes.create_string_buffer(head, len(head))
        self._address = ctypes.addressof(self._head)

    def install(self) -> None:
        prctl(PR_SET_SECCOMP, 2, self._address)


def default_thread_stack(size: int) -> None:
    """glibc's stack for new threads. It reads RLIMIT_STACK once at exec, long before this process knows its limits."""
    if _set_default_attr is None:  # musl: 128 kB already
        return
    attr = ctypes.create_string_buffer(64)
    _libc.pthread_attr_init(attr)
    _libc.pthread_attr_setstacksize(attr, c_long(size))
    _set_default_attr(attr)
