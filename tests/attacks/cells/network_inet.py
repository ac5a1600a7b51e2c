"""Connects and sends to the host's loopback, by IPv4, IPv6 and name.

Escape: the host's listeners hear of it, or a socket listens
Control: the socket module can be imported and its constants read
"""

# control
import socket

socket.AF_INET == 2

# attack
import asyncio
import http.client
import urllib.request

loot = []
port, udp = places["tcp_port"], places["udp_port"]


def datagram(family, address):
    with socket.socket(family, socket.SOCK_DGRAM) as made:
        made.sendto(b"hello", address)


for attempt in (
    lambda: socket.create_connection(("127.0.0.1", port), 2),
    lambda: socket.create_connection(("::1", port), 2),
    lambda: socket.create_connection(("localhost", port), 2),
    lambda: socket.create_server(("127.0.0.1", 0)),
    lambda: datagram(socket.AF_INET, ("127.0.0.1", udp)),
    lambda: datagram(socket.AF_INET6, ("::ffff:127.0.0.1", udp)),
    lambda: urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=2),
    lambda: http.client.HTTPConnection("127.0.0.1", port, timeout=2).request("GET", "/"),
):
    try:
        attempt()
        loot.append("ESCAPED: it worked")
    except Exception as error:
        loot.append(type(error).__name__)
try:
    await asyncio.wait_for(asyncio.open_connection("127.0.0.1", port), 2)
    loot.append("ESCAPED: asyncio connected")
except Exception as error:
    loot.append(type(error).__name__)
loot
