"""Makes and joins namespaces, by unshare, setns, clone and clone3.

Layer: kernel
Escape: a namespace of its own, in which a guest would have all capabilities
Control: the guest's ids are those of a plain user
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


os.getuid() == os.geteuid() != 0

# attack
loot = []
kinds = (0x0002_0000, 0x0200_0000, 0x0400_0000, 0x0800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000)
loot.append(syscall(272, 97, 0x80))  # a time namespace: in a clone this is no flag
for kind in (*kinds, 0x7E02_0000, 0x1002_0000):
    result, why = syscall(272, 97, kind)
    loot.append(f"ESCAPED: unshare {kind:#x}" if result == 0 else why)
    result, why = syscall(56, 220, kind | 17, 0, 0, 0, 0)
    if result == 0:
        libc._exit(0)
    loot.append(f"ESCAPED: clone {kind:#x}" if result > 0 else why)
    result, why = syscall(56, 220, kind | 0x0001_0000 | 0x0800 | 0x0100, 0, 0, 0, 0)
    loot.append(f"ESCAPED: a thread with {kind:#x}" if result > 0 else why)
    for fd in (0, 3):
        result, why = syscall(308, 268, fd, kind)
        loot.append(f"ESCAPED: setns {fd}" if result == 0 else why)
arguments = (ctypes.c_uint64 * 11)(0x1000_0000, 0, 0, 0, 17)
result, why = syscall(435, 435, arguments, 88)
if 0 in [made[0] for made in loot if isinstance(made, tuple)]:
    loot.append("ESCAPED: a time namespace")
loot + [f"ESCAPED: clone3 {result}" if result >= 0 else why]
