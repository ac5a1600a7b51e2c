"""Reaches unix sockets of the host, by path and by abstract name.

Escape: the host's listeners hear of it
Control: a unix socketpair works
Expect: none | Crashed | ProtocolError
"""

# control
import socket

one, two = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
one.send(b"x")
two.recv(1) == b"x"


# attack
def pair(kind):
    try:
        return socket.socketpair(socket.AF_UNIX, kind)
    except OSError:
        return ()


loot = []
addresses = [
    places["unix_socket"],
    places["unix_datagrams"],
    "\0" + places["abstract_socket"],
    "/run/docker.sock",
    "/var/run/docker.sock",
    "/run/dbus/system_bus_socket",
]
for address in addresses:
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET, socket.SOCK_RAW):
        try:
            socket.socket(socket.AF_UNIX, kind).connect(address)
            loot.append(f"ESCAPED: connected to {address!r}")
        except OSError as error:
            loot.append(error.errno)
        # A socket that is there already: the ends of a pair, and the one that leads to the host.
        for have in (*pair(kind), socket.socket(fileno=3)):
            for attempt in (lambda: have.connect(address), lambda: have.bind("\0guest"), lambda: have.listen()):
                try:
                    attempt()
                    loot.append(f"ESCAPED: {address!r} from a pair")
                except OSError as error:
                    loot.append(error.errno)
            for send in (lambda: have.sendto(b"x", address), lambda: have.sendmsg([b"x"], (), 0, address)):
                try:
                    if have.fileno() != 3:
                        send()  # to its own peer, or the host's listeners tell
                except OSError as error:
                    loot.append(error.errno)
            have.detach() if have.fileno() == 3 else have.close()
loot
