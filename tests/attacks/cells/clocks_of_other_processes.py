"""Reads the processor time of the host and of another guest, and sets a timer on it, by clocks made from their numbers.

Escape: a clock of a process that is not the guest's
Control: the guest's own clocks can be read
Layer: kernel
"""

# control
import ctypes
import os
import time

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
time.process_time() >= 0 and time.thread_time() >= 0 and time.monotonic() > 0

# attack
# clock_gettime, clock_nanosleep, timer_create
gettime, nanosleep, create = (228, 230, 222) if os.uname().machine == "x86_64" else (113, 115, 107)
out, request = ctypes.create_string_buffer(64), ctypes.create_string_buffer(16)
loot = []
for pid in (places["host_pid"], os.getppid()):
    for kind in (0, 1, 2):
        clock = ctypes.c_long(~pid << 3 | kind)
        for call in (
            (gettime, clock, out),
            (gettime, ctypes.c_long(clock.value & 0xFFFF_FFFF), out),
            (nanosleep, clock, 0, request, None),
            (create, clock, None, out),
        ):
            if pid and libc.syscall(*call) == 0:
                loot.append(f"ESCAPED: {call[0]} of {pid}")
loot
