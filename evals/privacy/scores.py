"""Counts what a finder found in records whose private values are known.

A value is found where spans of its kind hold more than half of its characters, and covered where spans of any kind hold
all of its letters and digits. A span is right where values of its kind hold more than half of it. Spans of a kind for
which a finder has only a wider word (any date, any place) are not counted as wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Spans = Sequence[Sequence[Any]]  # start, end, kind
ALL = "all"


@dataclass(kw_only=True)
class FinderScore:
    """Of each kind: values, those found, those covered, spans that are right and wrong. `wide`: see above."""

    name: str
    wide: frozenset[str] = frozenset()
    seconds: float
    values: Counter[str] = field(default_factory=Counter[str])
    found: Counter[str] = field(default_factory=Counter[str])
    covered: Counter[str] = field(default_factory=Counter[str])
    wrong: Counter[str] = field(default_factory=Counter[str])
    right: Counter[str] = field(default_factory=Counter[str])

    def recall(self, kind: str) -> float:
        return _share(self.found, self.values, kind)

    def covering(self, kind: str) -> float:
        return _share(self.covered, self.values, kind)

    def precision(self, kind: str) -> float | None:
        """None where nothing was found, or where wrong ones are not counted."""
        if kind in self.wide:
            return None
        right, wrong = _sum(self.right, kind), _sum(self.wrong, kind)
        return right / (right + wrong) if right + wrong else None

    @property
    def f1(self) -> float:
        precision, recall = self.precision(ALL) or 0.0, self.recall(ALL)
        return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def score(
    name: str, found: Mapping[str, Any], records: Sequence[Mapping[str, Any]], wide: Iterable[str]
) -> FinderScore:
    """`wide`: kinds of which the finder has only a wider word."""
    scored = FinderScore(name=name, wide=frozenset(wide), seconds=found["seconds"])
    for record, spans in zip(records, found["spans"], strict=True):
        _count(scored, record["text"], record["truths"], spans)
    return scored


def _count(scored: FinderScore, text: str, truths: Sequence[Mapping[str, Any]], spans: Spans) -> None:
    for truth in truths:
        start, end, kind = truth["start"], truth["end"], truth["kind"]
        scored.values[kind] += 1
        held = {at for s, e, k in spans if k == kind for at in range(max(s, start), min(e, end))}
        scored.found[kind] += 2 * len(held) > end - start
        hidden = {at for s, e, _ in spans for at in range(max(s, start), min(e, end))}
        scored.covered[kind] += all(at in hidden for at in range(start, end) if text[at].isalnum())
    for start, end, kind in spans:
        own = {at for t in truths if t["kind"] == kind for at in range(max(start, t["start"]), min(end, t["end"]))}
        if 2 * len(own) > end - start:
            scored.right[kind] += 1
        elif kind not in scored.wide:
            scored.wrong[kind] += 1


def _sum(counts: Counter[str], kind: str) -> int:
    return sum(counts.values()) if kind == ALL else counts[kind]


def _share(part: Counter[str], whole: Counter[str], kind: str) -> float:
    return _sum(part, kind) / max(_sum(whole, kind), 1)
