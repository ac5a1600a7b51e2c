"""Does search find the operation that was meant: labelled queries over real APIs, ours and FastMCP's on the same ones.

A query's right answers are told as method and URL, so they favour nobody's names. All APIs are searched together.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.results import Check
from benchmarks.run import median
from benchmarks.specs import TITLES

QUERIES = Path(__file__).parent / "queries.json"
FIRST, FIVE, SLOWER = 75.0, 92.0, 3.0
Found = Sequence[Sequence[str]]  # for each query the operations that were found, best first, as "METHOD /url"


@dataclass(frozen=True, kw_only=True)
class Query:
    """Something that a developer or an agent would type, and what has to be found by it: any of `right`."""

    source: str
    text: str
    right: frozenset[str]


def queries(path: Path = QUERIES) -> list[Query]:
    told: dict[str, list[dict[str, Any]]] = json.loads(path.read_text(encoding="utf-8"))
    return [
        Query(source=source, text=each["query"], right=frozenset(each["right"]))
        for source, rows in told.items()
        for each in rows
    ]


def share(asked: Sequence[Query], found: Found, within: int) -> float:
    """For how many of a hundred queries something right is among the first so many."""
    right = [not query.right.isdisjoint(hits[:within]) for query, hits in zip(asked, found, strict=True)]
    return 100 * sum(right) / len(right)


def by_source(asked: Sequence[Query], found: Found, within: int) -> str:
    """The same for each API."""
    told: list[str] = []
    for source in dict.fromkeys(query.source for query in asked):
        rows = [(query, hits) for query, hits in zip(asked, found, strict=True) if query.source == source]
        part = share([query for query, _ in rows], [hits for _, hits in rows], within)
        told.append(f"{TITLES[source]} {part:.0f} % of {len(rows)}")
    return ", ".join(told)


def checks(asked: Sequence[Query], own: dict[str, Any], other: dict[str, Any] | None) -> list[Check]:
    """`own` has what we `found`, what is found `bare`, and seconds of both; `other` has what FastMCP found."""
    told: list[Check] = []
    for within, target, where in ((1, FIRST, "first"), (5, FIVE, "in five")):
        ours = share(asked, own["found"], within)
        bare = share(asked, own["bare"], within)
        what = f"right operation {where}, {len(asked)} queries"
        judged = Check(
            subject="gateway",
            what=what,
            against="bare FTS5 query",
            ours=ours,
            theirs=bare,
            unit="%",
            value=ours,
            measure="%",
            target=target,
            at_least=True,
            samples=len(asked),
            note=by_source(asked, own["found"], within),
        )
        told += [judged, *([_beside(judged, asked, other, within)] if other else [])]
    return [*told, _latency(own)]


def _beside(own: Check, asked: Sequence[Query], other: dict[str, Any], within: int) -> Check:
    """The same beside FastMCP, judged by who finds more."""
    theirs = share(asked, other["found"], within)
    return replace(
        own,
        against=f"FastMCP {other['version']} BM25",
        theirs=theirs,
        value=own.ours / theirs if theirs else float("inf"),
        measure="×",
        target=1.0,
        note=f"theirs: {by_source(asked, other['found'], within)}",
    )


def _latency(own: dict[str, Any]) -> Check:
    ours, theirs = median(own["search_s"]), median(own["bare_s"])
    return Check(
        subject="gateway",
        what=f"search {own['operations']:,} operations",
        against="bare FTS5 query",
        ours=ours,
        theirs=theirs,
        value=ours / theirs,
        target=SLOWER,
        samples=len(own["search_s"]),
    )
