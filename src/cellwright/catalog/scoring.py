"""How well one row answers a query: how much of it the row has, whether it does what is asked, to what is asked for.

It knows rows of words, and neither indexes nor scopes.
"""

from __future__ import annotations

from cellwright.catalog.fulltext import Candidate, kind_word
from cellwright.catalog.queries import Query
from cellwright.catalog.weights import DOING, FITS, NEAR

NOUN, KIND = 2, 3  # columns
_PARTLY = 0.5  # how a change of the place fits, where a thing is to be made there
_LIKELY = 0.7  # how an action fits whose name may stand for the one asked for
_MANY = 20.0  # of bm25: as much as counts
_ACTS, _UPDATES = kind_word("act"), kind_word("update")


def score(one: Candidate, query: Query, source: str) -> float:
    """How well a row of a source answers a query."""
    signs = query.signs
    best, also = _found(one, query, source)
    total = _covered(query, best, also)
    fits = fits_of(one, query)
    total += signs.kind * fits * min(1.0, 2 * total)  # of what was hardly asked for, the kind says little
    total += signs.noun * _noun(one.columns[NOUN], query, fits)
    total += signs.whole * (set(one.columns[0].split()) == set(query.words))
    total -= signs.absent * (1.0 - min(1.0, best[query.head]) if query.head >= 0 else 0.0)
    total += signs.words * min(1.0, -one.bm25 / _MANY)
    total -= signs.unasked * _unasked(one, query, fits)
    return (total - signs.depth * one.depth) * one.prior


def _found(one: Candidate, query: Query, source: str) -> tuple[list[float], list[float]]:
    """How well each word of the query is there: in the best column, and in the next."""
    best = [0.0] * len(query.words)
    also = [0.0] * len(query.words)
    tokens = query.tokens
    known = query.known
    columns = one.columns
    for place, weight in query.columns:
        for token in known.intersection(columns[place].split()):
            for number, quality in tokens[token]:
                gain = quality * weight
                if gain > best[number]:
                    also[number] = best[number]
                    best[number] = gain
    for number in query.sources.get(source, ()):
        best[number] = 1.0
    for number in query.hints.get(source, ()):
        best[number] = max(best[number], query.signs.hint)
    return best, also


def _covered(query: Query, best: list[float], also: list[float]) -> float:
    """How much of the query is there."""
    covered = total = 0.0
    for number, twin in enumerate(query.twins):
        weight = query.weights[number]
        if twin == number:
            total += weight
            covered += weight * (best[number] + query.signs.also * also[number])
        elif best[number] > best[twin]:
            covered += query.weights[twin] * (best[number] - best[twin])
    return covered / total if total else 0.0


def fits_of(one: Candidate, query: Query) -> float:
    """How well the kind of the operation answers what was asked."""
    kind = query.intent.kind
    row = one.columns[KIND]
    if row == _ACTS or kind in DOING:
        said = _as_verb(one.columns[0].partition(" ")[0], query)
        if said:
            return 1.0 if said >= NEAR else _LIKELY  # "send an invoice" is `send`, "mail an invoice" too
        if row == _ACTS and query.intent.verb:
            return query.signs.otherwise  # it does something else
        if kind in DOING and any(_as_verb(word, query) >= NEAR for word in one.columns[NOUN].split()):
            kind = "create"  # "fork a repository" makes a fork
    fits = FITS[kind].get(row, 0.0)
    if row == _UPDATES and kind in ("create", "delete") and fits < _PARTLY and _stands_in(one.columns[NOUN], query):
        return _PARTLY  # "add an annotation to a namespace" changes the namespace
    return fits


def _stands_in(noun: str, query: Query) -> bool:
    """Whether a row is about the place that a query names, and not about the thing."""
    words = [number for word in noun.split() for number, quality in query.tokens.get(word, ()) if quality >= NEAR]
    return bool(words) and all(query.words[number] not in query.intent.target for number in words)


def _as_verb(token: str, query: Query) -> float:
    """How well a token of a row is what the query says to do."""
    found = query.tokens.get(token, ())
    return max((quality for number, quality in found if query.words[number] == query.intent.verb), default=0.0)


def _noun(noun: str, query: Query, fits: float) -> float:
    """How much of what the row is about was asked for. What a verb makes is asked for only where it can be made."""
    words = noun.split()
    if not words:
        return 0.0
    found = 0.0
    for word in words:
        found += max(
            (
                q * query.nouns[n]
                for n, q in query.tokens.get(word, ())
                if fits > 0 or query.words[n] != query.intent.verb
            ),
            default=0.0,
        )
    return found / len(words) - query.signs.stray * sum(word not in query.known for word in words) / len(words)


def _unasked(one: Candidate, query: Query, fits: float) -> float:
    """The words of a name that nobody asked for, by how much they say."""
    total = 0
    said, known = query.said, query.known
    words = f"{one.columns[0]} {one.columns[1]}".split()
    for word, rare in zip(words[fits > 0 :], one.rare[fits > 0 :], strict=True):  # the verb is asked for by its kind
        if word not in said:
            total += int(rare) * (1 if word in known else 2)
    return total / 18
