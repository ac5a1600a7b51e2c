"""Shuts one direction of its line and goes on living.

Layer: wire
Escape: the host waits for ever, or keeps what it queued
Control: the line works
Limits: wall_s=3
Expect: Crashed | ProtocolError | TimeLimit
"""

# control
books.add("Middlemarch") > 0

# attack
import socket
import time

line = socket.socket(fileno=3)
line.shutdown(socket.SHUT_RD)
for _ in range(100):
    try:
        books.add("x")
    except BaseException:
        break
line.shutdown(socket.SHUT_WR)
time.sleep(30)
