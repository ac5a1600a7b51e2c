"""python -m benchmarks            measure everything, about twelve minutes; installs the peers when they are not there
python -m benchmarks --quick    small counts, peers only where installed: shows that it works, not how fast
python -m benchmarks --json     the figures for programs
python -m benchmarks --write    also rewrite docs/benchmarks.md and its picture
python -m benchmarks --only turns tokens    these subjects alone, by their modules' names
python -m benchmarks --only gateway --write    this part of the page alone; so for guard, privacy, network, sessions,
                                at_once
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path

from rich.console import Console

from benchmarks import (
    at_once,
    calls,
    chart,
    checking,
    checkpoints,
    crowd,
    gateway,
    guard,
    imports,
    journal,
    network,
    opening,
    page,
    privacy,
    resuming,
    sessions,
    speed,
    terminal,
    tokens,
    turns,
)
from benchmarks.peers import conductor
from benchmarks.results import Check, Conversation, Peer, Report, machine, today
from benchmarks.run import Run, file_system

DOCS = Path(__file__).resolve().parent.parent / "docs"
CHECKS: dict[str, Callable[[Run], Awaitable[list[Check]]]] = {
    "opening": opening.measure,
    "crowd": crowd.measure,  # before there are zygotes with packages, which stay for a while and would be counted
    "calls": calls.measure,
    "journal": journal.measure,
    "guard": guard.measure,
    "privacy": privacy.measure,
    "network": network.measure,
    "resuming": resuming.measure,
    "checkpoints": checkpoints.measure,
    "speed": speed.measure,
    "imports": imports.measure,
    "checking": checking.measure,
    "at_once": at_once.measure,
    "sessions": sessions.measure,
    "gateway": gateway.measure,
}
ROUNDS: dict[str, Callable[[Run], Awaitable[list[Peer]]]] = {
    "peers": conductor.measure,
    "lasting": conductor.measure_lasting,
    "turns": turns.measure,
}
SUBJECTS = (*CHECKS, *ROUNDS, "tokens")


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small counts, under half a minute")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument(
        "--write", action="store_true", help="rewrite docs/benchmarks.md and docs/images/benchmarks.svg"
    )
    parser.add_argument("--only", nargs="+", choices=SUBJECTS, metavar="SUBJECT", help=", ".join(SUBJECTS))
    chosen = parser.parse_args()
    if chosen.only and chosen.write and not (len(chosen.only) == 1 and chosen.only[0] in page.PARTS):
        parser.error(f"--write is of everything, or of --only {' or '.join(page.PARTS)}, which have parts of their own")
    if chosen.quick and chosen.write:
        parser.error("--quick measures too little to be written down; use --write alone")
    subjects: Collection[str] = chosen.only or SUBJECTS
    parts = [subjects]
    if chosen.write:  # each part of the page is a run of its own
        parts = [
            [name for name in subjects if name not in page.PARTS],
            *([name] for name in page.PARTS if name in subjects),
        ]
    for part in filter(None, parts):
        _measured(part, chosen)


def _measured(subjects: Collection[str], chosen: argparse.Namespace) -> None:
    apart = next((name for name in page.PARTS if list(subjects) == [name]), "")
    arguments = f"--only {apart} --write" if apart else "--write"
    command = "make bench" + (f' ARGS="{arguments}"' if chosen.write else "")
    report = asyncio.run(measure(quick=chosen.quick, command=command, subjects=subjects))
    if chosen.write:
        page.rewrite(DOCS / "benchmarks.md", report, page.PARTS.get(apart, page.BEGIN))
    if chosen.write and not apart:
        (DOCS / "images" / "benchmarks.svg").write_text(chart.svg(report), encoding="utf-8")
    if chosen.json:
        print(json.dumps(report.as_json(), indent=2, ensure_ascii=False))
    else:
        terminal.show(report, Console(width=None if sys.stdout.isatty() else 140))


async def measure(*, quick: bool, command: str, subjects: Collection[str]) -> Report:
    """One subject after the other."""
    checks: list[Check] = []
    rounds = {name: list[Peer]() for name in ROUNDS}
    conversations: list[Conversation] = []
    with Run(quick=quick) as run:
        where = machine() | {"files": file_system(run.cache)}
        for name in (name for name in CHECKS if name in subjects):
            checks += await CHECKS[name](run)
        for name in (name for name in ROUNDS if name in subjects):
            rounds[name] = await ROUNDS[name](run)
        if "tokens" in subjects:
            counted, conversations = await tokens.measure(run)
            checks += counted
    return Report(
        command=command,
        date=today(),
        quick=quick,
        machine=where,
        checks=tuple(checks),
        peers=tuple(rounds["peers"]),
        lasting=tuple(rounds["lasting"]),
        agents=tuple(rounds["turns"]),
        conversations=tuple(conversations),
        remarks=tuple(run.remarks),
    )


if __name__ == "__main__":
    main()
