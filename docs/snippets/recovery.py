import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from replies import model

import cellwright
from cellwright import operation
from cellwright.doors import Request


class Post:
    """Its letters are lines of a file, so that they are known whoever dies."""

    def __init__(self, file: Path) -> None:
        self._file = file

    @operation(idempotent=True)
    def send(self, name: str) -> str:
        """Send a letter."""
        with self._file.open("a") as file:
            file.write(f"{name}\n")
        return f"letter to {name}"


def dies(_: Request) -> str:
    os.kill(os.getpid(), signal.SIGKILL)
    return ""


# shown:
async def main(place: Path, *replies: object) -> None:
    """What the program does whenever it is started."""
    agent = cellwright.Agent(
        model(*replies),  # pyright: ignore[reportArgumentType] - texts and functions
        scope={"post": Post(place / "post.txt")},
        store=place / "agents.db",
        name="writer",
    )
    for turn in await agent.recover(returns=list[str]):
        print("recovered:", turn.task, "->", turn.value or turn.error)
    if dies in replies:
        async with agent.session("letters") as session:
            await session.run("Write to ada and grace.", returns=list[str])


# end


if len(sys.argv) > 1:
    cellwright.run(main(Path(sys.argv[1]), "sent = [post.send('ada')]", dies))
else:
    with tempfile.TemporaryDirectory() as directory:
        child = subprocess.run([sys.executable, __file__, directory], check=False)
        print("the first process ended by signal", -child.returncode)
        cellwright.run(main(Path(directory), "sent.append(post.send('grace'))\ndone(sent)"))
        print((Path(directory) / "post.txt").read_text().split())
