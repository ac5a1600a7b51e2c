import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import cellwright

# shown:
CELL = """
    letters = []
    for name in ("ada", "grace", "linus"):
        address = office.address(name)
        letters.append(office.send(name, address))
    letters
"""
# end


class Office:
    """Its letters are lines of a file, so that they are known whoever dies."""

    def __init__(self, post: Path, *, dies: bool) -> None:
        self._post = post
        self._dies = dies

    @cellwright.operation(reads=True)
    def address(self, name: str) -> str:
        if self._dies and name == "grace":
            os.kill(os.getpid(), signal.SIGKILL)  # no cleaning up, no last words
        return f"{name}@example.org"

    def send(self, name: str, address: str) -> str:
        with self._post.open("a") as post:
            post.write(f"{address}\n")
        return f"letter to {name}"


async def first(place: Path) -> None:
    scope = {"office": Office(place / "post.txt", dies=True)}
    async with cellwright.Runtime(scope, store=place / "agents.db", session="letters") as rt:
        await rt.execute(CELL)


# shown:
async def second(place: Path) -> None:
    scope = {"office": Office(place / "post.txt", dies=False)}
    async with cellwright.Runtime.resume("letters", scope=scope, store=place / "agents.db") as rt:
        outcome = await rt.outcome()  # of the last cell, carried on to its end
        print(outcome.value)
        print((place / "post.txt").read_text().split())


# end


if len(sys.argv) > 1:
    cellwright.run(first(Path(sys.argv[1])))
else:
    with tempfile.TemporaryDirectory() as directory:
        child = subprocess.run([sys.executable, __file__, directory], check=False)
        print("the first process ended by signal", -child.returncode)
        cellwright.run(second(Path(directory)))
