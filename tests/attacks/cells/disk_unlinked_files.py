"""Holds disk in files that are deleted and still open, or mapped, where no walk of the tree sees them.

Escape: several times workspace_mb is held for seconds
Control: a deleted file stays readable while it is open
Limits: workspace_mb=32, file_mb=8, wall_s=8
Expect: WorkspaceLimit | none
"""

# control
import os

fd = os.open("gone", os.O_RDWR | os.O_CREAT)
os.unlink("gone")
os.write(fd, b"x")
os.pread(fd, 1, 0) == b"x"

# attack
import mmap
import time

held = [fd]
for i in range(40):
    name = f"gone{i}"
    fd = os.open(name, os.O_RDWR | os.O_CREAT)
    os.unlink(name)
    os.write(fd, bytes(4 << 20))
    if i % 2:
        held.append(mmap.mmap(fd, 4 << 20, flags=mmap.MAP_SHARED))
        os.close(fd)
    else:
        held.append(fd)
time.sleep(2.5)
# Only a host that is root can see them: `docs/limits.md`.
"ESCAPED: 160 MB of 32" if places["host_sees_guests"] else "held"
