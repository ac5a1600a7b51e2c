"""Takes back what the jail set: dumpable, death signal, seccomp, capabilities, ids, limits.

Layer: kernel
Escape: any of them changes
Control: the state can be read
"""

# control
import ctypes
import errno
import os

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def syscall(x86_64, aarch64, *args):
    """A system call by its number on either processor: the result, and the name of its error."""
    number = x86_64 if os.uname().machine == "x86_64" else aarch64
    words = [a if isinstance(a, (bytes, ctypes.Array)) else ctypes.c_long(a) for a in args]
    ctypes.set_errno(0)
    return libc.syscall(ctypes.c_long(number), *words), errno.errorcode.get(ctypes.get_errno(), "")


import resource

state = [syscall(157, 167, option, 0, 0, 0, 0)[0] for option in (3, 21, 39)]
ids = os.getresuid()
state == [0, 2, 1] and 0 not in ids

# attack
block = ctypes.create_string_buffer(bytes(8) + b"\xff" * 56)
loot = []
for name, call in {
    "PDEATHSIG": (157, 167, 1, 0, 0, 0, 0),
    "DUMPABLE": (157, 167, 4, 1, 0, 0, 0),
    "SECCOMP": (157, 167, 22, 0, 0, 0, 0),
    "SECUREBITS": (157, 167, 28, 0, 0, 0, 0),
    "KEEPCAPS": (157, 167, 8, 1, 0, 0, 0),
    "SET_MM": (157, 167, 35, 6, 0, 0, 0),
    "AMBIENT": (157, 167, 47, 2, 21, 0, 0),
    "SUBREAPER": (157, 167, 36, 1, 0, 0, 0),
    "TSC": (157, 167, 26, 2, 0, 0, 0),
    "PTRACER": (157, 167, 0x59616D61, -1, 0, 0, 0),
    "SPECULATION": (157, 167, 53, 0, 4, 0, 0),
    "THP": (157, 167, 41, 1, 0, 0, 0),
    "CORE_SCHED": (157, 167, 62, 1, 0, 0, 0),
    "MDWE": (157, 167, 65, 0, 0, 0, 0),
    "IO_FLUSHER": (157, 167, 57, 1, 0, 0, 0),
    "TASK_PERF": (157, 167, 32, 0, 0, 0, 0),
    "SYSCALL_USER_DISPATCH": (157, 167, 59, 1, 0, 0, 0),
    "TIMERSLACK": (157, 167, 29, 1, 0, 0, 0),
    "capset": (126, 91, b"\x22\x05\x08\x20\0\0\0\0", b"\xff" * 24),
    "setuid": (105, 146, 0),
    "setgid": (106, 144, 0),
    "setresuid": (117, 147, 0, 0, 0),
    "setfsuid": (122, 151, 0),
    "setgroups": (116, 159, 1, block),
    "setsid": (112, 157),
    "setns": (308, 268, 3, 0),
}.items():
    result, why = syscall(*call)
    loot.append(f"ESCAPED: {name} gave {result}" if result >= 0 else (name, why))
for name in dir(resource):
    if name.startswith("RLIMIT_"):
        kind = getattr(resource, name)
        for wanted in ((-1, -1), (resource.getrlimit(kind)[0], -1), (1 << 40, 1 << 40)):
            try:
                resource.setrlimit(kind, wanted)
                loot.append(f"ESCAPED: {name} set to {wanted}")
            except (OSError, ValueError):
                continue
if [syscall(157, 167, option, 0, 0, 0, 0)[0] for option in (3, 21, 39)] != state or os.getresuid() != ids:
    loot.append("ESCAPED: the state is another")
loot
