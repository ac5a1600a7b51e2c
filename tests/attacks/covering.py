"""A sandbox whose sessions begin on a scratch, on top of a live workspace that holds a canary in `live.txt`."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from pathlib import Path
from typing import Literal

from cellwright.sandboxes import GUEST_UID, Environment, Interpreter, Opening, ProcessSandbox, Workspace

PYTHON = Path(getattr(sys, "_base_executable", sys.executable)).resolve()


class Covering:
    """For one session. `reveal` takes the scratch away; guest code may ask for it."""

    def __init__(self, canary: str, rung: Literal["process"] | ProcessSandbox) -> None:
        self._canary = canary
        self._own = rung == "process"
        self._inside = ProcessSandbox(Environment(python=PYTHON)) if rung == "process" else rung
        self.rung = self._inside.rung
        self._interpreter: Interpreter | None = None
        self._scratches: list[Workspace] = []

    async def pins(self) -> dict[str, str]:
        return await self._inside.pins()

    async def open(self, opening: Opening) -> Interpreter:
        self._scratches.append(await asyncio.to_thread(Workspace.create, None, GUEST_UID))
        await asyncio.to_thread((opening.workspace.path / "live.txt").write_text, self._canary)
        self._interpreter = await self._inside.open(replace(opening, scratch=self._scratches[-1]))
        return self._interpreter

    async def reveal(self) -> None:
        """Take the scratch away."""
        if self._interpreter is not None:
            await self._interpreter.reveal()

    async def close(self) -> None:
        if self._own:
            await self._inside.close()
        for scratch in self._scratches:
            await asyncio.to_thread(scratch.remove)
