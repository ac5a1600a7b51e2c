"""The network of one guest: a namespace of its own, with a loopback and one listener, which the host accepts from.

The guest only connects to it: the listening socket itself goes to the host before guest code runs. It does not know
what the host answers there.
"""

from __future__ import annotations

import contextlib
import fcntl
import socket
import struct

from cellwright_guest import kernel

_SIOCSIFFLAGS, _SIOCSIFMTU = 0x8914, 0x8922
_UP = 1
# What guests send and the host does not read is kernel memory that no rlimit counts: half a MB a connection with these,
# where the last may be set; else 3 MB, once a connection has sent much.
_MTU, _RECEIVED = 4096, 128 << 10
_SENT = f"4096 16384 {256 << 10}"
_WAITING = 64  # connections that the host has not accepted yet
_OUT_OF_THE_WAY = 64  # of the numbers that a guest's own descriptors get


def listening(port: int, proc: str) -> socket.socket:
    """Moves this process into a network of its own, with a listener there on 127.0.0.1. Raises OSError."""
    kernel.unshare(kernel.CLONE_NEWNET)
    with contextlib.suppress(OSError), open(f"{proc}/sys/net/ipv4/tcp_wmem", "w") as sent:  # read-only in containers
        sent.write(_SENT)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ask:
        for request, name, value in ((_SIOCSIFMTU, "SIOCSIFMTU", _MTU), (_SIOCSIFFLAGS, "SIOCSIFFLAGS", _UP)):
            with kernel.named(f"ioctl({name})"):
                fcntl.ioctl(ask.fileno(), request, struct.pack("=16si20x", b"lo", value))
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as made, kernel.named("listen"):
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVED)  # for those that are accepted, too
        made.bind(("127.0.0.1", port))
        made.listen(_WAITING)
        return socket.socket(fileno=fcntl.fcntl(made.fileno(), fcntl.F_DUPFD_CLOEXEC, _OUT_OF_THE_WAY))


def hand_over(listener: socket.socket, line: int) -> None:
    """Sends it to the host and closes it here, and the line too. Raises OSError."""
    with listener, socket.socket(fileno=line) as host, kernel.named("sendmsg"):
        socket.send_fds(host, [b"l"], [listener.fileno()])
