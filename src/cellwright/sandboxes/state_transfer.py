"""A guest's state, saved from it and loaded into it: one request at a time, between cells. It cannot read them."""

from __future__ import annotations

import asyncio
from contextvars import Context
from typing import Any

from cellwright.errors import GuestError, TimeLimit, UsageError
from cellwright.sandboxes import exit_errors
from cellwright.sandboxes.base import SavedState
from cellwright.sandboxes.guest_calls import Kill, Send
from cellwright_guest.wire import WireError, type_of

MISSING, WORDS = 1000, 1000
STATE = 65 << 20  # bytes; the guest's own limit is lower


class StateTransfer:
    """Requests go to `send`; `kill` ends a guest that does not answer in time."""

    def __init__(self, wall_s: float, send: Send, kill: Kill) -> None:
        self._wall_s = wall_s
        self._send = send
        self._kill = kill
        self._asked = ""
        self._answer: asyncio.Future[tuple[Any, list[Any]] | None] | None = None
        self.gone = False

    async def save(self) -> SavedState | None:
        answer = await self._ask("p", [])
        if answer is None or not answer[1]:
            return None
        missing, blobs = answer
        return SavedState(content=bytes(blobs[0]), missing=tuple(missing))

    async def load(self, content: bytes) -> None:
        answer = await self._ask("l", [content])
        if answer is None:
            raise GuestError("the guest ended while it took up its state")
        if answer[0]:
            raise GuestError(f"the guest could not take up its state: {answer[0]}")

    async def _ask(self, kind: str, blobs: list[Any]) -> tuple[Any, list[Any]] | None:
        if self._asked:
            raise UsageError("the guest's state is being saved or loaded; await that first")
        if self.gone:
            return None
        loop = asyncio.get_running_loop()
        self._asked, self._answer = kind, loop.create_future()
        timer = loop.call_later(self._wall_s, self._overdue, context=Context())
        try:
            self._send([kind], blobs)
            return await asyncio.shield(self._answer)
        finally:
            timer.cancel()
            self._asked = ""

    def answer(self, message: list[Any], blobs: list[Any]) -> bool:
        """Take the guest's answer; False where nothing was requested. Raises `WireError` for a malformed answer."""
        kind, body = message
        if kind != self._asked or self._answer is None or self._answer.done():
            return False
        if kind == "p" and not (type_of(body) is list and len(body) <= MISSING and all(map(_is_text, body))):
            raise WireError("a state without its words")
        if kind == "l" and not _is_text(body, 1 << 16):
            raise WireError("an invalid answer")
        if len(blobs) > (1 if kind == "p" else 0):
            raise WireError("a state in pieces")
        if sum(map(len, blobs)) > STATE:
            raise WireError("a state that is too large")
        self._answer.set_result((body, blobs))
        return True

    def stop(self) -> None:
        """The guest has ended or is about to."""
        self.gone = True
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(None)

    def _overdue(self) -> None:
        words = f"the guest took longer than wall_s={self._wall_s:g} to tell its state, or to take it up"
        self._kill(TimeLimit(f"{words}. {exit_errors.GONE}"))


def _is_text(value: Any, longest: int = WORDS) -> bool:
    return type(value) is str and len(value) <= longest
