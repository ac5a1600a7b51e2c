import re
import tempfile
from pathlib import Path

import cellwright
from cellwright.store import DroppedCheckpoint, open_store

# shown:
CELLS = [
    "import ctypes; total = 7",
    "now = (ctypes.c_long * 2)(); ctypes.CDLL(None).clock_gettime(1, now); first = log(now[0] * 10**9 + now[1])",
    "total += 1",
]


def log(number: int) -> str:
    return "logged"


# end


def delete_checkpoints(store: Path) -> None:
    """Else the session would go on from its last one, and nothing would be run again."""
    journal = open_store(str(store))
    journal.write(journal.claim("s1"), *(DroppedCheckpoint(cell=one.cell) for one in journal.checkpoints("s1")))
    journal.close()


def show(line: object) -> None:
    print(re.sub(r"\d{9,}", "…", str(line)))


async def main(store: Path) -> None:
    async with cellwright.Runtime({"log": log}, store=store, session="s1") as rt:
        for code in CELLS:
            await rt.execute(code)

    delete_checkpoints(store)
    async with cellwright.Runtime.resume("s1", scope={"log": log}, store=store, progress=show) as rt:
        assert rt.restored is not None
        show(rt.restored.diverged)
        show(rt.restored.lost)
        show((await rt.execute("total")).value)


with tempfile.TemporaryDirectory() as place:
    cellwright.run(main(Path(place) / "agents.db"))
