"""Puts another socket, a file and a pipe in the place of the guest's line to the host.

Layer: wire
Escape: the host waits, or talks to something else
Control: dup2 works on own descriptors
Limits: wall_s=2
Expect: TimeLimit | Crashed | ProtocolError | CodeError
"""

# control
import os
import socket

os.dup2(0, 50) == 50

# attack
ours, theirs = socket.socketpair()
kept = os.dup(3)
os.dup2(theirs.fileno(), 3)
os.write(ours.fileno(), b"\x10\0\0\0\0\0\0\0" + b"[1]" * 10)
os.dup2(os.open("fake", os.O_RDWR | os.O_CREAT), 1)
books.add("into the void")
