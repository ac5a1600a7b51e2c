"""How long calls may take. A clock stands still while a person or a model is asked, and progress winds it up again.

It knows no server and no call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from types import TracebackType

MOST = 10  # times the limit, whatever progress is told


class Clock:
    """The time that one call has. An async context manager that raises TimeoutError."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._limit = asyncio.timeout(seconds)
        self._left: float | None = None  # while it stands still
        self._last = 0.0

    async def __aenter__(self) -> Clock:
        self._last = asyncio.get_running_loop().time() + MOST * self._seconds
        await self._limit.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._limit.__aexit__(kind, error, trace)

    def wind(self) -> None:
        """It shows signs of life: the whole time again, within reason."""
        if self._left is None and not self._limit.expired():
            self._limit.reschedule(min(asyncio.get_running_loop().time() + self._seconds, self._last))

    def stop(self) -> None:
        until = self._limit.when()
        if self._left is None and until is not None and not self._limit.expired():
            self._left = until - asyncio.get_running_loop().time()
            self._limit.reschedule(None)

    def go_on(self) -> None:
        if self._left is not None and not self._limit.expired():
            now = asyncio.get_running_loop().time()
            self._last = max(self._last, now + self._left)
            self._limit.reschedule(now + self._left)
            self._left = None


class Patience:
    """The clocks of the calls under way at one server. It is not told which of them a question belongs to."""

    def __init__(self) -> None:
        self._running: set[Clock] = set()
        self._asked = 0

    @contextmanager
    def over(self, clock: Clock) -> Generator[None]:
        self._running.add(clock)
        if self._asked:
            clock.stop()
        try:
            yield
        finally:
            self._running.discard(clock)

    @contextmanager
    def waiting(self) -> Generator[None]:
        self._asked += 1
        for clock in self._running:
            clock.stop()
        try:
            yield
        finally:
            self._asked -= 1
            if not self._asked:
                for clock in self._running:
                    clock.go_on()
