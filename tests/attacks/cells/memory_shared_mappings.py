"""Maps shared, huge, growing and file-backed memory, which a limit on private data does not count.

Escape: 200 MB in use with memory_mb=64
Control: a private mapping within the limit works
Limits: memory_mb=64, wall_s=8
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


import mmap

small = mmap.mmap(-1, 1 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
small[0] = 1
small[0] == 1

# attack
loot = []
used = 0
SHARED, PRIVATE, ANONYMOUS, GROWSDOWN, HUGETLB, LOCKED, POPULATE = 1, 2, 0x20, 0x100, 0x40000, 0x2000, 0x8000
for flags in (
    SHARED | ANONYMOUS,
    3 | ANONYMOUS,
    SHARED | ANONYMOUS | HUGETLB,
    PRIVATE | ANONYMOUS | HUGETLB,
    PRIVATE | ANONYMOUS | GROWSDOWN,
    PRIVATE | ANONYMOUS | GROWSDOWN | 0x20000,
    SHARED | ANONYMOUS | LOCKED,
    PRIVATE | ANONYMOUS | POPULATE,
):
    size = 200 << 20
    address, why = syscall(9, 222, 0, size, 3, flags, -1, 0)
    loot.append((hex(flags), why))
    if address > 0:
        loot.append(f"ESCAPED: {flags:#x}")
# Read-only and without access first, writable later.
for protection in (0, 1):
    address, why = syscall(9, 222, 0, 200 << 20, protection, PRIVATE | ANONYMOUS, -1, 0)
    result, why = syscall(10, 226, address, 200 << 20, 3)
    loot.append("ESCAPED: mprotect" if result == 0 else why)
for path in ("/dev/zero", "/dev/full", "/dev/null", os.__file__):
    try:
        fd = os.open(path, os.O_RDWR if path.startswith("/dev") else os.O_RDONLY)
        address, why = syscall(9, 222, 0, 200 << 20, 3, PRIVATE if path == os.__file__ else SHARED, fd, 0)
        loot.append(f"ESCAPED: {path}" if address > 0 else (path, why))
    except OSError as error:
        loot.append((path, error.errno))
loot
