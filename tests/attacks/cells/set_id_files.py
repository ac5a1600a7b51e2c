"""Gives files in the workspace the set-uid and set-gid bits, by every call that takes a mode.

Layer: files
Escape: a file with such a bit on the host's disk
Control: a file can be made with an ordinary mode
"""

# control
import ctypes
import errno
import os

libc = ctypes.CDLL(None, use_errno=True)


def tried(name, *args):
    """The result of a C function, and the name of its error."""
    ctypes.set_errno(0)
    result = getattr(libc, name)(*args)
    return result, errno.errorcode.get(ctypes.get_errno(), "")


os.write(os.open("tool", os.O_CREAT | os.O_WRONLY, 0o755), b"#!/bin/sh")
os.stat("tool").st_mode & 0o777 == 0o755

# attack
import stat

fd = os.open("tool", os.O_RDWR)
loot = [
    tried("chmod", b"tool", 0o6755),
    tried("fchmod", fd, 0o4755),
    tried("fchmodat", -100, b"tool", 0o2755, 0),
    tried("open", b"made", os.O_CREAT | os.O_WRONLY, 0o4755),
    tried("creat", b"made2", 0o6755),
    tried("openat", -100, b"made3", os.O_CREAT | os.O_WRONLY, 0o2755),
    tried("mkdir", b"made4", 0o2777),
    tried("mkdirat", -100, b"made5", 0o6777),
    tried("mknod", b"made6", 0o104755, 0),
    tried("open", b".", 0o20200000 | os.O_RDWR, 0o4755),
    tried("syscall", 452, -100, b"tool", 0o4755, 0),
    tried("syscall", 437, -100, b"made7", (ctypes.c_uint64 * 3)(os.O_CREAT | os.O_WRONLY, 0o4755, 0), 24),
    tried("setxattr", b"tool", b"security.capability", b"\1\0\0\2" + b"\xff" * 16, 20, 0),
    tried("setxattr", b"tool", b"user.x", b"y", 1, 0),
    tried("chown", b"tool", 0, 0),
    tried("fchown", fd, 0, 0),
]
for name in os.listdir("."):
    if os.stat(name).st_mode & (stat.S_ISUID | stat.S_ISGID):
        loot.append(f"ESCAPED: {name}")
loot
