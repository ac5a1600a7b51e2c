"""Starts processes with the C library and with raw system calls, past Python's audit hook.

Escape: a process is started though the session may have none
Control: a C function can be called
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


syscall(39, 172)[0] == os.getpid()

# attack
loot = []


def tell(name, made):
    if made[0] == 0:
        libc._exit(0)
    loot.append(f"ESCAPED: {name} made {made}" if made[0] > 0 else (name, made[1]))


ctypes.set_errno(0)
tell("fork", (libc.fork(), errno.errorcode.get(ctypes.get_errno(), "")))
if os.uname().machine == "x86_64":
    tell("fork by number", syscall(57, 0))
    tell("vfork by number", syscall(58, 0))
SIGCHLD = 17
for flags in (
    SIGCHLD,
    SIGCHLD | 0x8000,
    SIGCHLD | 0x2000,
    SIGCHLD | 0x4000,
    0x1000_0000 | SIGCHLD,
    0x2000_0000 | SIGCHLD,
    0x80,
    0,
):
    tell(f"clone {flags:#x}", syscall(56, 220, flags, 0, 0, 0, 0))
arguments = (ctypes.c_uint64 * 11)(0, 0, 0, 0, SIGCHLD)
for size in (64, 80, 88):
    tell(f"clone3 of {size}", syscall(435, 435, arguments, size))
pid = ctypes.c_int()
path = b"/lib64/ld-linux-x86-64.so.2"
argv = (ctypes.c_char_p * 2)(path, None)
if libc.posix_spawn(ctypes.byref(pid), path, None, None, argv, None) == 0:
    loot.append("ESCAPED: posix_spawn")
tell("execve", syscall(59, 221, path, argv, 0))
tell("execveat", syscall(322, 281, -100, path, argv, 0, 0))
if libc.system(b"true") == 0:
    loot.append("ESCAPED: system")
loot
