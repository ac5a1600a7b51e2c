"""A task of many steps in one process, which is killed as its arguments say. Its effects outlive it, in files.

Run as a program: where everything is kept, and when to die:

    never                     to its end
    write N before|after      at the N-th durable write of this life
    asked N, paid N           in the N-th request of this life: before the reply, or when it is paid for and not kept
    effect N                  in the N-th call of this life that changes something, when it has happened

It carries on what the process before it left (`agent.recover()`), or sets the task; then it prints the answer.
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

from cellwright import operation
from cellwright.agent import Agent
from cellwright.doors import Request
from cellwright.errors import OutcomeUnknown
from cellwright.messages import AssistantMessage
from cellwright.models import Budget
from cellwright.store import SqliteStore
from cellwright.testing import ScriptedModel, code

SESSION, TASK, STEPS = "long", "Fill the ledger.", 50


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def append(path: Path, line: str) -> None:
    with path.open("a") as file:
        file.write(f"{line}\n")
        file.flush()
        os.fsync(file.fileno())


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


class Ledger:
    """Lines of a file. `add` does it again when it is called again; `put` does not."""

    def __init__(self, path: Path, happened: Callable[[], None]) -> None:
        self._path = path
        self._happened = happened

    def add(self, line: str) -> int:
        """A line more; gives how many there are."""
        append(self._path, line)
        self._happened()
        return len(lines(self._path))

    @operation(idempotent=True)
    def put(self, line: str) -> None:
        """This line, once."""
        if line not in lines(self._path):
            append(self._path, line)
            self._happened()

    @operation(reads=True)
    def has(self, line: str) -> bool:
        """Whether it is there."""
        return line in lines(self._path)

    @operation(reads=True)
    async def look(self, number: int) -> int:
        """Takes a moment; gives the square."""
        await asyncio.sleep(0)
        return number * number


ADD = """
try:
    ledger.add("line {n}")
except OutcomeUnknown:
    if not ledger.has("line {n}"):
        ledger.add("line {n}")
total += {n}
"""
FAIL = "await asyncio.sleep(0.01)\nseen.append(time.time() > 0)\n{}['there is none']"


def step(number: int) -> AssistantMessage:
    """What the model says at that step."""
    if number == 0:
        return code("import asyncio, random, time\ntotal, seen, ids = 0, [], []")
    if number == STEPS - 1:
        return code(
            "done({'total': total, 'seen': seen, 'ids': len(set(ids)), 'files': len(open('log.txt').readlines())})"
        )
    cells = (
        ADD.format(n=number),
        f"ledger.put('key {number}')\nids.append(random.random())",
        f"new = await asyncio.gather(*(ledger.look(n) for n in range({number}, {number} + 4)))\nseen += new",
        f"with open('log.txt', 'a') as f:\n    f.write('step {number}\\n')\nopen('last.txt', 'w').write('{number}')",
        f"for n in range(3):\n    ledger.put(f'many {number} {{n}}')\ntotal -= 1\nprint(total)",
        FAIL if number == 11 else "time.sleep(0)",
    )
    return code(cells[number % len(cells)])


class Life:
    """One life of the program: it counts what happens, and dies where it was told to."""

    def __init__(self, place: Path, when: str, number: int = 0, moment: str = "") -> None:
        self.place = place
        self._when = when
        self._left = number
        self._moment = moment

    def happens(self, what: str, moment: str = "") -> None:
        if what == self._when and moment in ("", self._moment):
            self._left -= 1
            if self._left == 0:
                die()

    def write(self, _: int, moment: str) -> None:
        self.happens("write", moment)

    async def reply(self, request: Request) -> AssistantMessage:
        number = sum(isinstance(message, AssistantMessage) for message in request.messages)
        append(self.place / "asked", str(number))
        self.happens("asked")
        await asyncio.sleep(0.002)
        append(self.place / "paid", str(number))
        self.happens("paid")
        return step(number)

    def agent(self) -> tuple[Agent, SqliteStore]:
        store = SqliteStore(self.place / "agents.db")
        store.on_write = self.write
        scope = {
            "ledger": Ledger(self.place / "ledger", lambda: self.happens("effect")),
            "OutcomeUnknown": OutcomeUnknown,
        }
        model = ScriptedModel(otherwise=self.reply)
        return Agent(model, scope=scope, store=store, check="off", budget=Budget(steps=200), name="filler"), store


async def main(life: Life) -> Any:
    agent, store = life.agent()
    print("ready", flush=True)
    for done in await agent.recover(returns=dict):
        if done.error is not None:
            raise done.error
        return done.value
    if SESSION not in store.sessions():
        async with agent.session(SESSION) as session:
            return (await session.run(TASK, returns=dict)).value
    async with agent.resume(SESSION) as session:  # it died before its task was set, or when it had its answer
        turn = session.carry_on(returns=dict) if session.has_turn else session.run(TASK, returns=dict)
        return (await turn).value


if __name__ == "__main__":
    place, when, number, moment = (*sys.argv[1:], "0", "")[:4]
    print(json.dumps(asyncio.run(main(Life(Path(place), when, int(number), moment)))))
