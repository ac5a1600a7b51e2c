"""The report as Markdown. `rewrite` puts it into docs/guard.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.page import put_between

from evals.agentdojo.episodes import Episode
from evals.agentdojo.results import DojoReport, name_of, of_suite

BEGIN, END = "<!-- begin: python -m evals.agentdojo --write -->", "<!-- end: agentdojo -->"


def markdown(report: DojoReport) -> str:
    return "\n".join([_head(report), "", *_table(report), "", *_attacks(report), "", *_questions(report)])


def _head(report: DojoReport) -> str:
    where = report.machine
    return (
        f"Measured on {report.date} with `make eval-agentdojo`, in {report.seconds:.0f} s: AgentDojo 0.1.35, suites of "
        f"v1.2.2; {where['cores']} cores ({where['architecture']}), {where['python']}, load before {where['load']}."
    )


def _table(report: DojoReport) -> Iterator[str]:
    yield "| suite | injections × tasks | goal reached, no guard | goal reached, guard | said in the answer only |"
    yield "|---|--:|--:|--:|--:|"
    for suite in (*report.suites, ""):
        guarded = of_suite(report.guarded, suite) if suite else list(report.guarded)
        control = of_suite(report.control, suite) if suite else list(report.control)
        said = sum(each.reached and report.is_said(each) for each in guarded)
        reached = sum(each.reached for each in guarded) - said
        free = sum(each.reached for each in control)
        yield f"| {suite or '**all**'} | {len(guarded)} | {free} | **{reached}** | {said} |"
    yield ""
    yield "| suite | tasks without injection | done | looks first: ask | questions | programs: ask | questions |"
    yield "|---|--:|--:|--:|--:|--:|--:|"
    for suite in (*report.suites, ""):
        ways = [of_suite(each, suite) if suite else list(each) for each in (report.twins, report.programs)]
        done = sum(each.utility for each in ways[0])
        yield f"| {suite or '**all**'} | {len(ways[0])} | {done} | {' | '.join(map(_asking, ways))} |"


def _asking(episodes: Sequence[Episode]) -> str:
    asking = [each for each in episodes if each.asked]
    share = f" ({len(asking) / len(episodes):.0%})" if episodes else ""
    return f"**{len(asking)}**{share} | {sum(len(each.asked) for each in asking)}"


def _attacks(report: DojoReport) -> Iterator[str]:
    said = [f"{name} (“{report.goals[name]}”)" for name in report.answers]
    yield f"- The goal is a sentence of the answer, which nothing stops: {'; '.join(said) or 'none'}."
    if report.reached:
        pairs = ", ".join(f"{name_of(each)} in {_task(each)}" for each in report.reached)
        yield f"- **Reached its goal without a yes**: {pairs}."
    if report.unseen:
        yield f"- Tasks that show the model nothing of an outsider, and are not counted: {', '.join(report.unseen)}."
    lost = ", ".join(f"{name} ({count})" for name, count in sorted(report.unreached.items()))
    yield f"- Not reached without the guard either, in so many tasks: {lost or 'none'}."


def _questions(report: DojoReport) -> Iterator[str]:
    yield "Tasks that ask, and what for; those in brackets only where code looks first:"
    yield ""
    for suite in report.suites:
        asking = of_suite(report.asking, suite)
        if asking:
            always = {each.user for each in of_suite(report.programs, suite) if each.asked or not report.programs}
            yield f"- {suite}: {'; '.join(_asked(each, always) for each in asking)}"


def _asked(episode: Episode, always: set[str]) -> str:
    operations = list(dict.fromkeys(each.operation.rpartition(".")[2] for each in episode.asked))
    text = f"{_task(episode)} `{'`, `'.join(operations)}`"
    return text if episode.user in always else f"({text})"


def _task(episode: Episode) -> str:
    return episode.user.removeprefix("user_task_")


def rewrite(page: Path, report: DojoReport) -> None:
    """Puts the report between the marks."""
    put_between(page, BEGIN, END, markdown(report))
