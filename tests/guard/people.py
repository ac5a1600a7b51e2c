"""Who is asked in tests, and what for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from tests.cells import PATIENCE_S

from cellwright import operation
from cellwright.events import ApprovalWanted


class Mail:
    """Letters, some of which somebody has to agree to."""

    def __init__(self) -> None:
        self.sent: list[Any] = []
        self.at_gate = asyncio.Event()
        self.gate = asyncio.Event()
        self.gate.set()

    @operation(ask=True)
    async def send(self, to: Any, body: Any = None) -> int:
        self.sent.append(to)
        self.at_gate.set()
        await self.gate.wait()
        return len(self.sent)

    @operation(ask=True, idempotent=True)
    async def send_once(self, to: Any) -> int:
        return await self.send(to)

    def post(self, to: Any) -> int:
        self.sent.append(to)
        return len(self.sent)


class Person:
    """Says what `answer` gives, and keeps what was asked."""

    def __init__(self, answer: Callable[[ApprovalWanted], Any] = lambda wanted: True) -> None:
        self.asked: list[ApprovalWanted] = []
        self._answer = answer

    async def approve(self, wanted: ApprovalWanted) -> Any:
        self.asked.append(wanted)
        return self._answer(wanted)

    @property
    def calls(self) -> list[str]:
        return [wanted.name + wanted.arguments for wanted in self.asked]


def yes(wanted: ApprovalWanted) -> bool:
    return True


class Busy:
    """A person who answers when the test says so."""

    def __init__(self) -> None:
        self.waiting: dict[str, asyncio.Future[bool | str]] = {}
        self.cancelled: list[str] = []
        self._changed = asyncio.Event()

    async def approve(self, wanted: ApprovalWanted) -> bool | str:
        self.waiting[wanted.arguments] = asyncio.get_running_loop().create_future()
        self._changed.set()
        try:
            return await self.waiting[wanted.arguments]
        except asyncio.CancelledError:
            self.cancelled.append(wanted.arguments)
            self._changed.set()
            raise

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not holds():
                self._changed.clear()
                await self._changed.wait()
