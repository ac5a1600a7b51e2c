"""A parent and its child in one process, which dies by SIGKILL in the child's turn as often as it is told to.

Run as a program: where the journal is, and after which of the child's replies to die; 0 is not at all.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from toolwright.agent import Agent
from toolwright.doors import Request
from toolwright.messages import Asked, Said
from toolwright.testing import ScriptedModel, code

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


async def main(place: Path, die_after: int) -> None:
    paid = Ledger(place / "paid")

    def reply(request: Request) -> Said:
        task = next(m.text for m in request.messages if isinstance(m, Asked))
        step = sum(isinstance(m, Said) for m in request.messages)
        if "child's task" not in task:
            paid.add(f"parent {step}")
            return code("answer = await spawn(\"the child's task\", scope={'ledger': ledger})\ndone(answer)")
        if die_after and step == die_after:
            os.kill(os.getpid(), signal.SIGKILL)
        paid.add(f"child {step}")
        return code(CHILD[step])

    agent = Agent(
        ScriptedModel(otherwise=reply),
        scope={"ledger": Ledger(place / "ledger")},
        store=f"sqlite:///{place}/agents.db",
        spawn=True,
        check="off",
    )
    known = (place / "agents.db").exists()
    session: Any = agent.resume("parent") if known else agent.session("parent")
    async with session:
        result = await (session.carry_on() if known else session.run("the parent's task"))
    print(json.dumps(result.value))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
