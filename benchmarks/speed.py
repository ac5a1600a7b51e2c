"""The same text run as a cell and by the same interpreter outside: pure Python, and numpy, pandas and polars.

The best of many rounds on either side: what the machine's other work costs a round is not ours to report.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.results import Check
from benchmarks.run import Run
from cellwright import Limits, Runtime

WORKLOADS = Path(__file__).parent / "workloads"
PURE_TARGET, DATA_TARGET = 0.97, 0.95
THREADS = {"OPENBLAS_NUM_THREADS": "1"}  # what a guest starts with


async def measure(run: Run) -> list[Check]:
    pure = await _compare(run, "pure", [await run.python(), "-I", "-S"], Runtime, PURE_TARGET)
    data = partial(Runtime, packages=Path(sys.prefix), limits=Limits(memory_mb=1024))
    return pure + await _compare(run, "data", [sys.executable, "-I"], data, DATA_TARGET)


async def _compare(
    run: Run, kind: str, python: list[str], runtime: Callable[[], Runtime], target: float
) -> list[Check]:
    source = (WORKLOADS / f"{kind}.py").read_text(encoding="utf-8")
    size = run.count(*{"pure": (24, 2), "data": (200_000, 5_000)}[kind])
    times = run.count(5, 1)
    title = {"pure": "pure Python inside and outside", "data": "numpy, pandas, polars inside and outside"}[kind]
    inside: dict[str, float] = {}
    outside: dict[str, float] = {}
    rounds = 0
    for _ in run.rounds(title, 12, 1):
        rounds += 1
        async with runtime() as rt:
            _keep(inside, (await rt.execute(f"{source}\nbest({size}, {times})")).unwrap())
        _keep(outside, _program(python, f"{source}\nimport json\nprint(json.dumps(best({size}, {times})))"))
    return [
        Check(
            subject="speed",
            what=f"{name} in a cell",
            against="outside",
            ours=inside[name],
            theirs=outside[name],
            value=outside[name] / inside[name],
            target=target,
            at_least=True,
            samples=rounds * times,
        )
        for name in inside
    ]


def _program(python: list[str], text: str) -> dict[str, float]:
    done = subprocess.run([*python, "-c", text], capture_output=True, check=False, env=os.environ | THREADS)
    if done.returncode:
        raise RuntimeError(f"the program outside failed: {done.stderr.decode(errors='replace')[-500:]}")
    return json.loads(done.stdout)


def _keep(least: dict[str, float], told: dict[str, float]) -> None:
    for name, seconds in told.items():
        least[name] = min(seconds, least.get(name, seconds))
