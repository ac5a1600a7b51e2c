"""A parent and its child in one process, which dies by SIGKILL in the child's turn as often as it is told to.

Run as a program: where the journal is, and when to die: after so many of the child's replies, at its "end", or "never".
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cellwright.agent import Agent
from cellwright.doors import Request
from cellwright.events import ChildFinished, Event
from cellwright.messages import AssistantMessage, UserMessage
from cellwright.testing import ScriptedModel, code

CHILD = ("ledger.add('first')", "ledger.add('second')", "done(f'{len(ledger.lines())} lines')")


class Ledger:
    """Lines of a file: what is written stays, whoever dies."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, line: str) -> int:
        with self._path.open("a") as file:
            return file.write(f"{line}\n")

    def lines(self) -> list[str]:
        return self._path.read_text().splitlines()


def parent_at(place: Path, reply: Callable[[Request], Any]) -> Agent:
    """The agent whose sessions are kept at this place; it and its children ask one model."""
    return Agent(
        ScriptedModel(otherwise=reply),
        scope={"ledger": Ledger(place / "ledger")},
        store=f"sqlite:///{place}/agents.db",
        spawn=True,
        check="off",
    )


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_at_end(event: Event) -> None:
    if isinstance(event, ChildFinished):
        die()


async def main(place: Path, when: str) -> None:
    paid = Ledger(place / "paid")

    def reply(request: Request) -> AssistantMessage:
        task = next(m.text for m in request.messages if isinstance(m, UserMessage))
        step = sum(isinstance(m, AssistantMessage) for m in request.messages)
        if "child's task" not in task:
            paid.add(f"parent {step}")
            return code("answer = await spawn(\"the child's task\", scope={'ledger': ledger})\ndone(answer)")
        if str(step) == when:
            die()
        paid.add(f"child {step}")
        return code(CHILD[step])

    agent = parent_at(place, reply)
    known = (place / "agents.db").exists()
    for done in await agent.recover():  # the child is its parent's to carry on
        assert done.session == "parent", done
        return print(json.dumps(done.value))
    session: Any = agent.resume("parent") if known else agent.session("parent")
    async with session:
        heard = die_at_end if when == "end" else None
        result = await (session.carry_on() if known else session.run("the parent's task", on_event=heard))
    print(json.dumps(result.value))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
