"""The order of search results: candidates of several indexes, each scored by how well it answers the query.

It knows rows of words, and nothing of scopes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from cellwright.catalog.fulltext import Candidate, kind_word
from cellwright.catalog.ranking_weights import DOING, FITS, NEAR, WEIGHTS, RankingWeights
from cellwright.catalog.search_query import SearchQuery, SearchSource, read_query
from cellwright.catalog.vocabulary import plain, query_stems

CANDIDATES = 240  # of all sources together
FEWEST = 40  # of one source
VARIED = 30  # of the best
NOUN, KIND = 2, 3  # columns of a candidate
_PARTLY = 0.5  # how a change of the place fits, where a thing is to be made there
_LIKELY = 0.7  # how an action fits whose name may stand for the verb of the query
_BM25 = 20.0  # the most that counts
_ACTS, _UPDATES = kind_word("act"), kind_word("update")


@dataclass(frozen=True, kw_only=True, slots=True)
class RankedRow:
    """One row: the number of its source, its key, its score."""

    source: int
    key: str
    score: float


def find(sources: Sequence[SearchSource], query: str, limit: int, weights: RankingWeights = WEIGHTS) -> list[RankedRow]:
    """The rows that match, the best first; ties in the order of the sources and of their rows."""
    query = plain(query)
    wanted = query_stems(query)
    if not wanted or limit <= 0:
        return []
    asked = read_query(sources, query, wanted, weights)
    shares = _shares(sources, limit)
    candidates = [_candidates(source, asked, share) for source, share in zip(sources, shares, strict=True)]
    asked = _about_place(asked, itertools.chain.from_iterable(candidates))
    scored = [
        (round(_score(row, asked, sources[number].name), 6), number, row)
        for number, rows in enumerate(candidates)
        for row in rows
    ]
    scored.sort(key=lambda each: (-each[0], each[1]))
    scored[:VARIED] = _varied(scored[:VARIED], weights.again)
    return [RankedRow(source=number, key=row.key, score=score) for score, number, row in scored[:limit]]


def _about_place(query: SearchQuery, candidates: Iterable[Candidate]) -> SearchQuery:
    """The query, about the place that it names if no candidate is about the thing: "change the title of a post"."""
    head = query.intent.head
    tokens = {
        token
        for token, words in query.tokens.items()
        if any(quality >= query.weights.means and query.words[number] == head for number, quality in words)
    }
    if not head or any(
        not tokens.isdisjoint(row.columns[NOUN].split()) and _kind_fit(row, query) > 0 for row in candidates
    ):
        return query
    nouns = tuple(1.0 if noun in (query.weights.place, query.weights.owner) else noun for noun in query.nouns)
    return replace(query, nouns=nouns)


def _varied(scored: list[tuple[float, int, Candidate]], again: float) -> list[tuple[float, int, Candidate]]:
    """The best rows; of those that do the same to the same kind of thing, each further one is put back."""
    times: dict[tuple[int, str, str], int] = {}
    varied: list[tuple[float, int, Candidate]] = []
    for score, number, row in scored:
        same = (number, row.columns[NOUN], row.columns[KIND])
        times[same] = times.get(same, -1) + 1
        varied.append((score - again * max(0, times[same] - 1), number, row))
    varied.sort(key=lambda each: -each[0])
    return varied


def _shares(sources: Sequence[SearchSource], limit: int) -> list[int]:
    """How many candidates each source gives: more where there are more rows to choose from."""
    roots = [math.sqrt(source.index.size) for source in sources]
    whole = sum(roots) or 1.0
    return [max(FEWEST, limit, round(CANDIDATES * each / whole)) for each in roots]


def _candidates(source: SearchSource, query: SearchQuery, share: int) -> list[Candidate]:
    """About `share` candidates that may be shown, or all there are."""
    limit = share
    while True:
        rows = source.index.candidates(query.search, limit)
        shown = rows if source.shows is None else [row for row in rows if source.shows(row.key, bool(row.reads))]
        if len(rows) < limit or len(shown) >= share // 2:
            return shown
        limit *= 8


# the score of one row


def _score(row: Candidate, query: SearchQuery, source: str) -> float:
    """How well a row of a source answers a query: the words it has, what it does, and to which thing."""
    weights = query.weights
    best, second = _word_scores(row, query, source)
    total = _covered(query, best, second)
    fit = _kind_fit(row, query)
    total += weights.kind * fit * min(1.0, 2 * total)  # where few words match, the kind says little
    total += weights.noun * _noun_score(row.columns[NOUN], query, fit)
    total += weights.whole * (set(row.columns[0].split()) == set(query.words))
    total -= weights.absent * (1.0 - min(1.0, best[query.head]) if query.head >= 0 else 0.0)
    total += weights.words * min(1.0, -row.bm25 / _BM25)
    total -= weights.unasked * _unasked(row, query, fit)
    return (total - weights.depth * row.depth) * row.prior


def _word_scores(row: Candidate, query: SearchQuery, source: str) -> tuple[list[float], list[float]]:
    """How well the row has each word of the query: in the best column, and in the second best."""
    best = [0.0] * len(query.words)
    second = [0.0] * len(query.words)
    tokens = query.tokens
    token_set = query.token_set
    columns = row.columns
    for place, weight in query.columns:
        for token in token_set.intersection(columns[place].split()):
            for number, quality in tokens[token]:
                gain = quality * weight
                if gain > best[number]:
                    second[number] = best[number]
                    best[number] = gain
    for number in query.source_names.get(source, ()):
        best[number] = 1.0
    for number in query.source_hints.get(source, ()):
        best[number] = max(best[number], query.weights.hint)
    return best, second


def _covered(query: SearchQuery, best: list[float], second: list[float]) -> float:
    """How much of the query the row has."""
    covered = total = 0.0
    for number, twin in enumerate(query.twins):
        weight = query.word_weights[number]
        if twin == number:
            total += weight
            covered += weight * (best[number] + query.weights.also * second[number])
        elif best[number] > best[twin]:
            covered += query.word_weights[twin] * (best[number] - best[twin])
    return covered / total if total else 0.0


def _kind_fit(row: Candidate, query: SearchQuery) -> float:
    """How well the kind of the operation answers the query."""
    asked = query.intent.kind
    kind = row.columns[KIND]
    if kind == _ACTS or asked in DOING:
        quality = _verb_quality(row.columns[0].partition(" ")[0], query)
        if quality:
            return 1.0 if quality >= NEAR else _LIKELY  # "send an invoice" is `send`, "mail an invoice" too
        if kind == _ACTS and query.intent.verb:
            return query.weights.otherwise
        if asked in DOING and any(_verb_quality(word, query) >= NEAR for word in row.columns[NOUN].split()):
            asked = "create"  # "fork a repository" makes a fork
    fit = FITS[asked].get(kind, 0.0)
    if kind == _UPDATES and asked in ("create", "delete") and fit < _PARTLY and _is_place(row.columns[NOUN], query):
        return _PARTLY  # "add an annotation to a namespace" changes the namespace
    return fit


def _is_place(noun: str, query: SearchQuery) -> bool:
    """Whether a row is about the place that a query names, and not about the thing."""
    words = [number for word in noun.split() for number, quality in query.tokens.get(word, ()) if quality >= NEAR]
    return bool(words) and all(query.words[number] not in query.intent.target for number in words)


def _verb_quality(token: str, query: SearchQuery) -> float:
    """How well a token of a row stands for the verb of the query."""
    words = query.tokens.get(token, ())
    return max((quality for number, quality in words if query.words[number] == query.intent.verb), default=0.0)


def _noun_score(noun: str, query: SearchQuery, fit: float) -> float:
    """How much of the row's thing the query asks for. The verb asks for a thing only if the row can make it."""
    words = noun.split()
    if not words:
        return 0.0
    total = 0.0
    for word in words:
        total += max(
            (
                quality * query.nouns[number]
                for number, quality in query.tokens.get(word, ())
                if fit > 0 or query.words[number] != query.intent.verb
            ),
            default=0.0,
        )
    return total / len(words) - query.weights.stray * sum(word not in query.token_set for word in words) / len(words)


def _unasked(row: Candidate, query: SearchQuery, fit: float) -> float:
    """The words of a row's name that the query does not have, by how much they say."""
    total = 0
    expected, token_set = query.expected, query.token_set
    words = f"{row.columns[0]} {row.columns[1]}".split()
    for word, rare in zip(words[fit > 0 :], row.rare[fit > 0 :], strict=True):  # the verb is asked for by its kind
        if word not in expected:
            total += int(rare) * (1 if word in token_set else 2)
    return total / 18
