"""python -m evals.run                              every small task on the embedded model, in code and in direct mode
python -m evals.run --mode code --only 'crm-*'   some tasks, one mode
python -m evals.run --model anthropic:… --json results.json
python -m evals.run --write                      also rewrite the tables of docs/evals.md
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from fnmatch import fnmatchcase
from pathlib import Path

from benchmarks.results import machine, today
from rich.console import Console

from cellwright.agent import Agent
from cellwright.doors import Model
from cellwright.events import Event
from cellwright.models import Budget, open_model
from evals import page, terminal, transcript
from evals.results import MODES, Attempt, Mode, Report
from evals.small import TASKS, Task, Trial, put_files, take_files

PAGE = Path(__file__).resolve().parent.parent / "docs" / "evals.md"
STEPS, SECONDS = 6, 180.0
GRACE_S = 60.0  # beyond the budget, for a sandbox or a model that does not come back
Ended = Callable[[Attempt], None]


async def attempt(task: Task, mode: Mode, model: Model, budget: Budget, traces: Path | None = None) -> Attempt:
    """Give a task once. What goes wrong, whatever it is, is a task that failed."""
    began = time.perf_counter()
    events: list[Event] = []
    try:
        trial = task.prepare()
        agent = Agent(model, scope=trial.scope, mode=mode, budget=budget)
        async with asyncio.timeout((budget.seconds or SECONDS) + GRACE_S):
            why = await _why_not(agent, task, trial, events.append)
    except Exception as error:  # an outer edge: a model, a sandbox or a check that breaks is this task's failure
        why = f"{type(error).__name__}: {error}"
    if traces is not None:
        transcript.write(traces / f"{task.id}.{mode}.txt", task.prompt, events, why)
    usage = transcript.used(events)
    return Attempt(
        task=task.id,
        tags=task.tags,
        mode=mode,
        why=why,
        steps=max((event.step for event in events), default=0),
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        seconds=round(time.perf_counter() - began, 2),
    )


async def _why_not(agent: Agent, task: Task, trial: Trial, hear: Callable[[Event], None]) -> str:
    """What is wrong with how the task was done; "" for nothing."""
    async with agent.session(returns=task.returns) as session:
        await put_files(trial, session.runtime.files)
        result = await session.run(task.prompt, on_event=hear)
        await take_files(trial, session.runtime.files)
    return trial.check(result.value)


async def attempt_all(
    tasks: Iterable[Task],
    modes: Sequence[Mode],
    model: Model,
    budget: Budget,
    *,
    ended: Ended = lambda _: None,
    traces: Path | None = None,
) -> list[Attempt]:
    """One after the other; each task in all of its modes before the next."""
    attempts: list[Attempt] = []
    for task in tasks:
        for mode in modes:
            if mode == "direct" and task.code_only:
                continue
            attempts.append(await attempt(task, mode, model, budget, traces))
            ended(attempts[-1])
    return attempts


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m evals.run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="local", help='as in `Agent("…")`; "local" when left out')
    parser.add_argument("--mode", choices=(*MODES, "both"), default="both")
    parser.add_argument("--only", nargs="+", metavar="ID", help="these tasks; * and ? may stand in an id")
    parser.add_argument("--steps", type=int, default=STEPS, help=f"the most steps a task may take ({STEPS})")
    parser.add_argument(
        "--seconds", type=float, default=SECONDS, help=f"the most seconds a task may take ({SECONDS:g})"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep the report as JSON")
    parser.add_argument("--traces", type=Path, metavar="DIR", help="keep what was said and run in each attempt")
    parser.add_argument("--write", action="store_true", help="rewrite the tables of docs/evals.md")
    chosen = parser.parse_args(arguments)
    if chosen.write and (chosen.only or chosen.mode != "both"):
        parser.error("--write is for a whole run: leave --only and --mode out")
    tasks = [task for task in TASKS if not chosen.only or any(fnmatchcase(task.id, each) for each in chosen.only)]
    if not tasks:
        parser.error(f"no task is called {' or '.join(chosen.only)}; there is {', '.join(t.id for t in TASKS)}")
    if chosen.traces is not None:
        chosen.traces.mkdir(parents=True, exist_ok=True)
    report = asyncio.run(_report(tasks, chosen))
    if chosen.json is not None:
        chosen.json.write_text(json.dumps(report.as_json(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    if chosen.write:
        page.rewrite(PAGE, report)
    return 0


async def _report(tasks: Sequence[Task], chosen: argparse.Namespace) -> Report:
    console = Console(width=None if sys.stdout.isatty() else 140, highlight=False)
    modes: tuple[Mode, ...] = MODES if chosen.mode == "both" else (chosen.mode,)
    where = machine()
    model = open_model(chosen.model)
    status = console.status(f"{len(tasks)} tasks on {model.name}") if console.is_terminal else nullcontext()
    try:
        with status:
            attempts = await attempt_all(
                tasks,
                modes,
                model,
                Budget(steps=chosen.steps, seconds=chosen.seconds),
                ended=lambda each: terminal.line(each, console),
                traces=chosen.traces,
            )
    finally:
        await model.close()
    report = Report(
        model=model.name,
        steps=chosen.steps,
        seconds=chosen.seconds,
        date=today(),
        machine=where,
        attempts=tuple(attempts),
    )
    terminal.summary(report, console)
    return report


if __name__ == "__main__":
    raise SystemExit(main())
