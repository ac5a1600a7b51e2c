"""Fills memory and takes away the right to write it, again and again: only what may be written counts as data.

Escape: 512 MB in use with memory_mb=64, and the guest lives
Control: memory that was written can be made read-only and is still read
Limits: memory_mb=64, wall_s=12
Expect: MemoryLimit
"""

# control
import ctypes
import errno
import os
import time

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def syscall(x86_64, aarch64, *args):
    """A system call by its number on either processor: the result, and the name of its error."""
    number = x86_64 if os.uname().machine == "x86_64" else aarch64
    words = [a if isinstance(a, (bytes, ctypes.Array)) else ctypes.c_long(a) for a in args]
    ctypes.set_errno(0)
    return libc.syscall(ctypes.c_long(number), *words), errno.errorcode.get(ctypes.get_errno(), "")


PIECE, READ_WRITE, READ = 16 << 20, 3, 1
page, _ = syscall(9, 222, 0, 4096, READ_WRITE, 0x22, -1, 0)
ctypes.memset(page, 1, 4096)
syscall(10, 226, page, 4096, READ)[0] == 0 and ctypes.string_at(page, 1) == b"\x01"

# attack
held = 0
while held < 512 << 20:
    piece, why = syscall(9, 222, 0, PIECE, READ_WRITE, 0x22, -1, 0)
    if piece < 0:
        raise MemoryError(why)
    ctypes.memset(piece, 1, PIECE)
    syscall(10, 226, piece, PIECE, 0 if held % 2 else READ)
    held += PIECE
time.sleep(4)
f"ESCAPED: {held >> 20} MB that may not be written"
