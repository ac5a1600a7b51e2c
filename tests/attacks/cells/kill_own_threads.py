"""Ends its own main thread and leaves the others running without it.

Layer: limits
Escape: the host waits for a guest that is only half dead
Control: a second thread can run
Limits: wall_s=3
Expect: TimeLimit | Crashed | CpuLimit
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


import threading

threading.Event().wait(0) is False


# attack
def burn():
    while True:
        pass


threading.Thread(target=burn, daemon=True).start()
syscall(60, 93, 0)  # exit: this thread alone
