"""Sessions that outlive their guests: how tests end one as a death would, and go on as another process would."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from textwrap import dedent
from typing import Any

from tests.journal.crash.dying import Mortal

from cellwright import Limits, Outcome, Runtime, operation
from cellwright.store import MemoryStore

SESSION = "s1"
PATIENT = Limits(wall_s=20.0, cpu_s=20.0)


class Post:
    """Letters, and a gate that a call waits at."""

    def __init__(self) -> None:
        self.sent: list[Any] = []
        self.gate = asyncio.Event()
        self.at_gate = asyncio.Event()

    def send(self, what: Any) -> int:
        self.sent.append(what)
        return len(self.sent)

    @operation(reads=True)
    async def wait(self) -> str:
        self.at_gate.set()
        await self.gate.wait()
        return "open"

    async def hold(self, what: Any) -> str:
        """Like `send`, behind the gate."""
        await self.wait()
        self.sent.append(what)
        return f"held {what}"


class Sessions:
    """One journal and one workspace, as they lie on a disk. Each `life` is a process; none of them ends in order."""

    def __init__(self, workspace: Path) -> None:
        self.journal = Mortal(MemoryStore())
        self.workspace = workspace

    @asynccontextmanager
    async def life(self, session: str = SESSION, **options: Any) -> AsyncGenerator[Runtime]:
        """The session, new or resumed; with `scope=` and what else `Runtime` takes."""
        self.journal.live_until(None)
        options = {"workspace": self.workspace, "limits": PATIENT, "store": self.journal, **options}
        known = session in self.journal.sessions()
        rt = Runtime.resume(session, take_over=True, **options) if known else Runtime(session=session, **options)
        async with rt:
            yield rt
            self.journal.dead = True  # nothing is written any more: no checkpoint, no word of farewell


async def run(rt: Runtime, code: str) -> Outcome:
    return await rt.execute(dedent(code))


async def value(rt: Runtime, code: str) -> Any:
    return (await run(rt, code)).unwrap()


async def failure(rt: Runtime, code: str) -> str:
    """What the agent reads of the error."""
    outcome = await run(rt, code)
    assert outcome.error is not None, outcome
    return str(outcome.error)
