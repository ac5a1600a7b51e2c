"""A run in a terminal: a line for each attempt as it ends, then the modes side by side. Plain where it is piped."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from evals.results import Attempt, Report, Total


def line(attempt: Attempt, console: Console) -> None:
    """What came of one."""
    mark = Text("✓", "green") if attempt.passed else Text("✗", "red")
    tokens = f"{attempt.input_tokens + attempt.output_tokens:,}"
    figures = f"{attempt.steps:>2} steps {tokens:>7} tokens {attempt.seconds:6.1f} s"
    words = Text.assemble(mark, f" {attempt.task:<26} {attempt.mode:<6} ", (figures, "dim"))
    if attempt.why:
        words.append(f"  {attempt.why.splitlines()[0]:.200}", "yellow")
    console.print(words, soft_wrap=True)


def summary(report: Report, console: Console) -> None:
    console.print(_tasks(report))
    console.print(_totals(report))


def _tasks(report: Report) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, padding=(0, 1))
    table.add_column("task", no_wrap=True)
    for mode in report.modes:
        for title in (mode, "steps", "tokens", "s"):
            table.add_column(title, justify="left" if title == mode else "right")
    for task in report.tasks:
        attempts = report.of(task)
        cells: list[str] = []
        for mode in report.modes:
            cells += _cells(attempts.get(mode))
        table.add_row(task, *cells)
    return table


def _cells(attempt: Attempt | None) -> list[str]:
    if attempt is None:
        return ["—", "", "", ""]
    mark = "[green]✓[/]" if attempt.passed else "[red]✗[/]"
    tokens = attempt.input_tokens + attempt.output_tokens
    return [mark, str(attempt.steps), f"{tokens:,}", f"{attempt.seconds:.1f}"]


def _totals(report: Report) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, padding=(0, 1))
    table.add_column("mode")
    for title in ("passed", "of the shared", "steps", "tokens in", "tokens out", "s, median"):
        table.add_column(title, justify="right")
    for mode in report.modes:
        total = Total.of([a for a in report.attempts if a.mode == mode])
        shared = Total.of([a for a in report.shared if a.mode == mode])
        tokens = (f"{total.input_tokens:,}", f"{total.output_tokens:,}")
        table.add_row(mode, total.share, shared.share, str(total.steps), *tokens, f"{total.seconds:.1f}")
    return table
