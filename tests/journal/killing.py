"""A sandbox whose guests are killed by SIGKILL, each at a chosen moment, while they run cells again."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from cellwright.doors import Answer, Call, Host, Wrapper
from cellwright.sandboxes import Interpreter, OnEvent, Opening, Outcome, ProcessSandbox, SavedState, environment


class _Counting(Wrapper):
    """Kills the guest when it asks for the call of that number, before it is answered."""

    def __init__(self, inner: Host, number: int) -> None:
        super().__init__(inner)
        self.guest: KilledInterpreter | None = None
        self._left = number

    async def call(self, call: Call) -> Answer:
        self._left -= 1
        if not self._left and self.guest is not None:
            await self.guest.kill()
        return await self.inner.call(call)


class KilledInterpreter:
    """`moment`: "load", "reveal", "cell 3" (when it begins), "after 3", "call 2" (of this guest's calls), or ""."""

    def __init__(self, inner: Any, moment: str) -> None:
        self._inner = inner
        self._moment = moment

    async def kill(self) -> None:
        os.kill(await self._inner._child.pid(), signal.SIGKILL)

    async def _at(self, moment: str) -> None:
        if moment == self._moment:
            await self.kill()
            await asyncio.wait((self._inner._child.exited,))

    @property
    def alive(self) -> bool:
        return self._inner.alive

    @property
    def reason(self) -> Any:
        return self._inner.reason

    async def run(
        self, cell: int, code: str, on_event: OnEvent | None = None, *, at: float = 0.0, seed: bytes = b""
    ) -> Outcome:
        if f"cell {cell}" == self._moment:
            await self.kill()
        outcome = await self._inner.run(cell, code, on_event, at=at, seed=seed)
        await self._at(f"after {cell}")
        return outcome

    async def reveal(self) -> None:
        await self._at("reveal")
        if self.alive:
            await self._inner.reveal()

    async def save(self) -> SavedState | None:
        return await self._inner.save()

    async def load(self, content: bytes) -> None:
        await self._at("load")
        await self._inner.load(content)

    async def close(self) -> None:
        await self._inner.close()


class Killing:
    """`moments` has one for each guest, in the order they are opened. Guests after these live. `opened` counts all."""

    rung = "process"

    def __init__(self, inside: ProcessSandbox, moments: Sequence[str]) -> None:
        self._inside = inside
        self.moments = list(moments)
        self.opened = 0

    @classmethod
    async def make(cls, *moments: str) -> Killing:
        nobody = await environment(None, cache=Path("/tmp"), progress=lambda line: None)
        return cls(ProcessSandbox(nobody), moments)

    async def open(self, opening: Opening) -> Interpreter:
        moment = self.moments.pop(0) if self.moments else ""
        self.opened += 1
        word, _, number = moment.partition(" ")
        counting = _Counting(opening.host, int(number) if word == "call" else 0)
        guest = KilledInterpreter(await self._inside.open(replace(opening, host=counting)), moment)
        counting.guest = guest
        return guest

    async def pins(self) -> dict[str, str]:
        return await self._inside.pins()

    async def close(self) -> None:
        await self._inside.close()
