"""The report as Markdown. `rewrite` puts it into docs/evals.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.page import put_between

from evals.results import Attempt, Mode, Report, Total

BEGIN, END = "<!-- begin: python -m evals.run --write -->", "<!-- end -->"


def markdown(report: Report) -> str:
    return "\n".join([*_head(report), "", *_totals(report), "", *_tags(report), "", *_tasks(report)])


def _head(report: Report) -> Iterator[str]:
    where = report.machine
    yield (
        f"Measured on {report.date} with the model `{report.model}`, each task once, at most {report.steps} "
        f"steps and {report.seconds:g} s: {where['cores']} cores ({where['architecture']}), {where['memory']}, "
        f"{where['python']}, load before the run {where['load']}."
    )


def _totals(report: Report) -> Iterator[str]:
    yield "| mode | tasks | passed | steps | tokens in | tokens out | seconds a task, median |"
    yield "|---|---|--:|--:|--:|--:|--:|"
    for mode in report.modes:
        yield _total(mode, "all", _of(report.attempts, mode))
    if report.shared != report.attempts:
        for mode in report.modes:
            yield _total(mode, "shared", _of(report.shared, mode))


def _total(mode: Mode, which: str, attempts: Sequence[Attempt]) -> str:
    total = Total.of(attempts)
    tokens = f"{total.input_tokens:,} | {total.output_tokens:,}"
    return f"| {mode} | {which} | **{total.share}** | {total.steps} | {tokens} | {total.seconds:.1f} |"


def _tags(report: Report) -> Iterator[str]:
    yield f"| kind of task | {' | '.join(f'passed in {mode}' for mode in report.modes)} |"
    yield f"|---|{'--:|' * len(report.modes)}"
    for tag in report.tags:
        attempts = [[a for a in _of(report.attempts, mode) if tag in a.tags] for mode in report.modes]
        figures = [f"{sum(a.passed for a in each)}/{len(each)}" if each else "—" for each in attempts]
        yield f"| {tag} | {' | '.join(figures)} |"


def _tasks(report: Report) -> Iterator[str]:
    """The names alone: `--json` has steps, tokens and seconds of each attempt. The others failed."""
    for mode in report.modes:
        names = [a.task for a in _of(report.attempts, mode) if a.passed]
        yield f"- **{mode}, passed**: {', '.join(names) or 'none'}"


def _of(attempts: Sequence[Attempt], mode: Mode) -> list[Attempt]:
    return [a for a in attempts if a.mode == mode]


def rewrite(page: Path, report: Report) -> None:
    """Puts the report between the marks."""
    put_between(page, BEGIN, END, markdown(report))
