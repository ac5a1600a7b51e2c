"""`EventStream`: the events of a turn for an `async for`. Leaving it cancels the turn; a slow consumer slows it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

from cellwright.events import Event

WAITING = 1_000  # events that nobody has taken: with so many the next step waits


class EventQueue:
    """A listener that keeps events until they are taken; None is the end."""

    def __init__(self) -> None:
        self._events: asyncio.Queue[Event | None] = asyncio.Queue()
        self._taken = asyncio.Event()

    def __call__(self, event: Event | None) -> None:
        self._events.put_nowait(event)

    async def next(self) -> Event | None:
        event = await self._events.get()
        self._taken.set()
        return event

    async def room(self) -> None:
        """Wait until the consumer has taken enough of them."""
        while self._events.qsize() >= WAITING:
            self._taken.clear()
            await self._taken.wait()


class EventStream(AsyncIterator[Event]):
    """Begins the turn with the first `async for`. After the last event the turn's error is raised.

    The turn is cancelled when nobody refers to the stream any more: a loop that is left lets go of a stream without a
    name. `aclose` also waits until the turn has ended.
    """

    def __init__(self, run: Callable[[EventQueue], Coroutine[Any, Any, Any]]) -> None:
        self._run = run
        self._events = EventQueue()  # the turn holds this, and not the stream
        self._turn: asyncio.Task[Any] | None = None
        self._is_over = False

    async def __anext__(self) -> Event:
        if self._is_over:
            raise StopAsyncIteration
        turn = self._turn or self._begin()
        try:
            event = await self._events.next()
        except asyncio.CancelledError:
            await self.aclose()
            raise
        if event is not None:
            return event
        self._is_over = True
        await turn
        raise StopAsyncIteration

    def _begin(self) -> asyncio.Task[Any]:
        events = self._events

        def ended(turn: asyncio.Task[Any]) -> None:
            if not turn.cancelled():
                turn.exception()  # asyncio logs what nobody has looked at
            events(None)

        self._turn = asyncio.ensure_future(self._run(events))
        self._turn.add_done_callback(ended)
        return self._turn

    async def aclose(self) -> None:
        """Cancel the turn and wait until it has ended."""
        self._is_over = True
        if self._turn is not None and not self._turn.done():
            self._turn.cancel()
            await asyncio.wait([self._turn])

    def __del__(self) -> None:
        if self._turn is None or self._turn.done() or (loop := self._turn.get_loop()).is_closed():
            return
        try:
            here = asyncio.get_running_loop() is loop
        except RuntimeError:
            here = False
        if here:
            self._turn.cancel()
        else:  # a collector runs on another thread
            loop.call_soon_threadsafe(self._turn.cancel)
