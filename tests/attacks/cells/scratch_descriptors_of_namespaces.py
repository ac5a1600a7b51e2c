"""Looks for the descriptor by which its mount namespace is entered, before and after that happens.

Escape: a descriptor that nobody gave it, or a step into a namespace
Control: its own descriptors can be looked at
Scratch: yes
"""

# control
import ctypes
import errno
import os
import stat

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def syscall(x86_64, aarch64, *args):
    """A system call by its number on either processor: the result, and the name of its error."""
    number = x86_64 if os.uname().machine == "x86_64" else aarch64
    words = [a if isinstance(a, (bytes, ctypes.Array)) else ctypes.c_long(a) for a in args]
    ctypes.set_errno(0)
    return libc.syscall(ctypes.c_long(number), *words), errno.errorcode.get(ctypes.get_errno(), "")


def found():
    """Every open descriptor and what kind it is."""
    kinds = {}
    for fd in range(4096):
        try:
            kinds[fd] = stat.S_IFMT(os.fstat(fd).st_mode)
        except OSError:
            continue
    return kinds


sorted(found())[:4] == [0, 1, 2, 3]

# attack
loot = []
before = found()
for _ in range(2):
    for fd in found():
        for kind in (0, 0x0002_0000, 0x1000_0000, 0x2000_0000):
            result, why = syscall(308, 268, fd, kind)
            loot.append(f"ESCAPED: entered {fd}" if result >= 0 else why)
        result, why = syscall(16, 29, fd, 0xB701, 0)  # NS_GET_USERNS
        loot.append(f"ESCAPED: {fd} is a namespace" if result >= 0 else why)
    await reveal()
more = found().keys() - before.keys()
loot.append(f"ESCAPED: {more} came with reveal" if more else "no more")
loot
