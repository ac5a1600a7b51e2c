"""`import cellwright` beside `import asyncio`, each in a fresh process, less what the process takes without either."""

from __future__ import annotations

import sys

from benchmarks.results import Check
from benchmarks.run import Run, median, started

TARGET = 2.0
PROGRAMS = {
    "nothing": "pass",
    "asyncio": "import asyncio",
    "cellwright": "import cellwright",
    "Runtime": "from cellwright import Runtime",
}


async def measure(run: Run) -> list[Check]:
    times: dict[str, list[float]] = {name: [] for name in PROGRAMS}
    for program in PROGRAMS.values():
        started(sys.executable, "-I", "-c", program)  # writes the byte code, reads the files
    for _ in run.rounds("imports", 60, 2):
        for name, program in PROGRAMS.items():
            times[name].append(started(sys.executable, "-I", "-c", program))
    bare, theirs = median(times["nothing"]), median(times["asyncio"]) - median(times["nothing"])
    lines = (("cellwright", TARGET, "loads lazily"), ("Runtime", None, "with asyncio"))
    return [
        Check(
            subject="import",
            what=f"`{PROGRAMS[name]}`",
            against="`import asyncio`",
            ours=median(times[name]) - bare,
            theirs=theirs,
            value=(median(times[name]) - bare) / theirs,
            target=target,
            samples=len(times[name]),
            note=note,
        )
        for name, target, note in lines
    ]
