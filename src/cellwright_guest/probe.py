"""Tries, from inside a jail, what each layer forbids, and tells its outcome.

Runs instead of the interpreter; its request carries things of the host's to look for. Answers one JSON
object `{layer: [held, what was seen]}` on the connection and waits until the host has looked at it from outside too.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import socket
from collections.abc import Callable
from typing import Any

_CLONE_NEWUSER = 0x1000_0000
_PR_GET_NO_NEW_PRIVS = 39

Sought = dict[str, Any]
Found = tuple[bool, str]


def main(conn: socket.socket, request: dict[str, Any]) -> None:
    """All that were asked for. A trial that raises has not held."""
    sought: Sought = request["sought"] | {"limits": request["limits"]}
    answers: dict[str, Found] = {}
    for name in sought["layers"]:
        try:
            answers[name] = _TRIALS[name](sought)
        except (OSError, ValueError, AttributeError, LookupError, ImportError) as error:
            answers[name] = (False, f"what the layer forbids could not be tried: {error}")
    conn.sendall(json.dumps(answers).encode() + b"\n")
    conn.recv(1)


def _tried(what: str, action: Callable[[], object]) -> Found:
    try:
        action()
    except OSError as error:
        return True, f"{what}: {error.strerror or error}"
    return False, f"{what}: allowed"


def _libc(name: str, *args: int) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    result = getattr(libc, name)(*(ctypes.c_long(arg) for arg in args))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def _user(sought: Sought) -> Found:
    uid = os.getuid()
    return uid == sought["inner_uid"], f"getuid() is {uid} inside"


def _mount(sought: Sought) -> Found:
    held, seen = _tried("open a file of the host's", lambda: open(sought["secret"]).close())
    held = held and set(os.listdir("/proc")) <= {"self", "meminfo"}
    return held, f"{seen}; the root holds {' '.join(sorted(os.listdir('/')))}"


def _pid(sought: Sought) -> Found:
    held, seen = _tried("signal a process of the host", lambda: os.kill(sought["host_pid"], 0))
    return held and os.getpid() == 1, f"getpid() is {os.getpid()}; {seen}"


def _net(sought: Sought) -> Found:
    names = [name for _, name in socket.if_nameindex()]
    held, seen = _tried("connect to the host", lambda: _connect(sought["port"]))
    return held and names == ["lo"], f"interfaces: {' '.join(names)}; {seen}"


def _connect(port: int) -> None:
    with socket.socket() as line:  # not create_connection, which imports a codec: its file may be closed to a guest
        line.settimeout(1)
        line.connect(("127.0.0.1", port))


def _ipc(sought: Sought) -> Found:
    return _tried("find a shared memory segment of the host's", lambda: _libc("shmget", sought["shm_key"], 0, 0))


def _uts(sought: Sought) -> Found:
    name = os.uname().nodename
    return name != sought["hostname"], f"the machine's name is {name!r} inside"


def _caps(sought: Sought) -> Found:
    head = ctypes.create_string_buffer(bytes.fromhex("2205082000000000"), 8)
    sets = ctypes.create_string_buffer(24)
    ctypes.CDLL(None).capget(head, sets)
    held, seen = _tried("chroot", lambda: os.chroot("/"))
    return held and not any(sets.raw), f"capability sets {'empty' if not any(sets.raw) else sets.raw.hex()}; {seen}"


def _no_new_privs(sought: Sought) -> Found:
    value = _libc("prctl", _PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
    return value == 1, f"prctl(PR_GET_NO_NEW_PRIVS) is {value}"


def _landlock(sought: Sought) -> Found:
    held, seen = _tried("open a file of the host's", lambda: open(sought["secret"]).close())
    with open("mine", "w") as mine:
        mine.write("a file of the workspace")
    return held, f"without a mount namespace, {seen}; a workspace file: written"


def _seccomp(sought: Sought) -> Found:
    held, seen = _tried("unshare(CLONE_NEWUSER)", lambda: _libc("unshare", _CLONE_NEWUSER))
    refused, also = _tried("socket()", lambda: socket.socket().close())
    return held and refused, f"{seen}; {also}"


def _rlimits(sought: Sought) -> Found:
    open_files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    try:
        bytearray((sought["limits"]["memory_mb"] + 1) << 20)
    except MemoryError:
        held, seen = True, "MemoryError"
    else:
        held, seen = False, "allowed"
    held = held and open_files <= sought["limits"]["open_files"]
    return held, f"allocate beyond memory_mb: {seen}; open files at most {open_files}"


_TRIALS: dict[str, Callable[[Sought], Found]] = {
    "user": _user,
    "mount": _mount,
    "pid": _pid,
    "net": _net,
    "ipc": _ipc,
    "uts": _uts,
    "rlimits": _rlimits,
    "caps": _caps,
    "no_new_privs": _no_new_privs,
    "landlock": _landlock,
    "seccomp": _seccomp,
}
