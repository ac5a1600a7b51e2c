"""python -m benchmarks            measure everything, about seven minutes; installs the peers when they are not there
python -m benchmarks --quick    small counts, peers only where installed: shows that it works, not how fast
python -m benchmarks --json     the figures for programs
python -m benchmarks --write    also rewrite docs/benchmarks.md and its picture
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from rich.console import Console

from benchmarks import (
    calls,
    chart,
    checking,
    checkpoints,
    crowd,
    imports,
    journal,
    opening,
    page,
    resuming,
    speed,
    terminal,
)
from benchmarks.peers import conductor
from benchmarks.results import Check, Report, machine, today
from benchmarks.run import Run

DOCS = Path(__file__).resolve().parent.parent / "docs"
SUBJECTS: tuple[Callable[[Run], Awaitable[list[Check]]], ...] = (
    opening.measure,
    crowd.measure,  # before there are zygotes with packages, which stay for a while and would be counted
    calls.measure,
    journal.measure,
    resuming.measure,
    checkpoints.measure,
    speed.measure,
    imports.measure,
    checking.measure,
)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small counts, under half a minute")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument(
        "--write", action="store_true", help="rewrite docs/benchmarks.md and docs/images/benchmarks.svg"
    )
    chosen = parser.parse_args()
    if chosen.quick and chosen.write:
        parser.error("--quick measures too little to be written down; use --write alone")
    report = asyncio.run(measure(quick=chosen.quick, command="make bench" + (" ARGS=--write" if chosen.write else "")))
    if chosen.write:
        page.rewrite(DOCS / "benchmarks.md", report)
        (DOCS / "images" / "benchmarks.svg").write_text(chart.svg(report), encoding="utf-8")
    if chosen.json:
        print(json.dumps(report.as_json(), indent=2, ensure_ascii=False))
    else:
        terminal.show(report, Console(width=None if sys.stdout.isatty() else 140))


async def measure(*, quick: bool, command: str) -> Report:
    """Everything, one subject after the other."""
    where = machine()
    checks: list[Check] = []
    with Run(quick=quick) as run:
        for subject in SUBJECTS:
            checks += await subject(run)
        peers = await conductor.measure(run)
        lasting = await conductor.measure_lasting(run)
    return Report(
        command=command,
        date=today(),
        quick=quick,
        machine=where,
        checks=tuple(checks),
        peers=tuple(peers),
        lasting=tuple(lasting),
    )


if __name__ == "__main__":
    main()
