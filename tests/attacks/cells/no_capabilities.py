"""Reads its capability sets and tries what each would allow.

Layer: kernel
Escape: a capability in any set, or an act that needs one
Control: the sets can be read
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


header, sets = ctypes.create_string_buffer(b"\x22\x05\x08\x20\0\0\0\0", 8), ctypes.create_string_buffer(24)
syscall(125, 90, header, sets)[0] == 0

# attack
loot = []
if sets.raw != bytes(24):
    loot.append(f"ESCAPED: capabilities {sets.raw.hex()}")
for number in range(64):
    if syscall(157, 167, 23, number, 0, 0, 0)[0] == 1:
        loot.append(f"ESCAPED: capability {number} in the bounding set")
open("own", "w").close()
for name, attempt in {
    "chown": lambda: os.chown("own", 0, 0),
    "own chown": lambda: os.chown("own", 1001, 1001),
    "nice": lambda: os.nice(-5),
    "mknod": lambda: os.mknod("n", 0o20666, 259),
    "setuid": lambda: os.setuid(0),
    "setgroups": lambda: os.setgroups([0]),
    "chroot": lambda: os.chroot("/tmp"),
    "hostname": lambda: __import__("socket").sethostname("x"),
    "sched": lambda: os.sched_setscheduler(0, 1, os.sched_param(1)),
}.items():
    try:
        attempt()
        loot.append(f"ESCAPED: {name}")
    except OSError as error:
        loot.append((name, error.errno))
loot
