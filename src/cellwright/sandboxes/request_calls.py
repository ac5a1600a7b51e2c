"""`RequestCalls`: calls of guest code that come as requests over its network, and not through its door."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable

from cellwright.doors import Answer, Call, Host
from cellwright.errors import CallLimit, GuestGone
from cellwright.sandboxes.guest_calls import Callbacks, GuestCalls
from cellwright_guest.wire import Packed

_GONE = "the guest of this request has ended"
_SIZE = 1000  # bytes of a request beside its blobs


class RequestCalls:
    """Of one guest: see `RequestDoor`. Their numbers are negative: the guest's own are not."""

    def __init__(
        self, host: Host, calls: GuestCalls, callbacks: Callbacks, alive: Callable[[], bool], journaled: bool
    ) -> None:
        self._host = host
        self._calls = calls
        self._callbacks = callbacks
        self._alive = alive
        self._journaled = journaled
        self._number = 0
        self._cell = 0
        self._keys: Counter[str] = Counter()  # of that cell

    async def ask(self, key: str, arguments: Packed, target: int, name: str) -> Answer:
        if not self._alive():
            raise GuestGone(_GONE)
        if self._calls.cell is None:
            raise CallLimit("no cell is running: make requests while one runs")
        self._number -= 1
        cell, path = self._calls.cell.number, self._path(self._calls.cell.number, key)
        about = self._host.about("call", target, name, path)
        call = Call(
            id=self._number,
            cell=cell,
            verb="call",
            target=target,
            name=name,
            arguments=arguments,
            path=path,
            about=about,
        )
        answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()

        def deliver(call: Call, answer: Answer) -> None:
            for lent, count in answer.back:  # the guest hears of it at once: no answer of its door tells it
                self._callbacks.give_back(lent, count)
            if self._journaled:
                self._calls.announce()
            if not answered.done():
                answered.set_result(answer)

        task = self._calls.ask(call, _SIZE + sum(map(len, arguments.blobs)), deliver)
        task.add_done_callback(lambda _: answered.done() or answered.set_exception(GuestGone(_GONE)))
        try:
            return await answered
        except asyncio.CancelledError:
            self._calls.cancel(call.id)
            raise

    def _path(self, cell: int, key: str) -> str:
        if not self._journaled:
            return ""
        if cell != self._cell:
            self._cell = cell
            self._keys.clear()
        self._keys[key] += 1
        return f"{cell}:net:{key}#{self._keys[key]}"
