import re
import tempfile
from pathlib import Path

import toolwright

CELLS = [
    "total = 7",
    "class Ticket: pass\nfirst = log(id(Ticket()))",  # an address: another one in every process
    "total += 1",
]


def log(number: int) -> str:
    return "logged"


def show(line: object) -> None:
    print(re.sub(r"\d{9,}", "…", str(line)))


async def main(store: Path) -> None:
    async with toolwright.Runtime({"log": log}, store=store, session="s1") as rt:
        for code in CELLS:
            await rt.execute(code)

    async with toolwright.Runtime.resume("s1", scope={"log": log}, store=store, progress=show) as rt:
        assert rt.restored is not None
        show(rt.restored.diverged)
        show(rt.restored.lost)
        show((await rt.execute("total")).value)


with tempfile.TemporaryDirectory() as place:
    toolwright.run(main(Path(place) / "agents.db"))
