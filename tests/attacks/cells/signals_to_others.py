"""Sends signals to the host, to everybody, and to process groups; by kill, tgkill and queues.

Layer: kernel
Escape: a process other than the guest's own gets a signal
Control: a handler of its own is called
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


import signal

heard = []
signal.signal(signal.SIGUSR1, lambda *_: heard.append(1))
os.kill(os.getpid(), signal.SIGUSR1)
heard == [1]

# attack
loot = []
info = ctypes.create_string_buffer(128)
for pid in (places["host_pid"], -places["host_pid"], 2, 3, 100, -1, 0):
    for number in (0, signal.SIGUSR1, signal.SIGTERM, signal.SIGSTOP, signal.SIGKILL):
        try:
            os.kill(pid, number)
            loot.append((pid, number) if pid in (0, -1) else f"ESCAPED: {pid} has {number}")
        except OSError as error:
            loot.append(error.errno)
    for call in (
        lambda: syscall(234, 131, abs(pid), abs(pid), 9),
        lambda: syscall(200, 130, abs(pid), 9),
        lambda: syscall(129, 138, pid, 9, info),
        lambda: syscall(297, 240, abs(pid), abs(pid), 9, info),
        lambda: syscall(424, 424, 3, 9, 0, 0),
    ):
        result, why = call()
        if result >= 0 and pid not in (0, -1):
            loot.append(f"ESCAPED: a signal for {pid}")
import fcntl

for owner in (places["host_pid"], -1, 2):
    try:
        fcntl.fcntl(3, fcntl.F_SETOWN, owner)
        fcntl.fcntl(3, 10, 9)  # F_SETSIG
        fcntl.fcntl(3, fcntl.F_SETFL, fcntl.fcntl(3, fcntl.F_GETFL) | os.O_ASYNC)
        loot.append(("F_SETOWN", owner))
    except OSError as error:
        loot.append(error.errno)
len(loot) and [found for found in loot if isinstance(found, str)]
