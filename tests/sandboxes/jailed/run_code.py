"""An entry for jailed children of the tests: runs the code of its request, answers `answer` or the error as JSON."""

from __future__ import annotations

import json
import socket
from typing import Any


def main(conn: socket.socket, request: dict[str, Any]) -> None:
    names: dict[str, Any] = {"answer": None, "conn": conn}
    try:
        exec(request["code"], names)
        told = {"answer": names["answer"]}
    except BaseException as error:
        told = {"error": f"{type(error).__name__}: {error}"}
    conn.sendall(json.dumps(told).encode() + b"\n")
    conn.recv(1)
