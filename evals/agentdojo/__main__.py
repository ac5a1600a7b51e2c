"""python -m evals.agentdojo                     AgentDojo's suites: injections that are obeyed, and tasks without one
python -m evals.agentdojo --suite slack banking  some suites
python -m evals.agentdojo --only twins           the tasks without injections alone
python -m evals.agentdojo --json results.json --write
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from benchmarks.peers.roster import Environment
from benchmarks.results import machine, today
from rich.console import Console
from rich.markdown import Markdown
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from cellwright.settings import Settings
from evals.agentdojo.dojo_page import markdown, rewrite
from evals.agentdojo.episodes import Episode, Plan, attacks, play, play_all, play_control, twins
from evals.agentdojo.obedience import CELLS
from evals.agentdojo.results import DojoReport
from evals.agentdojo.suite_client import Missing, Suite, Suites

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guard.md"
PARTS = ("attacks", "control", "twins", "programs")


async def report(suites: Suites, chosen: Sequence[Suite], parts: Sequence[str], progress: Progress) -> DojoReport:
    """Play the episodes of these suites, and count."""
    where, began = machine(), time.perf_counter()

    async def episodes(
        part: str, plans: Sequence[Plan], how: Callable[[Suites, Plan], Awaitable[Episode]]
    ) -> tuple[Episode, ...]:
        if part not in parts:
            return ()
        task = progress.add_task(part, total=len(plans))
        return tuple(await play_all(suites, plans, how, ended=lambda: progress.advance(task)))

    goals = {
        f"{suite.name} {each.id.removeprefix('injection_task_')}": (suite, each)
        for suite in chosen
        for each in suite.injections
    }
    answers = [name for name, (suite, each) in goals.items() if each.is_said and (suite.name, each.id) not in CELLS]
    return DojoReport(
        suites=tuple(suite.name for suite in chosen),
        goals={name: each.goal for name, (_, each) in goals.items()},
        answers=tuple(answers),
        unseen=tuple(f"{suite.name} {user.id}" for suite in chosen for user in suite.users if not user.seen),
        guarded=await episodes("attacks", attacks(chosen), play),
        control=await episodes("control", attacks(chosen), play_control),
        twins=await episodes("twins", twins(chosen), play),
        programs=await episodes("programs", twins(chosen, programs=True), play),
        date=today(),
        machine=where,
        seconds=time.perf_counter() - began,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """0 where no injection had its way without a yes."""
    parser = argparse.ArgumentParser(
        prog="python -m evals.agentdojo", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--suite", nargs="+", metavar="NAME", help="these suites")
    parser.add_argument("--only", choices=PARTS, nargs="+", default=PARTS)
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep the report as JSON, each episode in it")
    parser.add_argument("--write", action="store_true", help="rewrite the figures of docs/guard.md")
    chosen = parser.parse_args(arguments)
    if chosen.write and (chosen.suite or set(chosen.only) != set(PARTS)):
        parser.error("--write is for a whole run: leave --suite and --only out")
    console = Console(width=None if sys.stdout.isatty() else 140, highlight=False)
    columns = (TextColumn("{task.description:<10}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    progress = Progress(*columns, console=Console(stderr=True))
    environment = Environment(Settings.from_environment().cache_dir, lambda line: progress.console.print(line))
    try:
        with Suites.installed(environment) as suites, progress:
            known = suites.suites()
            wanted = [suite for suite in known if not chosen.suite or suite.name in chosen.suite]
            if not wanted:
                parser.error(f"there is {', '.join(suite.name for suite in known)}")
            made = asyncio.run(report(suites, wanted, chosen.only, progress))
    except Missing as missing:
        console.print(f"AgentDojo is not here: {missing}")
        return 2
    console.print(Markdown(markdown(made)))
    if chosen.json is not None:
        chosen.json.write_text(json.dumps(made.as_json(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if chosen.write:
        rewrite(PAGE, made)
    return 1 if made.reached else 0


if __name__ == "__main__":
    raise SystemExit(main())
