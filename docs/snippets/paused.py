import asyncio
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import cellwright

sent: list[str] = []


class Mail:
    @cellwright.operation(ask=True)
    async def send(self, to: str, text: str) -> str:
        sent.append(to)
        return f"sent to {to}"


# shown:
LOOP = """
said = []
for to in ("ann", "bob"):
    try:
        said.append(await mail.send(to, text=f"Dear {to}"))
    except PermissionError as error:
        said.append(str(error))
said
"""


async def first_process(store: Path) -> None:
    async with cellwright.Runtime({"mail": Mail()}, store=store, session="letters") as rt:
        outcome = await rt.execute(LOOP)
        print("first process: ", outcome.error)


async def second_process(store: Path) -> None:
    async with cellwright.Runtime.resume("letters", scope={"mail": Mail()}, store=store) as rt:
        outcome = await rt.outcome()
        print("second process:", outcome.error)
        (question,) = cellwright.open_questions(store, "letters")
        print("waits:         ", question.operation + question.arguments)
        cellwright.decide(store, question.id, yes=False, reason="not him", who="ann")
        outcome = await rt.outcome()
        print("second process:", outcome.value, sent)


# end


def approve(store: Path, *words: str) -> str:
    command = [sys.executable, "-m", "cellwright", "approve", *words, "--store", str(store)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


with tempfile.TemporaryDirectory() as place:
    store = Path(place) / "agents.db"
    asyncio.run(first_process(store))

    listed = approve(store)
    print("$ cellwright approve")
    print(re.sub(r"asked \S+ \S+", "asked …", re.sub(r"q-\w+", "q-…", listed)), end="")
    id = listed.split()[0]
    print("$ cellwright approve q-… --yes --who cleo")
    print(re.sub(r"q-\w+", "q-…", approve(store, id, "--yes", "--who", "cleo")), end="")

    asyncio.run(second_process(store))
