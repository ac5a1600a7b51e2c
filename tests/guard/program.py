"""A process with a session that asks people. It kills itself where it is told to.

python -m tests.guard.program PLACE [killed-when-paused | killed-after-the-effect]
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from cellwright import Limits, Runtime, operation

PROGRAM = "tests.guard.program"
CODE = """
try:
    said = await post.send('ann')
except Exception as error:
    said = type(error).__name__
said
"""


class Postbox:
    """Each effect is a line of a file. `alive` says whether the process is meant to be; `sent` is told after each."""

    def __init__(
        self, path: Path, alive: Callable[[], bool] = lambda: True, sent: Callable[[], object] = lambda: None
    ) -> None:
        self._path = path
        self._alive = alive
        self._sent = sent

    @operation(ask=True)
    async def send(self, what: str) -> str:
        self._add(f"send {what}")
        return f"sent {what}"

    @operation(ask=True, idempotent=True)
    async def put(self, what: str) -> str:
        self._add(f"put {what}")
        return f"put {what}"

    @operation(reads=True)
    async def has(self, what: str) -> bool:
        return f"send {what}" in self.lines()

    def _add(self, line: str) -> None:
        if not self._alive():
            raise SystemExit("dead")  # the dead do nothing
        with self._path.open("a") as file:
            file.write(f"{line}\n")
        self._sent()

    def lines(self) -> list[str]:
        return self._path.read_text().splitlines() if self._path.exists() else []


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def main(place: Path, how: str) -> None:
    post = Postbox(place / "sent", sent=die if how == "killed-after-the-effect" else lambda: None)
    store, limits = place / "agents.db", Limits(wall_s=60, cpu_s=60)
    if not store.exists():
        async with Runtime({"post": post}, store=store, session="s1", limits=limits) as rt:
            outcome = await rt.execute(CODE)
            if outcome.waiting and how == "killed-when-paused":
                die()
        return
    async with Runtime.resume("s1", scope={"post": post}, store=store, limits=limits) as rt:
        print((await rt.outcome()).unwrap())


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), "".join(sys.argv[2:])))
