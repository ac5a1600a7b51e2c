"""Traces, reads and writes other processes, and gets their descriptors.

Layer: kernel
Escape: another process is attached to, or its memory read
Control: the guest reads its own memory through ctypes
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


buffer = ctypes.create_string_buffer(b"mine")
ctypes.string_at(ctypes.addressof(buffer)) == b"mine"

# attack
loot = []
vector = (ctypes.c_uint64 * 2)(ctypes.addressof(buffer), 4)
for pid in (1, 2, os.getppid(), places["host_pid"], places["host_pid"] + 1, os.getpid()):
    for name, call in (
        ("ptrace attach", lambda: syscall(101, 117, 16, pid, 0, 0)),
        ("ptrace seize", lambda: syscall(101, 117, 0x4206, pid, 0, 0)),
        ("process_vm_readv", lambda: syscall(310, 270, pid, vector, 1, vector, 1, 0)),
        ("process_vm_writev", lambda: syscall(311, 271, pid, vector, 1, vector, 1, 0)),
        ("kcmp", lambda: syscall(312, 272, pid, pid, 0, 0, 0)),
        ("pidfd_open", lambda: syscall(434, 434, pid, 0)),
        ("process_madvise", lambda: syscall(440, 440, 3, vector, 1, 4, 0)),
        ("move_pages", lambda: syscall(279, 239, pid, 0, 0, 0, 0, 0)),
        ("get_robust_list", lambda: syscall(274, 100, pid, vector, vector)),
    ):
        result, why = call()
        loot.append(f"ESCAPED: {name} of {pid}" if result >= 0 else (name, why))
loot.append(syscall(101, 117, 0, 0, 0, 0))
for fd in range(4, 20):
    result, why = syscall(438, 438, fd, 0, 0)
    if result >= 0:
        loot.append("ESCAPED: pidfd_getfd")
loot
