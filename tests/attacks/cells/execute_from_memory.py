"""Executes a program from a memfd, from /tmp, and by the dynamic loader.

Layer: kernel
Escape: the guest's interpreter is replaced by another program
Control: a program's file can be read
Limits: file_mb=64
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


import glob
import sys

# a system's own interpreter is not shown to guests that may start nothing; its loader, a program too, always is
try:
    program = open(sys.executable, "rb").name
except OSError:
    loaders = ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1", *glob.glob("/lib/ld-musl-*.so.1"))
    program = next(loader for loader in loaders if os.path.exists(loader))
open(program, "rb").read(4) == b"\x7fELF"

# attack
import shutil

loot = []
fd, why = syscall(319, 279, b"program", 0)
loot.append(("memfd_create", fd, why))
shutil.copy(program, "/tmp/program")
os.chmod("/tmp/program", 0o755)
argv = (ctypes.c_char_p * 4)(b"/tmp/program", b"-c", b"print('ESCAPED')", None)
none = (ctypes.c_char_p * 1)(None)
copy = os.open("/tmp/program", os.O_RDONLY)
for call in (
    lambda: syscall(59, 221, b"/tmp/program", argv, none),
    lambda: syscall(322, 281, copy, b"", argv, none, 0x1000),
    lambda: syscall(322, 281, max(fd, 0), b"", argv, none, 0x1000),
):
    loot.append(call())
loot
