"""Queues timers, signals, locks and epoll watches without end.

Escape: no bound on what the kernel keeps for a guest
Control: one timer and one lock work
Limits: memory_mb=64, wall_s=8, open_files=128
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


import fcntl

made = ctypes.c_int()
syscall(222, 107, 1, 0, ctypes.addressof(made))[0] == 0

# attack
import select
import signal
import time

timers = signals = locks = watches = 0
while timers < 100_000 and syscall(222, 107, 1, 0, ctypes.addressof(made))[0] == 0:
    timers += 1
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
end = time.monotonic() + 1
file = open("locked", "w+b")
while time.monotonic() < end:
    fcntl.lockf(file, fcntl.LOCK_EX, 1, locks * 2)
    locks += 1
poller = select.epoll()
reader, writer = os.pipe()
try:
    while watches < 100_000:
        poller.register(os.dup(writer))
        watches += 1
except OSError as error:
    print(error.strerror)
f"ESCAPED: {timers} timers" if timers > 10_000 else [timers, locks, watches]
