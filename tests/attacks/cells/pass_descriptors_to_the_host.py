"""Sends descriptors and false credentials to the host over the guest's own socket.

Layer: wire
Escape: the host keeps a descriptor that the guest sent, or another session suffers
Control: descriptors go over a pair of the guest's own
Limits: wall_s=2
Expect: ProtocolError | TimeLimit
"""

# control
import array
import os
import socket

one, two = socket.socketpair()
socket.send_fds(one, [b"x"], [0])
len(socket.recv_fds(two, 1, 1)[1]) == 1

# attack
line = socket.socket(fileno=os.dup(3))
sent = []
for fds in ([0, 1, 2], [os.open("/dev/null", os.O_RDONLY)] * 50, [one.fileno(), two.fileno(), 3]):
    try:
        socket.send_fds(line, [b""], fds)
        sent.append(len(fds))
    except OSError as error:
        sent.append(error.errno)
try:
    line.sendmsg([b""], [(socket.SOL_SOCKET, 2, array.array("i", [1, 0, 0]))])  # SCM_CREDENTIALS: pid 1, root
except OSError as error:
    sent.append(error.errno)
# An empty message carries nothing on a stream; this one does, in front of a frame that is none.
socket.send_fds(line, [b"\0"], [0] * 100)
sent
