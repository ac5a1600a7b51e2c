"""What a jailed child sees when it tries what it may not: one line a layer, as JSON to the connection."""
from __future__ import annotations
import socket
from typing import Any


def main(conn: socket.socket, request: dict[str, Any]) -> None:
    conn.sendall(b"{}")
