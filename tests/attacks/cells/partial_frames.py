"""Sends a frame's head and then its bytes one at a time, and never the last.

Layer: wire
Escape: the host blocks on it, and others wait
Control: a whole frame is answered
Limits: wall_s=3
Expect: TimeLimit | ProtocolError
"""

# control
books.add("Persuasion") > 0

# attack
import os
import time

os.write(3, (1000).to_bytes(4, "little") + (0).to_bytes(4, "little"))
for _ in range(999):
    os.write(3, b" ")
    time.sleep(0.001)
time.sleep(30)
