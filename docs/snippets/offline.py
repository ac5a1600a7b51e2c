import os
import subprocess
import sys
import tempfile
from pathlib import Path

import cellwright

TEST = Path(__file__).with_name("recorded_session.py")


async def record() -> None:
    stock = {"tea": 12, "scones": 3}
    async with cellwright.Runtime({"count": stock.get}, store="sessions.db", session="stock") as rt:
        await rt.execute("low = [item for item in ('tea', 'scones') if count(item) < 5]; print(low)")


def shell(*command: str) -> list[str]:
    print("$", *map(os.path.basename, command))
    done = subprocess.run([sys.executable, "-m", *command], check=True, capture_output=True, text=True)
    return done.stdout.splitlines()


with tempfile.TemporaryDirectory() as place:
    os.chdir(place)
    cellwright.run(record())
    print(*shell("cellwright", "replay", "--store", "sessions.db"))
    print(*shell("cellwright", "replay", "stock", "--store", "sessions.db"))
    print(shell("pytest", "-q", str(TEST))[-1].partition(" in ")[0])
