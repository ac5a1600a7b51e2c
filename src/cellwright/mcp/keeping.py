"""The connection that is there now, and another one when it is over: a crashed server is started again, within bounds.

It knows neither tools nor calls; it tells who listens what happened.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from cellwright.errors import UpstreamGone
from cellwright.mcp.link import Link

RESTARTS = 3
PERIOD_S = 60.0


class Keeper:
    """Gives a link that works. `opened` is awaited for each new one before anybody else gets it."""

    def __init__(
        self,
        name: str,
        make: Callable[[], Link],
        opened: Callable[[Link], Awaitable[None]],
        said: Callable[[str], None],
    ) -> None:
        self._name = name
        self._make = make
        self._opened = opened
        self._said = said
        self._link: Link | None = None
        self._again: deque[float] = deque(maxlen=RESTARTS)
        self._turn = asyncio.Lock()
        self._closed = False

    async def link(self) -> Link:
        """The link, made anew where it has ended; UpstreamGone in one line where that cannot be."""
        link = self._link
        if link is not None and not link.ended and not self._closed:
            return link
        async with self._turn:
            if self._closed:
                raise UpstreamGone(f"{self._name} is closed")
            if self._link is None:
                self._link = await self._open()
            elif self._link.ended:
                self._link = await self._replaced(self._link)
            return self._link

    async def _replaced(self, old: Link) -> Link:
        now = asyncio.get_running_loop().time()
        bounded = old.server.kind == "program"
        if bounded and len(self._again) == RESTARTS and now - self._again[0] < PERIOD_S:
            wait = PERIOD_S - (now - self._again[0])
            raise UpstreamGone(
                f"{self._name} {old.ended}; it was started again {RESTARTS} times within {PERIOD_S:g} s, "
                f"and is left alone for {wait:.0f} s more"
            )
        self._again.append(now)
        await old.close()
        done = "was started again" if old.server.kind == "program" else "was connected to again"
        return await self._open(f"{self._name} {old.ended} and {done}")

    async def _open(self, said: str = "") -> Link:
        link = self._make()
        await link.open()
        if said:
            self._said(said)
        try:
            await self._opened(link)
        except BaseException:
            await link.close()
            raise
        return link

    async def close(self) -> None:
        self._closed = True
        if self._link is not None:
            await self._link.close()
