"""When a request is sent again: where the server asks for it, or where twice has the same effect as once. Else never.

It knows attempts and waiting. It knows neither operations nor keys.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from cellwright.errors import UpstreamGone
from cellwright.openapi.api_client import HttpReply, NoReply

_BUSY = frozenset((429, 503))  # the server did nothing; with Retry-After it asks for another attempt
_BETWEEN = frozenset((502, 504))  # a proxy failed: whether the server did anything is not known


@dataclass(frozen=True, kw_only=True, slots=True)
class HttpRetryPolicy:
    """How often and how long. A server that asks for a longer wait than `total_s` is not asked again."""

    attempts: int = 4
    base_s: float = 0.5
    total_s: float = 60.0


class RequestRetries:
    """Makes attempts at one request until a reply comes, or the request must not be sent again."""

    def __init__(
        self,
        patience: HttpRetryPolicy | None = None,
        *,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._patience = patience or HttpRetryPolicy()
        self._sleep = sleep
        self._jitter = jitter
        self._now = now

    async def run(
        self, attempt: Callable[[], Awaitable[HttpReply]], title: str, *, repeatable: bool, reads: bool
    ) -> HttpReply:
        """The reply. Raises `UpstreamGone`, which says whether the call may have happened."""
        waited, count = 0.0, 0
        while True:
            count += 1
            reply, failure = None, None
            try:
                reply = await attempt()
            except NoReply as broken:
                failure = broken
            wait = self._wait(reply, failure, repeatable, count)
            if wait is None or count >= self._patience.attempts or waited + wait > self._patience.total_s:
                break
            await self._sleep(wait)
            waited += wait
        if reply is not None:
            return reply
        raise UpstreamGone(_told(title, failure, count, reads))

    def _wait(self, reply: HttpReply | None, failure: NoReply | None, repeatable: bool, count: int) -> float | None:
        """Seconds until the next attempt; None where there is none."""
        grown = self._jitter() * self._patience.base_s * 2.0 ** min(count - 1, 10)
        if reply is not None and reply.acted and not repeatable:
            return None
        if reply is not None:
            wish = self._wish(reply) if reply.status in _BUSY else None
            if wish is not None:
                return wish + grown
            return grown if repeatable and reply.status in _BUSY | _BETWEEN else None
        if failure is None or failure.late:  # a timeout is not tried again
            return None
        return grown if repeatable or not failure.sent else None

    def _wish(self, reply: HttpReply) -> float | None:
        """What Retry-After says, in seconds from now."""
        text = reply.headers.get("retry-after", "").strip()
        if not text:
            return None
        try:
            return float(text) if text.isascii() and text.isdigit() else self._until(text)
        except (ValueError, TypeError, OverflowError):
            return None

    def _until(self, date: str) -> float:
        return max(0.0, parsedate_to_datetime(date).timestamp() - self._now())


def _told(title: str, failure: NoReply | None, count: int, reads: bool) -> str:
    times = f" (after {count} attempts)" if count > 1 else ""
    if failure is None or not failure.sent:
        rest = "; nothing was sent"
    else:
        rest = "" if reads else "; it may have happened, so look before you call it again"
    return f"{title}: {failure}{times}{rest}"
