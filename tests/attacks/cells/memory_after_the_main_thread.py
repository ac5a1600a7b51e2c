"""Ends its main thread, which is what the host knows it by, and then holds more memory than it may.

Escape: 256 MB beyond memory_mb=64 are held, and the guest lives
Control: a thread goes on while the main thread waits
Limits: memory_mb=64, wall_s=12
Expect: MemoryLimit
"""

# control
import ctypes
import os
import threading
import time

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
went_on = []
thread = threading.Thread(target=went_on.append, args=(1,))
thread.start()
thread.join()
went_on == [1]

# attack
mmap, mprotect, exit_thread = (9, 10, 60) if os.uname().machine == "x86_64" else (222, 226, 93)
PIECE = 16 << 20


def hold():
    time.sleep(0.1)
    for _ in range(256 // 16):
        piece = libc.syscall(mmap, None, ctypes.c_long(PIECE), 3, 0x22, -1, ctypes.c_long(0))
        ctypes.memset(piece, 1, PIECE)
        libc.syscall(mprotect, ctypes.c_long(piece), ctypes.c_long(PIECE), 1)
    time.sleep(1.5)
    os.write(1, b"ESCAPED: 256 MB that nobody counts")


threading.Thread(target=hold).start()
libc.syscall(exit_thread, 0)
