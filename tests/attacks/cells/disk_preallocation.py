"""Reserves disk with fallocate, which neither file_mb nor a slow count stops.

Escape: more than file_mb in one file, in no time
Control: a file can be extended
Limits: workspace_mb=32, file_mb=8
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


fd = os.open("held", os.O_RDWR | os.O_CREAT)
os.truncate(fd, 1 << 20)
os.fstat(fd).st_size == 1 << 20

# attack
KEEP_SIZE, ZERO_RANGE = 1, 16
loot = []
for mode in (0, KEEP_SIZE, ZERO_RANGE, ZERO_RANGE | KEEP_SIZE):
    for size in (256 << 20, 64 << 20):
        loot.append(syscall(285, 47, fd, mode, 0, size))
held_mb = os.fstat(fd).st_blocks * 512 >> 20
os.truncate(fd, 0)
os.unlink("held")
os.close(fd)
f"ESCAPED: {held_mb} MB" if held_mb > 16 else loot
