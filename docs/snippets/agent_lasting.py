import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from replies import model

import cellwright
from cellwright.doors import Request


class Post:
    """Its letters are lines of a file, so that they are known whoever dies."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def send(self, name: str) -> str:
        """Send a letter."""
        with self._file.open("a") as file:
            file.write(f"{name}\n")
        return f"letter to {name}"


def dies(_: Request) -> str:
    os.kill(os.getpid(), signal.SIGKILL)  # no cleaning up, no last words
    return ""


async def first(place: Path) -> None:
    replies = model("sent = [post.send(name) for name in ('ada', 'grace')]", dies)
    agent = cellwright.Agent(replies, scope={"post": Post(place / "post.txt")}, store=place / "agents.db")
    async with agent.session("letters") as session:
        await session.run("Write to ada and grace.")


async def second(place: Path) -> None:
    replies = model("done(sent)", "post.send('linus')\ndone('sent')", "post.send('alan')\ndone('sent')")
    agent = cellwright.Agent(replies, scope={"post": Post(place / "post.txt")}, store=place / "agents.db")
    # shown:
    async with agent.resume("letters") as session:
        print((await session.carry_on()).value)  # the turn that was cut off
        async with session.fork("another-way") as branch:
            print((await branch.run("And to linus.")).value)
        print((await session.run("And to alan.")).value)
    # end
    print((place / "post.txt").read_text().split(), "with", len(replies.requests), "requests")


if len(sys.argv) > 1:
    cellwright.run(first(Path(sys.argv[1])))
else:
    with tempfile.TemporaryDirectory() as directory:
        child = subprocess.run([sys.executable, __file__, directory], check=False)
        print("the first process ended by signal", -child.returncode)
        cellwright.run(second(Path(directory)))
