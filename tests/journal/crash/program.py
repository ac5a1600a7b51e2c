"""A process of its own that lives one life of a session, and kills itself at a write when told to.

python -m tests.journal.crash.program PLACE SCENARIO [WRITE before|after]
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from tests.journal.crash.desk import Desk, Effects
from tests.journal.crash.lives import live
from tests.journal.crash.scenarios import SCENARIOS

from cellwright.store import SqliteStore


def main() -> None:
    place, name, *death = Path(sys.argv[1]), *sys.argv[2:]
    journal = SqliteStore(place / "journal.db")
    if death:
        last, moment = int(death[0]), death[1]

        def on_write(number: int, at: str) -> None:
            if (number, at) == (last, moment):
                os.kill(os.getpid(), signal.SIGKILL)

        journal.on_write = on_write
    desk = Desk(Effects(place / "effects"))
    (place / "work").mkdir(exist_ok=True)
    asyncio.run(live(journal, desk, SCENARIOS[name], place / "work"))
    journal.close()


if __name__ == "__main__":
    main()
