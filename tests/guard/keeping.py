"""Sessions whose cells wait for people: opened, ended as a death would, and resumed, in one store."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from textwrap import dedent
from typing import Any

from tests.cells import PATIENT

from cellwright import Outcome, Runtime
from cellwright.errors import Waiting
from cellwright.guard import decide, open_questions
from cellwright.sandboxes import Interpreter, Opening, ProcessSandbox, Sandbox, environment
from cellwright.store import Question, SqliteStore, Store

LOOP = "said = []\nfor to in ('ann', 'bob', 'cid'):\n    said.append(await mail.send(to))\nsaid"


class Office:
    """One store. Each `open` is a process that ends in order; what its sessions' cells wait for stays."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.store: Store = SqliteStore(place / "agents.db")

    @asynccontextmanager
    async def open(self, session: str = "s1", **options: Any) -> AsyncGenerator[Runtime]:
        options = {"limits": PATIENT, "store": self.store, **options}
        known = session in self.store.sessions()
        rt = Runtime.resume(session, **options) if known else Runtime(session=session, **options)
        async with rt:
            yield rt

    @property
    def waiting(self) -> list[str]:
        """The arguments of what waits."""
        return [one.arguments for one in self.questions]

    @property
    def questions(self) -> Sequence[Question]:
        return open_questions(self.store)

    def say(self, yes: bool = True, **options: Any) -> list[Question]:
        """Decide all that waits."""
        return [decide(self.store, one.id, yes=yes, who="ann", **options) for one in self.questions]


def waits(outcome: Outcome) -> bool:
    assert isinstance(outcome.error, Waiting) == bool(outcome.waiting), outcome
    return bool(outcome.waiting)


async def run(rt: Runtime, code: str) -> Outcome:
    return await rt.execute(dedent(code))


async def carried_on(rt: Runtime, office: Office, *, yes: bool = True) -> Outcome:
    """The last cell, with a person who decides whatever is asked."""
    while waits(outcome := await rt.outcome()):
        assert office.say(yes)
    return outcome


class Counted:
    """A sandbox that knows how many of its guests live."""

    def __init__(self, inner: Sandbox) -> None:
        self._inner = inner
        self._opened: list[Interpreter] = []

    @classmethod
    async def make(cls) -> Counted:
        return cls(ProcessSandbox(await environment(None, cache=Path("/tmp"), progress=lambda line: None)))

    @property
    def rung(self) -> str:
        return self._inner.rung

    @property
    def alive(self) -> int:
        return sum(one.alive for one in self._opened)

    @property
    def opened(self) -> int:
        return len(self._opened)

    async def open(self, opening: Opening) -> Interpreter:
        self._opened.append(await self._inner.open(opening))
        return self._opened[-1]

    async def pins(self) -> dict[str, str]:
        return await self._inner.pins()

    async def close(self) -> None:
        await self._inner.close()
