"""Servers of the loopback for tests of the network, and a session's proxy whose calls reach a real host."""

from __future__ import annotations

import asyncio
import itertools
import socket
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from concurrent.futures import Future
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from cellwright.doors import Answer, Call, Made
from cellwright.guard import Network, Networked, SessionNetwork
from cellwright.scope import Scope, ScopeHost
from cellwright_guest.wire import Packed

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Web:
    """A server that keeps the requests it got: head and body as they came. `respond` gives the bytes of an answer."""

    port: int = 0
    requests: list[bytes] = field(default_factory=list[bytes])
    connections: int = 0
    respond: Callable[[bytes], bytes] = lambda head: answer(b"hello")

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                self.requests.append(head + await reader.readexactly(length_of(head)))
                writer.write(self.respond(head))
                await writer.drain()
                if b"connection: close" in self.respond(head).lower():
                    break
        except (OSError, EOFError):
            pass
        finally:
            writer.close()


def answer(body: bytes, status: str = "200 OK", *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def length_of(head: bytes) -> int:
    found = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    return int(found[0].partition(b":")[2]) if found else 0


@asynccontextmanager
async def listening(serve: Serve, tls: ssl.SSLContext | None = None) -> AsyncGenerator[int]:
    """The port on 127.0.0.1 where `serve` answers."""
    tasks: set[asyncio.Task[Any]] = set()

    async def tracked(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        with suppress(asyncio.CancelledError):  # 3.11 reports a cancelled one as an error
            await serve(reader, writer)
        writer.close()

    server = await asyncio.start_server(tracked, "127.0.0.1", 0, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def web(tls: ssl.SSLContext | None = None) -> AsyncGenerator[Web]:
    server = Web()
    async with listening(server.serve, tls) as port:
        server.port = port
        yield server


class NoGuest:
    """The way back to a guest that lends no functions."""

    def invoke(
        self, lent: int, parent: int, arguments: Packed, path: str = "", at: float = 0.0, made: tuple[Made, ...] = ()
    ) -> Future[Answer]:
        raise AssertionError("nothing is lent")

    def give_back(self, lent: int, count: int) -> None: ...


class ScopeDoor:
    """Makes the calls of requests at a real host, and keeps them. `error` is raised instead, where there is one."""

    def __init__(self, network: SessionNetwork) -> None:
        self.calls: list[tuple[str, str]] = []
        self.error: Exception | None = None
        self._host = Networked(ScopeHost(Scope({"network": network.host})), network)
        self._host.open(NoGuest(), frozenset())
        self._numbers = itertools.count(1)

    async def ask(self, key: str, arguments: Packed, target: int, name: str) -> Answer:
        if self.error is not None:
            raise self.error
        self.calls.append((key, name))
        number = -next(self._numbers)
        return await self._host.call(
            Call(id=number, cell=1, verb="call", target=target, name=name, arguments=arguments)
        )


@dataclass
class Proxied:
    """A session's proxy that serves: its address, its calls, and the file with its authority."""

    network: SessionNetwork
    door: ScopeDoor
    port: int
    end: Callable[[], None]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def trust(self) -> ssl.SSLContext:
        """What a guest's client verifies with."""
        return ssl.create_default_context(cadata=self.network.certificate)

    async def send(self, raw: bytes) -> bytes:
        """All that the proxy answers to these bytes."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(raw)
        writer.write_eof()
        async with asyncio.timeout(20):
            got = await reader.read()
        writer.close()
        return got


@asynccontextmanager
async def proxied(network: Network) -> AsyncGenerator[Proxied]:
    session = SessionNetwork(network)
    door = ScopeDoor(session)
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    end = session.serve(listener, door)
    try:
        yield Proxied(session, door, port, end)
    finally:
        end()
        session.close()
        await asyncio.sleep(0)


async def at_loopback(name: str) -> list[str]:
    """Every name leads here."""
    return ["127.0.0.1"]


LOOPBACK = ("127.0.0.0/8",)
