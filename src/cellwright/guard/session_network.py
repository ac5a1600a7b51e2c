"""The network of one session: its host object, its authority, and the proxies of its guests."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from typing import Any

from cellwright.doors import Answer, Beginning, GuestDoor, Host, Lineage, Wrapper
from cellwright.errors import UsageError
from cellwright.guard.host_network import NAME, bound_network, is_network
from cellwright.guard.network import Network
from cellwright.guard.network_list import http_target
from cellwright.guard.network_proxy import GuestRequest, ProxyConnection
from cellwright.guard.session_authority import SessionAuthority
from cellwright.guard.upstream_connection import AT_ONCE, HEAD_BYTES, UpstreamPool
from cellwright.sandboxes import Interpreter, Opening, RequestDoor, Sandbox
from cellwright.scope import Scope
from cellwright.settings import install_command
from cellwright_guest.wire import Packed

CONNECTIONS = 128  # of one guest


class SessionNetwork:
    """Answers the requests of the guests of one session. `host` is bound in the session's scope, as `network`.

    `target` is the number by which guests know it, which `Networked` reads. `close` ends connections to servers.
    """

    def __init__(self, network: Network) -> None:
        try:
            import_module("h11")  # here, so that a missing package is told before there is a guest
            self._authority = SessionAuthority()
        except ImportError:
            raise UsageError(f"network= needs two packages: {install_command('network')}") from None
        self.target = 0
        self.options = network
        self._upstream = UpstreamPool(network)
        self.host = bound_network(network, self._upstream)

    @classmethod
    def of_requests(cls, requests: Iterable[tuple[str, Packed]]) -> SessionNetwork:
        """For calls that a journal answers: clients get as far as they did. `requests`: operations and arguments."""
        origins: set[str] = set()
        for name, arguments in requests:
            with suppress(LookupError, TypeError, ValueError):  # a journal may be a stranger's
                given = arguments.tree["t"]
                if name != "fetch" or given[2] != "CONNECT":
                    origins.add(http_target(given[name != "fetch"]).origin)
        return cls(Network(sorted(origins)))

    def in_scope(self, scope: Scope) -> Scope:
        """The scope with `network`, in the place of that of a session that it came from."""
        if NAME not in dict(scope.names()):
            return scope.extended({NAME: self.host})
        if not is_network(scope.get(NAME)):
            raise UsageError(f"network= binds the name {NAME!r}, which this scope has already; bind that under another")
        other = scope.extended({})
        other.bind(NAME, self.host, own=True)
        return other

    @property
    def certificate(self) -> str:
        return self._authority.certificate

    def close(self) -> None:
        self._upstream.close()

    def serve(self, listener: socket.socket, door: RequestDoor) -> Callable[[], None]:
        under_way: set[asyncio.Task[Any]] = set()
        slots = asyncio.Semaphore(AT_ONCE)

        async def ask(request: GuestRequest) -> Answer:
            return await door.ask(request.key, request.arguments, self.target, request.operation)

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            if accepting.cancelling() or len(under_way) >= 2 * CONNECTIONS:  # those that are told so linger
                return writer.transport.abort()
            full = len(under_way) >= CONNECTIONS
            under_way.add(task)
            # asyncio does so by itself only where the listener was made with a protocol
            writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            try:
                connection = ProxyConnection(self.options, self._authority, ask, slots, reader, writer)
                await connection.run(f"more than {CONNECTIONS} connections are open; close some first" if full else "")
            except (OSError, EOFError, asyncio.CancelledError):
                pass  # the guest's client has gone, or this ends
            finally:
                under_way.discard(task)
                if task.cancelling():
                    writer.transport.abort()
                else:
                    writer.close()

        async def accept() -> None:
            server = await asyncio.start_server(connected, sock=listener, limit=HEAD_BYTES)
            async with server:
                await server.serve_forever()

        def end() -> None:
            for task in (accepting, *under_way):
                task.cancel()
            accepting.add_done_callback(lambda _: listener.close())

        accepting = asyncio.get_running_loop().create_task(accept())
        return end


class NetworkSandbox:
    """A sandbox whose guests have the network of the session. See `Sandbox`; it is closed with the one inside."""

    def __init__(self, inner: Sandbox, network: SessionNetwork) -> None:
        self._inner = inner
        self._network = network

    @property
    def rung(self) -> str:
        return self._inner.rung

    async def open(self, opening: Opening) -> Interpreter:
        return await self._inner.open(
            replace(opening, host=Networked(opening.host, self._network), network=self._network)
        )

    async def pins(self) -> dict[str, str]:
        return await self._inner.pins()

    async def close(self) -> None:
        await self._inner.close()


class Networked(Wrapper):
    """A host whose scope has `network`: it tells the session's network the number by which guests know that object."""

    def __init__(self, inner: Host, network: SessionNetwork) -> None:
        super().__init__(inner)
        self._network = network

    def open(self, guest: GuestDoor, libraries: frozenset[str], lineage: Lineage | None = None) -> Beginning:
        beginning = super().open(guest, libraries, lineage)
        names = beginning.names.tree["m"]
        if NAME in names:  # a journal that is replayed may be a stranger's
            self._network.target = names[NAME]["h"][0]
        return beginning
