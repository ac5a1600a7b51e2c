"""One call at a server: sent once, within its time, over a connection that works; what went wrong in one line.

Nothing is sent twice, unless twice is as good as once. It knows neither surfaces nor values.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeVar

from mcp.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED
from pydantic import ValidationError

from cellwright.connectors import Redactor
from cellwright.errors import UpstreamGone
from cellwright.mcp.failures import malformed, refusal
from cellwright.mcp.http import SEEN, Seen
from cellwright.mcp.keeping import Keeper
from cellwright.mcp.link import Link
from cellwright.mcp.patience import Clock, Patience

T = TypeVar("T")
_CLOSED = "Connection closed"  # how the SDK says it
Send = Callable[[Client, Clock], Awaitable[T]]


class Caller:
    """Makes the requests of one server."""

    def __init__(self, name: str, keeper: Keeper, patience: Patience, redactor: Redactor) -> None:
        self._name = name
        self._keeper = keeper
        self._patience = patience
        self._redactor = redactor

    async def ask(self, title: str, send: Send[T], *, timeout_s: float, repeatable: bool) -> T:
        """What `send` gets. A request that a dying server may have carried out is sent again only if `repeatable`."""
        for attempt in (1, 2):
            link = await self._keeper.link()
            seen = Seen()
            token = SEEN.set(seen)
            try:
                return await self._within(title, link, send, timeout_s)
            except MCPError as error:
                lost = await self._lost(link, error, seen)
                if lost is None:
                    raise self._told(refusal(title, error, seen.status)) from None
                if attempt == 1 and (repeatable or lost == "unsent"):
                    continue
                raise self._gone(title, link, sent=lost != "unsent") from None
            except (RuntimeError, ValidationError, ExceptionGroup) as error:
                raise self._told(malformed(title, error)) from None
            finally:
                SEEN.reset(token)
        raise AssertionError("the second attempt returns or raises")

    async def _within(self, title: str, link: Link, send: Send[T], timeout_s: float) -> T:
        try:
            async with Clock(timeout_s) as clock:
                with self._patience.over(clock):
                    return await send(link.client, clock)
        except TimeoutError:
            raise TimeoutError(f"{title}: no answer within {timeout_s:g} s; the request was cancelled") from None

    async def _lost(self, link: Link, error: MCPError, seen: Seen) -> Literal["sent", "unsent"] | None:
        """Whether the connection was lost, and whether the server may have got the request; None where it was not."""
        if error.code == CONNECTION_CLOSED and error.message == _CLOSED:  # all of it, not this request's stream alone
            await link.settled()
        if link.ended or error.code == CONNECTION_CLOSED:
            return "unsent" if seen.unsent else "sent"
        if seen.status == 404 and link.server.kind in ("http", "url", "sse") and not link.modern:
            link.fail("forgot its session")
            return "unsent"
        return None

    def _gone(self, title: str, link: Link, *, sent: bool) -> UpstreamGone:
        how = f"{self._name} {link.ended or 'broke off'}"
        if not sent:
            return UpstreamGone(f"{title}: {how}, twice; nothing was done")
        return UpstreamGone(f"{title}: {how} while this ran; it may have happened, and was not sent again")

    def _told(self, error: Exception) -> Exception:
        error.args = tuple(self._redactor.text(part) if isinstance(part, str) else part for part in error.args)
        body: Any = getattr(error, "body", None)
        if body is not None:
            error.body = self._redactor.plain(body)  # type: ignore[attr-defined]  an UpstreamError has one
        return error
