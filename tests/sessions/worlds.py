"""A store with sessions in it, and short ways to run cells."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from cellwright import Limits, Runtime
from cellwright.store import CellRow, Store, TurnRow

PATIENT = Limits(wall_s=20.0, cpu_s=20.0)


class Post:
    """Something outside: what is sent stays sent."""

    def __init__(self) -> None:
        self.sent: list[Any] = []
        self.gate = asyncio.Event()
        self.waits = asyncio.Event()

    def send(self, what: Any) -> int:
        self.sent.append(what)
        return len(self.sent)

    async def hold(self, what: Any) -> str:
        self.waits.set()
        await self.gate.wait()
        return f"held {what}"


def runtime(store: Store | Path, session: str, post: Post | None = None, *, resume: bool = False) -> Runtime:
    options: dict[str, Any] = {"store": store, "scope": {"post": post or Post()}, "limits": PATIENT}
    return Runtime.resume(session, **options) if resume else Runtime(session=session, **options)


async def value(rt: Runtime, code: str) -> Any:
    return (await rt.execute(code)).unwrap()


def ended(store: Store, session: str, cell: int) -> int:
    """The entry at which a cell came to its end."""
    entries = [e for e in store.entries(session) if isinstance(e.change, CellRow) and e.change.number == cell]
    return next(e.number for e in entries if isinstance(e.change, CellRow) and e.change.status != "running")


def begun(store: Store, session: str, turn: int) -> int:
    """The entry at which a turn began."""
    return next(e.number for e in store.entries(session) if isinstance(e.change, TurnRow) and e.change.number == turn)
