"""Closes descriptor 3, the guest's line to the host, and the outputs.

Layer: wire
Escape: the host waits for a guest that cannot answer
Control: a descriptor of its own can be closed
Limits: wall_s=3
Expect: Crashed | ProtocolError | TimeLimit
"""

# control
import os

os.close(os.dup(0)) is None

# attack
os.closerange(0, 256)
