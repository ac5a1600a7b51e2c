"""A guest's state, out of it and into it: one question at a time, between cells. The bytes mean nothing here."""

from __future__ import annotations

import asyncio
from typing import Any

from cellwright.errors import GuestError, TimeLimit, UsageError
from cellwright.sandboxes import exits
from cellwright.sandboxes.base import Saved
from cellwright.sandboxes.calls import Kill, Send
from cellwright_guest.wire import WireError, type_of

MISSING, WORDS = 1000, 1000
STATE = 65 << 20  # bytes; a guest that is honest stops before


class Exchange:
    """What is asked goes to `send`; a guest that does not answer in time is ended by `kill`."""

    def __init__(self, wall_s: float, send: Send, kill: Kill) -> None:
        self._wall_s = wall_s
        self._send = send
        self._kill = kill
        self._asked = ""
        self._answer: asyncio.Future[tuple[Any, list[Any]] | None] | None = None
        self.gone = False

    async def save(self) -> Saved | None:
        answer = await self._ask("p", [])
        if answer is None or not answer[1]:
            return None
        told, blobs = answer
        return Saved(content=bytes(blobs[0]), missing=tuple(told))

    async def load(self, content: bytes) -> None:
        answer = await self._ask("l", [content])
        if answer is None:
            raise GuestError("the guest ended while it took up its state")
        if answer[0]:
            raise GuestError(f"the guest could not take up its state: {answer[0]}")

    async def _ask(self, kind: str, blobs: list[Any]) -> tuple[Any, list[Any]] | None:
        if self._asked:
            raise UsageError("the guest's state is being asked for; await that first")
        if self.gone:
            return None
        loop = asyncio.get_running_loop()
        self._asked, self._answer = kind, loop.create_future()
        timer = loop.call_later(self._wall_s, self._overdue)
        try:
            self._send([kind], blobs)
            return await asyncio.shield(self._answer)
        finally:
            timer.cancel()
            self._asked = ""

    def told(self, message: list[Any], blobs: list[Any]) -> bool:
        """The guest's answer; False for one to no question. Raises `WireError` for what is none."""
        kind, told = message
        if kind != self._asked or self._answer is None or self._answer.done():
            return False
        if kind == "p" and not (type_of(told) is list and len(told) <= MISSING and all(map(_is_word, told))):
            raise WireError("a state without its words")
        if kind == "l" and not _is_word(told, 1 << 16):
            raise WireError("an answer that is none")
        if len(blobs) > (1 if kind == "p" else 0):
            raise WireError("a state in pieces")
        if sum(map(len, blobs)) > STATE:
            raise WireError("a state that is too large")
        self._answer.set_result((told, blobs))
        return True

    def stop(self) -> None:
        """The guest is gone or about to go."""
        self.gone = True
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(None)

    def _overdue(self) -> None:
        words = f"the guest took longer than wall_s={self._wall_s:g} to tell its state, or to take it up"
        self._kill(TimeLimit(f"{words}. {exits.GONE}"))


def _is_word(told: Any, longest: int = WORDS) -> bool:
    return type(told) is str and len(told) <= longest
