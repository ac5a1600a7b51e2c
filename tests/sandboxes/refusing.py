"""A Python that runs where the kernel refuses something, as a container's runtime does: system calls, capabilities."""

from __future__ import annotations

import base64
import platform
import stat
from collections.abc import Iterable
from errno import EPERM
from pathlib import Path

from tests.sandboxes.jails import PYTHON

from cellwright.sandboxes.bpf import ALLOW, ArgumentCheck, SyscallVerdict, assemble
from cellwright.sandboxes.syscalls import AUDIT_ARCHITECTURE, NUMBERS

_OTHERS = {
    "x86_64": {
        "unshare": 272, "mount": 165, "umount2": 166, "pivot_root": 155, "setns": 308, "sethostname": 170,
        "chroot": 161, "setresuid": 117,
    },
    "aarch64": {
        "unshare": 97, "mount": 40, "umount2": 39, "pivot_root": 41, "setns": 268, "sethostname": 161,
        "chroot": 51, "setresuid": 147,
    },
}  # fmt: skip
_EVERYWHERE = {"pidfd_open": 434, "mount_setattr": 442, "landlock_create_ruleset": 444}
_ARCHITECTURE = platform.machine()
_CALLS = NUMBERS[_ARCHITECTURE] | _OTHERS[_ARCHITECTURE] | _EVERYWHERE

# CHOWN DAC_OVERRIDE FOWNER FSETID KILL SETGID SETUID SETPCAP NET_BIND_SERVICE SYS_CHROOT MKNOD AUDIT_WRITE SETFCAP
CONTAINER_CAPABILITIES = (0, 1, 3, 4, 5, 6, 7, 8, 10, 18, 27, 29, 31)
EVERY_CAPABILITY = tuple(range(64))

_SCRIPT = """#!{python} -IS
import base64, ctypes, os, struct, sys
libc = ctypes.CDLL(None)
for capability in range(64):
    if capability not in {capabilities}:
        libc.prctl(24, capability, 0, 0, 0)
libc.prctl(38, 1, 0, 0, 0)
program = ctypes.create_string_buffer(base64.b64decode({program!r}))
head = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", {length}, ctypes.addressof(program)))
if {length} and libc.prctl(22, 2, ctypes.c_ulong(ctypes.addressof(head)), 0, 0):
    sys.exit("the filter was not installed")
os.execv({python!r}, [{python!r}, *sys.argv[1:]])
"""


def refusing(
    directory: Path,
    *calls: str,
    errno: int = EPERM,
    unless: ArgumentCheck | None = None,
    capabilities: Iterable[int] = EVERY_CAPABILITY,
) -> Path:
    """An executable that is this Python, below a filter that refuses these calls (but those that hold `unless`)."""
    verdict = SyscallVerdict(errno=errno, checks=(unless,) if unless else ())
    verdicts = {_CALLS[name]: verdict for name in calls}
    program = b""
    if verdicts:
        program = assemble(AUDIT_ARCHITECTURE[_ARCHITECTURE], verdicts, otherwise=ALLOW, beyond=ALLOW)
    script = _SCRIPT.format(
        python=str(PYTHON),
        capabilities=tuple(capabilities),
        program=base64.b64encode(program).decode(),
        length=len(program) // 8,
    )
    path = directory / "python"
    path.write_text(script)
    path.chmod(stat.S_IRWXU | stat.S_IRGRP | stat.S_IXGRP | stat.S_IROTH | stat.S_IXOTH)
    return path
