"""Cuts the stack in two below where it is used, again and again: each lower half may grow by the limit of a stack.

Escape: many times RLIMIT_STACK in use with memory_mb=16, and the guest lives
Control: the stack grows below where it is used
Limits: memory_mb=16, wall_s=12
Expect: MemoryLimit | Crashed
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


PAGE, STACK = 4096, 8 << 20
top = ctypes.c_void_p.in_dll(libc, "__libc_stack_end").value & -PAGE
low = top - (6 << 20)
ctypes.memset(low, 1, top - (2 << 20) - low)
ctypes.string_at(low, 1) == b"\x01"

# attack
pieces = 0
while pieces < 40:
    syscall(11, 215, low + PAGE, PAGE)  # what is below ends here now, and counts from here
    below = low + PAGE - STACK + PAGE
    ctypes.memset(below, 1, low - below)
    low, pieces = below, pieces + 1
time.sleep(4)
f"ESCAPED: {pieces} stacks"
