"""Holds disk in deleted files after the main thread has ended, and in a thread with descriptors of its own.

Escape: several times workspace_mb is held for seconds
Control: a thread writes a file
Limits: workspace_mb=32, file_mb=8, wall_s=8
Expect: WorkspaceLimit | TimeLimit
"""

# control
import ctypes
import os
import threading
import time

libc = ctypes.CDLL(None, use_errno=True)
writer = threading.Thread(target=lambda: open("small", "w").write("x"))
writer.start()
writer.join()
os.path.exists("small")

# attack
CLONE_VM, CLONE_SIGHAND, CLONE_THREAD = 0x100, 0x800, 0x1_0000


def hold():
    held = []
    time.sleep(0.2)
    for i in range(40):
        fd = os.open(f"gone{i}", os.O_RDWR | os.O_CREAT)
        os.unlink(f"gone{i}")
        os.write(fd, bytes(4 << 20))
        held.append(fd)
    time.sleep(2.5)
    # Only a host that is root can see them: `docs/limits.md`.
    if places["host_sees_guests"]:
        os.write(1, b"ESCAPED: 160 MB of 32")
    time.sleep(100)


clone, exit_thread = (56, 60) if os.uname().machine == "x86_64" else (220, 93)
if libc.syscall(clone, CLONE_VM | CLONE_SIGHAND | CLONE_THREAD, 0, 0, 0, 0) != -1:
    os.write(1, b"ESCAPED: a thread with descriptors of its own")
if libc.syscall(436, 3000, 0xFFFF_FFFF, 2) != -1:  # close_range, which unshares them
    os.write(1, b"ESCAPED: descriptors of its own for this thread")
threading.Thread(target=hold).start()
libc.syscall(exit_thread, 0)
