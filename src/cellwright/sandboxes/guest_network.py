"""The network of guests, as the sandbox and what answers its requests know each other."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Protocol

from cellwright.doors import Answer
from cellwright_guest.wire import Packed


class RequestDoor(Protocol):
    """Makes one call of guest code for a request that came over its network.

    The call counts, is limited and is recorded as any call of the running cell. Equal keys of a cell are numbered.
    Raises `GuestGone` where the guest has ended, and `CallLimit` where no cell runs.
    """

    async def ask(self, key: str, arguments: Packed, target: int, name: str) -> Answer: ...


class GuestNetwork(Protocol):
    """What answers the HTTP requests of the guests of one session.

    `certificate` is the authority that guests are to trust, as PEM. `serve` begins to answer on a listener, which it
    takes over, in the running loop; what it gives ends that: it closes the listener and its connections.
    """

    @property
    def certificate(self) -> str: ...
    def serve(self, listener: socket.socket, door: RequestDoor) -> Callable[[], None]: ...
