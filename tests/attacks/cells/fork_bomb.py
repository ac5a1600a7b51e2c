"""Forks without end where the session may have processes.

Layer: limits
Escape: more processes than allowed, or a neighbour that is not answered
Control: one program can be run
Limits: processes=8, threads=8, wall_s=6, memory_mb=64
"""

# control
import subprocess

subprocess.run(["/bin/echo", "x"], capture_output=True).stdout == b"x\n"

# attack
import os
import time

end = time.monotonic() + 3
made = 0
while time.monotonic() < end:
    try:
        if os.fork() == 0:
            while time.monotonic() < end:
                try:
                    os.fork()
                except OSError:
                    time.sleep(0.01)
            os._exit(0)
        made += 1
        if made > 1000:
            break
    except OSError:
        time.sleep(0.01)
"ESCAPED: no end to it" if made > 1000 else made
