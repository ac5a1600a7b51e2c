"""The report as Markdown. `rewrite` puts it into docs/privacy.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.page import put_between

from evals.privacy.scores import ALL, FinderScore

WIDE = (
    "address",
    "birth_date",
)  # Presidio's words are any place and any date: others of these are not counted as wrong
BEGIN, END = "<!-- begin: python -m evals.privacy --write -->", "<!-- end: privacy -->"


@dataclass(frozen=True, kw_only=True)
class PrivacyReport:
    """`scores` of all records; `unseen` of those whose templates' errors were not looked at."""

    records: int
    characters: int
    scores: tuple[FinderScore, ...]
    unseen: tuple[FinderScore, ...]
    versions: Mapping[str, str]
    machine: Mapping[str, str]
    date: str


def markdown(report: PrivacyReport) -> str:
    return "\n".join([_head(report), "", *_table(report), "", *_summary(report), "", *_better(report.scores)])


def _head(report: PrivacyReport) -> str:
    where, versions = report.machine, report.versions
    return (
        f"Measured on {report.date} with `make eval-privacy`: {report.records} records by Faker "
        f"{versions['faker']} and templates, "
        f"Presidio {versions['presidio-analyzer']}, spaCy {versions['spacy']}; {where['cores']} cores "
        f"({where['architecture']}), "
        f"{where['python']}, load before {where['load']}. Each cell: precision / recall, in percent. Presidio's "
        "words for addresses and dates of birth are any place and any date, so its precision there is not counted."
    )


def _table(report: PrivacyReport) -> Iterator[str]:
    names = [each.name for each in report.scores]
    yield f"| kind | values | {' | '.join(names)} |"
    yield f"|---|--:|{'--:|' * len(names)}"
    values = report.scores[0].values
    for kind in (*sorted(values), ALL):
        count = sum(values.values()) if kind == ALL else values[kind]
        cells = " | ".join(_cell(each, kind) for each in report.scores)
        yield f"| {'**all**' if kind == ALL else kind} | {count} | {cells} |"
    cells = " | ".join(_cell(each, ALL) for each in report.unseen)
    yield f"| all, unseen templates | {sum(report.unseen[0].values.values())} | {cells} |"


def _cell(score: FinderScore, kind: str) -> str:
    precision, recall = score.precision(kind), score.recall(kind)
    return f"{'–' if precision is None else f'{precision:.1%}'[:-1]} / {f'{recall:.1%}'[:-1]}"


def _summary(report: PrivacyReport) -> Iterator[str]:
    hidden = "; ".join(f"{each.name} {each.covering(ALL):.1%}" for each in report.scores)
    speed = "; ".join(f"{each.name} {report.characters / max(each.seconds, 1e-9) / 1e3:,.0f}" for each in report.scores)
    yield f"- Values of which no letter or digit is left, whatever they were taken for: {hidden}."
    yield f"- Speed on these short records, KB/s of CPU time: {speed}."


def _better(scores: Sequence[FinderScore]) -> Iterator[str]:
    """Where Presidio with names is better than ours with names."""
    mine = next(each for each in scores if each.name == "ours with names")
    theirs = next(each for each in scores if each.name.startswith("Presidio"))
    kinds = sorted(mine.values)
    recall = [kind for kind in kinds if theirs.recall(kind) > mine.recall(kind)]
    precision = [kind for kind in kinds if (theirs.precision(kind) or 0) > (mine.precision(kind) or 0)]
    more, better = (", ".join(each) or "no kind" for each in (recall, precision))
    yield f"- Presidio finds more of: {more}; is more precise on: {better}."


def rewrite(page: Path, report: PrivacyReport) -> None:
    """Puts the report between the marks."""
    put_between(page, BEGIN, END, markdown(report))
