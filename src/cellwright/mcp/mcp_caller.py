"""One request to a server: sent once, within its time, over a link that works; an error is one line.

A request is sent a second time only if the server cannot have got it, or if a second call does no harm. It knows
neither surfaces nor values.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import Any, Literal, TypeVar

from mcp.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED
from pydantic import ValidationError

from cellwright.connectors import Redactor
from cellwright.errors import UpstreamGone
from cellwright.mcp.http import REQUEST_STATUS, RequestStatus
from cellwright.mcp.link import McpLink, Reconnector
from cellwright.mcp.sdk_errors import malformed, refusal

T = TypeVar("T")
MOST = 10  # times the timeout, however much progress is reported
_CLOSED = "Connection closed"  # the SDK's message


class CallClock:
    """The time that one call has. An async context manager that raises TimeoutError.

    It stands still while a person or a model is asked, and starts anew when the server reports progress.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._limit = asyncio.timeout(seconds)
        self._left: float | None = None  # while it stands still
        self._last = 0.0

    async def __aenter__(self) -> CallClock:
        self._last = asyncio.get_running_loop().time() + MOST * self._seconds
        await self._limit.__aenter__()
        return self

    async def __aexit__(self, *raised: Any) -> bool | None:
        return await self._limit.__aexit__(*raised)

    def restart(self) -> None:
        """The call made progress: it has its whole time again, within `MOST` times of it in all."""
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


class CallClocks:
    """The clocks of the running calls of one server. All stop for a question: no server says which call asks it."""

    def __init__(self) -> None:
        self._running: set[CallClock] = set()
        self._questions = 0

    @contextmanager
    def over(self, clock: CallClock) -> Generator[None]:
        self._running.add(clock)
        if self._questions:
            clock.stop()
        try:
            yield
        finally:
            self._running.discard(clock)

    @contextmanager
    def waiting(self) -> Generator[None]:
        self._questions += 1
        for clock in self._running:
            clock.stop()
        try:
            yield
        finally:
            self._questions -= 1
            if not self._questions:
                for clock in self._running:
                    clock.go_on()


Send = Callable[[Client, CallClock], Awaitable[T]]


class McpCaller:
    """Sends the requests to one server."""

    def __init__(self, name: str, reconnector: Reconnector, clocks: CallClocks, redactor: Redactor) -> None:
        self._name = name
        self._reconnector = reconnector
        self._clocks = clocks
        self._redactor = redactor

    async def ask(self, title: str, send: Send[T], *, timeout_s: float, repeatable: bool) -> T:
        """The result of `send`. A request that a dying server may have carried out is repeated only if `repeatable`."""
        for attempt in (1, 2):
            link = await self._reconnector.link()
            status = RequestStatus()
            token = REQUEST_STATUS.set(status)
            try:
                return await self._within(title, link, send, timeout_s)
            except MCPError as error:
                lost = await self._lost(link, error, status)
                if lost is None:
                    raise self._redacted(refusal(title, error, status.status)) from None
                if attempt == 1 and (repeatable or lost == "unsent"):
                    continue
                raise self._gone(title, link, sent=lost != "unsent") from None
            except (RuntimeError, ValidationError, ExceptionGroup) as error:
                raise self._redacted(malformed(title, error)) from None
            finally:
                REQUEST_STATUS.reset(token)
        raise AssertionError("the second attempt returns or raises")

    async def _within(self, title: str, link: McpLink, send: Send[T], timeout_s: float) -> T:
        try:
            async with CallClock(timeout_s) as clock:
                with self._clocks.over(clock):
                    return await send(link.client, clock)
        except TimeoutError:
            raise TimeoutError(f"{title}: no answer within {timeout_s:g} s; the request was cancelled") from None

    async def _lost(self, link: McpLink, error: MCPError, status: RequestStatus) -> Literal["sent", "unsent"] | None:
        """None if the connection is there; else whether the server may have got the request."""
        if error.code == CONNECTION_CLOSED and error.message == _CLOSED:  # the whole link, not one request's stream
            await link.settled()
        if link.ended or error.code == CONNECTION_CLOSED:
            return "unsent" if status.unsent else "sent"
        if status.status == 404 and link.server.kind in ("http", "url", "sse") and not link.modern:
            link.fail("forgot its session")
            return "unsent"
        return None

    def _gone(self, title: str, link: McpLink, *, sent: bool) -> UpstreamGone:
        how = f"{self._name} {link.ended or 'broke off'}"
        if not sent:
            return UpstreamGone(f"{title}: {how}, twice; nothing was done")
        return UpstreamGone(f"{title}: {how} while this ran; it may have happened, and was not sent again")

    def _redacted(self, error: Exception) -> Exception:
        error.args = tuple(self._redactor.text(part) if isinstance(part, str) else part for part in error.args)
        body: Any = getattr(error, "body", None)
        if body is not None:
            error.body = self._redactor.plain(body)  # type: ignore[attr-defined]  an UpstreamError has one
        return error
