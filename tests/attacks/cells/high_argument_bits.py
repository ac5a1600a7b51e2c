"""Hides forbidden flags and requests in the upper halves of arguments, which a filter may not look at.

Layer: kernel
Escape: a refused call is let through and the kernel takes the lower half
Control: the plain call is refused or allowed as ever
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


syscall(16, 29, 1, 0x5413, ctypes.create_string_buffer(8))[1] in ("ENOTTY", "EINVAL", "")

# attack
high = 1 << 32
block = ctypes.create_string_buffer(64)
loot = []
for name, call in {
    "prctl set dumpable": (157, 167, 4 | high, 1, 0, 0, 0),
    "prctl pdeathsig": (157, 167, 1 | high, 0, 0, 0, 0),
    "prlimit": (302, 261, 0, 7, block, 0),
    "ioctl TIOCSTI": (16, 29, 0, 0x5412 | high, block),
    "socket": (41, 198, 2 | high, 1, 0),
    "socketpair inet": (53, 199, 2 | high, 1, 0, block),
    "F_SETLEASE": (72, 25, 1, 1024 | high, 0),
    "F_NOTIFY": (72, 25, 1, 1026 | high, 1),
    "clone newuser": (56, 220, 0x1000_0011 | high, 0, 0, 0, 0),
    "mmap shared": (9, 222, 0, 4096, 3, 0x21 | high, -1, 0),
}.items():
    result, why = syscall(*call)
    if result == 0 and name.startswith("clone"):
        libc._exit(0)
    # The kernel reads an int from some of these, so that the upper half is lost on the way: then it must be refused as well.
    loot.append(f"ESCAPED: {name} gave {result}" if result >= 0 else (name, why))
loot
