"""The order of what a search finds: candidates of several indexes, looked at once more and put in order by one score.

It knows rows of words, and nothing of scopes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from cellwright.catalog.fulltext import Candidate
from cellwright.catalog.phrases import plain
from cellwright.catalog.queries import Query, Source, read_query
from cellwright.catalog.scoring import KIND, NOUN, fits_of, score
from cellwright.catalog.weights import WEIGHTS, Weights
from cellwright.catalog.words import asked

CANDIDATES = 240  # of all sources together
FEWEST = 40  # of one source
VARIED = 30  # of the best


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """One row: the number of its source, its key, its score."""

    source: int
    key: str
    score: float


def find(sources: Sequence[Source], query: str, limit: int, weights: Weights = WEIGHTS) -> list[Found]:
    """The rows that match, the best first; ties in the order of the sources and of their rows."""
    query = plain(query)
    wanted = asked(query)
    if not wanted or limit <= 0:
        return []
    made = read_query(sources, query, wanted, weights)
    shares = _shares(sources, limit)
    near = [_candidates(source, made, share) for source, share in zip(sources, shares, strict=True)]
    made = _about(made, itertools.chain.from_iterable(near))
    found = [
        (round(score(one, made, sources[number].name), 6), number, one)
        for number, candidates in enumerate(near)
        for one in candidates
    ]
    found.sort(key=lambda one: (-one[0], one[1]))
    found[:VARIED] = _varied(found[:VARIED], weights.again)
    return [Found(source=number, key=one.key, score=rated) for rated, number, one in found[:limit]]


def _about(query: Query, found: Iterable[Candidate]) -> Query:
    """The query, about the place that it names where no candidate is about the thing: "change the title of a post"."""
    head = query.intent.head
    tokens = {
        token
        for token, stands in query.tokens.items()
        if any(quality >= query.signs.means and query.words[number] == head for number, quality in stands)
    }
    if not head or any(not tokens.isdisjoint(one.columns[NOUN].split()) and fits_of(one, query) > 0 for one in found):
        return query
    nouns = tuple(1.0 if noun in (query.signs.place, query.signs.owner) else noun for noun in query.nouns)
    return replace(query, nouns=nouns)


def _varied(found: list[tuple[float, int, Candidate]], again: float) -> list[tuple[float, int, Candidate]]:
    """The best, with those that do the same to the same thing in another place put back a little, each the more."""
    seen: dict[tuple[int, str, str], int] = {}
    scored: list[tuple[float, int, Candidate]] = []
    for rated, number, one in found:
        same = (number, one.columns[NOUN], one.columns[KIND])
        times = seen[same] = seen.get(same, -1) + 1
        scored.append((rated - again * max(0, times - 1), number, one))
    scored.sort(key=lambda one: -one[0])
    return scored


def _shares(sources: Sequence[Source], limit: int) -> list[int]:
    """How many candidates each source gives: more where there are more rows to choose from."""
    roots = [math.sqrt(source.index.size) for source in sources]
    whole = sum(roots) or 1.0
    return [max(FEWEST, limit, round(CANDIDATES * one / whole)) for one in roots]


def _candidates(source: Source, query: Query, share: int) -> list[Candidate]:
    """As many as were asked for of those that may be shown, or all there are."""
    limit = share
    while True:
        found = source.index.candidates(query.search, limit)
        shown = found if source.shows is None else [one for one in found if source.shows(one.key, bool(one.reads))]
        if len(found) < limit or len(shown) >= share // 2:
            return shown
        limit *= 8
