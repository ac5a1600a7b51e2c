"""A query in the words of the indexes: the tokens that stand for each of its words, how well, and how much each says.

A word is as rare as it is in all indexes together. This module knows no rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from cellwright.catalog.fulltext import FullTextIndex, deed, kind_word, rarity
from cellwright.catalog.intents import Intent, aside, intent_of
from cellwright.catalog.ranking_weights import DOING, NEAR, WORTH, RankingWeights
from cellwright.catalog.stemmer import root, stem, undone
from cellwright.catalog.vocabulary import alike, meanings, spellings, vocabulary

SEARCH_TOKENS = 48  # of one search
_UNKNOWN = 0.3  # how much a word says that no row has
_DEED_KINDS = {
    "ask": ("read", "list"),
    "": ("read", "list", "create"),
    "act": ("act", "update", "create"),
    "change": ("act", "update"),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchSource:
    """One index, and the name that its rows stand below: "" for rows with whole names. `shows` selects rows."""

    index: FullTextIndex
    name: str = ""
    shows: Callable[[str, bool], bool] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchQuery:
    """A query as scoring needs it. A word of the query is known by its number."""

    weights: RankingWeights
    tokens: Mapping[str, tuple[tuple[int, float], ...]]  # each with the words that it stands for, and how well
    token_set: frozenset[str]
    expected: frozenset[str]  # tokens that are the words themselves, and small words
    columns: tuple[tuple[int, float], ...]  # the columns of a row that count, by place, each with its weight
    search: tuple[str, ...]  # the tokens that candidates are searched by
    word_weights: tuple[float, ...]
    words: tuple[str, ...]
    intent: Intent
    nouns: tuple[float, ...]  # how far each word names the thing itself
    source_names: Mapping[str, tuple[int, ...]]  # by source: the words that are its name
    source_hints: Mapping[str, tuple[int, ...]]  # by source: the words that may mean it
    head: int  # the number of the word that names the thing, or -1
    twins: tuple[int, ...]  # for each word the number of an earlier one that says the same, or its own


@dataclass(frozen=True, kw_only=True, slots=True)
class _Counts:
    """What the indexes have of the words of a query, and of those that may stand for them."""

    rows: Mapping[str, int]  # by word: the rows that have it
    named: Mapping[str, int]  # by word: the rows that are named so
    kin: Mapping[str, set[str]]  # by root: its words
    pairs: Sequence[str]  # two words of the query, written as one
    size: int

    def near(self, number: int, word: str) -> set[str]:
        """The words that are as good as this one."""
        near = {other for rooted in _roots(word) for other in self.kin.get(rooted, ())} - {word}
        near |= {other for other in spellings(word) if other in self.rows}
        return near | {pair for pair in self.pairs[max(0, number - 1) : number + 1] if pair in self.rows}

    def rarity(self, word: str, near: set[str], naming: int) -> float:
        """How much a word says."""
        having = sum(self.rows.get(other, 0) for other in (word, *near))
        if not naming:
            having = max(having, *(self.named.get(other, 0) for other in (word, *meanings(word))))
        if not having:
            having = max((self.rows.get(other, 0) for other in alike(word)), default=0)
        return rarity(having, self.size) if having else _UNKNOWN


def read_query(
    sources: Sequence[SearchSource], query: str, wanted: Sequence[str], weights: RankingWeights
) -> SearchQuery:
    """What a query asks of these sources; `wanted` are its stems."""
    counts = _counts(sources, wanted)
    unknown = [word for word in wanted if word not in counts.rows and root(word) not in counts.kin]
    intent = intent_of(_without_names(query, sources), unknown)
    source_names = {source.name: _naming_source(source.name, wanted) for source in sources}
    of_sources = {number for numbers in source_names.values() for number in numbers}
    apart = aside(query)
    tokens: dict[str, dict[int, float]] = {}
    word_weights: list[float] = []
    for number, word in enumerate(wanted):
        if number in of_sources:
            word_weights.append(weights.source)
            continue
        near = counts.near(number, word)
        naming = sum(counts.named.get(other, 0) for other in (word, *near))
        if word.isdigit() and not naming:  # "5 replicas": a value
            word_weights.append(0.0)
            continue
        word_weights.append(counts.rarity(word, near, naming) * _share(word, intent, apart, weights))
        for token, quality in _qualities(word, near, weights.means if naming else weights.only, weights).items():
            if token in counts.rows:
                tokens.setdefault(token, {})[number] = quality
    return SearchQuery(
        weights=weights,
        token_set=frozenset(tokens),
        expected=vocabulary().small.union(token for token, words in tokens.items() if max(words.values()) >= NEAR),
        columns=tuple((place, weight) for place, weight in enumerate(weights.columns()) if weight),
        search=_search_tokens(tokens, wanted, intent, counts.rows),
        tokens={token: tuple(words.items()) for token, words in tokens.items()},
        word_weights=tuple(word_weights),
        words=tuple(wanted),
        intent=intent,
        source_names=source_names,
        source_hints={source.name: _hinting_source(source.name, wanted) for source in sources},
        nouns=tuple(_naming(word, intent, weights) for word in wanted),
        head=wanted.index(intent.head) if intent.head in wanted else -1,
        twins=tuple(_twin(wanted, number) for number in range(len(wanted))),
    )


def _counts(sources: Sequence[SearchSource], wanted: Sequence[str]) -> _Counts:
    pairs = [one + other for one, other in itertools.pairwise(wanted)]
    others = (other for word in wanted for other in (*alike(word), *meanings(word), *spellings(word)))
    words = {*wanted, *pairs, *others}
    roots = {rooted for word in wanted for rooted in _roots(word)}
    rows: dict[str, int] = {}
    named: dict[str, int] = {}
    kin: dict[str, set[str]] = {}
    for source in sources:
        for word, rooted, having, naming in source.index.counts(words, roots):
            rows[word] = rows.get(word, 0) + having
            named[word] = named.get(word, 0) + naming
            kin.setdefault(rooted, set()).add(word)
    return _Counts(rows=rows, named=named, kin=kin, pairs=pairs, size=sum(source.index.size for source in sources))


def _roots(word: str) -> set[str]:
    """The root of the word, and that of what it undoes."""
    return {root(word), root(stem(undone(word)) or word)}


def _qualities(word: str, near: set[str], means: float, weights: RankingWeights) -> dict[str, float]:
    """How well each token stands for a word."""
    return {
        **dict.fromkeys(alike(word), weights.like),
        **dict.fromkeys(meanings(word), means),
        **dict.fromkeys(near, weights.kin),
        word: 1.0,
    }


def _share(word: str, intent: Intent, apart: frozenset[str], weights: RankingWeights) -> float:
    """How much a word counts by what it does in the sentence."""
    if word == intent.verb and intent.kind not in DOING:
        return weights.said
    if word in vocabulary().filters and intent.kind in ("list", "ask", "read", ""):
        return weights.state
    if word in apart:
        return weights.aside
    return 1.0 if word in intent.target or word == intent.verb else weights.context


def _without_names(query: str, sources: Sequence[SearchSource]) -> str:
    """The query without the names of sources, which are no part of its grammar."""
    names = {source.name.lower() for source in sources}
    return " ".join(word for word in query.split() if word.lower().strip(".,:;!?'\"") not in names)


def _naming_source(source: str, wanted: Sequence[str]) -> tuple[int, ...]:
    """The words of a query that are the name of a source."""
    parts = {*map(stem, source.lower().split("_"))} if source else set[str]()
    return tuple(number for number, word in enumerate(wanted) if word in parts)


def _hinting_source(source: str, wanted: Sequence[str]) -> tuple[int, ...]:
    """The words of a query that may mean a source."""
    name = stem(source.lower())
    return tuple(number for number, word in enumerate(wanted) if name in meanings(word))


def _naming(word: str, intent: Intent, weights: RankingWeights) -> float:
    """How far a word names the thing that the query is about."""
    if word == intent.head:
        return 1.0
    if word == intent.verb:  # "comment on an issue" makes a comment
        return 1.0 if intent.kind in DOING else 0.0
    if word in vocabulary().anyone:
        return weights.anyone
    if word in intent.target:
        return weights.modifier
    return weights.owner if intent.kind == "update" else weights.place


def _search_tokens(
    tokens: Mapping[str, Mapping[int, float]], wanted: Sequence[str], intent: Intent, rows: Mapping[str, int]
) -> tuple[str, ...]:
    """The tokens that candidates are searched by: the best and rarest where there are many."""
    deeds = dict.fromkeys(_deeds(tokens, wanted, intent))
    if intent.kind and intent.kind not in DOING:  # instead of all words for one verb, the kind that it means
        deeds[kind_word("read" if intent.kind == "ask" else intent.kind)] = None
    verb = "" if intent.kind in DOING else intent.verb
    others = [
        token
        for token, words in tokens.items()
        if any(quality >= NEAR or wanted[number] != verb for number, quality in words.items())
    ]
    others.sort(key=lambda token: (max(tokens[token].values()) < WORTH, rows[token], token))
    return (*deeds, *others[: max(len(wanted), SEARCH_TOKENS - len(deeds))])


def _deeds(tokens: Mapping[str, Mapping[int, float]], wanted: Sequence[str], intent: Intent) -> Iterator[str]:
    """What is to be done to what, as single tokens."""
    kinds = (*_DEED_KINDS.get(intent.kind, (intent.kind,)), *((intent.verb,) if intent.kind in DOING else ()))
    for token, words in tokens.items():
        if any(quality > WORTH and wanted[number] != intent.verb for number, quality in words.items()):
            for kind in kinds:
                yield deed(kind, token)


def _twin(wanted: Sequence[str], number: int) -> int:
    """ "make a new …" asks once for what both words mean."""
    like = alike(wanted[number])
    return next((other for other in range(number) if wanted[other] in like), number)
