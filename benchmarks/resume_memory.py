"""The peak memory of a process that resumes a session with large answers, with checkpoints and by replay.

Beside it the same with few answers. `python -m benchmarks.resume_memory FILE CELLS` is that process.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from benchmarks.journal_file import forget_checkpoints
from benchmarks.results import Check
from benchmarks.run import Run
from cellwright import Runtime

ANSWER = 1 << 20
FEW = 3
TARGET = 1.5


class Archive:
    """A host object with pages of 1 MB, each another one."""

    def page(self, number: int) -> str:
        return f"{number:08}" * (ANSWER // 8)


async def measure(run: Run, directory: Path) -> list[Check]:
    many = run.count(300, 6)
    peaks: dict[tuple[int, str], int] = {}
    for count in (FEW, many):
        file = directory / f"archive-{count}.db"
        async with Runtime({"archive": Archive()}, store=f"sqlite:///{file}", session="s1") as rt:
            for number in range(count):
                (await rt.execute(f"page = archive.page({number})")).unwrap()
        peaks[count, "with checkpoints"] = await _peak(file, 0)
        forget_checkpoints(file)
        peaks[count, "by replay"] = await _peak(file, count)
    return [
        Check(
            subject="sessions",
            what=f"memory of a process that resumes, {many} answers of 1 MB, {how}",
            against=f"{FEW} answers",
            ours=peaks[many, how],
            theirs=peaks[FEW, how],
            unit="B",
            value=peaks[many, how] / peaks[FEW, how],
            target=TARGET,
            samples=1,
        )
        for how in ("with checkpoints", "by replay")
    ]


async def _peak(file: Path, cells: int) -> int:
    command = (sys.executable, "-m", "benchmarks.resume_memory", str(file), str(cells))
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    out, _ = await process.communicate()
    assert process.returncode == 0, command
    return int(out)


async def _resumed(file: str, cells: int) -> None:
    async with Runtime.resume("s1", scope={"archive": Archive()}, store=f"sqlite:///{file}") as rt:
        assert rt.restored is not None
        assert len(rt.restored.cells) == cells


if __name__ == "__main__":
    asyncio.run(_resumed(sys.argv[1], int(sys.argv[2])))
    status = Path("/proc/self/status").read_text()  # `getrusage` would tell of the process that started this one, too
    print(next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmHWM:")))
