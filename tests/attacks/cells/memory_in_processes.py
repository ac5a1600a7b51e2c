"""Uses the whole of memory_mb in each of several processes.

Escape: the processes of a session together use several times memory_mb
Control: a child process can use some memory
Limits: processes=8, threads=8, memory_mb=64, wall_s=8
"""

# control
import os

child = os.fork()
if child == 0:
    bytearray(4 << 20)
    os._exit(0)
os.waitpid(child, 0)[1] == 0

# attack
import time

children = []
for _ in range(6):
    ready, tell = os.pipe()
    child = os.fork()
    if child == 0:
        block = bytearray(b"x") * (48 << 20)
        os.write(tell, b"x")
        time.sleep(60)
        os._exit(0)
    os.close(tell)
    children.append(ready)
held = sum(1 for ready in children if os.read(ready, 1) == b"x")
# Together they are counted by a cgroup, which a host that is not root may not have.
f"ESCAPED: {held} times 48 MB" if held > 2 and places["host_has_groups"] else held
