"""What answers the HTTP requests of guests, and what a guest's network is to the host: a listener in the jail.

It knows neither HTTP nor lists of hosts: `GuestNetwork` does, and makes each request a call at the `RequestDoor`.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable
from typing import Protocol

from cellwright.doors import Answer
from cellwright_guest.wire import Packed


class RequestDoor(Protocol):
    """Makes one call of guest code for a request that came over its network.

    The call is counted, limited, told to listeners and recorded as any call of the running cell. In a journaled session
    its path is "<cell>:net:<key>#<n>", where n counts equal keys in the cell; a key is short, of letters and digits.
    Cancelling `ask` gives the call up. Raises `GuestGone` where the guest has ended, `CallLimit` where no cell runs.
    """

    async def ask(self, key: str, arguments: Packed, target: int, name: str) -> Answer: ...


class GuestNetwork(Protocol):
    """What answers the HTTP requests of the guests of one session.

    `certificate` is the authority that guests are to trust, as PEM. `serve` begins to answer on a listener, which it
    takes over, in the running loop; it gives what ends that: it closes the listener and its connections.
    """

    @property
    def certificate(self) -> str: ...
    def serve(self, listener: socket.socket, door: RequestDoor) -> Callable[[], None]: ...


class ServedListener:
    """The listener of one guest, from the moment it arrives on `line` until `end`."""

    def __init__(self, line: socket.socket, network: GuestNetwork, door: RequestDoor) -> None:
        self._line = line
        self._network = network
        self._door = door
        self._end: Callable[[], None] = lambda: None
        self._loop = asyncio.get_running_loop()
        line.setblocking(False)
        self._loop.add_reader(line.fileno(), self._receive)

    def _receive(self) -> None:
        try:
            _, fds, _, _ = socket.recv_fds(self._line, 1, 1)
        except OSError:
            fds: list[int] = []
        self._close_line()
        for fd in fds:
            os.set_inheritable(fd, False)  # recv_fds takes no flag for it
            self._end = self._network.serve(socket.socket(fileno=fd), self._door)

    def _close_line(self) -> None:
        if self._line.fileno() >= 0:
            self._loop.remove_reader(self._line.fileno())
            self._line.close()

    def end(self) -> None:
        """The guest has ended."""
        self._close_line()
        self._end()
