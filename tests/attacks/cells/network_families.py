"""Makes sockets of every family and type that the kernel may have.

Escape: a socket that can talk to anybody but the guest itself
Control: a socketpair between two ends of the guest's works
"""

# control
import socket

one, two = socket.socketpair()
one.send(b"x")
two.recv(1) == b"x"

# attack
loot = []
for family in range(64):
    for kind in (1, 2, 3, 4, 5, 6, 10):
        for protocol in (0, 1, 3, 6, 17, 255, 0x0300):
            try:
                made = socket.socket(family, kind, protocol)
            except OSError:
                continue
            loot.append(f"ESCAPED: a socket of family {family}, type {kind}, protocol {protocol}")
for family in range(64):
    if family != socket.AF_UNIX:
        try:
            socket.socketpair(family)
            loot.append(f"ESCAPED: a pair of family {family}")
        except OSError:
            continue
loot
