"""Sessions that last: what it costs to add to one, list many, open a long one, search all, and to let them sleep."""

from __future__ import annotations

from benchmarks import history, keeping, recall, resume_memory, sleeping, workspace
from benchmarks.results import Check
from benchmarks.run import Run


async def measure(run: Run) -> list[Check]:
    with run.directory() as directory:
        checks = [*keeping.measure(run, directory), *await history.measure(run, directory)]
        checks += recall.measure(run, directory)
        checks += await sleeping.measure(run, directory)
        checks += await resume_memory.measure(run, directory)
    checks += await workspace.measure(run)
    return checks
