"""A `GuestNetwork` for tests: answers each HTTP request by a call of the guest, and keeps what it was asked."""

from __future__ import annotations

import asyncio
import hashlib
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

from tests.cells import PATIENCE_S
from tests.sandboxes.jails import PYTHON

from cellwright import Limits
from cellwright.errors import CellwrightError
from cellwright.sandboxes import GUEST_UID, Environment, Opening, ProcessSandbox, Workspace
from cellwright.sandboxes.guest_network import RequestDoor
from cellwright.sandboxes.interpreter import ProcessInterpreter
from cellwright.scope import Scope, ScopeHost
from cellwright_guest.wire import Packed

CERTIFICATE = """\
-----BEGIN CERTIFICATE-----
MIIBdjCCAR2gAwIBAgIUUIn4dGSbk5aNx2zNZenCUnrWyaowCgYIKoZIzj0EAwIw
EDEOMAwGA1UEAwwFdGVzdHMwIBcNMjYxMTE5MjAwMzI3WhgPMjEyNjEwMjYyMDAz
MjdaMBAxDjAMBgNVBAMMBXRlc3RzMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE
A3xcV2KO1vKGvA+Q87ve3bt1HGRb/uoxOZteNg9Qs2v6uPrwBdxUotICkt/Zg6ZN
V4mVXuF80fo/Mnv95kfYe6NTMFEwHQYDVR0OBBYEFOXcNthwI19e/jxCwxOZsM/d
WfnnMB8GA1UdIwQYMBaAFOXcNthwI19e/jxCwxOZsM/dWfnnMA8GA1UdEwEB/wQF
MAMBAf8wCgYIKoZIzj0EAwIDRwAwRAIgakaY16OjvmxAbJnQ8E8FBXTT3O0dy/HQ
FLy4kP5/l0UCIDvTIM43vxIj6xgujzifVe1rPRfH0SJwY9VpUN9Fhlch
-----END CERTIFICATE-----
"""


class Echo:
    """Serves every listener: the answer is what `echo.said(method, target)` gives in the guest's own session."""

    certificate = CERTIFICATE

    def __init__(self, target: int = 1) -> None:
        self.target = target
        self.heads: list[str] = []

    def serve(self, listener: socket.socket, door: RequestDoor) -> Callable[[], None]:
        listener.setblocking(False)
        serving = asyncio.get_running_loop().create_task(self._serve(listener, door))
        return lambda: None if serving.cancel() else listener.close()

    async def _serve(self, listener: socket.socket, door: RequestDoor) -> None:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                self.heads.append(head)
                method, target, _ = head.split("\r\n")[0].split(" ")
                body = await self._said(door, method, target)
                writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            except (asyncio.IncompleteReadError, ConnectionError):
                pass
            finally:
                writer.close()

        async with await asyncio.start_server(answer, sock=listener) as server:
            await server.serve_forever()

    async def _said(self, door: RequestDoor, method: str, target: str) -> bytes:
        arguments = Packed({"t": [method, target]}, [])
        try:
            answer = await door.ask(hashlib.sha256(target.encode()).hexdigest()[:16], arguments, self.target, "said")
        except CellwrightError as error:
            return f"{type(error).__name__}: {error}".encode()
        return str(answer.value.tree).encode()


class Host:
    """What the requests become calls of. `wait` ends when somebody asks for a path that ends with "open"."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self._gate = asyncio.Event()

    def said(self, method: str, target: str) -> str:
        self.calls.append(f"{method} {target}")
        if target.endswith("open"):
            self._gate.set()
        return f"{method} {target}"

    async def wait(self) -> None:
        await self._gate.wait()


@asynccontextmanager
async def networked(
    network: Any = None,
    limits: Limits | None = None,
    environment: Environment | None = None,
    scratch: bool = False,
    host: Host | None = None,
) -> AsyncGenerator[ProcessInterpreter]:
    """A guest with a network, `Echo` unless another is given."""
    live, cover = [await asyncio.to_thread(Workspace.create, None, GUEST_UID) for _ in range(2)]
    sandbox = ProcessSandbox(environment or Environment(python=PYTHON))
    doors = ScopeHost(Scope({"echo": host or Host()}))
    opening = Opening(
        host=doors,
        limits=limits or Limits(wall_s=PATIENCE_S),
        workspace=live,
        scratch=cover if scratch else None,
        network=network or Echo(),
    )
    try:
        yield await sandbox.open(opening)
    finally:
        await sandbox.close()
        doors.close()
        await asyncio.to_thread(live.remove)
        await asyncio.to_thread(cover.remove)
