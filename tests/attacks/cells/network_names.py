"""Resolves names, through libc and by hand.

Escape: a name is resolved by asking anybody
Control: an address in numbers is understood
"""

# control
import socket

socket.inet_aton("127.0.0.1") == b"\x7f\0\0\1"

# attack
loot = []
for ask in (
    lambda: socket.getaddrinfo("example.com", 80),
    lambda: socket.gethostbyname("example.com"),
    lambda: socket.gethostbyaddr("127.0.0.1"),
    lambda: socket.getnameinfo(("8.8.8.8", 53), 0),
):
    try:
        found = str(ask())
        loot.append(found if "8.8.8.8" in found else f"ESCAPED: {found}")
    except OSError as error:
        loot.append(str(error))
for ask in (socket.if_nameindex, lambda: socket.if_nametoindex("eth0")):
    try:
        loot.append(f"ESCAPED: {ask()}")
    except OSError as error:
        loot.append(error.errno)
loot
